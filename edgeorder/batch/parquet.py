"""Parquet files, read and written piece by piece."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

from edgeorder.batch.columns import arrow

SUFFIXES = (".parquet", ".pq")
_LOGS = {"_delta_log": "Delta Lake", ".hoodie": "Hudi"}  # folders that say which files count
RUN = "_edgeorder.json"  # what tells a folder of placed parts; readers of folders pass over a leading underscore


def as_path(name: str, value: object) -> Path:
    """Return a path; a TypeError names what is none."""
    if isinstance(value, str) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)):
        return Path(value)
    raise TypeError(f"{name} must be a path, not {type(value).__name__}: {value!r:.60}")


def opened(file: Path) -> Any:
    """Open a Parquet file such that its columns are read through small buffers, not a row group at a time.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is no Parquet.
    """
    from pyarrow.parquet import ParquetFile

    if not file.exists():  # Arrow would take it for an address
        raise FileNotFoundError(f"no file {file} on a disk of this machine")
    if not file.is_file():  # a pipe would be waited for without end
        raise ValueError(f"{file} is a pipe or a device, and Parquet is read from its end; write it to a file")
    with _told(file, "is no Parquet file"):
        return ParquetFile(file, pre_buffer=False, buffer_size=2**20)


@contextmanager
def _told(file: Path, fault: str) -> Iterator[None]:
    """Say of which file it is that Arrow cannot make sense."""
    try:
        yield
    except arrow().ArrowNotImplementedError as error:
        raise ValueError(f"{file} holds what Arrow cannot read: {error}") from error
    except (arrow().ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # there is no such file, say
            raise
        raise ValueError(f"{file} {fault}: {error}") from error


@dataclass(frozen=True)
class Table:
    """A table in one or several files.

    Args:
        source: The file or the folder.
        files: Each with its number of rows.
        schema: Of all of them.
    """

    source: Path
    files: Sequence[tuple[Path, int]]
    schema: Any

    @classmethod
    def open(cls, source: str | Path) -> "Table":
        """Open a Parquet file, or all that are in a folder, by name.

        Files without rows may have other columns or types, since engines write such; they are passed over then.

        Raises:
            TypeError: If the source is no path.
            FileNotFoundError: If there is none.
            ValueError: If one is no Parquet, if they differ in their columns, or if there are more in a folder within.
        """
        arrow()
        path = as_path("source", source)
        files: list[tuple[Path, int]] = []
        schema = None
        for file in _files(path) if path.is_dir() else [path]:
            with opened(file) as parquet:
                own, rows = parquet.schema_arrow, parquet.metadata.num_rows
            if not files or (rows and not files[0][1]):
                files, schema = [(file, rows)], own
            elif rows and not own.equals(schema):
                raise ValueError(
                    f"{file} has other columns or types than {files[0][0]}: {_difference(own, schema)}; a table has "
                    "one schema: write the file anew, or place it by itself"
                )
            elif rows:
                files.append((file, rows))
        return cls(path, files, schema)

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
                for batch in _read(file, parquet, groups, batch_rows):
                    if skip < batch.num_rows:
                        yield batch.slice(skip)
                    skip = max(0, skip - batch.num_rows)

    def identity(self) -> list[list[Any]]:
        """Return what tells this table from others: name and hash of each file.

        All of it is hashed, which takes seconds where placing takes minutes: of two files of one size whose footers are
        the same, a cell may differ.
        """
        found = []
        for file, _ in self.files:
            with file.open("rb") as raw:
                found.append([file.name, file_digest(raw, "sha256").hexdigest()[:16]])
        return found


def _read(file: Path, parquet: Any, groups: list[int], batch_rows: int) -> Iterator[Any]:
    """Yield the rows of some row groups in batches."""
    # Each group has dictionaries of its own, and Arrow cannot join those that stand within lists and structs.
    kinds = parquet.schema_arrow.types
    apart = any("dictionary<" in str(kind) and not hasattr(kind, "index_type") for kind in kinds)
    for some in [[group] for group in groups] if apart else [groups]:
        batches = parquet.iter_batches(batch_rows, row_groups=some)
        while True:
            with _told(file, "is damaged"):
                batch = next(batches, None)
            if batch is None:
                break
            yield batch


def _files(folder: Path) -> list[Path]:
    """Return the files of a table; no rows are left out without a word."""
    if log := next((name for name in _LOGS if (folder / name).is_dir()), None):
        raise ValueError(
            f"{folder} is a table of {_LOGS[log]}, some of whose files may hold rows that were deleted or replaced: "
            "read it with a library for that, and hand its batches to PlaceBatch or write them as plain Parquet"
        )
    files, others = [], []
    for path in sorted(folder.iterdir()):
        if path.name[0] in "._":
            continue
        if path.is_dir():
            if not (path / RUN).exists() and (inner := _first_within(path)) is not None:
                kept = (  # by Hive and Spark
                    f"; {path.name} is a value of a column, too: pyarrow.dataset.dataset(folder, partitioning='hive') "
                    "reads it, and its batches go through PlaceBatch"
                )
                raise ValueError(
                    f"{folder} holds tables in folders too, such as {inner}; give each folder by itself"
                    + (kept if "=" in path.name else "")
                )
        elif path.suffix.lower() in SUFFIXES:
            files.append(path)
        elif is_parquet(path):
            others.append(path)
    if files and others:  # a copy that was kept, or rows of the table? That cannot be told
        raise ValueError(
            f"{others[0]} holds Parquet too, but is not named so: let its name end in .parquet if it is a part of the "
            "table, else put it elsewhere"
        )
    if not files and not others:
        raise FileNotFoundError(f"no *.parquet in the folder {folder}")
    return files or others


def is_parquet(path: Path) -> bool:
    """Say whether a file is Parquet by how it begins, whatever it is called; what is no file is none."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _first_within(folder: Path) -> Path | None:
    return next(
        (
            path
            for path in folder.rglob("*")
            if path.is_file() and (path.suffix.lower() in SUFFIXES or is_parquet(path))
        ),
        None,
    )


def _difference(schema: Any, first: Any) -> str:
    own, others = (dict(zip(one.names, map(str, one.types), strict=True)) for one in (schema, first))
    told = [
        f"{name!r} is {own.get(name, 'not there')}, not {others.get(name, 'missing')}"
        for name in {**others, **own}
        if own.get(name) != others.get(name)
    ]
    return "; ".join(told[:3]) or "they stand in another order, or take nulls elsewhere"


class Part:
    """A part that is written beside its place and put there once it is whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own = path.with_name(f".{secrets.token_hex(8)}.part")
        self._writer: Any = None

    def __enter__(self) -> "Part":
        return self

    def write(self, batch: Any) -> None:
        """Append a batch.

        Raises:
            OSError: If it cannot be written, naming the part.
        """
        from pyarrow.parquet import ParquetWriter

        with self._told():
            if self._writer is None:
                self._writer = ParquetWriter(self._own, batch.schema, compression="zstd")
            self._writer.write(batch)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say which part it is that cannot be written, and what of the run is not lost."""
        try:
            yield
        except OSError as error:  # a full disk, say
            raise OSError(
                f"{self._path} cannot be written ({error}); the parts before it are whole; the same run goes on there"
            ) from error

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if self._writer is not None:
                with self._told():
                    self._writer.close()
            if kind is None:
                if not self._own.exists():  # whoever begins here tidies up
                    raise FileNotFoundError(f"{self._path.parent} is written to by another run; let one end")
                with self._own.open("rb") as file:
                    os.fsync(file.fileno())
                self._own.replace(self._path)
        finally:
            self._own.unlink(missing_ok=True)
