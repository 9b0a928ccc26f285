"""The result of placing: which chunk sits where, and what was left out."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from edgeorder.chunk import ChunkView
from edgeorder.rendering import Block
from edgeorder.selecting import Cut, Dropped

if TYPE_CHECKING:
    from edgeorder.packing import Packing
    from edgeorder.plan import Plan
    from edgeorder.records import OrderRecord
    from edgeorder.reranking import Reranked

T = TypeVar("T")


class Trace(NamedTuple):
    """What the block and the record are made from when somebody asks for them. References only: no text is copied.

    Args:
        view: The chunks that were placed.
        ranking: Input indices, best first.
        units: The block units, each the 0-based ranks of its chunks in reading order; None when all stand alone.
        plan: The settings.
        time: Seconds since the epoch.
        packing: What the budget did, if there was one.
        reranked: What the scorer said, if one ran.
    """

    view: ChunkView
    ranking: Sequence[int]
    units: list[list[int]] | None
    plan: "Plan"
    time: float
    packing: "Packing | None"
    reranked: "Reranked | None"


class Placement:
    """Where each chunk goes. It holds indices into the input, so any parallel list can be placed with it.

    Attributes:
        indices: The input index (0-based) at each position; position 0 is the head.
        order: The name of the order that was used.
        reason: Why that order, in words.
        texts: Bodies that were shortened to fit, by input index.
        tokens: Length of the rendered block by the budget's counter; None without a budget.

    >>> from edgeorder import Chunk, place
    >>> placement = place([Chunk(text) for text in "ABCD"], order="bookend")
    >>> placement.apply("ABCD"), placement.ranks, placement.order
    (['A', 'C', 'D', 'B'], (1, 3, 4, 2), 'bookend')
    """

    __slots__ = ("__dict__", "_cuts", "_trace", "indices", "order", "reason", "texts", "tokens")

    def __init__(
        self,
        indices: Sequence[int],
        order: str,
        reason: str,
        cuts: Sequence[Cut],
        texts: dict[int, str],
        tokens: int | None,
        trace: Trace,
    ) -> None:
        self.indices = tuple(indices)
        self.order = order
        self.reason = reason
        self._cuts = cuts
        self.texts = texts
        self.tokens = tokens
        self._trace = trace

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        kept, dropped = len(self.indices), len(self._cuts)
        return f"Placement({self.order}: ranks {list(self.ranks)}, {kept} kept, {dropped} dropped; {self.reason})"

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Placement) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.indices, self.order))

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The rank (1 = best) of the chunk at each position."""
        rank_of = {index: rank for rank, index in enumerate(self._trace.ranking, start=1)}
        return tuple(rank_of[index] for index in self.indices)

    @cached_property
    def dropped(self) -> tuple[Dropped, ...]:
        """The chunks that were left out, by rank."""
        return tuple(Dropped(*cut) for cut in self._cuts)

    @cached_property
    def record(self) -> "OrderRecord":
        """The record of this placement, without texts."""
        from edgeorder.records import build_record

        return build_record(self)

    @cached_property
    def block(self) -> Block:
        """The rendered block, the very text that was counted."""
        view = self._trace.view
        texts = (view.rendered(index, self.texts.get(index)) for index in self.indices)
        return Block(self._trace.plan.layout.join(texts), self.tokens)

    def apply(self, items: Sequence[T]) -> list[T]:
        """Return the kept items in the order of the block.

        Raises:
            ValueError: If `items` is not as long as the list that was placed.
        """
        self._check_length(items)
        return list(map(items.__getitem__, self.indices))

    def by_rank(self, items: Sequence[T]) -> list[T]:
        """Return the kept items best first, as a list of sources shows them.

        Raises:
            ValueError: If `items` is not as long as the list that was placed.
        """
        self._check_length(items)
        kept = set(self.indices)
        return [items[index] for index in self._trace.ranking if index in kept]

    def to_dict(self) -> dict[str, Any]:
        """Return the placement as JSON-ready values."""
        return {
            "indices": list(self.indices),
            "ranks": list(self.ranks),
            "order": self.order,
            "reason": self.reason,
            "dropped": [
                {name: getattr(drop, name) for name in ("index", "rank", "reason", "tokens", "duplicate_of")}
                for drop in self.dropped
            ],
            "texts": {str(index): text for index, text in self.texts.items()},
            "tokens": self.tokens,
        }

    def _check_length(self, items: Sequence[object]) -> None:
        if len(items) != len(self._trace.ranking):
            raise ValueError(f"this placement is of {len(self._trace.ranking)} items, not {len(items)}")
