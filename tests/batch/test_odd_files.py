"""Files of Parquet that are not as Arrow writes them by itself, and places where no parts can be written."""

import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset
from test_odd_tables import PLACE, ids, made, stop_at, write

from edgeorder import Budget, EdgeOrderWarning, approximate_counter
from edgeorder.batch import PlaceBatch, place_table, read_rows


def test_a_file_of_a_folder_is_known_by_how_it_begins(tmp_path: Path) -> None:
    """As a file that is named by itself is: beside others it could be a copy, so it is told, not left out."""
    for at, name in enumerate(("000000_0", "000001_0", "part-2.parq")):
        write(tmp_path / "in" / name, made(2, 2 * at))
    (tmp_path / "in" / "notes.txt").write_text("no table")
    place_table(tmp_path / "in", tmp_path / "placed", PLACE)
    assert ids(tmp_path / "placed") == list(range(6))
    write(tmp_path / "in" / "more.parquet", made(2, 6))
    with pytest.raises(ValueError, match=r"in/000000_0 holds Parquet too, but is not named so"):
        list(read_rows(tmp_path / "in"))
    write(tmp_path / "outer" / "a.parquet", made(2))
    write(tmp_path / "outer" / "day=1" / "000000_0", made(2))
    with pytest.raises(ValueError, match=r"holds tables in folders too, such as .*day=1/000000_0"):
        list(read_rows(tmp_path / "outer"))


@pytest.mark.parametrize("empty", ["a", "c", "e"])
def test_a_file_without_rows_may_have_other_types(tmp_path: Path, empty: str) -> None:
    """As pandas writes an empty frame, whose columns have no type; wherever it stands."""
    for at, name in enumerate("bd"):
        write(tmp_path / "in" / f"{name}.parquet", made(2, 2 * at))
    write(tmp_path / "in" / f"{empty}.parquet", pa.table({"id": pa.nulls(0), "chunks": pa.nulls(0)}))
    place_table(tmp_path / "in", tmp_path / "placed", PLACE)
    assert ids(tmp_path / "placed") == list(range(4))
    for name in "bd":
        (tmp_path / "in" / f"{name}.parquet").unlink()
    assert place_table(tmp_path / "in", tmp_path / "none", PLACE).rows == 0
    assert pq.read_table(tmp_path / "none").schema.names[:3] == ["id", "chunks", "order"]


def test_warnings_of_many_batches_are_told_once_a_kind(tmp_path: Path) -> None:
    """With the row; a line for each of a million rows would be read by nobody."""
    rows = [{"query": "q", "chunks": [f"{'word ' * (30 + at)}"] if at % 2 else ["A", "B"]} for at in range(40)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    place_batch = PlaceBatch(budget=Budget(20, approximate_counter()), rerank=lambda query, texts: [1.0] * len(texts))
    with pytest.warns(EdgeOrderWarning) as told:
        place_table(tmp_path / "in.parquet", tmp_path / "out", place_batch, batch_rows=1)
    same, dropped, more = [str(one.message) for one in told]
    assert same.startswith("in the batch from row 0 of the table: row 0 of a batch: scorer ")
    assert dropped.startswith("in the batch from row 1 of the table: row 0 of a batch: all 1 chunks were dropped")
    assert more == "further warnings of this run: 38"


def test_what_a_batch_warned_of_is_told_where_it_fails(tmp_path: Path) -> None:
    """It may say why."""

    class Failing(PlaceBatch):
        def __call__(self, batch: Any) -> Any:
            super().__call__(batch)
            raise MemoryError

    pq.write_table(pa.table({"query": ["q"], "chunks": [["A", "B"]]}), tmp_path / "in.parquet")
    place_batch = Failing(rerank=lambda query, texts: [1.0] * len(texts))
    with (
        pytest.warns(EdgeOrderWarning, match="in the batch from row 0 of the table: .* the same score") as told,
        pytest.raises(MemoryError),
    ):
        place_table(tmp_path / "in.parquet", tmp_path / "out", place_batch)
    assert len(told) == 1


def test_a_partitioned_table_is_told_with_what_reads_it(tmp_path: Path) -> None:
    """Its folders hold a column; the way that is told has it."""
    rows = pa.table({"chunks": [["A"], ["B"], ["C"]], "lang": ["en", "de", "en"]})
    dataset.write_dataset(rows, tmp_path / "in", format="parquet", partitioning=["lang"], partitioning_flavor="hive")
    with pytest.raises(ValueError, match=r"by itself; lang=de is a value .*partitioning='hive'\) reads it"):
        place_table(tmp_path / "in", tmp_path / "out", PLACE)
    read = dataset.dataset(tmp_path / "in", partitioning="hive").to_batches()
    placed = pa.Table.from_batches([PLACE(batch) for batch in read]).sort_by("block").to_pylist()
    assert [(row["block"], row["lang"]) for row in placed] == [("A", "en"), ("B", "de"), ("C", "en")]
    assert place_table(tmp_path / "in" / "lang=en", tmp_path / "out", PLACE).rows == 2


@pytest.mark.parametrize("log", ["_delta_log", ".hoodie"])
def test_files_of_a_versioned_table_are_not_all_of_it(tmp_path: Path, log: str) -> None:
    """Those that were deleted or replaced lie there, too."""
    write(tmp_path / "in" / "a.parquet", made(3))
    (tmp_path / "in" / log).mkdir()
    with pytest.raises(ValueError, match=r"in is a table of .*, some of whose files may hold rows that were deleted"):
        list(read_rows(tmp_path / "in"))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Parquet is read from its end, which a pipe does not have."""
    os.mkfifo(tmp_path / "x.parquet")
    for source in (tmp_path / "x.parquet", tmp_path):
        with pytest.raises(ValueError, match=r"x\.parquet is a pipe or a device"):
            place_table(source, tmp_path / "placed", PLACE)


@pytest.mark.parametrize("batch_rows", [3, 100])
def test_texts_that_are_packed_within_lists(tmp_path: Path, batch_rows: int) -> None:
    """Dictionaries within a list or a struct, one for each row group: Arrow reads no batch across groups then."""
    packed = pa.dictionary(pa.int32(), pa.string())
    rows = [[{"text": f"A{at}", "source": f"s{at % 3}"}] for at in range(20)]
    for kind, chunks in (
        (pa.list_(packed), [[f"A{at}"] for at in range(20)]),
        (pa.list_(pa.struct({"text": pa.string(), "source": packed})), rows),
    ):
        table = pa.table({"id": range(20), "chunks": pa.array(chunks, kind)})
        pq.write_table(table, tmp_path / "in.parquet", row_group_size=7)
        target = tmp_path / f"placed-{kind.value_type.num_fields}"
        for stop in (5, 30):
            try:
                place_table(
                    tmp_path / "in.parquet",
                    target,
                    PLACE,
                    batch_rows=batch_rows,
                    part_rows=4,
                    step=lambda *told, stop=stop: stop_at(stop, *told),  # type: ignore[misc]
                )
            except KeyboardInterrupt:
                assert stop == 5
        placed = pq.read_table(target)
        assert placed["block"].to_pylist() == [f"A{at}" for at in range(20)]
        assert placed["chunks"].to_pylist() == chunks


def test_what_arrow_cannot_read_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is as it should be."""

    def unable(*args: object, **more: object) -> Any:
        raise pa.ArrowNotImplementedError("Nested data conversions not implemented")
        yield

    source = write(tmp_path / "in.parquet", made(3))
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", unable)
    with pytest.raises(ValueError, match=r"in\.parquet holds what Arrow cannot read: Nested data"):
        place_table(source, tmp_path / "placed", PLACE)


def test_a_disk_that_is_full_is_told_with_the_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it fills as a batch is written or as the part ends; the run goes on after the whole parts."""
    source, target = write(tmp_path / "in.parquet", made(10)), tmp_path / "placed"

    def full(writer: Any, *batch: Any) -> None:
        if (target / "part-000000000000.parquet").exists() and not failed:
            failed.append(True)
            raise OSError(28, "No space left on device")
        (write_batch if batch else close)(writer, *batch)

    write_batch, close = pq.ParquetWriter.write, pq.ParquetWriter.close
    failed: list[bool] = []
    for name in ("write", "close"):
        failed.clear()
        with monkeypatch.context() as patched:
            patched.setattr(pq.ParquetWriter, name, full)
            with pytest.raises(OSError, match=r"part-000000000004\.parquet cannot be written \(.*No space left"):
                place_table(source, target, PLACE, batch_rows=2, part_rows=4)
        assert ids(target) == list(range(4))
    assert place_table(source, target, PLACE).before == 4
    assert ids(target) == list(range(10))


def test_a_folder_is_written_to_by_one_run(tmp_path: Path) -> None:
    """Another one is told at once, and the one that is at it goes on; a run that ended in an error hinders none."""
    source, target = write(tmp_path / "in.parquet", made(10)), tmp_path / "placed"

    def other(done: int, total: int) -> None:
        with pytest.raises(ValueError, match=r"another run is writing to .*placed; let it end, or name another folder"):
            place_table(source, target, PLACE, batch_rows=3, part_rows=3)

    with pytest.raises(KeyboardInterrupt):
        place_table(source, target, PLACE, step=lambda *told: stop_at(0, *told))
    place_table(source, target, PLACE, batch_rows=2, part_rows=4, step=other)
    assert ids(target) == list(range(10))
    assert (target / "_SUCCESS").exists()


@pytest.mark.parametrize("missing", [True, False])
def test_two_runs_in_one_folder_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: bool) -> None:
    """Where the system cannot keep one out: parts of both would hold rows twice, and the folder is not called whole."""
    source, target = write(tmp_path / "in.parquet", made(10)), tmp_path / "placed"

    def unable(*args: object) -> None:
        raise OSError(37, "No locks available")

    if missing:
        monkeypatch.setitem(sys.modules, "fcntl", None)
    else:
        monkeypatch.setattr("fcntl.flock", unable)

    def other(done: int, total: int, at: int) -> None:
        if done == at:
            place_table(source, target, PLACE, batch_rows=3, part_rows=3)
            (target / "_SUCCESS").unlink()

    with pytest.raises(FileNotFoundError, match="placed is written to by another run; let one end"):
        place_table(source, target, PLACE, batch_rows=2, part_rows=4, step=lambda *told: other(*told, at=2))
    for part in target.glob("part-*"):
        part.unlink()
    with pytest.raises(ValueError, match="but no part that ends before it"):
        place_table(source, target, PLACE, batch_rows=2, part_rows=4, step=lambda *told: other(*told, at=0))
    assert not (target / "_SUCCESS").exists()


def test_arguments_that_are_none_are_named(tmp_path: Path) -> None:
    """Before anything is read or made; an address is not fetched, nor taken for no Parquet."""
    source, target = write(tmp_path / "in.parquet", made(3)), tmp_path / "placed"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"source": [source]}, "source must be a path, not list"),
        ({"source": made(3)}, "source must be a path, not Table"),
        ({"source": b"x"}, "source must be a path, not bytes"),
        ({"folder": None}, "folder must be a path, not NoneType"),
        ({"place_batch": PlaceBatch}, r"place_batch must be a PlaceBatch\(...\), not <class"),
        ({"place_batch": {"top_n": 1}}, r"place_batch must be a PlaceBatch\(...\), not {'top_n': 1}"),
        *(({"part_seconds": value}, "part_seconds=") for value in ("1", None, True, -1, float("nan"))),
    ]
    for arguments, said in wrong:
        with pytest.raises((TypeError, ValueError), match=said):
            place_table(**{"source": source, "folder": target, "place_batch": PLACE} | arguments)
    for absent in ("s3://bucket/x.parquet", "~/x.parquet", "*.parquet", tmp_path / "x.parquet"):
        with pytest.raises(FileNotFoundError, match=r"no file .*\.parquet on a disk of this machine"):
            place_table(absent, target, PLACE)
    assert not target.exists()
    assert place_table(str(source), str(target), PLACE, part_seconds=float("inf")).rows == 3
