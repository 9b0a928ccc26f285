"""The order in which passages are shown: shuffled, so that no place in the prompt is always the same passage's."""

import hashlib
import random
from collections.abc import Sequence

from edgeorder.ranker.passages import Passage


def shuffled(query: str, passages: Sequence[Passage], seed: int, number: int) -> list[int]:
    """Return the order for a pass, drawn from query, ids, seed and number: the same on every machine."""
    drawn = "\x1f".join((str(seed), str(number), query, *(passage.key for passage in passages)))
    order = list(range(len(passages)))
    random.Random(hashlib.sha256(drawn.encode("utf-8", "replace")).digest()).shuffle(order)  # noqa: S311 - no secret
    return order


def windows(order: Sequence[int], most: int) -> list[Sequence[int]]:
    """Return windows of at most that many items, which overlap by half.

    >>> windows(range(5), 4), windows(range(3), 4)
    ([range(0, 4), range(1, 5)], [range(0, 3)])
    """
    if len(order) <= most:
        return [order] if order else []
    last = len(order) - most
    return [order[start : start + most] for start in (*range(0, last, max(1, most // 2)), last)]
