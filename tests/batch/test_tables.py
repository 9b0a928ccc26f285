"""Whole tables in Parquet: streamed, in atomic parts, gone on with after a stop."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from question_rows import TYPES, row
from test_place_batch import ROWS, table

from edgeorder import Chunk
from edgeorder.batch import PlaceBatch, Row, place_table, read_rows


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a Parquet file of 30 rows in row groups of 7."""
    file = tmp_path / "questions.parquet"
    pq.write_table(table(), file, row_group_size=7)
    return file


def parts(folder: Path) -> list[str]:
    """Return the names of the parts."""
    return sorted(file.name for file in folder.glob("*.parquet"))


@pytest.mark.parametrize(("batch_rows", "part_rows"), [(1, 1), (4, 10), (7, 7), (500, 50_000)])
def test_every_row_comes_out_in_order(source: Path, tmp_path: Path, batch_rows: int, part_rows: int) -> None:
    """The same rows and values for any size of batches and parts; other readers see one table."""
    place_batch, steps = PlaceBatch(order="bookend"), list[tuple[int, int]]()
    done = place_table(
        source,
        tmp_path / "placed",
        place_batch,
        batch_rows=batch_rows,
        part_rows=part_rows,
        step=lambda *at: steps.append(at),
    )
    assert pq.read_table(tmp_path / "placed").equals(place_batch(table()))
    assert (done.rows, done.before, done.errors) == (30, 0, 3)
    assert (done.first_error or "").startswith("ValueError: the chunks are missing")
    assert (steps[0], steps[-1]) == ((0, 30), (30, 30))
    assert (tmp_path / "placed" / "_SUCCESS").exists()
    assert parts(tmp_path / "placed")[0] == "part-000000000000.parquet"


class Stopped(BaseException):
    """What Ctrl-C raises, say."""


@pytest.mark.parametrize("after", [1, 8, 15, 29])
def test_a_stopped_run_goes_on_where_it_stood(source: Path, tmp_path: Path, after: int) -> None:
    """Whole parts stay, a half one is not there, nothing is placed twice."""

    def stop(done: int, total: int) -> None:
        if done >= after:
            raise Stopped

    place_batch, target = PlaceBatch(), tmp_path / "placed"
    with pytest.raises(Stopped):
        place_table(source, target, place_batch, batch_rows=3, part_rows=6, step=stop)
    left = parts(target)
    assert not (target / "_SUCCESS").exists()
    assert not list(target.glob("*.part"))
    times = {name: (target / name).stat().st_mtime_ns for name in left}
    done = place_table(source, target, place_batch, batch_rows=5, part_rows=100)
    assert done.before == sum(pq.ParquetFile(target / name).metadata.num_rows for name in left)
    assert {name: (target / name).stat().st_mtime_ns for name in left} == times
    assert pq.read_table(target).equals(place_batch(table()))
    again = place_table(source, target, place_batch)
    assert (again.rows, again.before) == (30, 30)


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    """A process that is killed leaves whole parts only; the output is that of a run in one piece."""
    source, target = tmp_path / "questions.parquet", tmp_path / "placed"
    big = [row(at) for at in range(4000)]
    pq.write_table(pa.Table.from_pylist(big, TYPES), source)
    code = (
        "import sys, time; from edgeorder.batch import *; "
        "step = lambda done, total: time.sleep(600) if done >= 200 else None; "  # it is killed meanwhile
        "place_table(sys.argv[1], sys.argv[2], PlaceBatch(), batch_rows=20, part_rows=40, step=step)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(source), str(target)]) as run:
        until = time.monotonic() + 300
        while len(parts(target)) < 4 and run.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(run.pid, signal.SIGKILL)
    assert len(parts(target)) == 4
    done = place_table(source, target, PlaceBatch(), part_rows=1000)
    assert 0 < done.before < done.rows == 4000
    placed = pq.read_table(target)
    assert placed.column("id").to_pylist() == list(range(4000))
    assert placed.equals(PlaceBatch()(pa.Table.from_pylist(big, TYPES)))


def test_a_part_ends_in_time_too(source: Path, tmp_path: Path) -> None:
    """Slow rows make small parts, so that a stop loses little."""
    place_table(source, tmp_path / "placed", PlaceBatch(), batch_rows=5, part_seconds=0)
    assert len(parts(tmp_path / "placed")) == 6


def test_a_folder_of_files_is_one_table(tmp_path: Path) -> None:
    """In the order of their names; what is no part of a table is passed over."""
    folder = tmp_path / "questions"
    folder.mkdir()
    for name, rows in (("b", ROWS[10:]), ("a", ROWS[:4]), ("aa", ROWS[4:10])):
        pq.write_table(table(rows), folder / f"{name}.parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / ".x.parquet").write_text("no Parquet")
    place_table(folder, tmp_path / "placed", PlaceBatch(), batch_rows=4, part_rows=9)
    assert pq.read_table(tmp_path / "placed").equals(PlaceBatch()(table()))
    pq.write_table(pa.table({"chunks": [["A"]]}), folder / "c.parquet")
    with pytest.raises(ValueError, match=r"c\.parquet has other columns or types than .*a\.parquet"):
        place_table(folder, tmp_path / "more", PlaceBatch())


def test_a_table_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    """Empty in, empty out."""
    pq.write_table(table([]), tmp_path / "empty.parquet")
    assert place_table(tmp_path / "empty.parquet", tmp_path / "placed", PlaceBatch()).rows == 0
    assert pq.read_table(tmp_path / "placed").schema.names[-1] == "error"
    assert place_table(tmp_path / "empty.parquet", tmp_path / "placed", PlaceBatch()).rows == 0


def test_what_is_not_of_this_run_is_left_alone(source: Path, tmp_path: Path) -> None:
    """Other settings, another table, a folder of something else: parts of two runs never make one table."""
    target = tmp_path / "placed"
    place_table(source, target, PlaceBatch(top_n=3, rerank=length_scorer_of_this_test))
    with pytest.raises(ValueError, match="holds parts of another run: other settings"):
        place_table(source, target, PlaceBatch(top_n=4, rerank=length_scorer_of_this_test))
    pq.write_table(table(ROWS[:29]), source)
    with pytest.raises(ValueError, match="other source"):
        place_table(source, target, PlaceBatch(top_n=3, rerank=length_scorer_of_this_test))
    with pytest.raises(ValueError, match="is not empty and holds no run"):
        place_table(source, tmp_path, PlaceBatch())
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="no column 'chunks'; there are: a"):
        place_table(tmp_path / "other.parquet", tmp_path / "new", PlaceBatch())
    assert not (tmp_path / "new").exists()
    (tmp_path / "no.parquet").write_text("text")
    with pytest.raises(ValueError, match=r"no\.parquet is no Parquet file"):
        place_table(tmp_path / "no.parquet", tmp_path / "new", PlaceBatch())
    with pytest.raises(FileNotFoundError):
        place_table(tmp_path / "absent.parquet", tmp_path / "new", PlaceBatch())


def length_scorer_of_this_test(query: str, texts: list[str]) -> list[int]:
    """Prefer long texts."""
    return [len(text) for text in texts]


def test_rows_are_read_one_by_one(source: Path) -> None:
    """A question, its chunks and what else the row has; a bad row says so."""
    rows = list(read_rows(source, batch_rows=4))
    assert len(rows) == 30
    for one, own in zip(ROWS, rows, strict=True):
        if one["chunks"] is None:
            assert (own.error or "").startswith("ValueError: the chunks are missing")
            continue
        assert own == Row(one["query"], [Chunk(**chunk) for chunk in one["chunks"]], None, {"id": one["id"]})


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak of a process")
def test_memory_does_not_grow_with_the_table(tmp_path: Path) -> None:
    """What placing a table of one row group takes at most is far less than the table.

    In a process of its own, by the peak that belongs to its program: `ru_maxrss` is never less than what the process
    that began it had taken.
    """
    code = """
import sys
from edgeorder.batch import PlaceBatch, place_table

def peak():
    status = open("/proc/self/status").read()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024

for source in sys.argv[1:]:  # a short one first, which loads what is loaded
    place_table(source, source + "-placed", PlaceBatch(), batch_rows=20)
    print(peak())
"""
    many: list[dict[str, Any]] = [row(at, 8) for at in range(50)]
    for one in many:
        for chunk in one["chunks"] or ():
            chunk["text"] *= 40
    part = pa.Table.from_pylist(many, TYPES)
    short, long, times = tmp_path / "short.parquet", tmp_path / "long.parquet", 100
    pq.write_table(part, short)
    pq.write_table(pa.concat_tables([part] * times), long, row_group_size=50 * times)
    command = [sys.executable, "-c", code, str(short), str(long)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    begun, peak = map(int, run.stdout.split())
    assert peak - begun < part.nbytes * times / 2, f"{begun=:,} {peak=:,} {part.nbytes * times=:,}"
