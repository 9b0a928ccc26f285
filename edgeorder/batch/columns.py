"""Batches: the forms in which engines hand over rows, read and added to column by column."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edgeorder.batch.rows import Unreadable
from edgeorder.extras import optional

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


def column_names(batch: Any) -> list[str]:
    """Return the names of the columns of a batch.

    Raises:
        TypeError: If it is none of the forms that are known.
    """
    match _form(batch):
        case "pyarrow":
            return list(batch.schema.names)
        case "pandas":
            return list(batch.columns)
        case _:
            return list(batch)


def cells(batch: Any, name: str) -> list[Any]:
    """Return the cells of a column. One that cannot be read is an `Unreadable`."""
    column = batch.column(name) if _form(batch) == "pyarrow" else batch[name]
    if hasattr(column, "to_pylist"):
        try:
            return list(column.to_pylist())
        except Exception:  # noqa: BLE001 - such as bytes that are no UTF-8: in one cell, most often
            return [_cell(value) for value in column]
    return list(column)


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
            arrays = [arrow().array(added[field.name], field.type) for field in more]
            whole = arrow().schema([*batch.schema, *more], metadata=batch.schema.metadata)
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


def _cell(value: Any) -> Any:
    try:
        return value.as_py()
    except Exception as error:  # noqa: BLE001 - it becomes the error of its row
        return Unreadable(error)


def _form(batch: Any) -> str:
    package = type(batch).__module__.partition(".")[0]
    if package == "pyarrow" and hasattr(batch, "schema") and hasattr(batch, "columns"):
        return package
    if package == "pandas" and hasattr(batch, "assign"):
        return package
    if isinstance(batch, Mapping):
        return "dict"
    raise TypeError(
        f"a batch must be a pyarrow Table or RecordBatch, a pandas DataFrame or a dict of columns, not "
        f"{type(batch).__module__}.{type(batch).__qualname__}"
    )


def check_lengths(columns: Mapping[str, Sequence[Any]]) -> int:
    """Return how many rows the columns have.

    Raises:
        ValueError: If they are of different lengths.
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns of a batch must be of one length, not {lengths}")
    return next(iter(lengths.values()), 0)
