"""`room`: how many tokens of context fit in ONE call of a query or chat engine's LLM."""

from typing import Any

from llama_index.core.indices.prompt_helper import DEFAULT_PADDING
from llama_index.core.prompts.prompt_utils import get_biggest_prompt
from llama_index.core.response_synthesizers import BaseSynthesizer, Refine, SimpleSummarize, TreeSummarize

from edgeorder.errors import BudgetError


def room(engine: Any, query: str) -> int:
    """Return the tokens that retrieved nodes may need so that one LLM call takes them all.

    The synthesizers leave the model's window, less its output, less the larger of their prompts with the query in it,
    less a padding (500 tokens for `refine` and `compact`). A chat engine puts its system prompt and the whole history
    into that prompt. With `Budget(room(engine, query))`, `compact` makes exactly one call.

    Args:
        engine: A query engine with a response synthesizer, a context or condense-plus-context chat engine, an engine
            that wraps one of them, or a response synthesizer itself.
        query: The question, or the message to a chat engine.

    Returns:
        Tokens, by the tokenizer of LlamaIndex's `Settings`; at least 1.

    Raises:
        BudgetError: If the prompt alone fills the window.
        TypeError: For an engine whose synthesizer cannot be looked into.
    """
    synthesizer = _synthesizer(engine, query)
    if isinstance(synthesizer, Refine):  # CompactAndRefine is one
        prompts = [synthesizer._text_qa_template, synthesizer._refine_template]
        # Earlier releases of 0.14 have no padding of their own for these two.
        padding = getattr(synthesizer, "_response_padding_size", DEFAULT_PADDING)
    elif isinstance(synthesizer, TreeSummarize):
        prompts, padding = [synthesizer._summary_template], DEFAULT_PADDING
    elif isinstance(synthesizer, SimpleSummarize):
        prompts, padding = [synthesizer._text_qa_template], DEFAULT_PADDING
    else:
        raise TypeError(f"room() knows compact, refine, tree_summarize and simple_summarize, not {synthesizer!r}")
    prompt = get_biggest_prompt([prompt.partial_format(query_str=query) for prompt in prompts])
    helper = synthesizer._prompt_helper
    try:
        tokens = helper._get_available_chunk_size(prompt, padding=padding, llm=synthesizer._llm)
    except ValueError:  # what LlamaIndex raises when the prompt exceeds the window
        tokens = 0
    if tokens < 1:
        raise BudgetError(
            f"no room for context: of the window of {helper.context_window} tokens, {helper.num_output} are for the "
            f"output and {padding} for padding, and the prompt with query and history needs the rest. Shorten the "
            "history or use a model with a larger window."
        )
    return tokens


def _synthesizer(engine: Any, query: str) -> BaseSynthesizer:
    found = engine
    if hasattr(engine, "_response_synthesizer"):
        found = engine._response_synthesizer
    elif hasattr(engine, "_get_response_synthesizer"):  # a chat engine makes one for each history
        found = engine._get_response_synthesizer(engine._memory.get(input=query))
    elif hasattr(engine, "_query_engine"):
        found = _synthesizer(engine._query_engine, query)
    if not isinstance(found, BaseSynthesizer):
        raise TypeError(f"room() needs an engine with a response synthesizer, not {type(engine).__name__}")
    return found
