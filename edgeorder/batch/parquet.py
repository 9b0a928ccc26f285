"""Parquet files, read and written piece by piece."""

import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from edgeorder.batch.columns import arrow

_FOOTER = 2**16  # bytes at the end of a file, where Parquet says what is in it


def opened(file: Path) -> Any:
    """Open a Parquet file such that its columns are read through small buffers, not a row group at a time.

    Raises:
        ValueError: If it is none.
    """
    from pyarrow.parquet import ParquetFile

    try:
        return ParquetFile(file, pre_buffer=False, buffer_size=2**20)
    except arrow().ArrowInvalid as error:
        raise ValueError(f"{file} is no Parquet file: {error}") from error


@dataclass(frozen=True)
class Table:
    """A table in one or several files.

    Args:
        files: Each with its number of rows.
        schema: Of all of them.
    """

    files: Sequence[tuple[Path, int]]
    schema: Any

    @classmethod
    def open(cls, source: str | Path) -> "Table":
        """Open a Parquet file, or all that are in a folder, by name.

        Raises:
            FileNotFoundError: If there is none.
            ValueError: If one is no Parquet, or they differ in their columns.
        """
        arrow()
        path = Path(source)
        paths = sorted(file for file in path.glob("*.parquet") if file.name[0] not in "._") if path.is_dir() else [path]
        if not paths:
            raise FileNotFoundError(f"no *.parquet in the folder {path}")
        files, schema = [], None
        for file in paths:
            with opened(file) as parquet:
                files.append((file, parquet.metadata.num_rows))
                schema = parquet.schema_arrow if schema is None else schema
                if not schema.equals(parquet.schema_arrow):
                    raise ValueError(f"{file} has other columns or types than {paths[0]}; a table has one schema")
        return cls(files, schema)

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(rows for _, rows in self.files)

    def batches(self, skip: int, batch_rows: int) -> Iterator[Any]:
        """Yield the rows after the first `skip` in batches."""
        for file, rows in self.files:
            if skip >= rows:
                skip -= rows
                continue
            with opened(file) as parquet:
                groups = list(range(parquet.num_row_groups))
                while skip and skip >= (first := parquet.metadata.row_group(groups[0]).num_rows):
                    skip -= first
                    del groups[0]
                for batch in parquet.iter_batches(batch_rows, row_groups=groups):
                    if skip < batch.num_rows:
                        yield batch.slice(skip)
                    skip = max(0, skip - batch.num_rows)

    def identity(self) -> list[list[Any]]:
        """Return what tells this table from others: name, size and the hash of the end of each file."""
        found = []
        for file, _ in self.files:
            with file.open("rb") as raw:
                size = raw.seek(0, os.SEEK_END)
                raw.seek(max(0, size - _FOOTER))
                found.append([file.name, size, sha256(raw.read()).hexdigest()[:16]])
        return found


class Part:
    """A part that is written beside its place and put there once it is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own = path.with_name(f".{secrets.token_hex(8)}.part")
        self._writer: Any = None

    def __enter__(self) -> "Part":
        return self

    def write(self, batch: Any) -> None:
        """Append a batch."""
        from pyarrow.parquet import ParquetWriter

        if self._writer is None:
            self._writer = ParquetWriter(self._own, batch.schema, compression="zstd")
        self._writer.write(batch)

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if self._writer is not None:
                self._writer.close()
            if kind is None:
                with self._own.open("rb") as file:
                    os.fsync(file.fileno())
                self._own.replace(self._path)
        finally:
            self._own.unlink(missing_ok=True)
