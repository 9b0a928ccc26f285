"""`room`: how many tokens of context fit in ONE call of a query or chat engine's LLM."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ImageBlock
from llama_index.core.indices.prompt_helper import DEFAULT_PADDING
from llama_index.core.prompts.prompt_utils import get_biggest_prompt
from llama_index.core.response_synthesizers import BaseSynthesizer, Refine, SimpleSummarize, TreeSummarize
from llama_index.core.response_synthesizers.compact_and_accumulate import CompactAndAccumulate

from edgeorder.budget import Budget
from edgeorder.errors import BudgetError
from edgeorder.message_parts import IMAGE_TOKENS
from llamaindex_edgeorder.history import history_of


@dataclass(frozen=True)
class EngineCounter:
    """Counts as an engine's own `PromptHelper` does."""

    tokenizer: Callable[[str], Sequence[Any]]
    name = "the tokenizer of the engine's PromptHelper"

    def __call__(self, text: str) -> int:
        return len(self.tokenizer(text))


def room(
    engine: Any,
    query: str,
    chat_history: Sequence[ChatMessage] | None = None,
    *,
    image_tokens: int = IMAGE_TOKENS,
) -> Budget:
    """Return the budget within which one LLM call takes all retrieved nodes.

    The synthesizers leave the model's window, less its output, less the larger of their prompts with the query in it,
    less a padding (500 tokens for `refine` and `compact`). A chat engine puts its system prompt and the whole history
    into that prompt. Inside `with window(room(engine, query)):` `compact` makes exactly one call. No LLM is called, and
    the memory stays as it is.

    Args:
        engine: A query engine, a chat engine with a context, or a response synthesizer itself. Of an engine around
            others (sub-questions, several steps, retries) it is the one that reads the nodes that counts; with
            `window(..., each=True)` each of its steps has that room.
        query: The question, or the message to a chat engine.
        chat_history: What `chat(message, chat_history=...)` is given; the engine's own memory without it. A memory that
            would summarise counts its `token_limit`.
        image_tokens: What each image in the history counts at least.

    Returns:
        A `Budget` of at least 1 token, with the counter that the engine itself uses.

    Raises:
        BudgetError: If the prompt alone fills the window.
        TypeError: For an engine whose synthesizer cannot be looked into, or which has several: it names them.
    """
    reader = _reader(engine)
    if isinstance(reader, BaseSynthesizer):
        return _budget(reader, [_available(reader, query)])
    history, extra = history_of(reader._memory, query, chat_history)
    whole = reader._get_response_synthesizer(_without_images(history, only_urls=True))
    bare = reader._get_response_synthesizer(_without_images(history))
    # LlamaIndex counts images by their size, those behind an address once it has fetched them. Both counts must hold.
    images = [block for message in history for block in message.blocks if isinstance(block, ImageBlock)]
    remote = sum(block.url is not None for block in images)
    available = [
        _available(whole, query) - image_tokens * remote - extra,
        _available(bare, query) - image_tokens * len(images) - extra,
    ]
    return _budget(whole, available)


def _budget(synthesizer: BaseSynthesizer, available: Sequence[int]) -> Budget:
    tokens, helper = min(available), synthesizer._prompt_helper
    if tokens < 1:
        raise BudgetError(
            f"no room for context: of the window of {helper.context_window} tokens, {helper.num_output} are for the "
            f"output and {_padding(synthesizer)} for padding, and the prompt with query and history needs the rest. "
            "Shorten the history or use a model with a larger window."
        )
    return Budget(tokens, EngineCounter(helper._token_counter.tokenizer))


def _available(synthesizer: BaseSynthesizer, query: str) -> int:
    """Return the tokens that the prompts of a synthesizer leave; below 1 for none."""
    if isinstance(synthesizer, Refine):  # CompactAndRefine is one
        prompts = [synthesizer._text_qa_template, synthesizer._refine_template]
    elif isinstance(synthesizer, TreeSummarize):
        prompts = [synthesizer._summary_template]
    elif isinstance(synthesizer, SimpleSummarize | CompactAndAccumulate):
        prompts = [synthesizer._text_qa_template]
    else:
        raise TypeError(
            "room() knows compact, refine, tree_summarize, simple_summarize and compact_accumulate, not "
            f"{synthesizer!r:.200}"
        )
    if getattr(synthesizer, "_multimodal", False):
        raise TypeError(f"room() counts texts, and {type(synthesizer).__name__}(multimodal=True) sends images too")
    prompt = get_biggest_prompt([prompt.partial_format(query_str=query) for prompt in prompts])
    helper = synthesizer._prompt_helper
    try:
        return helper._get_available_chunk_size(prompt, padding=_padding(synthesizer), llm=synthesizer._llm)
    except ValueError:  # what LlamaIndex raises when the prompt exceeds the window
        return 0


def _padding(synthesizer: BaseSynthesizer) -> int:
    # Earlier releases of 0.14 have no padding of their own for `refine` and `compact`.
    return int(getattr(synthesizer, "_response_padding_size", DEFAULT_PADDING))


def _reader(engine: Any) -> Any:
    """Return the synthesizer that reads the nodes, or the chat engine that makes one for each history.

    An engine around another has a synthesizer too, which reads answers: the inner one comes first.
    """
    inner = getattr(engine, "_query_engine", None) or getattr(engine, "query_engine", None)
    if inner is not None:
        return _reader(inner)
    several = getattr(engine, "_query_engines", None)
    if several is not None:
        if isinstance(several, Mapping):
            named = dict(several)
        else:
            named = {data.name: each for data, each in zip(engine._metadatas, several, strict=True)}
        if len(named) != 1:
            raise TypeError(
                f"{type(engine).__name__} reads nodes in several engines ({', '.join(map(str, named))}): give room() "
                "the one that you mean"
            )
        return _reader(next(iter(named.values())))
    found = getattr(engine, "_response_synthesizer", engine)
    if isinstance(found, BaseSynthesizer) or hasattr(found, "_get_response_synthesizer"):
        return found
    raise TypeError(
        f"room() needs an engine with a response synthesizer, not {type(engine).__name__}; of an engine around others, "
        "give the one that reads the nodes"
    )


def _without_images(messages: Sequence[ChatMessage], *, only_urls: bool = False) -> list[ChatMessage]:
    def stays(block: object) -> bool:
        return not isinstance(block, ImageBlock) or (only_urls and block.url is None)

    return [message.model_copy(update={"blocks": list(filter(stays, message.blocks))}) for message in messages]
