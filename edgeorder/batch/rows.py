"""Rows: a question and its chunks, out of whatever the cells of a table hold."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, NamedTuple

from edgeorder.chunk import Chunk
from edgeorder.masking import masked
from edgeorder.sortable import is_missing
from edgeorder.unicode import clean

_FIELDS = tuple(field.name for field in fields(Chunk))


class Row(NamedTuple):
    """A row of a table.

    Args:
        query: The question; None where the row has none.
        chunks: The chunks.
        error: Why the row cannot be placed; None if it can.
        others: The other columns of the row, where they were read.
    """

    query: str | None
    chunks: Sequence[Chunk] = ()
    error: str | None = None
    others: Mapping[str, Any] = MappingProxyType({})


class Unreadable(NamedTuple):
    """What stands for a cell that could not be read."""

    error: Exception


def as_row(query: object, chunks: object, others: Mapping[str, Any] | None = None) -> Row:
    """Return a row from its cells; what is wrong with it is told in its `error`.

    Args:
        query: A text, or nothing.
        chunks: A list of texts, or of structs whose fields are those of `Chunk`; other fields are passed over. Nothing
            is a bad row, an empty list a good one.
        others: The other columns.
    """
    try:
        return Row(query_of(query), chunks_of(items_of(chunks)), None, others or {})
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a row, the others go on
        return Row(None, (), said(error), others or {})


def said(error: Exception) -> str:
    """Return an error in words that every table can hold, without secrets."""
    return clean(masked(f"{type(error).__name__}: {error}"))


def query_of(cell: object) -> str | None:
    """Return what a cell of queries holds; None where it is missing.

    Raises:
        Exception: If it could not be read.
        TypeError: If it is no text.
    """
    if isinstance(cell, Unreadable):
        raise cell.error
    if isinstance(cell, str):
        return cell
    if is_missing(cell):
        return None
    raise TypeError(f"the query must be a text, not {type(cell).__name__}: {cell!r:.80}")


def items_of(cell: object) -> list[Any]:
    """Return what a cell of chunks holds as a list.

    Raises:
        Exception: If it could not be read.
        ValueError: If it is missing, or if lists of fields have different lengths.
        TypeError: If it is no list.
    """
    if isinstance(cell, Unreadable):
        raise cell.error
    if isinstance(cell, Mapping):  # a list of structs as a struct of lists: some engines store it so
        cell = _structs(cell) if any(not is_missing(values) for values in cell.values()) else None
    cell = _listed(cell)
    if isinstance(cell, list | tuple):
        return list(cell)
    if is_missing(cell):
        raise ValueError("the chunks are missing; a question without any has an empty list")
    raise TypeError(f"the chunks must be a list of texts or structs, not {type(cell).__name__}: {cell!r:.80}")


def marked(cell: object) -> dict[str, list[Any]]:
    """Return which chunks of a cell are marked as `gold` or `isgold`, as a column `gold` has it; or nothing."""
    try:
        marks = [
            one for one in items_of(cell) if isinstance(one, Mapping) and 1 in (one.get("gold"), one.get("isgold"))
        ]
    except Exception:  # noqa: BLE001 - the row itself tells it
        return {}
    return {"gold": [_mark(one) for one in marks]} if marks else {}


def _mark(chunk: Mapping[str, Any]) -> Any:
    """Return what tells a chunk: its id, else its text, said to be one: a single word would be taken for an id."""
    own = chunk.get("id")
    return {"text": chunk.get("text")} if is_missing(own) or own == "" else own


def chunks_of(items: Sequence[Any]) -> list[Chunk]:
    """Return what a list holds as chunks.

    Raises:
        TypeError: For an item, or a field of it, of a wrong type.
        ValueError: For a struct without a text.
    """
    return [_chunk(item, at) for at, item in enumerate(items)]


def _structs(cell: Mapping[str, Any]) -> list[dict[str, Any]]:
    fields = {name: _listed(values) for name, values in cell.items() if not is_missing(values)}
    for name, values in fields.items():
        if not isinstance(values, list | tuple):  # one struct, whose text is no list of its letters
            raise TypeError(
                f"the chunks must be a list, and are one struct whose {name!r:.40} is a {type(values).__name__}: "
                f"{cell!r:.80}"
            )
    if len({len(values) for values in fields.values()}) > 1:
        raise ValueError(f"the fields of the chunks are lists of different lengths: {cell!r:.80}")
    return [dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)]


def _chunk(value: Any, at: int) -> Chunk:
    if isinstance(value, str):
        return Chunk(value)
    if isinstance(value, Chunk):
        return value
    if hasattr(value, "asDict"):  # a Row of Spark
        value = value.asDict()
    if not isinstance(value, Mapping):
        if not (isinstance(value, list) and value and all(type(pair) is tuple and len(pair) == 2 for pair in value)):
            raise TypeError(f"chunks[{at}] must be a text or a struct, not {type(value).__name__}: {value!r:.80}")
        value = dict(value)  # a map of Arrow
    if "text" not in value:
        raise ValueError(f"chunks[{at}] has no field 'text'; it has: {', '.join(map(str, value)) or 'none':.200}")
    known = {name: value[name] for name in _FIELDS if value.get(name) is not None or name == "text"}
    for name in ("head", "tail"):
        if name in known and is_missing(known[name]):  # NaN, say, which every stage knows in the other fields
            del known[name]
    if "page" in known:  # an array of no dimension, as datasets make of numbers, would be shown as a fraction
        known["page"] = _listed(known["page"])
    try:
        return Chunk(**known)
    except TypeError as error:
        raise TypeError(f"chunks[{at}]: {error}") from None


def _listed(value: Any) -> Any:
    """Return an array as a list, and everything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value
