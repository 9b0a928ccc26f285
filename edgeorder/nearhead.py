"""The best chunk near the head: a run never pushes it below the third position of an order that starts with it."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

Units: TypeAlias = list[list[int]]

LEAD = 2  # members of its run that may come before the best chunk


def near_head(
    units: Units, slots: Sequence[int], permute: Callable[[int], Sequence[int]]
) -> tuple[Units, Sequence[int], tuple[str, ...]]:
    """Split the first unit two members before the best chunk, if that stands too far down in it.

    The parts keep their reading order and are placed as two units, each by its own best member. Orders that put the
    best unit elsewhere than at the head, with or without one unit more, are left as they are.

    Args:
        units: Each the ranks of its chunks in reading order; the units by their best member.
        slots: The number of the unit at each position.
        permute: The order: gives the slots of one unit more.

    Returns:
        Units and slots, and what the record should say.

    >>> units, slots, notes = near_head([[3, 5, 4, 2, 0], [1]], range(2), range)
    >>> [units[slot] for slot in slots], notes
    ([[4, 2, 0], [1], [3, 5]], ('the run of the best chunk was split so that it is chunk 3 of the block, not 5',))
    """
    if not units or slots[0] != 0:
        return units, slots, ()
    run = units[0]
    lead = run.index(min(run))
    if lead <= LEAD:
        return units, slots, ()
    wider = permute(len(units) + 1)
    if wider[0] != 0:
        return units, slots, ()
    cut = lead - LEAD
    parts = sorted([run[:cut], run[cut:], *units[1:]], key=min)
    return (
        parts,
        wider,
        (f"the run of the best chunk was split so that it is chunk {LEAD + 1} of the block, not {lead + 1}",),
    )
