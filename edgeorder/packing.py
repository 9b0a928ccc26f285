"""Packing: which ranks fit the room.

The walk goes down the ranks, never along the positions, so a cut takes the weakest chunks wherever they would have
been placed. Chunks are weighed one by one as the walk reaches them. What happens at one that does not fit is the
overflow policy: a `Packer`, a small class each. To add one: a class with `pack`, and a row in `edgeorder.budget`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from edgeorder.chunk import ChunkView, TokenCounter
from edgeorder.errors import BudgetError
from edgeorder.rendering import Layout
from edgeorder.shortening import longest_prefix
from edgeorder.text.units import Span

PATIENCE = 8  # misfits in a row after which a walk gives up


class Scale:
    """Weighs the chunks of one call as they will stand in the block. A chunk is counted at most once.

    Args:
        view: The chunks.
        ranking: Input indices, best first.
        layout: How the block is written.
        count: What counts tokens.
        budget: Tokens of the whole window, for errors.

    Attributes:
        weights: Tokens of the chunks that were weighed, by input index.
    """

    def __init__(
        self, view: ChunkView, ranking: Sequence[int], layout: Layout, count: TokenCounter, budget: int
    ) -> None:
        self.view = view
        self.ranking = ranking
        self.layout = layout
        self.count = count
        self.budget = budget
        self.weights: dict[int, int] = {}

    def weigh(self, rank: int, number: int) -> int:
        """Return the tokens of the chunk of a rank (0-based) in the block, as the passage of that number."""
        index = self.ranking[rank]
        if index not in self.weights:
            number = self.view.numbers((index,), number)[0]
            self.weights[index] = self.count(self.layout.part(self.view, index, None, number))
        return self.weights[index]

    def weigh_body(self, rank: int, number: int, body: str) -> int:
        """Return the same with another body."""
        return self.count(self.layout.part(self.view, self.ranking[rank], body, number))

    def text(self, rank: int) -> str:
        """Return the body of the chunk of a rank."""
        return self.view.text(self.ranking[rank])


class Load(NamedTuple):
    """What a packer keeps.

    Args:
        kept: Ranks (0-based), best first.
        echoed: Ranks that are repeated at the far end, best first.
        texts: Shortened bodies by input index.
        elisions: What was cut out of them.
        walked: How many of the ranks were looked at.
        notes: What the record should say.
    """

    kept: list[int]
    echoed: list[int]
    texts: dict[int, str]
    elisions: dict[int, Sequence[Span]]
    walked: int
    notes: tuple[str, ...] = ()


class Packer(ABC):
    """An overflow policy, made anew for each call.

    Args:
        scale: What weighs the chunks.
        ranks: Ranks (0-based) that compete, best first.
    """

    fills = True
    """Whether chunks further down may take the room that is left once the joined text was counted."""

    at_least: "type[Packer] | None" = None
    """A policy whose chunks are all kept, too, whatever the joined text turns out to need."""

    def __init__(self, scale: Scale, ranks: Sequence[int]) -> None:
        self.scale = scale
        self.ranks = ranks
        self.between = scale.count(scale.layout.separator) if len(ranks) > 1 else 0

    def wanted(self, room: int) -> Sequence[str]:
        """Return the texts that the scorer should judge before `pack`; most policies want none."""
        return ()

    def promise(self, ranks: Sequence[int]) -> None:  # noqa: B027 - most policies promise nothing
        """Keep something of these ranks (0-based) from now on: they turned out to fit whole."""

    @abstractmethod
    def pack(self, room: int, echo: int, scores: Sequence[float | None] = ()) -> Load:
        """Return what fits by the sum of the parts.

        It is asked again, with less room, when the joined text turns out to need more than its parts.

        Args:
            room: Tokens for the block.
            echo: How many of the best chunks may be repeated.
            scores: Of the texts that were wanted.
        """


class Skip(Packer):
    """Go on to smaller chunks, and give up after `PATIENCE` misfits in a row."""

    def pack(self, room: int, echo: int, scores: Sequence[float | None] = ()) -> Load:
        kept: list[int] = []
        load = Load(kept, [], {}, {}, 0)
        left, misfits, walked = room, 0, 0
        for rank in self.ranks:
            walked += 1
            cost = self.between if kept else 0
            tokens = self.scale.weigh(rank, len(kept) + 1)
            if tokens > left - cost:
                misfits += 1
                shorter = self.shortened(load, rank, left - cost)
                if shorter is None:
                    if self.ends(rank, left - cost, misfits):
                        break
                    continue
                tokens = shorter
            kept.append(rank)
            left, misfits = left - cost - tokens, 0
            if len(load.echoed) == len(kept) - 1 < echo and self.between + tokens <= left:
                load.echoed.append(rank)
                left -= self.between + tokens
        return load._replace(walked=walked)

    def ends(self, rank: int, left: int, misfits: int) -> bool:
        """Say whether the walk ends at a chunk that does not fit the tokens left, the `misfits`-th in a row."""
        return misfits == PATIENCE

    def shortened(self, load: Load, rank: int, left: int) -> int | None:
        """Shorten a chunk that does not fit; return its tokens, or None if it does not stay."""
        return None


class Stop(Skip):
    """Keep a prefix of the ranking."""

    fills = False

    def ends(self, rank: int, left: int, misfits: int) -> bool:
        return True


class Refuse(Stop):
    """Raise `BudgetError` at a chunk that does not fit."""

    def ends(self, rank: int, left: int, misfits: int) -> bool:
        index, tokens = self.scale.ranking[rank], self.scale.weigh(rank, 1)
        raise BudgetError(
            f"the chunk at input index {index} (rank {rank + 1}) needs {tokens} tokens, and {max(left, 0)} of the "
            f"budget of {self.scale.budget} are left. Raise the budget, lower top_n, or use another overflow than "
            "'error'."
        )


class Truncate(Skip):
    """Cut the first chunk that does not fit to the room left, then go on as `Skip` does."""

    def shortened(self, load: Load, rank: int, left: int) -> int | None:
        if load.texts:
            return None
        scale, body, number = self.scale, self.scale.text(rank), len(load.kept) + 1
        shorter = longest_prefix(body, lambda text: scale.weigh_body(rank, number, text), left)
        if shorter is None:
            return None
        index = scale.ranking[rank]
        load.texts[index], load.elisions[index] = shorter
        return scale.weigh_body(rank, number, shorter.text)
