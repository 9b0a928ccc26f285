"""Lines of a text as units, and a text without some of them: the reader of plain lines.

Any reader will do whose units have `start`, `stop`, `kind`, `needs` and `size`, and that joins back to the text.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

_LONG = 400  # characters of a line from which on it is cut inside


class Unit(NamedTuple):
    """A piece of a text.

    Args:
        start: 0-based position of its first character.
        stop: The position past its last; the line break belongs to it.
        kind: What it is.
        needs: Numbers (0-based) of the units without which it cannot be read.
        size: How many of its kind it is.
    """

    start: int
    stop: int
    kind: str = "line"
    needs: tuple[int, ...] = ()
    size: int = 1


class Body(NamedTuple):
    """A text that was shortened.

    Args:
        text: What is left of it, and marks where something left.
        gone: What left: spans (0-based start, stop) of characters of the whole.
    """

    text: str
    gone: list[tuple[int, int]]


def read(text: str) -> list[Unit]:
    """Return the lines of a text, long ones in pieces; joined they are the text."""
    units: list[Unit] = []
    start = 0
    for line in text.splitlines(keepends=True):
        for at in range(0, len(line), _LONG):
            stop = start + min(len(line), at + _LONG)
            units.append(Unit(start + at, stop, size=int(stop == start + len(line))))
        start += len(line)
    return units


def elided(text: str, units: Sequence[Unit], stay: Collection[int]) -> Body:
    r"""Return a text without some of its units, and a mark in each gap that says how many left.

    >>> elided("a\nb\nc\nd", read("a\nb\nc\nd"), [0, 3])
    Body(text='a\n[… 2 lines]\nd', gone=[(2, 6)])
    """
    stay = frozenset(stay)
    parts: list[str] = []
    gone: list[tuple[int, int]] = []
    left = 0
    for number, unit in enumerate(units):
        if number in stay:
            if left:
                parts.append(_mark(left) + "\n")
                left = 0
            parts.append(text[unit.start : unit.stop])
        else:
            if not left:
                gone.append((unit.start, unit.stop))
                if parts and not parts[-1].endswith("\n"):
                    parts.append("\n")
            gone[-1] = (gone[-1][0], unit.stop)
            left += unit.size or 1
    if left:
        parts.append(_mark(left))
    return Body("".join(parts), gone)


def _mark(lines: int) -> str:
    return f"[… {lines:,} line{'s' * (lines > 1)}]"
