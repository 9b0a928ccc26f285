"""A rendered block, and what an answer cites of it."""

from dataclasses import dataclass
from functools import cached_property

from edgeorder.layout import Passage


@dataclass(frozen=True)
class Block:
    """A rendered block.

    Args:
        text: What the model sees.
        tokens: Its length by the budget's counter; None without a budget.
        passages: What it holds, by number; an echo is the passage that it repeats.
    """

    text: str
    tokens: int | None = None
    passages: tuple[Passage, ...] = ()

    def __str__(self) -> str:
        return self.text

    @cached_property
    def citations(self) -> dict[int, int]:
        """Citation number -> input index."""
        return {passage.number: passage.index for passage in self.passages}

    @cached_property
    def numbers(self) -> dict[int, int]:
        """Input index -> citation number."""
        return {passage.index: passage.number for passage in self.passages}

    def cited(self, answer: str) -> tuple[int, ...]:
        """Return the input indices of the chunks that an answer cites, in the order in which it first cites them.

        `[2]`, `[1, 3]`, `[2-4]`, `[Source 2]`, "document 2" and more, see `edgeorder.citing`; not what stands in
        thoughts, code, formulas or JSON. Numbers that the block does not have are left out, see `invented`.

        >>> Block("", passages=(Passage(1, 4, "A"), Passage(2, 0, "B"))).cited("It is so [2], or not [1, 7].")
        (0, 4)
        """
        from edgeorder.citing import cited

        return tuple(self.citations[number] for number in cited(answer, self.citations))

    def invented(self, answer: str) -> tuple[int, ...]:
        """Return the citation numbers in an answer's brackets that the block does not have.

        To take them out, also while the answer streams: `CitationFilter(block.citations)`.

        >>> Block("", passages=(Passage(1, 4, "A"), Passage(2, 0, "B"))).invented("It is so [2], or not [1, 7].")
        (7,)
        """
        from edgeorder.citing import invented

        return invented(answer, self.citations)

    def sources(self) -> tuple[Passage, ...]:
        """Return the passages by number, each with index, title, source, date and page, for a list of sources."""
        return self.passages
