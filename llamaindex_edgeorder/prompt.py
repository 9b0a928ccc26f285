"""`text_qa_template`: the question before, after or on both sides of the context, with an instruction."""

import re
from collections.abc import Sequence
from typing import Any

from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.prompt_type import PromptType

from edgeorder.prompting import Prompt, QuestionPlace

_SOURCE = re.compile(r"^Source (\d+):$", re.MULTILINE)  # how CitationQueryEngine labels nodes


def text_qa_template(
    question: QuestionPlace = "after", instruction: str | Sequence[str] | None = None
) -> PromptTemplate:
    """Return a template for `text_qa_template=` of query engines and synthesizers.

    `room(engine, query)` counts the template as the engine fills it in, the question twice where it stands twice.

    Args:
        question: The question stands `"before"` or `"after"` the context, or on `"both"` sides.
        instruction: `"use_all"`, a text of your own, or a list; `"weak_slots"` names sources by the numbers that
            `CitationQueryEngine(citation_qa_template=...)` gives them, and is silent where nodes have no numbers.

    Returns:
        A template of `context_str` and `query_str`. Braces in instruction, context or question are not expanded.

    Raises:
        ValueError: For an unknown name, or `question="none"`: LlamaIndex sends the question nowhere else.
    """
    prompt = Prompt(question, instruction)
    if prompt.question == "none":
        raise ValueError("question='none' would never send the question: use 'before', 'after' or 'both'")

    def instruct(context_str: str = "", **_: Any) -> str:
        words = prompt.instruct([int(number) for number in _SOURCE.findall(str(context_str))], noun="Sources")
        return words and words + "\n\n"

    shown = Prompt(prompt.question).around("{context_str}", "{query_str}", ())
    return PromptTemplate(
        f"{{instruction}}{shown}\nAnswer: ",
        prompt_type=PromptType.QUESTION_ANSWER,
        function_mappings={"instruction": instruct},
    )
