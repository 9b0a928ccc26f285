"""Shortening: what is left of a body that does not fit, and marks that say what left."""

from collections.abc import Callable, Collection, Sequence

from edgeorder.text.units import Body as Body
from edgeorder.text.units import Kind, Span, Unit, mark_of

_USED = 0.75  # of the room that a better boundary may not fall short of


def elided(text: str, units: Sequence[Unit], stay: Collection[int]) -> Body:
    """Return a text without some of its units, and a mark in each gap.

    Args:
        text: The text.
        units: Its units.
        stay: Numbers (0-based) of those that stay.

    >>> from edgeorder.text.blocks import read
    >>> elided("One. Two. Three. Four.", read("One. Two. Three. Four."), [0, 3])
    Body(text='One. […] Four.', gone=[(5, 17)])
    """
    parts: list[str] = []
    gone: list[Span] = []
    left: list[tuple[Kind, int]] = []
    stay = frozenset(stay)
    for number, unit in enumerate(units):
        if number not in stay:
            if not left:
                gone.append((unit.start, unit.start))
                parts.append("" if not parts or parts[-1][-1:].isspace() else " ")
            left.append((unit.kind, unit.size))
            gone[-1] = (gone[-1][0], unit.stop)
            continue
        if left:
            parts += (mark_of(left), _blanks_at_end(text, *gone[-1]))
            left = []
        parts.append(text[unit.start : unit.stop])
    if left:
        parts.append(mark_of(left))
    return Body("".join(parts), gone)


def _blanks_at_end(text: str, start: int, stop: int) -> str:
    """Return what parts a mark from what comes after it: line breaks if there were some, else a blank."""
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    breaks = 0
    while text[stop : stop + 1].isspace():
        breaks += text[stop] == "\n"
        stop += 1
    return "\n" * min(breaks, 2) or " "


def longest_prefix(text: str, tokens: Callable[[str], int], room: int) -> Body | None:
    r"""Return the longest beginning of a text that fits, cut at the best place in the last quarter of the room.

    The best place is the end of a unit (a row, an item, a paragraph), else of a line, a sentence, a word, a grapheme.
    Rows of a table are not cut, unless one is longer than half of the room; a code fence is closed.

    Args:
        text: The text; that all of it does not fit is known.
        tokens: The length of the whole rendered chunk with this body in place of its own. Asked O(log n) times.
        room: Tokens that the chunk may need.

    Returns:
        The beginning, the line that closes its fence and a mark; None if nothing fits.

    >>> longest_prefix("It is 50 km. It is far. It is late.", len, 30).text
    'It is 50 km. It is far. […]'
    """
    from edgeorder.prefix import Prefix
    from edgeorder.text.words import grapheme_start

    prefix = Prefix(text)

    def used(at: int) -> int:
        return tokens(prefix.body(at).text)

    low, high = 0, min(len(text), max(room, 8))
    while high < len(text) and used(high) <= room:  # only a little more than what fits is ever looked at
        low, high = high, min(len(text), 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if used(middle) <= room else (low, middle)
    if not low:
        return None
    empty = tokens("")
    enough = empty + (room - empty) * _USED
    row = prefix.row_at(low)
    if row is not None and (tokens(text[row.start : row.stop]) - empty) * 2 <= room - empty:
        places = prefix.row_ends(row)
        enough = 0
    else:
        places = prefix.places(low)
    for at in places:
        body = prefix.body(at)
        if body.gone[0][0] and enough <= tokens(body.text) <= room:
            return body
    back = 0
    while True:
        body = prefix.body(grapheme_start(text, low - back))
        if not body.gone[0][0] or tokens(body.text) <= room:
            return body if body.gone[0][0] else None
        back = min(low, 2 * back + 1)  # part of a grapheme can need less than all of it
