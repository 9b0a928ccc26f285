"""JSON, and what Python prints like it: the entries of arrays, inside the brackets that hold them."""

import re
from functools import cache
from typing import NamedTuple

from edgeorder.text.reader import Reader
from edgeorder.text.units import LONG

_DEEP = 2  # arrays inside arrays that are taken apart; each brings two brackets along
_VERY = 1200  # characters of an object whose members stand alone
_COMMAS = 2  # that an array of bare values has at least: a citation such as [1, 2] is none


class _Container(NamedTuple):
    """An array or object: where its brackets stand, the ends of its entries, and the containers directly in it."""

    start: int
    stop: int
    commas: list[int]
    inside: list["_Container"]


@cache
def _tokens() -> re.Pattern[str]:
    # A string that is never closed reaches to the end: it is read once.
    return re.compile(
        r"""("(?:[^"\\]++|\\.)*+(?:"|\Z)|'(?:[^'\\]++|\\.)*+(?:'|\Z))|([\[{])|([\]}])|(,)|(:)""", re.DOTALL
    )


@cache
def _value() -> re.Pattern[str]:
    return re.compile(r"\s*+(?:[-+]?\d[\d.eE+-]*+|true|false|null|None|True|False|NaN)?\s*+")


def json_array(reader: Reader, line: int, needs: tuple[int, ...] = ()) -> int:
    """Read an array or an object that begins a line; return the line after it, or 0 if there is none."""
    text, stop = reader.text, reader.stops[line]
    begin = stop - len(reader.lines[line].lstrip())
    if text[begin] not in "[{" or reader.patience < 0:
        return 0
    container = _container(reader, begin)
    if container is None or (not container.inside and text[begin] == "[" and len(container.commas) < _COMMAS):
        return 0
    if text[container.stop : reader.stops[reader.line_of(container.stop - 1)]].strip(" ,;\t\r\n"):
        return 0  # a sentence that begins with a bracket
    _take_apart(reader, container, container.stop, needs, 0)
    return reader.rest_of_line()


def _take_apart(reader: Reader, container: _Container, stop: int, needs: tuple[int, ...], depth: int) -> None:
    """Add a container up to `stop`: as one entry, or if it is long as its entries between its brackets."""
    if not _opens(reader.text, container, depth):
        reader.add(stop, "entry", needs)
        return
    opening = reader.add(reader.after_blanks(container.start + 1), "frame", needs)
    children = iter([*container.inside, None])
    child = next(children)
    for comma in [*container.commas, container.stop - 1]:
        end = reader.after_blanks(comma)
        if child is not None and child.start < comma:
            _take_apart(reader, child, end, (*needs, opening), depth + 1)
            while child is not None and child.start < comma:
                child = next(children)
        else:
            reader.add(end, "entry", (*needs, opening))
    reader.need(opening, reader.add(container.stop, "frame", needs))
    reader.absorb(stop)


def _opens(text: str, container: _Container, depth: int) -> bool:
    """Say whether a container is taken apart: long arrays, and objects that hold one or are very long themselves."""
    length = container.stop - container.start
    if length <= LONG or depth > _DEEP or not container.commas:
        return False
    if text[container.start] == "[" or (depth == 0 and length > _VERY):
        return True
    return any(child.stop - child.start > LONG for child in container.inside)


def _container(reader: Reader, begin: int) -> _Container | None:
    """Return what begins at a bracket; None unless it is well formed and closed."""
    text, at = reader.text, begin
    open_: list[tuple[int, list[int], list[_Container]]] = []
    found = None
    for token in _tokens().finditer(text, begin):
        if not _value().fullmatch(text, at, token.start()):
            break
        at = token.end()
        if token[2]:
            open_.append((token.start(), [], []))
        elif token[3]:
            start, commas, inside = open_.pop()
            made = _Container(start, at, commas, inside)
            if not open_:
                found = made
                break
            open_[-1][2].append(made)
        elif token[4]:
            open_[-1][1].append(at)
    reader.patience -= at - begin
    return found
