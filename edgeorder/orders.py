"""Orders: for n block units, which rank sits at each position.

An order is a function of n alone. It returns a permutation of `range(n)`: the 0-based rank (0 = best) at each
position (0 = head). A measured profile is the same kind of thing, so it fits wherever an order does.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import index
from types import MappingProxyType
from typing import TypeAlias

from edgeorder.errors import bad_choice

Order: TypeAlias = Callable[[int], Sequence[int]]

KEPT = 6  # decimals of accuracy that a profile keeps
_ALIKE = 3  # decimals of accuracy: slots closer than a tenth of a point are alike


def relevance(n: int) -> Sequence[int]:
    """Best first, weakest last.

    >>> list(relevance(4))
    [0, 1, 2, 3]
    """
    return range(n)


def reverse(n: int) -> Sequence[int]:
    """Best last, next to a question that follows the block.

    >>> list(reverse(4))
    [3, 2, 1, 0]
    """
    return range(n - 1, -1, -1)


@lru_cache(maxsize=64)
def bookend(n: int) -> tuple[int, ...]:
    """Best first, second best last, and so on inwards; the weakest in the middle (Liu et al., TACL 2024).

    >>> bookend(4), bookend(5)
    ((0, 2, 3, 1), (0, 2, 4, 3, 1))
    """
    return (*range(0, n, 2), *range(n - 1 - n % 2, 0, -2))


@lru_cache(maxsize=64)
def two_to_one(n: int) -> tuple[int, ...]:
    """Best first; of each next three one goes to the tail, two to the head: for a head that is read best by far.

    >>> two_to_one(5), two_to_one(6)
    ((0, 2, 3, 4, 1), (0, 2, 3, 5, 4, 1))
    """
    tail = range(1, n, 3)
    return (*(rank for rank in range(n) if rank not in tail), *reversed(tail))


def bookend_tail(n: int) -> tuple[int, ...]:
    """The mirror of `bookend`: best last, second best first.

    >>> bookend_tail(4)
    (1, 3, 2, 0)
    """
    return bookend(n)[::-1]


def long_context_reorder(n: int) -> tuple[int, ...]:
    """What LangChain's `LongContextReorder` does: best first for odd n, best LAST for even n.

    >>> long_context_reorder(4), long_context_reorder(5)
    ((1, 3, 2, 0), (0, 2, 4, 3, 1))
    """
    return bookend(n) if n % 2 else bookend_tail(n)


def by_accuracy(accuracy: Sequence[float]) -> tuple[int, ...]:
    """Return the order for slots of these accuracies (0..1): better ranks at better slots.

    That is best for any gold chunk whose chance falls with rank. Slots alike to a tenth of a point are ranked as in
    `bookend`.

    >>> by_accuracy([0.9, 0.6, 0.6, 0.7])
    (0, 2, 3, 1)
    """
    hedge = bookend(len(accuracy))
    ranks = [0] * len(accuracy)
    # Rounded twice, as what a profile keeps has been: 0.4564997 is 0.4565 there, and both must give the same order.
    alike = [round(round(value, KEPT), _ALIKE) for value in accuracy]
    slots = sorted(range(len(accuracy)), key=lambda slot: (-alike[slot], hedge[slot]))
    for rank, slot in enumerate(slots):
        ranks[slot] = rank
    return tuple(ranks)


ORDERS: Mapping[str, Order] = MappingProxyType(
    {
        "relevance": relevance,
        "bookend": bookend,
        "two_to_one": two_to_one,
        "bookend_tail": bookend_tail,
        "reverse": reverse,
        "long_context_reorder": long_context_reorder,
    }
)
"""The orders that have a name."""


def named_order(name: str) -> Order:
    """Return the order of that name.

    Raises:
        ValueError: If there is none, naming the choices.
    """
    try:
        return ORDERS[name]
    except KeyError:
        measured = (f"PositionProfile.load({name!r})",) if name.endswith(".json") else ()
        raise bad_choice("order", name, ("auto", *ORDERS, *measured)) from None


def order_name(order: Order) -> str:
    """Return the name under which an order is recorded."""
    return str(getattr(order, "name", None) or getattr(order, "__name__", None) or type(order).__name__)


def checked_permutation(order: Order, n: int) -> list[int]:
    """Return `order(n)` as a list of ints.

    Raises:
        ValueError: If it is not a permutation of `range(n)`; a chunk would be lost or repeated.
        Exception: Whatever the order raises.
    """
    given, cause = order(n), None
    try:
        given = [index(rank) for rank in given]
        if sorted(given) == list(range(n)):
            return given
    except TypeError as error:  # nothing that holds ranks, or ranks that are no whole numbers
        cause = error
    name = order_name(order)
    raise ValueError(f"order {name!r} gave {given!r} for n={n}, which is no permutation of 0..{n - 1}") from cause
