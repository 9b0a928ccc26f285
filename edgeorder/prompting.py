"""Prompting: what stands around the block, namely the question and an instruction.

Where the question goes matters as much as the order, and differs by model: a setting to measure, not a law.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edgeorder.errors import bad_choice

QuestionPlace: TypeAlias = Literal["before", "after", "both", "none"]
_PLACES = ("before", "after", "both", "none")
_INSTRUCTIONS = ("use_all", "weak_slots")
_SHORT = 4  # passages; so few have no middle to speak of


@dataclass(frozen=True)
class Prompt:
    r"""The prompt around the block: instruction, question, block, question.

    Args:
        question: The question stands `"before"` the block, `"after"` it or on `"both"` sides; or `"none"`, when it
            stands elsewhere, such as in a message of its own.
        instruction: None, `"use_all"` (use every passage, the middle too), `"weak_slots"` (names the numbers of the
            passages in the middle third, which models follow where "the middle" does not help them, arXiv:2406.17095),
            or a text of your own; or a list of them, which stand one below the other.

    Raises:
        ValueError: For an unknown name.
        TypeError: If the instruction is no string.

    >>> print(Prompt("both", "use_all").around("[1]\nTen days.", "How long?", [1]))
    Use every passage, those in the middle as much as the first and the last.
    <BLANKLINE>
    Question: How long?
    <BLANKLINE>
    [1]
    Ten days.
    <BLANKLINE>
    Question: How long?
    """

    question: QuestionPlace = "after"
    instruction: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.question not in _PLACES:
            raise bad_choice("Prompt.question", self.question, _PLACES)
        if isinstance(self.instruction, list):  # as a tuple, so that what was loaded from JSON equals what was written
            object.__setattr__(self, "instruction", tuple(self.instruction))
        if not isinstance(self.instruction, str | tuple | None):
            raise TypeError(f"Prompt.instruction must be a str or a list of them, not {self.instruction!r}")
        for part in self.instructions:
            if not isinstance(part, str):
                raise TypeError(f"Prompt.instruction must be a str or a list of them, not {part!r}")
            # One word is a misspelt name rather than an instruction, and would go to the model in silence.
            if part not in _INSTRUCTIONS and re.fullmatch(r"[\w-]*", part.strip(), re.ASCII):
                raise bad_choice("Prompt.instruction", part, (*_INSTRUCTIONS, "a text of several words"))

    @property
    def instructions(self) -> Sequence[str]:
        """The instructions, one by one."""
        if self.instruction is None:
            return ()
        return (self.instruction,) if isinstance(self.instruction, str) else self.instruction

    def around(self, block: str, question: str | None, numbers: Sequence[int]) -> str:
        """Return the whole prompt.

        Nothing is expanded in the parts, whatever braces or placeholders they hold.

        Args:
            block: The rendered block.
            question: The question, as it is; None only where the prompt does not show it.
            numbers: The citation numbers of the passages, head first.

        Raises:
            ValueError: If the prompt shows a question and there is none.
        """
        if question is None and self.question != "none":
            raise ValueError(f"the prompt shows the question {self.question!r} the block, so it needs one: query=...")
        asked = f"Question: {question}"
        before = asked if self.question in ("before", "both") else ""
        after = asked if self.question in ("after", "both") else ""
        return "\n\n".join(part for part in (self.instruct(numbers), before, block, after) if part)

    def instruct(self, numbers: Sequence[int], noun: str = "Passages") -> str:
        """Return the instructions in words, for passages of these numbers that the block calls by this noun."""
        words = {"use_all": _USE_ALL, "weak_slots": _weak_slots(numbers, noun)}
        return "\n".join(text for text in (words.get(part, part) for part in self.instructions) if text)


_USE_ALL = "Use every passage, those in the middle as much as the first and the last."


def _weak_slots(numbers: Sequence[int], noun: str) -> str:
    """Return the sentence that names the passages of the middle third; empty for a short block."""
    if len(numbers) <= _SHORT:
        return ""
    third = len(numbers) // 3
    middle = numbers[third : len(numbers) - third]
    if list(middle) == list(range(middle[0], middle[-1] + 1)):
        named = f"{middle[0]} to {middle[-1]}"
    else:  # the numbers of a conversation come in any order
        named = f"{', '.join(map(str, middle[:-1]))} and {middle[-1]}"
    return f"{noun} {named} stand where text is easily overlooked: read them as carefully as the others."


def as_prompt(prompt: Prompt | QuestionPlace | None) -> Prompt | None:
    """Return the prompt that was asked for; a bare place of the question is `Prompt(place)`.

    Raises:
        TypeError: For anything else.
    """
    if prompt is None or isinstance(prompt, Prompt):
        return prompt
    if isinstance(prompt, str):
        return Prompt(prompt)
    raise TypeError(f"prompt must be a Prompt or a place for the question ({', '.join(_PLACES)}), not {prompt!r}")
