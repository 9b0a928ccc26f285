"""Batches that are small enough for a deadline."""

import time
from collections.abc import Callable
from typing import Any

from edgeorder.scorers.windows import Pair
from edgeorder.stopping import Stop

_SHARE = 1 / 20  # of the time for a call that a batch should take at most


def in_batches(pairs: list[Pair], predict: Callable[[list[Pair]], list[Any]], most: int, stop: Stop) -> list[Any]:
    """Return what a model makes of each pair, asked batch by batch, so that it can be stopped between them.

    Where there is a deadline, the first batch is one pair, and the others are as large as the time that it took allows.

    Args:
        pairs: The pairs, the longest first, so that little is padded.
        predict: The model; it raises if nobody waits any more.
        most: Pairs in a batch at most.
        stop: The deadline.

    Returns:
        What the model makes of each; what it made of one batch, if that is not one thing for each of its pairs.
    """
    within = stop.left()
    rows: list[Any] = []
    size = most if within is None else 1
    while len(rows) < len(pairs):
        batch = pairs[len(rows) : len(rows) + size]
        began = time.monotonic()
        found = predict(batch)
        took = time.monotonic() - began
        if len(found) != len(batch):
            return found
        rows += found
        if within is not None and took > _SHARE * within:
            size = max(1, size // 2)
        elif within is not None and took * 2 < _SHARE * within:
            size = min(most, size * 2)
    return rows
