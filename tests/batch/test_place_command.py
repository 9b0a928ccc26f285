"""`edgeorder place` on a table."""

import gzip
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_place_batch import table
from typer.testing import CliRunner

from edgeorder.batch import PlaceBatch, place_table
from edgeorder.batch.parquet import Part
from edgeorder.cli.app import app, main
from edgeorder.cli.progress import progress

KEYWORDS = place_table.__kwdefaults__
FIELDS = ("score", "source", "offset", "end", "id", "head", "tail", "title", "date", "page", "section")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a Parquet file of 30 rows."""
    pq.write_table(table(), tmp_path / "questions.parquet")
    return tmp_path / "questions.parquet"


def test_a_table_is_placed_in_parts(source: Path, tmp_path: Path) -> None:
    """With the settings of the command; a second run finds it done; bad rows are told."""
    out = tmp_path / "placed"
    command = ["place", str(source), "--out", str(out), "--order", "bookend", "--top-n", "3", "--style", "xml"]
    run = CliRunner().invoke(app, [*command, "--batch-rows", "4"])
    assert run.exit_code == 0, run.output
    assert run.stdout == f"30 rows in {out}\n"
    assert "3 rows have an error, the first: ValueError: the chunks are missing" in run.stderr
    wanted = PlaceBatch(order="bookend", top_n=3, layout="xml")(table())
    assert pq.read_table(out).equals(wanted)
    run = CliRunner().invoke(app, command)
    assert (run.exit_code, run.stdout) == (0, f"30 rows in {out}, 30 of them from before\n")
    assert run.stderr == "edgeorder: 3 rows from before have an error: see the column error\n"


def test_a_stop_is_told_with_what_goes_on(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And the run that goes on counts the bad rows that it met itself."""
    command = ["edgeorder", "place", str(source), "--out", str(tmp_path / "placed"), "--batch-rows", "10"]
    monkeypatch.setattr(sys, "argv", command)
    write, written = Part.write, list[int]()

    def stopping(part: Part, batch: Any) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(batch.num_rows)
        write(part, batch)

    monkeypatch.setattr("edgeorder.batch.tables.place_table.__kwdefaults__", {**KEYWORDS, "part_rows": 10})
    monkeypatch.setattr(Part, "write", stopping)
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, written) == (130, [10])
    assert capfd.readouterr().err == "edgeorder: stopped; with a table, the same command goes on from here\n"
    monkeypatch.setattr(Part, "write", write)
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capfd.readouterr()
    assert (ended.value.code or 0, out) == (0, f"30 rows in {tmp_path / 'placed'}, 10 of them from before\n")
    assert err.startswith(
        "edgeorder: 1 row from before has an error: see the column error\n"
        "edgeorder: 2 rows of the 20 of this run have an error, the first: ValueError: the chunks are"
    )


@pytest.mark.parametrize("name", ["questions", "questions.parq", "Q.PQ", "questions.parquet.snappy"])
def test_a_table_is_known_whatever_it_is_called(source: Path, tmp_path: Path, name: str) -> None:
    """By how it begins: as JSON lines it would be thousands of bad ones."""
    out = tmp_path / "placed"
    run = CliRunner().invoke(app, ["place", str(source.rename(tmp_path / name)), "--out", str(out)])
    assert (run.exit_code, run.stdout) == (0, f"30 rows in {out}\n")


def test_names_that_are_taken_can_be_told_apart(source: Path, tmp_path: Path) -> None:
    """By a prefix, as the message says; without --out there is a clear error."""
    with pytest.raises(ValueError, match="name the folder for its parts with --out"):
        CliRunner().invoke(app, ["place", str(source)], catch_exceptions=False)
    twice = tmp_path / "once"
    assert CliRunner().invoke(app, ["place", str(source), "--out", str(twice)]).exit_code == 0
    command = ["place", str(twice), "--out", str(tmp_path / "twice")]
    with pytest.raises(ValueError, match="prefix='placed_'"):
        CliRunner().invoke(app, command, catch_exceptions=False)
    assert CliRunner().invoke(app, [*command, "--prefix", "placed_"]).exit_code == 0
    names = pq.read_table(tmp_path / "twice").schema.names
    assert names[-7:] == [f"placed_{name}" for name in names[-14:-7]]


def test_one_row_is_told_as_one(tmp_path: Path) -> None:
    """In the count and in that of the errors."""
    pq.write_table(table().slice(8, 1), tmp_path / "one.parquet")
    run = CliRunner().invoke(app, ["place", str(tmp_path / "one.parquet"), "--out", str(tmp_path / "placed")])
    assert run.stdout == f"1 row in {tmp_path / 'placed'}\n"
    assert run.stderr.startswith("edgeorder: 1 row has an error, the first: ValueError: the chunks are missing")


BAD, GOOD = [{"text": None}], [{"text": "A"}]


@pytest.mark.parametrize(("cells", "code"), [([BAD] * 3, 1), ([BAD, BAD, GOOD], 0), ([GOOD] * 3, 0), ([], 0)])
@pytest.mark.parametrize("part_rows", [1, 2, 9])
def test_a_table_without_a_good_row_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: list[Any], code: int, part_rows: int
) -> None:
    """Also for who runs it again, and where a run that was stopped had met some of the rows; one good row is enough."""
    monkeypatch.setattr("edgeorder.batch.tables.place_table.__kwdefaults__", {**KEYWORDS, "part_rows": part_rows})
    out = tmp_path / "placed"
    kind = pa.list_(pa.struct({"text": pa.string()}))
    pq.write_table(pa.table({"chunks": pa.array(cells, kind)}), tmp_path / "t.parquet")
    command = ["place", str(tmp_path / "t.parquet"), "--out", str(out), "--prefix", "p.", "--batch-rows", "1"]
    for kept in (0, 3, 1):  # a first run, one that finds it done, one that goes on
        for part in sorted(out.glob("part-*"))[kept:]:
            part.unlink()
        run = CliRunner().invoke(app, command)
        assert (run.exit_code, "edgeorder: no row could be placed\n" in run.stderr) == (code, bool(code)), run.output
        assert pq.read_table(out).num_rows == len(cells)


NEVER = {
    "chunks": [["A", "B"], [1, 2], [0.5, 1.5], [True, None], [b"A", b"B"], pa.array(["A", "B"]).dictionary_encode()],
    "query": [[1, 2], [True, None], [b"A", b"B"], [["A"], ["B"]], pa.array([1, 2]).dictionary_encode()],
}


@pytest.mark.parametrize(("name", "cells"), [(name, one) for name, all_ in NEVER.items() for one in all_])
def test_a_column_of_a_type_that_no_row_can_have_is_told_before(tmp_path: Path, name: str, cells: Any) -> None:
    """And nothing is made; a table without rows may have any type, and what is not read, too."""
    columns = {"query": ["a", "b"], "chunks": [["A"], ["B"]]} | {name: cells}
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "t.parquet")
    pq.write_table(table.slice(0, 0), tmp_path / "empty.parquet")
    place_batch = PlaceBatch(rerank=lambda query, texts: [1.0] * len(texts))
    with pytest.raises(ValueError, match=f"the column '{name}' is of type .*: each cell must be a"):
        place_table(tmp_path / "t.parquet", tmp_path / "placed", place_batch)
    assert not (tmp_path / "placed").exists()
    assert place_table(tmp_path / "empty.parquet", tmp_path / "placed", place_batch).rows == 0
    if name == "query":
        pq.write_table(table.rename_columns(["question", "chunks"]), tmp_path / "t.parquet")
        assert place_table(tmp_path / "t.parquet", tmp_path / "other", PlaceBatch()).errors == 0


@pytest.mark.parametrize(
    "columns",
    [
        {"query": pa.nulls(2), "chunks": [["A"], ["B"]]},
        {"query": pa.array([None, None], pa.float64()), "chunks": [["A"], ["B"]]},
        {"query": ["a", "b"], "chunks": pa.nulls(2)},
        {"query": ["a", "b"], "chunks": [[1], []]},
        {"query": ["a", "b"], "chunks": [[b"A"], []]},
        {"query": ["a", "b"], "chunks": [{"text": ["A"]}, {"text": ["B"]}]},
        {"query": pa.array(["a", "b"]).dictionary_encode(), "chunks": [["A"], ["B"]]},
    ],
)
def test_a_column_some_of_whose_rows_may_be_good_is_placed(tmp_path: Path, columns: dict[str, Any]) -> None:
    """Row by row: a list of anything may be empty, and nulls have a type."""
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert place_table(tmp_path / "t.parquet", tmp_path / "placed", PlaceBatch(prompt="after")).rows == 2


def test_progress_tells_rows_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    """Where stderr is no terminal, in a line now and then."""
    told, until = "", time.monotonic() + 60
    with progress("Placing", every=0.05, unit="rows", pace=True) as step:
        while not told and time.monotonic() < until:
            step(100_000, 1_000_000)
            time.sleep(0.01)
            told = capsys.readouterr().err
    assert re.match(r"Placing: 100000 of at most 1000000 rows done, about \d+ (s|min) left, [\d,]+ rows/s", told)


def test_a_table_that_comes_as_lines_is_told(source: Path, tmp_path: Path) -> None:
    """Through stdin or packed, it is no thousands of bad lines; and what is not there is told as such."""
    packed = tmp_path / "q.parquet.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    for name, sent in (("-", source.read_bytes()), (str(packed), b"")):
        told = "stdin" if name == "-" else re.escape(name)
        with pytest.raises(ValueError, match=f"{told} holds Parquet, not JSON lines: a table is read from a file"):
            CliRunner().invoke(app, ["place", name], input=sent, catch_exceptions=False)
    lines = tmp_path / "lines.jsonl"
    lines.write_text("{}")
    with pytest.raises(ValueError, match=r"--out=x is for a table of Parquet, and .*lines\.jsonl is none"):
        CliRunner().invoke(app, ["place", str(lines), "--out", "x"], catch_exceptions=False)
    for more in ([], ["--out", "x"]):
        with pytest.raises(FileNotFoundError, match=r"no file or folder .*absent"):
            CliRunner().invoke(app, ["place", str(tmp_path / "absent"), *more], catch_exceptions=False)


PLAIN = st.none() | st.booleans() | st.integers(-1, 10**20) | st.floats(allow_nan=False)
JSON = st.recursive(
    PLAIN | st.sampled_from(["", "A", "b c"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "id"]), inner, max_size=2),
    max_leaves=4,
)
CHUNK = st.fixed_dictionaries({"text": st.sampled_from(["A", "b c", " "])}, optional=dict.fromkeys(FIELDS, JSON))
CHUNKS = st.lists(st.one_of(*[CHUNK] * 5, JSON), max_size=4)
ROW = st.fixed_dictionaries(
    {"chunks": st.one_of(*[CHUNKS] * 5, JSON)}, optional={"query": JSON, "question": st.just("q") | JSON}
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=8))
def test_a_line_is_placed_as_a_row_of_a_table_is(rows: list[dict[str, Any]]) -> None:
    """With the same indices, the same block, and the same words for what is wrong; `query` goes before `question`."""
    command = ["place", "-", "--order", "bookend", "--style", "numbered", "--dedupe", "id", "--block"]
    run = CliRunner().invoke(app, command, input="\n".join(map(json.dumps, rows)))
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    asked = [row.get("question") if row.get("query") in (None, "") else row["query"] for row in rows]
    place_batch = PlaceBatch(order="bookend", layout="numbered", dedupe="id")
    placed = place_batch({"chunks": [row["chunks"] for row in rows], "query": asked})
    assert len(lines) == len(rows)
    assert [line.get("error") for line in lines] == placed["error"]
    for line, kept, block in zip(lines, placed["kept"], placed["block"], strict=True):
        assert (line["placement"] and line["placement"]["indices"], line.get("block")) == (kept, block)
    bad = sum(error is not None for error in placed["error"])
    assert run.exit_code == (1 if bad else 0)
    assert run.stderr.startswith(f"edgeorder: {bad} of {len(rows)} lines have an error" if bad else "")
