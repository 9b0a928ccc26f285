"""Tables of Parquet as they are found: empty groups and files, folders of all kinds, runs that were meddled with."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder.batch import PlaceBatch, place_table, read_rows

TYPES = pa.schema([("id", pa.int64()), ("query", pa.string()), ("chunks", pa.list_(pa.string()))])
PLACE = PlaceBatch()


def made(n: int, first: int = 0) -> pa.Table:
    """Return rows with ids from `first` up."""
    return pa.Table.from_pylist([{"id": first + at, "query": "q", "chunks": ["A", "B"]} for at in range(n)], TYPES)


def write(path: Path, table: pa.Table) -> Path:
    """Write a table, whatever the suffix, into a folder that is made."""
    path.parent.mkdir(exist_ok=True, parents=True)
    with path.open("wb") as file:
        pq.write_table(table, file)
    return path


def ids(folder: Path) -> list[int]:
    """Return the ids of what was placed."""
    return pq.read_table(folder).column("id").to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
def test_row_groups_may_be_empty(tmp_path: Path, batch_rows: int) -> None:
    """At the ends and between; in empty files too, also where a run goes on."""
    folder = tmp_path / "source"
    first = 0
    for name, groups in (("a", []), ("b", [0, 3, 0, 0, 4, 0]), ("c", [0]), ("d", [2])):
        write(folder / f"{name}.parquet", made(0))
        with pq.ParquetWriter(folder / f"{name}.parquet", TYPES) as writer:
            for rows in groups:
                writer.write_table(made(rows, first))
                first += rows
    for seen in (1, 4, 8, 100):
        target = tmp_path / f"placed{seen}"

        def stop(done: int, total: int, seen: int = seen) -> None:
            if done >= seen:
                raise KeyboardInterrupt

        if seen < 100:
            with pytest.raises(KeyboardInterrupt):
                place_table(folder, target, PLACE, batch_rows=1, part_rows=2, step=stop)
        assert place_table(folder, target, PLACE, batch_rows=batch_rows, part_rows=4).rows == 9
        assert ids(target) == list(range(9))


def test_no_file_of_a_folder_is_left_out(tmp_path: Path) -> None:
    """Every suffix that a single file may have; tables in a folder within are told, but for what a run made."""
    folder, target = tmp_path / "source", tmp_path / "source" / "placed"
    for at, name in enumerate(("a.parquet", "b.PARQUET", "c.pq", "d.snappy.parquet")):
        write(folder / name, made(2, 2 * at))
    write(folder / "_temporary" / "x.parquet", made(2))
    write(folder / ".hidden" / "x.parquet", made(2))
    (folder / "docs").mkdir()
    (folder / "docs" / "README.md").write_text("no table")
    for _ in range(2):
        assert place_table(folder, target, PLACE).rows == 8
        assert ids(target) == list(range(8))
    write(folder / "day=1" / "hour=2" / "x.parquet", made(2))
    with pytest.raises(ValueError, match=r"holds tables in folders too, such as .*x\.parquet; give each folder by its"):
        list(read_rows(folder))
    with pytest.raises(FileNotFoundError, match=r"no \*\.parquet in the folder"):
        list(read_rows(folder / "docs"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.set_column(0, "id", table["id"].cast(pa.int32())), "'id' is int32, not int64"),
        (lambda table: table.drop_columns("query"), "'query' is not there, not string"),
        (lambda table: table.append_column("x", table["id"]), "'x' is int64, not missing"),
        (lambda table: table.select(["query", "id", "chunks"]), "they stand in another order"),
    ],
)
def test_a_table_has_one_schema(tmp_path: Path, change: Any, said: str) -> None:
    """What differs is named."""
    write(tmp_path / "in" / "a.parquet", made(2))
    write(tmp_path / "in" / "b.parquet", change(made(2, 2)))
    with pytest.raises(ValueError, match=rf"b\.parquet has other columns or types than .*a\.parquet: {said}"):
        place_table(tmp_path / "in", tmp_path / "placed", PLACE)
    assert not (tmp_path / "placed").exists()


@pytest.mark.parametrize("content", [b"", b"PAR1", b"{}\n", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_what_is_no_parquet_is_told(tmp_path: Path, content: bytes) -> None:
    """With its name."""
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.parquet is no Parquet file"):
        place_table(tmp_path / "x.parquet", tmp_path / "placed", PLACE)


def test_a_table_that_was_placed_is_read_too(tmp_path: Path) -> None:
    """Its columns `order`, `error` and so on are others; columns that are there twice are no hindrance."""
    write(tmp_path / "in.parquet", made(3))
    place_table(tmp_path / "in.parquet", tmp_path / "placed", PLACE)
    rows = list(read_rows(tmp_path / "placed"))
    assert [len(row.chunks) for row in rows] == [2, 2, 2]
    assert rows[0].others["kept"] == [0, 1]
    twice = pa.Table.from_arrays([made(1)["chunks"], made(1)["id"], made(1)["id"]], names=["chunks", "id", "id"])
    assert [row.error for row in read_rows(write(tmp_path / "twice.parquet", twice))] == [None]
    for rows_at_a_time, kind in ((0, ValueError), (2.5, TypeError)):
        with pytest.raises(kind, match="batch_rows"):
            list(read_rows(tmp_path / "placed", batch_rows=rows_at_a_time))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no column 'chunks'; there are: id"):
        list(read_rows(write(tmp_path / "none.parquet", made(1).select(["id"]))))


def test_a_part_that_is_missing_is_not_made_up_for(tmp_path: Path) -> None:
    """Parts of other lengths would hold the rows of the later ones a second time."""
    source, target = write(tmp_path / "in.parquet", made(10)), tmp_path / "placed"
    place_table(source, target, PLACE, batch_rows=2, part_rows=4)
    (target / "part-000000000004.parquet").unlink()
    with pytest.raises(
        ValueError, match=r"holds part-000000000008\.parquet, but no part that ends before it: empty it"
    ):
        place_table(source, target, PLACE, batch_rows=5, part_rows=5)
    (target / "part-000000000008.parquet").unlink()
    with pytest.raises(KeyboardInterrupt):
        place_table(source, target, PLACE, batch_rows=2, step=_interrupt)
    assert not (target / "_SUCCESS").exists()
    assert place_table(source, target, PLACE, batch_rows=5, part_rows=5).before == 4
    assert ids(target) == list(range(10))


def _interrupt(done: int, total: int) -> None:
    raise KeyboardInterrupt


def test_damage_within_a_file_is_told(tmp_path: Path) -> None:
    """With the name of the file; what was placed before it stays."""
    source = write(tmp_path / "in" / "b.parquet", made(5000, 3))
    write(tmp_path / "in" / "a.parquet", made(3))
    content = bytearray(source.read_bytes())
    content[4:200] = b"\xff" * 196
    source.write_bytes(content)
    with pytest.raises(ValueError, match=r"b\.parquet is damaged: "):
        place_table(tmp_path / "in", tmp_path / "placed", PLACE, part_rows=3)
    assert ids(tmp_path / "placed") == [0, 1, 2]


def test_another_cell_is_another_table(tmp_path: Path) -> None:
    """Also where no size and no footer tells: a run does not go on with what it did not begin."""
    source, target = tmp_path / "in.parquet", tmp_path / "placed"
    rows = [{"id": at, "query": "q", "chunks": [f"{'x' * 90} {at % 10}", "B"]} for at in range(2000)]
    written = []
    for changed in ("5", "7"):
        rows[500]["chunks"] = [f"{'x' * 90} {changed}", "B"]
        with source.open("wb") as file:
            pq.write_table(pa.Table.from_pylist(rows, TYPES), file, compression="none", use_dictionary=False)
        written.append(source.read_bytes())
    assert len(written[0]) == len(written[1])
    assert written[0][-(2**16) :] == written[1][-(2**16) :]
    source.write_bytes(written[0])
    with pytest.raises(KeyboardInterrupt):
        place_table(source, target, PLACE, batch_rows=100, part_rows=100, step=lambda *at: stop_at(1000, *at))
    source.write_bytes(written[1])
    with pytest.raises(ValueError, match="holds parts of another run: other source"):
        place_table(source, target, PLACE)
    source.write_bytes(written[0])
    assert place_table(source, target, PLACE).before >= 900


def stop_at(most: int, done: int, total: int) -> None:
    if done >= most:
        raise KeyboardInterrupt


def test_a_table_that_shrinks_meanwhile_is_told(tmp_path: Path) -> None:
    """A file that another program wrote anew before it was read."""
    for at, name in enumerate("ab"):
        write(tmp_path / "in" / f"{name}.parquet", made(3, 3 * at))
    with pytest.raises(ValueError, match="in has fewer rows than when the run began: it was changed meanwhile"):
        place_table(
            tmp_path / "in",
            tmp_path / "placed",
            PLACE,
            step=lambda done, total: write(tmp_path / "in" / "b.parquet", made(1)),
        )


def test_a_run_that_wrote_nothing_hinders_no_other(tmp_path: Path) -> None:
    """Settings that failed at the first batch are mended in the same folder; what a system hides there stays."""
    source, target = write(tmp_path / "in.parquet", made(3)), tmp_path / "placed"
    target.mkdir()
    (target / ".DS_Store").touch()
    (target / ".0123456789abcdef.json").touch()  # of a run that was killed as it began
    with pytest.raises(KeyboardInterrupt):
        place_table(source, target, PlaceBatch(top_n=1), step=_interrupt)
    assert place_table(source, target, PlaceBatch(top_n=2)).rows == 3
    with pytest.raises(ValueError, match="other settings"):
        place_table(source, target, PlaceBatch(top_n=1))
    (target / "_edgeorder.json").write_text("{")
    with pytest.raises(ValueError, match="holds parts of another run"):
        place_table(source, target, PlaceBatch(top_n=2))
    (target / "_edgeorder.json").write_text(json.dumps([1]))
    with pytest.raises(ValueError, match="holds parts of another run"):
        place_table(source, target, PlaceBatch(top_n=2))


def test_where_parts_cannot_be_is_told(tmp_path: Path) -> None:
    """A file, a folder in none, a folder that may not be written to."""
    source = write(tmp_path / "in.parquet", made(3))
    with pytest.raises(NotADirectoryError, match=r"in\.parquet is a file; name a folder for the parts"):
        place_table(source, source, PLACE)
    with pytest.raises(FileNotFoundError, match=r"no folder .*a/b to make c in; make it first"):
        place_table(source, tmp_path / "a" / "b" / "c", PLACE)
    with pytest.raises(OSError, match="/proc"):
        place_table(source, Path("/proc/placed"), PLACE)


@settings(max_examples=15, deadline=None)
@given(
    files=st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=3),
    runs=st.lists(st.tuples(st.integers(1, 7), st.integers(1, 9), st.integers(0, 30)), max_size=3),
)
def test_every_row_is_placed_once_however_runs_are_stopped(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int]], runs: list[tuple[int, int, int]]
) -> None:
    """Any files and row groups, any sizes of batches and parts, stopped anywhere: one table, in order."""
    folder = tmp_path_factory.mktemp("runs")
    source, first = folder / "in", 0
    source.mkdir()
    for at, groups in enumerate(files):
        with pq.ParquetWriter(source / f"{at}.parquet", TYPES) as writer:
            for rows in groups:
                writer.write_table(made(rows, first))
                first += rows
    before, whole = 0, False
    for batch_rows, part_rows, most in runs:
        try:
            done = place_table(
                source,
                folder / "out",
                PLACE,
                batch_rows=batch_rows,
                part_rows=part_rows,
                step=lambda *told, most=most: stop_at(most, *told),  # type: ignore[misc]
            )
            assert before <= done.before
            assert done.rows == first
            before, whole = done.before, True
        except KeyboardInterrupt:
            assert (folder / "out" / "_SUCCESS").exists() == whole
    assert place_table(source, folder / "out", PLACE).rows == first
    placed = pq.read_table(folder / "out")
    assert placed.column("id").to_pylist() == list(range(first))
    assert placed.equals(PLACE(made(first)))
