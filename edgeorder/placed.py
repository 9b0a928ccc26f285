"""Placed once: a list that knows its placement, so that a second edgeorder does not take positions for ranks."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from edgeorder.chunk import ChunkView
from edgeorder.views import Ranked

if TYPE_CHECKING:
    from edgeorder.placement import Placement

T = TypeVar("T")
_NOTE = "the list was placed before: its ranks count, not its positions"


class Placed(list[T]):
    """What edgeorder returns: a list like any other, equal to one, that carries its placement.

    Slices, sums, copies and what a checkpoint gives back are plain lists. So is, for edgeorder, a placed list whose
    items are no longer the same objects in the same positions.

    Args:
        items: The items, in the order of the placement.
        placement: Where they come from.
    """

    __slots__ = ("_items", "placement")

    def __init__(self, items: Iterable[T], placement: "Placement") -> None:
        super().__init__(items)
        self.placement = placement
        self._items = tuple(self)

    @property
    def ranks(self) -> tuple[int, ...] | None:
        """The rank (1 = best) of each item; None once the list was changed."""
        same = len(self) == len(self._items) and all(map(lambda a, b: a is b, self, self._items))
        return self.placement.ranks if same else None

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def by_rank(items: Sequence[T]) -> Sequence[T]:
    """Return the items of a placed list best first; any other list as it is."""
    ranks = items.ranks if isinstance(items, Placed) else None
    return items if ranks is None else [items[at] for at in sorted(range(len(items)), key=ranks.__getitem__)]


def ranked_as_before(view: ChunkView, items: Sequence[object]) -> ChunkView:
    """Return the view of a list, ranked by its placement if it carries one."""
    ranks = items.ranks if isinstance(items, Placed) else None
    return view if ranks is None else Ranked(view, sorted(range(len(items)), key=ranks.__getitem__), _NOTE)
