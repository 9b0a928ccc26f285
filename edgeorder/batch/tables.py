"""Tables in Parquet, of any size: read and written piece by piece, in parts that are whole or not there."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

from edgeorder.alerts import kind_of, passed_on, warn
from edgeorder.batch.columns import arrow, cells, cells_of, check_kinds, check_named, question_column
from edgeorder.batch.describing import described
from edgeorder.batch.parquet import RUN, Part, Table, as_path, opened
from edgeorder.batch.placing import PlaceBatch
from edgeorder.batch.rows import Row, as_row, marked
from edgeorder.checks import whole_number
from edgeorder.files import write_text
from edgeorder.sortable import is_missing

_WHOLE = "_SUCCESS"  # what Hadoop and Spark look for
_KINDS = 20  # of warnings that are told


class Placed(NamedTuple):
    """What a run did.

    Args:
        rows: How many rows the output has.
        before: How many of them an earlier run had written.
        errors: How many of those that this run wrote have an `error`.
        first_error: The first of them.
        errors_before: How many of those that an earlier run had written have one.
    """

    rows: int
    before: int
    errors: int
    first_error: str | None
    errors_before: int = 0


def place_table(
    source: str | Path,
    folder: str | Path,
    place_batch: PlaceBatch,
    *,
    batch_rows: int = 500,
    part_rows: int = 50_000,
    part_seconds: float = 60,
    step: Callable[[int, int], None] = lambda done, total: None,
) -> Placed:
    """Place every row of a Parquet table, and write the table with the columns added.

    The output is a folder of parts `part-ROW.parquet`, named by the first row that is in it, and `_SUCCESS` once all
    are there. A part is there as a whole or not at all, so a run that was stopped goes on after the last one: call it
    again with the same arguments. Other bytes in the table, other settings, other code of a function among them or
    another version of edgeorder are another run, which needs a folder of its own. A scorer of your own is known by its
    `repr` if it has one. Memory does not grow with the table.

    Args:
        source: A Parquet file, or a folder of them (.parquet, .pq), which are read in the order of their names.
        folder: Where the parts go. It is made; if it exists, it is empty or holds an earlier part of this run.
        place_batch: What is done to the rows.
        batch_rows: Rows that are placed at a time. All of their texts are in memory; a scorer scores them together.
        part_rows: A part ends once it has so many rows.
        part_seconds: After so much time a part ends too: a run that is stopped loses no more work than that.
        step: Is told after each batch how many rows are done, and how many there are.

    Raises:
        TypeError: For an argument of a wrong type.
        FileNotFoundError: If there is no such table.
        ValueError: If it is no Parquet, is damaged, lacks a column or has one of a type that no row can be placed with,
            or if the folder holds anything but parts of this run, or another run writes to it.
        ImportError: If pyarrow or what a setting needs is not installed.
    """
    batch_rows = whole_number("batch_rows", batch_rows, least=1)
    part_rows = whole_number("part_rows", part_rows, least=1)
    if isinstance(part_seconds, bool) or not isinstance(part_seconds, Real) or not part_seconds >= 0:
        raise ValueError(f"part_seconds={part_seconds!r:.40} must be a number of seconds, 0 or more")
    if not isinstance(place_batch, PlaceBatch):
        raise TypeError(f"place_batch must be a PlaceBatch(...), not {place_batch!r:.60}")
    table, target = Table.open(source), as_path("folder", folder)
    place_batch.check_columns(table.schema.names)
    if table.rows:  # engines write files without rows with types that say nothing
        check_kinds(table.schema, place_batch.needs_query)
    if not (target / RUN).exists():
        _make(target)
    with _alone(target):
        return _placed(table, target, place_batch, batch_rows, part_rows, part_seconds, step)


def _placed(
    table: Table,
    target: Path,
    place_batch: PlaceBatch,
    batch_rows: int,
    part_rows: int,
    part_seconds: float,
    step: Callable[[int, int], None],
) -> Placed:
    """Write the parts that are not there yet, see `place_table`."""
    at = before = _begun(target, table, place_batch)
    bad_before = _bad(target, f"{place_batch.prefix}error") if before else 0
    if at < table.rows:
        (target / _WHOLE).unlink(missing_ok=True)
    errors, first, warnings = 0, None, _Warnings()
    step(at, table.rows)
    batches = table.batches(at, batch_rows)
    while at < table.rows:
        began, start = time.monotonic(), at
        with Part(target / f"part-{start:012}.parquet") as part:
            while at == start or (at < min(table.rows, start + part_rows) and time.monotonic() - began < part_seconds):
                if (batch := next(batches, None)) is None:
                    raise ValueError(f"{table.source} has fewer rows than when the run began: it was changed meanwhile")
                with warnings.of_batch(at):
                    placed = place_batch(batch)
                part.write(placed)
                found = [error for error in cells(placed, f"{place_batch.prefix}error") if error is not None]
                first = first or next(iter(found), None)
                errors, at = errors + len(found), at + placed.num_rows
                step(at, table.rows)
    if before == 0 and at == 0:  # a table without rows has its columns too
        with Part(target / f"part-{0:012}.parquet") as part:
            part.write(place_batch(arrow().Table.from_batches([], table.schema)))
    if _written(target) != at:
        raise ValueError(f"{target} was written to by another run too; empty it, and start one run")
    write_text(target / _WHOLE, "")
    warnings.tell_more()
    return Placed(at, before, errors, first, bad_before)


class _Warnings:
    """Warnings of many batches: the first of each kind is told at once, since a run takes hours; others are counted."""

    def __init__(self) -> None:
        self._kinds: set[str] = set()
        self._more = 0

    @contextmanager
    def of_batch(self, row: int) -> Iterator[None]:
        """Tell those of a batch that begins at a row of the table, which differ by more than their numbers."""
        with passed_on() as messages:
            try:
                yield
            finally:
                messages[:] = [f"in the batch from row {row} of the table: {one}" for one in messages if self._new(one)]

    def _new(self, message: str) -> bool:
        """Say whether a warning is the first of its kind; count it if it is not."""
        kind = kind_of(message)
        if kind in self._kinds or len(self._kinds) == _KINDS:
            self._more += 1
            return False
        self._kinds.add(kind)
        return True

    def tell_more(self) -> None:
        """Tell how many were only counted."""
        if self._more:
            warn(f"further warnings of this run: {self._more}")


def read_rows(source: str | Path, *, batch_rows: int = 500) -> Iterator[Row]:
    """Yield the rows of a Parquet table one by one; a row that is bad says so in its `error`.

    Args:
        source: A Parquet file, or a folder of them, with a column `chunks` and, if there are questions, `query` or else
            `question`, as `PlaceBatch` reads them. What else the table has is in `others` of each row; `gold` too, if
            a row does not say it and chunks of it are marked so (or `isgold`), as those of case files are.
        batch_rows: Rows that are read at a time.

    Raises:
        FileNotFoundError: If there is no such table.
        ValueError: If it is no Parquet, or has no column `chunks`.
        ImportError: If pyarrow is not installed.
    """
    batch_rows = whole_number("batch_rows", batch_rows, least=1)
    table = Table.open(source)
    names = list(table.schema.names)
    check_named(names, "chunks")
    asked = question_column(names)
    others = [name for name in names if name not in (asked, "chunks")]
    for batch in table.batches(0, batch_rows):
        columns = {name: cells_of(column) for name, column in zip(names, batch.columns, strict=True)}
        for at, chunks in enumerate(columns["chunks"]):
            query = columns[asked][at] if asked in columns else None
            told = {name: columns[name][at] for name in others}
            yield as_row(query, chunks, told | marked(chunks) if is_missing(told.get("gold")) else told)


def _begun(folder: Path, table: Table, place_batch: PlaceBatch) -> int:
    """Return how many rows the parts in a folder hold already, once it is known that they are of this run.

    Raises:
        ValueError: If they are not.
    """
    from importlib.metadata import version

    run = {
        "version of edgeorder": version("edgeorder"),
        "source": table.identity(),
        "settings": described(repr(place_batch), place_batch.settings),
    }
    file = folder / RUN
    before = _read(file) if file.exists() else {}
    if differs := [name for name, value in run.items() if before.get(name) != value]:
        if any(folder.glob("part-*.parquet")):
            raise ValueError(
                f"{folder} holds parts of another run: other {' and '.join(differs)}. Name another folder, or empty it"
            )
        write_text(file, json.dumps(run, indent=2))
    for left in folder.glob(".*.part"):  # of a run that was killed
        left.unlink(missing_ok=True)
    return _written(folder)


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def _make(folder: Path) -> None:
    """Make the folder of a run, unless it is there and empty."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; name a folder for the parts")
    if not folder.parent.is_dir():
        raise FileNotFoundError(f"no folder {folder.parent} to make {folder.name} in; make it first")
    if folder.exists() and any(not path.name.startswith(".") for path in folder.iterdir()):  # but what a system hides
        raise ValueError(f"{folder} is not empty and holds no run of edgeorder; name another folder")
    folder.mkdir(exist_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder, where the system can; a run that is killed leaves nothing behind.

    Raises:
        ValueError: If another run is at it.
    """
    try:
        import fcntl
    except ImportError:  # on Windows two runs are found out when they end
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some disks on a network lock no folder
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"another run is writing to {folder}; let it end, or name another folder") from None
        yield
    finally:
        os.close(handle)


def _bad(folder: Path, column: str) -> int:
    """Return how many rows in the parts of a folder have an error, as their footers tell it.

    Args:
        folder: The folder.
        column: The name of the column of errors.
    """
    bad = 0
    for part in folder.glob("part-*.parquet"):
        with opened(part) as parquet:
            groups = map(parquet.metadata.row_group, range(parquet.num_row_groups))
            for one in (group.column(at) for group in groups for at in range(group.num_columns)):
                if one.path_in_schema == column and one.statistics is not None:
                    bad += one.num_values - one.statistics.null_count
    return bad


def _written(folder: Path) -> int:
    """Return how many rows the parts in a folder hold, each of which begins where the one before ends.

    Raises:
        ValueError: If one is missing, or there are parts of two runs: their rows would be there twice.
    """
    at, strays = 0, {path.name for path in folder.glob("part-*.parquet")}
    while (name := f"part-{at:012}.parquet") in strays:
        strays.remove(name)
        with opened(folder / name) as parquet:
            at += parquet.metadata.num_rows
    if strays:
        raise ValueError(f"{folder} holds {min(strays)}, but no part that ends before it: empty it, and start again")
    return at
