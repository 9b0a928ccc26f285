"""Intervals for shares."""

import math
from statistics import NormalDist


def wilson(right: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval for a share, 0..1 (Wilson, JASA 1927); all of 0..1 for n = 0.

    Raises:
        ValueError: Unless 0 <= right <= n.

    >>> [round(bound, 3) for bound in wilson(8, 10)]
    [0.49, 0.943]
    """
    if not 0 <= right <= n:
        raise ValueError(f"{right} right of {n}")
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle, width = (right + z * z / 2) / (n + z * z), z / (n + z * z) * math.sqrt(right * (n - right) / n + z * z / 4)
    return max(middle - width, 0.0), min(middle + width, 1.0)
