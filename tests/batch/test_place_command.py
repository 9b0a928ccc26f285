"""`edgeorder place` on a table."""

import gzip
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

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
    assert CliRunner().invoke(app, command).stdout == f"30 rows in {out}, 30 of them from before\n"


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
