"""Cases: a question, its answers, the gold passage that holds one, and distractors that hold none."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real

from edgeorder.probe.grading import contains, has_words


@dataclass(frozen=True)
class CaseChunk:
    """A text that may stand in a prompt.

    Args:
        text: Its body.
        title: What it is headed by; "" for none.
        id: Its identifier where it was retrieved.
        source: The document that it was cut from.
        offset: Where in the source it starts: a character offset when `end` is given, else an ordinal.
        end: The character offset just past its end.
        score: The retriever's score for the question.

    Raises:
        TypeError: If one of them is something else, naming it.
        ValueError: If a number is not finite.
    """

    text: str
    title: str = ""
    id: str | int | None = None
    source: str | None = None
    offset: str | float | None = None
    end: float | None = None
    score: float | None = None

    def __post_init__(self) -> None:
        for name in ("text", "title"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be text, not {getattr(self, name)!r:.40}")
        for name, kinds, words in (
            ("id", (str, Integral), "text or a whole number"),
            ("source", (str,), "text"),
            ("offset", (str, Real), "a number or text"),
            ("end", (Real,), "a number"),
            ("score", (Real,), "a number"),
        ):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
                raise TypeError(f"{name} must be {words}, not {value!r:.40}")
            if isinstance(value, Real):  # numpy's numbers become Python's own, which JSON knows
                own = int(value) if isinstance(value, Integral) else float(value)
                if isinstance(own, float) and not isfinite(own):
                    raise ValueError(f"{name}={own} must be a finite number; leave it out where there is none")
                object.__setattr__(self, name, own)


@dataclass(frozen=True)
class Case:
    """A question whose gold passage is moved through the prompt.

    Args:
        id: Tells it from the other cases.
        question: What is asked.
        answers: Aliases of the answer; one of them is enough.
        gold: The passage that holds the answer.
        distractors: Passages that do not, best first.
        gold_rank: The rank (1 = best) that the retriever gave the gold passage; None if no retriever did.

    Raises:
        TypeError: If the question or an alias is no text.
        ValueError: If there is no question, no answer, an alias without a letter or digit, or a rank below 1.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    gold: CaseChunk
    distractors: tuple[CaseChunk, ...] = ()
    gold_rank: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.question, str):
            raise TypeError(f"question must be text, not {self.question!r:.40}")
        if not self.question.strip():
            raise ValueError(f"case {self.id!r} asks nothing; give it a question")
        if not isinstance(self.answers, tuple) or not all(isinstance(alias, str) for alias in self.answers):
            raise TypeError(f"answers must be a tuple of texts, not {self.answers!r:.60}")
        if not self.answers:
            raise ValueError(f"case {self.id!r} has no answers; give it one alias or more")
        for alias in self.answers:
            if not has_words(alias):
                raise ValueError(f"case {self.id!r}: no answer can be recognised by {alias!r}; give letters or digits")
        rank = self.gold_rank
        if rank is not None:
            if isinstance(rank, bool) or not isinstance(rank, Integral) or rank < 1:
                raise ValueError(f"gold_rank={rank!r:.40} must be a whole number from 1 up")
            object.__setattr__(self, "gold_rank", int(rank))


def holds(chunk: CaseChunk, answers: Iterable[str]) -> bool:
    """Return whether a passage, its title included, contains one of the answers."""
    text = f"{chunk.title}\n{chunk.text}"
    return any(contains(text, alias) for alias in answers)


def check_chunks(chunks: int) -> None:
    """Raise ValueError for a block too short for a gold passage and a distractor."""
    if chunks < 2:
        raise ValueError(f"chunks={chunks}: a prompt needs at least 2, the gold one and a distractor")
