"""Batches that are small enough for a deadline."""

import time
from collections.abc import Callable
from typing import Any

from edgeorder.scorers.windows import Pair
from edgeorder.stopping import Stop

_SHARE = 1 / 20  # of the time for a call that a batch should take at most


def in_batches(pairs: list[Pair], predict: Callable[[list[Pair]], list[Any]], most: int, stop: Stop) -> list[Any]:
    """Return what a model makes of each pair, asked batch by batch, so that it can be stopped between them.

    Longest pairs first, so that little is padded. Where there is a deadline, the first batch is one pair, and the
    others are as large as the time that it took allows.

    Args:
        pairs: The pairs.
        predict: The model; it raises if nobody waits any more.
        most: Pairs in a batch at most.
        stop: The deadline.
    """
    within = stop.left()
    rows: list[Any] = [None] * len(pairs)
    order = sorted(range(len(pairs)), key=lambda at: -len(pairs[at][1]))
    size, start = most if within is None else 1, 0
    while start < len(order):
        batch = order[start : start + size]
        began = time.monotonic()
        found = predict([pairs[at] for at in batch])
        took = time.monotonic() - began
        if len(found) != len(batch):
            return found
        for at, row in zip(batch, found, strict=True):
            rows[at] = row
        start += size
        if within is not None:
            size = (
                min(most, size * 2)
                if took * 2 < _SHARE * within
                else max(1, size // 2)
                if took > _SHARE * within
                else size
            )
    return rows
