"""Trials: the prompts of the probe. The chunks stay the same in every one, only their order varies.

Prompts are made by `edgeorder.place`, so that what is measured is what is later sent.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from operator import index
from random import Random
from typing import Any

from edgeorder.chunk import Chunk, ChunkList, Label
from edgeorder.errors import bad_choice
from edgeorder.orders import Order, named_order
from edgeorder.placing import place
from edgeorder.probe.cases import Case, CaseChunk
from edgeorder.prompting import Prompt, QuestionPlace
from edgeorder.rendering import Layout, StyleName

_MOST_DEPTHS = 100  # the family of curves grows with their square


@dataclass(frozen=True)
class Setup:
    """How the model is asked. Two runs with another setup measure two things.

    Args:
        question_place: Where the question stands: `"before"`, `"after"` or on `"both"` sides of the block.
        style: The style of the block.
        instruction: What stands before it.
        ending: What the prompt ends with.

    Raises:
        ValueError: For an unknown name.
    """

    question_place: QuestionPlace = "after"
    style: StyleName = "numbered"
    instruction: str = "Answer the question in a few words with the passages below."
    ending: str = "\nAnswer:"

    def __post_init__(self) -> None:
        self.layout, self.prompt  # noqa: B018 - both check what they are made of
        if self.question_place == "none":
            raise bad_choice("Setup.question_place", self.question_place, ("before", "after", "both"))

    @property
    def layout(self) -> Layout:
        """The layout of the block."""
        return Layout(self.style)

    @property
    def prompt(self) -> Prompt:
        """The prompt around it."""
        return Prompt(self.question_place, self.instruction or None)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self)

    def text(self, question: str, passages: Sequence[CaseChunk]) -> str:
        """Return the prompt for a question and passages, head first; labels are numbered by position."""
        chunks = [Chunk(passage.text, title=passage.title or None) for passage in passages]
        placed = place(chunks, query=question, order="relevance", reading="off", layout=self.layout, prompt=self.prompt)
        return placed.prompt + self.ending

    def closed_book(self, question: str) -> str:
        """Return the prompt without any passage."""
        return f"Answer the question in a few words.\n\nQuestion: {question}{self.ending}"


class Titled(ChunkList):
    """Chunks whose labels show their titles only: a source that groups neighbours is no text of the prompt."""

    __slots__ = ()

    def label(self, index: int) -> Label:
        return Label(self._chunks[index].title)


def as_chunk(passage: CaseChunk) -> Chunk:
    """Return a passage as a chunk, with all that is known of it."""
    return Chunk(
        passage.text,
        score=passage.score,
        source=passage.source,
        offset=passage.offset,
        end=passage.end,
        id=passage.id,
        title=passage.title or None,
    )


def spread(chunks: int, depths: int) -> tuple[int, ...]:
    """Return that many positions (1-based), evenly spread from head to tail.

    Raises:
        ValueError: For fewer than three depths, more than there are chunks, or more than 100.

    >>> spread(20, 7)
    (1, 4, 7, 10, 14, 17, 20)
    """
    chunks, depths = index(chunks), index(depths)
    if not 3 <= depths <= chunks:
        raise ValueError(f"depths={depths} must be from 3 to the number of chunks, {chunks}")
    if depths > _MOST_DEPTHS:
        raise ValueError(f"depths={depths}: the curves are made for {_MOST_DEPTHS} at most")
    # Halves are rounded away from the head, so that the positions lie alike from both ends.
    half = [1 + round(place * (chunks - 1) / (depths - 1) - 1e-9) for place in range((depths + 1) // 2)]
    return (*half, *(chunks + 1 - position for position in reversed(half[: depths // 2])))


def with_gold_at(case: Case, position: int, chunks: int) -> list[CaseChunk]:
    """Return the passages of a block of that many chunks with the gold one at a position (1-based).

    Raises:
        ValueError: If the case has too few distractors.
    """
    rest = others(case, chunks)
    return [*rest[: position - 1], case.gold, *rest[position - 1 :]]


def ranked(case: Case, chunks: int, gold_rank: int) -> list[CaseChunk]:
    """Return the passages by rank, cut to that many; beyond it the gold one is gone, as it would be in earnest."""
    rest = others(case, chunks + 1 if gold_rank > chunks else chunks)
    return [*rest[: gold_rank - 1], case.gold, *rest[gold_rank - 1 :]][:chunks]


def gold_rank(case: Case, chunks: int, seed: int, p: float = 0.5) -> int:
    """Return the rank (1-based) of the gold chunk: what the data says, or one drawn from a geometric distribution."""
    if case.gold_rank is not None:
        return case.gold_rank
    random = Random(f"{seed}:{case.id}")  # noqa: S311 - no secret
    rank = 1
    while rank < chunks and random.random() >= p:
        rank += 1
    return rank


def order_for(name: str, case: Case, seed: int) -> Order:
    """Return the order of that name; `"shuffled"` is another permutation for each case."""
    if name != "shuffled":
        return named_order(name)

    def shuffled(n: int) -> list[int]:
        ranks = list(range(n))
        Random(f"{seed}:{case.id}:shuffled").shuffle(ranks)  # noqa: S311 - no secret
        return ranks

    return shuffled


def others(case: Case, chunks: int) -> Sequence[CaseChunk]:
    """Return the passages beside the gold one in a block of that many chunks.

    Raises:
        ValueError: If the case has too few.
    """
    if len(case.distractors) < chunks - 1:
        raise ValueError(
            f"case {case.id!r} has {len(case.distractors)} passages beside the gold one; a block of {chunks} chunks "
            f"needs {chunks - 1}: use fewer chunks"
        )
    return case.distractors[: chunks - 1]
