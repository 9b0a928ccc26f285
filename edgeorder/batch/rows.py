"""Rows: a question and its chunks, out of whatever the cells of a table hold."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, NamedTuple

from edgeorder.chunk import Chunk
from edgeorder.masking import masked

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
        return Row(_query(query), _chunks(chunks), None, others or {})
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a row, the others go on
        return Row(None, (), said(error), others or {})


def said(error: Exception) -> str:
    """Return an error in words, without secrets."""
    return masked(f"{type(error).__name__}: {error}")


def _query(cell: object) -> str | None:
    if isinstance(cell, Unreadable):
        raise cell.error
    if cell is None or isinstance(cell, str):
        return cell
    if _missing(cell):
        return None
    raise TypeError(f"the query must be a text, not {type(cell).__name__}: {cell!r:.80}")


def _chunks(cell: object) -> list[Chunk]:
    if isinstance(cell, Unreadable):
        raise cell.error
    if hasattr(cell, "tolist"):  # an array
        cell = cell.tolist()
    if isinstance(cell, Mapping):  # a list of structs as a struct of lists: some engines store it so
        if len({len(values) for values in cell.values()}) > 1:
            raise ValueError(f"the fields of the chunks are lists of different lengths: {cell!r:.80}")
        cell = [dict(zip(cell, values, strict=True)) for values in zip(*cell.values(), strict=True)]
    if isinstance(cell, list | tuple):
        return [_chunk(value, at) for at, value in enumerate(cell)]
    if cell is None or _missing(cell):
        raise ValueError("the chunks are missing; a question without any has an empty list")
    raise TypeError(f"the chunks must be a list of texts or structs, not {type(cell).__name__}: {cell!r:.80}")


def _chunk(value: Any, at: int) -> Chunk:
    if isinstance(value, str):
        return Chunk(value)
    if isinstance(value, Chunk):
        return value
    if hasattr(value, "asDict"):  # a Row of Spark
        value = value.asDict()
    if not isinstance(value, Mapping):
        raise TypeError(f"chunks[{at}] must be a text or a struct, not {type(value).__name__}: {value!r:.80}")
    if "text" not in value:
        raise ValueError(f"chunks[{at}] has no field 'text'; it has: {', '.join(map(str, value)) or 'none'}")
    try:
        return Chunk(**{name: value[name] for name in _FIELDS if value.get(name) is not None or name == "text"})
    except TypeError as error:
        raise TypeError(f"chunks[{at}]: {error}") from None


def _missing(cell: object) -> bool:
    """Say whether a cell is what pandas and NumPy put where nothing is."""
    return (isinstance(cell, float) and cell != cell) or type(cell).__name__ in ("NAType", "NaTType")
