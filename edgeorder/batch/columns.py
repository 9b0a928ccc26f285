"""Batches: the forms in which engines hand over rows, read and added to column by column."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edgeorder.batch.footers import metadata_with
from edgeorder.batch.rows import Unreadable
from edgeorder.extras import optional
from edgeorder.unicode import clean

if TYPE_CHECKING:
    import pyarrow

NAMES = ("order", "kept", "block", "tokens", "dropped", "reason", "error")
"""The columns that are added."""

PROMPT = "prompt"
"""The column that is added where a prompt was asked for."""


def schema(prefix: str, prompt: bool) -> "pyarrow.Schema":
    """Return the added columns as a schema of pyarrow."""
    pa = arrow()
    number = pa.int64()
    drop = {"index": number, "rank": number, "reason": pa.string(), "tokens": number, "duplicate_of": number}
    kinds = {"kept": pa.list_(number), "tokens": number, "dropped": pa.list_(pa.struct(drop.items()))}
    names = (*NAMES, PROMPT) if prompt else NAMES
    return pa.schema([(prefix + name, kinds.get(name, pa.string())) for name in names])


def arrow() -> Any:
    """Return pyarrow.

    Raises:
        ImportError: If it is not installed.
    """
    with optional("pyarrow", "batch"):
        import pyarrow
    return pyarrow


def whole(batch: Any) -> Any:
    """Return a batch as it can be read more than once: of a dict, with lists for generators and the like.

    Raises:
        TypeError: If it is none of the forms that are known, or a dict has a column that is no list.
        ValueError: If columns of a dict are of different lengths.
    """
    if _form(batch) != "dict":
        return batch
    columns = {name: _column(name, values) for name, values in batch.items()}
    check_lengths(columns)
    return columns


def column_names(batch: Any) -> list[str]:
    """Return the names of the columns of a batch, in its order."""
    match _form(batch):
        case "pyarrow":
            return list(batch.schema.names)
        case "pandas":
            return list(batch.columns)
        case _:
            return list(batch)


def cells(batch: Any, name: str) -> list[Any]:
    """Return the cells of a column. One that cannot be read is an `Unreadable`."""
    return cells_of(batch.column(name) if _form(batch) == "pyarrow" else batch[name])


def cells_of(column: Any) -> list[Any]:
    """Return the cells of a column of any form, likewise."""
    try:
        return list(column.to_pylist() if hasattr(column, "to_pylist") else column)
    except Exception:  # such as bytes that are no UTF-8: in one cell, most often
        if not hasattr(column, "__len__"):
            raise
        return [_cell(column, at) for at in range(len(column))]


def with_columns(batch: Any, added: Mapping[str, list[Any]], prefix: str, prompt: bool) -> Any:
    """Return a new batch of the same form with columns at its end.

    Args:
        batch: The batch; it is not changed.
        added: The columns.
        prefix: What their names begin with.
        prompt: Whether there is a column for the prompt.
    """
    match _form(batch):
        case "pyarrow":
            more = schema(prefix, prompt)
            arrays = [_array(added[field.name], field.type) for field in more]
            whole = arrow().schema([*batch.schema, *more], metadata=metadata_with(batch.schema.metadata, more))
            return type(batch).from_arrays([*batch.columns, *arrays], schema=whole)
        case "pandas":
            import pandas as pd

            series = {
                name: pd.Series(values, batch.index, "Int64" if name == f"{prefix}tokens" else object)
                for name, values in added.items()
            }
            return batch.assign(**series)
        case _:
            return {**batch, **added}


def _array(values: list[Any], kind: Any) -> Any:
    """Return values as an array of Arrow, which takes no lone surrogates: they become question marks."""
    try:
        return arrow().array(values, kind)
    except UnicodeEncodeError:
        return arrow().array([clean(value) if isinstance(value, str) else value for value in values], kind)


def _cell(column: Any, at: int) -> Any:
    try:
        value = getattr(column, "iloc", column)[at]
        return value.as_py() if hasattr(value, "as_py") else value
    except Exception as error:  # noqa: BLE001 - it becomes the error of its row
        return Unreadable(error)


def _column(name: str, values: Any) -> Any:
    """Return a column of a dict; a list where it could be read only once.

    Raises:
        TypeError: If it is no list: a text is not read letter by letter, nor a mapping by its keys.
    """
    if _is_list(values):
        return values if hasattr(values, "__len__") else list(values)
    raise TypeError(
        f"the column {name!r} must be a list with one value for each row, not {type(values).__name__}: {values!r:.60}; "
        "if this is one row, hand over batches: map(..., batched=True) of datasets, map_batches of Ray"
    )


def _is_list(values: Any) -> bool:
    if isinstance(values, str | bytes | Mapping | set | frozenset):
        return False
    try:
        iter(values)
    except TypeError:  # None, a number, an array of no dimension
        return False
    return True


def _form(batch: Any) -> str:
    packages = {kind.__module__.partition(".")[0] for kind in type(batch).__mro__}
    if "pyarrow" in packages and hasattr(batch, "schema") and hasattr(batch, "columns"):
        return "pyarrow"
    if "pandas" in packages and hasattr(batch, "assign"):
        return "pandas"
    if isinstance(batch, Mapping):
        return "dict"
    raise TypeError(
        f"a batch must be a pyarrow Table or RecordBatch, a pandas DataFrame or a dict of columns, not "
        f"{type(batch).__module__}.{type(batch).__qualname__}{_remedy(batch)}"
    )


def _remedy(batch: Any) -> str:
    """Return what to do with something that is no batch, if it is known."""
    if hasattr(batch, "__arrow_c_stream__"):  # a frame of polars, a relation of DuckDB, a reader of pyarrow
        return "; pyarrow.table(batch) makes one of it"
    if isinstance(batch, list | tuple) and batch and isinstance(batch[0], Mapping):
        return "; pyarrow.Table.from_pylist(rows) makes one of rows"
    return ""


def check_lengths(columns: Mapping[str, Sequence[Any]]) -> int:
    """Return how many rows the columns have.

    Raises:
        ValueError: If they are of different lengths.
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns of a batch must be of one length, not {lengths}")
    return next(iter(lengths.values()), 0)


def question_column(names: Sequence[str]) -> str:
    """Return the name of the column of questions: `query`, or else `question`, as JSON lines and cases have it."""
    return "question" if "question" in names and "query" not in names else "query"


def check_named(names: Sequence[str], *needed: str) -> None:
    """Raise ValueError if a table lacks a column that is needed, or has one that is read twice."""
    for name in needed:
        if name not in names:
            more = "; let 'ctxs' be called so" if name == "chunks" and "ctxs" in names else ""
            raise ValueError(f"no column {name!r}; there are: {', '.join(map(str, names)) or 'none'}{more}")
    for name in {"query": None, "chunks": None} | dict.fromkeys(needed):
        if names.count(name) > 1:
            raise ValueError(f"{names.count(name)} columns are named {name!r}, and it cannot be told which is meant")


def check_kinds(schema: "pyarrow.Schema", needs_query: bool) -> None:
    """Raise ValueError if a table holds questions or chunks as a type that no row can be placed with.

    Args:
        schema: Of the table.
        needs_query: Whether a stage needs the question; a column `query` is read anyway.
    """
    is_a = arrow().types
    asked = question_column(schema.names) if needs_query else "query"
    for name in sorted({"chunks", asked}.intersection(schema.names)):
        kind = schema.field(name).type
        kind = kind.value_type if is_a.is_dictionary(kind) else kind
        text = is_a.is_string(kind) or is_a.is_large_string(kind) or is_a.is_string_view(kind)
        bytes_ = str(kind).startswith(("binary", "large_binary", "fixed_size_binary"))
        plain = bytes_ or is_a.is_primitive(kind) or is_a.is_decimal(kind)
        if name == "chunks" and (text or plain):
            raise ValueError(f"the column 'chunks' is of type {kind}: each cell must be a list, of texts or structs")
        # Of fractions is what pandas makes of questions that are all missing.
        if name != "chunks" and (is_a.is_nested(kind) or (plain and not is_a.is_floating(kind))):
            raise ValueError(f"the column {name!r} is of type {kind}: each cell must be a text; cast it")
