"""Intervals for shares, and for differences of them."""

import math
from collections.abc import Sequence

_Z = 1.959963984540054  # standard deviations of a normal distribution that 95 % lie within


def wilson(right: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a share, 0..1 (Wilson, JASA 1927); all of 0..1 for n = 0.

    Raises:
        ValueError: Unless 0 <= right <= n.

    >>> [round(bound, 3) for bound in wilson(8, 10)]
    [0.49, 0.943]
    """
    if not 0 <= right <= n:
        raise ValueError(f"{right} right of {n}")
    if n == 0:
        return 0.0, 1.0
    square = _Z * _Z
    middle = (right + square / 2) / (n + square)
    width = _Z / (n + square) * math.sqrt(right * (n - right) / n + square / 4)
    return max(middle - width, 0.0), min(middle + width, 1.0)


def paired(differences: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of differences, each -1..1 and of one question, and its 95 % interval; -1..1 for none.

    Two imagined questions, of one half each way, keep a few that agree from proving that all do (after Agresti and Min,
    Statistics in Medicine 2005).

    >>> [round(part, 2) for part in paired([1, 0, 0, 0, 1, 0, 0, 1, 0, 0])]
    [0.3, -0.04, 0.54]
    """
    n = len(differences)
    if n == 0:
        return 0.0, -1.0, 1.0
    middle = sum(differences) / (n + 2)
    variance = (sum(each * each for each in differences) + 1) / (n + 2) - middle**2
    spread = 1.96 * math.sqrt(variance / (n + 2))
    return sum(differences) / n, max(middle - spread, -1.0), min(middle + spread, 1.0)
