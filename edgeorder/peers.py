"""Where the reorderers of other frameworks put each rank, to the letter: what changes can be seen beforehand."""

from collections.abc import Sequence

from edgeorder.auto import Auto
from edgeorder.orders import Order, bookend, long_context_reorder, named_order


def llama_index_unscored(n: int) -> tuple[int, ...]:
    """What LlamaIndex's `LongContextReorder` does without scores, or with equal ones: the best in the middle.

    >>> llama_index_unscored(5)
    (4, 2, 0, 1, 3)
    """
    return (*reversed(range(0, n, 2)), *range(1, n, 2))


PEERS: dict[str, Order] = {
    "langchain": long_context_reorder,
    "llamaindex": long_context_reorder,
    "llamaindex_unscored": llama_index_unscored,
    "haystack": bookend,
}
"""The orders of `LongContextReorder` (LangChain; LlamaIndex with and without scores) and `LostInTheMiddleRanker`."""


def positions(n: int, order: str = "auto") -> list[dict[str, int]]:
    """Return a row for each rank (1 = best): the position (0 = head) that each framework gives it, and edgeorder.

    Args:
        n: Chunks in the block.
        order: Ours: a name, or `"auto"`, which is taken to meet a long block if that has more than four chunks.

    >>> positions(4, "bookend")[0]
    {'rank': 1, 'langchain': 3, 'llamaindex': 3, 'llamaindex_unscored': 1, 'haystack': 0, 'edgeorder': 0}
    """
    ours = ("relevance" if n <= Auto().short_chunks else "bookend") if order == "auto" else order
    slots: dict[str, Sequence[int]] = {
        name: _slots(how, n) for name, how in {**PEERS, "edgeorder": named_order(ours)}.items()
    }
    return [{"rank": rank + 1, **{name: own[rank] for name, own in slots.items()}} for rank in range(n)]


def _slots(order: Order, n: int) -> list[int]:
    slots = [0] * n
    for slot, rank in enumerate(order(n)):
        slots[rank] = slot
    return slots
