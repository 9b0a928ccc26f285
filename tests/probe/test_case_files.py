"""Files of cases: what people keep simply works, and what is damaged is told by file, line and remedy."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import EdgeOrderWarning
from edgeorder.probe.case_files import read_cases, write_cases
from edgeorder.probe.cases import Case, CaseChunk, holds
from edgeorder.probe.grading import has_words
from edgeorder.probe.jsonl import read_json_lines


def row(**more: Any) -> dict[str, Any]:
    """Return a good row, or one with another field."""
    chunks = [{"text": "Bo did.", "gold": True}, {"text": "Nobody knows.", "score": 0.5}]
    return {"question": "Who?", "answers": ["Bo"], "chunks": chunks, **more}


def chunk(**more: Any) -> dict[str, Any]:
    """Return a good row whose second chunk has another field."""
    return row(chunks=[{"text": "Bo did.", "gold": True}, {"text": "Nobody knows.", **more}])


GOOD = json.dumps(row(question="Où?", id="é"), ensure_ascii=False)
LINES = f"{GOOD}\n\n{GOOD}\n"


@pytest.mark.parametrize("name", ["a.jsonl", "A.JSONL", "a.jsonl.gz", "A.JSONL.GZ", "a", "a.txt"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_is_read_whatever_it_is_called(tmp_path: Path, name: str, encoding: str, end: str) -> None:
    """Packed data is known by itself, a byte order mark is no part of a line, and lines may end as on Windows."""
    data = LINES.replace("\n", end).encode(encoding)
    for packed in {name.lower().endswith(".gz"), True}:
        (tmp_path / name).write_bytes(gzip.compress(data) if packed else data)
        assert [case.question for case in read_cases(tmp_path / name)] == ["Où?", "Où?"]


def test_files_that_were_put_together_keep_their_byte_order_marks(tmp_path: Path) -> None:
    """A mark in the middle is one too, and gzip files one after another are one."""
    (tmp_path / "a.jsonl").write_bytes(f"{GOOD}\n".encode("utf-8-sig") * 3)
    assert len(read_cases(tmp_path / "a.jsonl")) == 3
    (tmp_path / "a.gz").write_bytes(gzip.compress(f"{GOOD}\n".encode("utf-8-sig")) * 3)
    assert len(read_cases(tmp_path / "a.gz")) == 3


def broken(name: str) -> bytes:
    """Return the data of a file that is broken in the third line at the latest."""
    packed = gzip.compress("".join(f"{json.dumps(row(id=n))}\n" for n in range(5000)).encode())
    return {
        "truncated": packed[:-40],
        "damaged": packed[: len(packed) // 2] + b"\0\0\0\0" + packed[len(packed) // 2 + 4 :],
        "garbage after": gzip.compress(LINES.encode()) + b"garbage",
        "no gzip": LINES.encode(),
        "empty": b"",
        "utf-16": LINES.encode("utf-16"),
        "utf-16-le": LINES.encode("utf-16-le"),
        "utf-32": LINES.encode("utf-32"),
        "latin-1": f"\n\n{GOOD}\n".encode("latin-1"),
        "binary": b"\n\n\x89PNG\r\n\x1a\n\0\0",
        "deep": b"\n\n" + b'{"question":' + b"[" * 100_000,
        "digits": b'\n\n{"question": ' + b"9" * 5000 + b"}",
        "array": b'[\n{"question": "Who?"}\n]',
        "comma": f"\n\n{GOOD},\n".encode(),
    }[name]


@pytest.mark.parametrize(
    ("name", "suffix", "message"),
    [
        ("truncated", ".gz", r":\d+ cannot be unpacked \(.*\): it is damaged or cut off; fetch or pack it again"),
        ("damaged", ".jsonl", r":\d+ cannot be unpacked \(.*\): it is damaged or cut off; fetch or pack it again"),
        ("garbage after", ".gz", r":4 cannot be unpacked \(.*\): it is damaged or cut off; fetch or pack it again"),
        ("no gzip", ".GZ", r":1 is no gzip data, as its name says; fetch it again, or drop the \.gz"),
        ("empty", ".gz", r":1 is no gzip data"),
        ("utf-16", ".jsonl", r":1 is not UTF-8 but looks like UTF-16; run: iconv -f UTF-16 -t UTF-8"),
        ("utf-16-le", ".jsonl", r":1 is not UTF-8 but looks like UTF-16"),
        ("utf-32", ".jsonl", r":1 is not UTF-8"),
        ("latin-1", ".jsonl", r":3 is not UTF-8 \(byte 0xf9\); if it is Latin-1, run: iconv -f LATIN1 -t UTF-8"),
        ("binary", ".jsonl", r":3 is not UTF-8"),
        ("deep", ".jsonl", r":3 is nested too deeply; write one flat JSON object a line"),
        ("digits", ".jsonl", r":3 is no JSON \(.*\); write one JSON object a line"),
        ("array", ".json", r":1 is no JSON \(.*\); write one JSON object a line"),
        ("comma", ".json", r":3 is no JSON \(Extra data.*\); write one JSON object a line"),
    ],
)
def test_a_broken_file_is_told_by_file_line_and_remedy(tmp_path: Path, name: str, suffix: str, message: str) -> None:
    """Whatever is wrong with the bytes, it is one line."""
    file = tmp_path / f"cases{suffix}"
    file.write_bytes(broken(name))
    with pytest.raises(ValueError, match=message) as raised:
        read_cases(file)
    assert str(raised.value).startswith(f"{file}:")
    assert "\n" not in str(raised.value)


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_gzip_file_is_told_or_harmless(tmp_path_factory: pytest.TempPathFactory, at: int, byte: int) -> None:
    """One byte of a packed file is another: its lines come out as they were, or the file is named."""
    data = bytearray(gzip.compress((LINES * 20).encode(), mtime=0))
    data[at % len(data)] = byte
    file = tmp_path_factory.getbasetemp() / "damaged.gz"
    file.write_bytes(data)
    try:
        found = [value for _, value in read_json_lines(file)]
    except ValueError as error:
        assert str(error).startswith(f"{file}:")  # noqa: PT017 - either is right
    else:
        assert found == [json.loads(GOOD)] * 40


def test_a_line_of_gigabytes_does_not_fill_the_memory(tmp_path: Path) -> None:
    """A small packed file may hold one endless line; it is refused at 64 MiB."""
    pack = zlib.compressobj(9, wbits=31)
    blank = b" " * (1 << 20)
    data = b"".join([*(pack.compress(blank) for _ in range(80)), pack.flush()])
    (tmp_path / "bomb.gz").write_bytes(data)
    with pytest.raises(ValueError, match=r"bomb\.gz:1 is longer than 67,108,864 bytes"):
        read_cases(tmp_path / "bomb.gz")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ([1], r"it is \[1\]"),
        (None, "it is None"),
        ({"question": "?"}, "no 'chunks'"),
        ({"question": "?", "chunks": []}, "no 'answers'"),
        (row(question=None), "question must be text, not None"),
        (row(question=7), "question must be text, not 7"),
        (row(question=" "), "asks nothing"),
        (row(answers="Bo"), "answers must be a list"),
        (row(answers=[]), "has no answers"),
        (row(answers=[None]), "answers must be texts, not None"),
        (row(answers=[True]), "answers must be texts, not True"),
        (row(answers=[float("nan")]), "answers must be texts, not nan"),
        (row(answers=[["Bo"]]), "answers must be texts"),
        (row(id=[1]), "id must be text or a whole number"),
        (row(chunks={"text": "Bo"}), "chunks must be a list"),
        (row(chunks=["Bo"]), r"chunks\[0\] must be an object with text, not 'Bo'"),
        (row(chunks=[None]), r"chunks\[0\] must be an object with text, not None"),
        (row(gold_rank=0), "gold_rank=0 must be a whole number from 1 up"),
        (row(gold_rank="1"), "gold_rank='1' must be"),
        (row(gold_rank=True), "gold_rank=True must be"),
        (chunk(text=None), r"chunks\[1\]: text must be text, not None"),
        (chunk(text=["a"]), r"chunks\[1\]: text must be text"),
        (row(chunks=[{"gold": True}]), r"chunks\[0\] has no 'text'"),
        (chunk(title=3), "title must be text, not 3"),
        (chunk(gold="false"), "gold must be true or false, not 'false'"),
        (chunk(gold=1), "gold must be true or false, not 1"),
        (chunk(isgold="True"), "isgold must be true or false, not 'True'"),
        (chunk(hasanswer="no"), "hasanswer must be true or false, not 'no'"),
        (chunk(score=True), "score must be a number, not True"),
        (chunk(score="high"), "could not convert string to float"),
        (chunk(score=float("nan")), "score=nan must be a finite number"),
        (chunk(score="inf"), "score=inf must be a finite number"),
        (chunk(offset=[1]), "offset must be a number or text"),
        (chunk(offset=float("inf")), "offset=inf must be a finite number"),
        (chunk(end="5"), "end must be a number"),
        (chunk(source=5), "source must be text, not 5"),
        (chunk(id=1.5), "id must be text or a whole number, not 1.5"),
    ],
)
def test_a_line_that_is_no_case_is_named(tmp_path: Path, line: Any, said: str) -> None:
    """A value of another type is never taken for something else: file, line, field, value and what a line needs."""
    file = tmp_path / "x.jsonl"
    file.write_text(f"{GOOD}\n{json.dumps(line)}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=said) as raised:
        read_cases(file)
    assert str(raised.value).startswith(f"{file}:2 is no case (")
    assert str(raised.value).endswith("; a line needs question, answers, and chunks with text and gold")


def test_numbers_are_answers_and_ids_too(tmp_path: Path) -> None:
    """A year may stand as a number, a null title is none, and the id 0 is one."""
    (tmp_path / "x.jsonl").write_text(json.dumps({**chunk(title=None), "answers": [1986, 2.5, "Bo"], "id": 0}))
    (case,) = read_cases(tmp_path / "x.jsonl")
    assert (case.answers, case.id, case.distractors[0].title) == (("1986", "2.5", "Bo"), "0", "")


def test_a_folder_and_a_missing_file_are_told(tmp_path: Path) -> None:
    """What is no file says so."""
    with pytest.raises(IsADirectoryError, match="is a folder; name a file of JSON lines"):
        read_cases(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_cases(tmp_path / "none.jsonl")


# Places


def test_a_chunk_keeps_where_it_is_from(tmp_path: Path) -> None:
    """Id, source, offset, end and score of each chunk come with it, where the file has them."""
    places = {"id": "c7", "source": "book.md", "offset": 800, "end": 1200, "score": 0.71}
    theirs = {"ctxs": [{"text": "Bo did.", "hasanswer": True, "score": "1.5", "id": 3}]}
    rows = [chunk(**places), {"question": "Who?", "answers": ["Bo"], **theirs}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    own, other = read_cases(tmp_path / "x.jsonl")
    assert own.distractors == (CaseChunk("Nobody knows.", **places),)
    assert own.gold == CaseChunk("Bo did.")
    assert other.gold == CaseChunk("Bo did.", id=3, score=1.5)


def test_numbers_of_other_kinds_become_pythons_own() -> None:
    """A frame's numpy numbers can be written as JSON."""
    numpy = pytest.importorskip("numpy")
    made = CaseChunk("a", id=numpy.int64(3), offset=numpy.int32(8), end=numpy.uint8(9), score=numpy.float32(0.5))
    assert [type(value) for value in (made.id, made.offset, made.end, made.score)] == [int, int, int, float]


texts = st.text(max_size=30)
numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
chunks = st.builds(
    CaseChunk,
    texts,
    texts,
    id=st.none() | texts | st.integers(),
    source=st.none() | texts,
    offset=st.none() | texts | numbers,
    end=st.none() | numbers,
    score=st.none() | numbers,
)
aliases = texts.filter(has_words)


@st.composite
def made_cases(draw: st.DrawFn) -> Case:
    """Draw a case as a reader would make it: no distractor holds an answer."""
    answers = tuple(draw(st.lists(aliases, min_size=1, max_size=3)))
    distractors = tuple(one for one in draw(st.lists(chunks, max_size=4)) if not holds(one, answers))
    rank = draw(st.none() | st.integers(1, 9))
    return Case(draw(texts), draw(texts.filter(str.strip)), answers, draw(chunks), distractors, rank)


@given(cases=st.lists(made_cases(), min_size=1, max_size=3), name=st.sampled_from(["a.jsonl", "a.jsonl.gz", "A.GZ"]))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, cases: list[Case], name: str) -> None:
    """Every case comes back as it was: texts of any characters, places, and a gold rank that is known or not."""
    file = tmp_path_factory.getbasetemp() / name
    write_cases(file, cases)
    assert read_cases(file) == cases
    assert file.read_bytes().startswith(b"\x1f\x8b") == name.lower().endswith(".gz")


def test_rows_without_gold_are_left_out_and_told(tmp_path: Path) -> None:
    """What marks no gold passage, or has no answer that can be recognised, is counted in one warning."""
    rows = [row(answers=["Bo", "*"]), row(chunks=[{"text": "No."}]), row(answers=["*"])]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    with pytest.warns(EdgeOrderWarning, match="2 of 3 rows of .* mark no gold chunk, or no answer"):
        assert [case.answers for case in read_cases(tmp_path / "x.jsonl")] == [("Bo",)]
    (tmp_path / "y.jsonl").write_text(json.dumps(rows[1]))
    with pytest.raises(ValueError, match="holds no case: 1 rows"):
        read_cases(tmp_path / "y.jsonl")
