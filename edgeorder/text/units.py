"""Units: what a text is made of. Joined in their order they are the text, byte for byte."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal[
    "sentence", "heading", "row", "header", "item", "line", "turn", "entry", "log", "frame", "blank"
]
"""What a unit is: a sentence of prose, a heading, a table's row or its header, a list item, a line (of code, mostly),
a turn of a transcript, an entry of a JSON array, a log line with what follows from it, a frame (what opens or closes
code, a table or an array), or nothing but blanks."""

Span: TypeAlias = tuple[int, int]
"""0-based characters of a text: the first, and the one past the last."""

# Characters; what is longer is cut inside where it can be: a sentence at its clauses, an item at its sentences.
LONG = 400
NEEDS = 8  # units that one may bring along: a text made to be deep stays cheap

# What a mark calls them. A heading leaves with what stands below it, a frame with what it holds.
_NOUNS: dict[Kind, str] = {
    "sentence": "sentence",
    "row": "row",
    "item": "item",
    "entry": "item",
    "line": "line",
    "log": "line",
    "turn": "turn",
}


class Unit(NamedTuple):
    """A piece of a text.

    Args:
        start: 0-based position of its first character.
        stop: The position past its last; blanks and line breaks after it are part of it.
        kind: What it is.
        needs: Numbers (0-based) of the units without which it cannot be read: a row needs its header, a nested item its
            parents, a line of code the head of its definition and its fence, and all of them the heading above.
        size: How many of its kind it is: a definition that stands together is one unit of several lines.
    """

    start: int
    stop: int
    kind: Kind
    needs: tuple[int, ...] = ()
    size: int = 1


class Body(NamedTuple):
    """A body that was shortened.

    Args:
        text: What is left of it, and marks where something left.
        gone: What left: spans (0-based start, stop) of characters of the whole body.
    """

    text: str
    gone: list[Span]


def mark_of(left: Iterable[tuple[Kind, int]]) -> str:
    """Return the mark for units that left, which says what they were.

    Args:
        left: Kinds, and how many of each.

    >>> mark_of([("row", 30), ("row", 1)]), mark_of([("sentence", 4)]), mark_of([("row", 1), ("sentence", 1)])
    ('[… 31 rows]', '[…]', '[… 1 row, 1 sentence]')
    """
    many: Counter[str] = Counter()
    for kind, count in left:
        if count and kind in _NOUNS:
            many[_NOUNS[kind]] += count
    if set(many) <= {"sentence"}:
        return "[…]"
    return f"[… {', '.join(f'{count:,} {noun}' + 's' * (count > 1) for noun, count in many.items())}]"
