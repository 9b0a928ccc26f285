"""`text_qa_template`: the question before, after or on both sides of the context, with an instruction."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.prompt_type import PromptType

from edgeorder.prompting import Prompt, QuestionPlace

_SOURCE = re.compile(r"^Source (\d+):$", re.MULTILINE)  # how CitationQueryEngine labels nodes


def text_qa_template(
    question: QuestionPlace = "after", instruction: str | Sequence[str] | None = None
) -> PromptTemplate:
    """Return a template for `text_qa_template=` of query engines and synthesizers.

    `tree_summarize` takes it as `summary_template=`. Where `compact` or `refine` need a second call, that one has
    LlamaIndex's refine template.

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

    shown = Prompt(prompt.question).around("{context_str}", "{query_str}", ())
    return PromptTemplate(
        f"{{instruction}}{shown}\nAnswer: ",
        prompt_type=PromptType.QUESTION_ANSWER,
        function_mappings={"instruction": _Instruction(prompt)},
    )


@dataclass(frozen=True)
class _Instruction:
    """Writes the instruction for the context that the template is filled with. A class, so that it can be pickled."""

    prompt: Prompt
    __name__ = "instruction"  # LlamaIndex writes functions by name

    def __call__(self, context_str: str | Sequence[str] = "", **_: Any) -> str:
        context = context_str if isinstance(context_str, str) else "\n".join(context_str)  # simple_summarize has a list
        words = self.prompt.instruct(_numbers(context), noun="Sources")
        return words and words + "\n\n"


def _numbers(context: str) -> list[int]:
    """Return the numbers of the sources, in order; one that a node merely quotes is out of turn."""
    numbers: list[int] = []
    for number in map(int, _SOURCE.findall(context)):
        if not numbers or number == numbers[-1] + 1:
            numbers.append(number)
    return numbers
