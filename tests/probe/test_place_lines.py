"""`edgeorder place` on JSON lines: a line in, a line out, whatever is wrong with some of them."""

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from edgeorder.cli.app import app, main
from edgeorder.probe import jsonl

GOOD = '{"question": "q", "chunks": ["A", {"text": "B", "mine": [1]}], "tag": 7}'


def run(content: bytes, *options: str, path: Path | None = None) -> tuple[int, list[Any], str]:
    """Return the exit code, the lines on stdout and what is on stderr; from a file, or from stdin."""
    if path is not None:
        path.write_bytes(content)
    command = ["place", "-" if path is None else str(path), "--order", "relevance", *options]
    done = CliRunner().invoke(app, command, input=content)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


BAD = [
    (b"[1]", "TypeError: it is [1]; a line is an object with chunks"),
    (b'"text"', "TypeError: it is 'text'; a line is an object with chunks"),
    (b"null", "TypeError: it is None; a line is an object with chunks"),
    (b'{"a": 1}', "ValueError: no 'chunks', only 'a'; a line is an object with chunks"),
    (b'{"chunks": null}', "ValueError: the chunks are missing"),
    (b'{"chunks": "ab"}', "TypeError: the chunks must be a list of texts or structs, not str: 'ab'"),
    (b'{"chunks": {"text": "ab"}}', "TypeError: the chunks must be a list, and are one struct"),
    (b'{"chunks": ["a", null]}', "TypeError: chunks[1] must be a text or a struct, not NoneType"),
    (b'{"chunks": ["a", ["b"]]}', "TypeError: chunks[1] must be a text or a struct, not list"),
    (b'{"chunks": [{"a": 1}]}', "ValueError: chunks[0] has no field 'text'; it has: a"),
    (b'{"chunks": [{"text": 5}]}', "TypeError: chunks[0]: Chunk.text must be a str, not int: 5"),
    (b'{"chunks": ["a"], "question": 5}', "TypeError: the query must be a text, not int: 5"),
    (b'{"chunks": ["a"]', "ValueError: %s:2 is no JSON (Expecting ',' delimiter, column 17)"),
    (b"{'chunks': []}", "ValueError: %s:2 is no JSON"),
    (b'{"chunks": ["caf\xe9"]}', "ValueError: %s:2 is not UTF-8 (byte 0xe9); if it is Latin-1"),
    (b'{"chunks": ["a\0"]}', "ValueError: %s:2 is not UTF-8 but looks like UTF-16"),
    (b'{"chunks": [' + b"9" * 5000 + b"]}", "ValueError: %s:2 is no JSON (Exceeds the limit"),
    (b"[" * 100_000, "ValueError: %s:2 is nested too deeply"),
]


@pytest.mark.parametrize(("line", "message"), BAD, ids=lambda value: value[:30])
@pytest.mark.parametrize("stdin", [False, True])
def test_a_bad_line_comes_back_with_its_error(line: bytes, message: str, stdin: bool, tmp_path: Path) -> None:
    """With all that it held; the others go on, and at the end it is counted."""
    content = GOOD.encode() + b"\n" + line + b"\r\n" + GOOD.encode()
    path = None if stdin else tmp_path / "in.jsonl"
    code, (first, bad, last), err = run(content, path=path)
    where = "stdin" if path is None else str(path)
    assert first == last
    assert (first["tag"], first["placement"]["ranks"], "error" in first) == (7, [1, 2], False)
    assert (bad["placement"], bad["error"].startswith(message.replace("%s", where))) == (None, True), bad["error"]
    held = {name: value for name, value in bad.items() if name not in ("placement", "error")}
    try:
        value = json.loads(line)
        assert held == (value if isinstance(value, dict) else {"line": value})
    except (ValueError, RecursionError):
        assert held["line"].encode(errors="surrogateescape") == line
    assert code == 1
    assert err.startswith("edgeorder: 1 of 3 lines have an error, the first: ")
    assert err.count(f"{where}:2") == 1


def test_lines_as_they_are_found(tmp_path: Path) -> None:
    """Marks of byte order, blank lines, any end of line or none, packed or not, from a file or from stdin."""
    content = f"\ufeff{GOOD}\r\n\r\n  \n{GOOD}\n\ufeff{GOOD}".encode()
    for packed in (content, gzip.compress(content)):
        for path in (None, tmp_path / "in.jsonl"):
            code, lines, err = run(packed, path=path)
            assert (code, err) == (0, "")
            assert [line["chunks"][1] for line in lines] == [{"text": "B", "mine": [1]}] * 3
    assert run(b"") == (0, [], "")
    assert run(b"\n \n") == (0, [], "")
    with pytest.raises(ValueError, match="stdin:3 cannot be unpacked"):
        run(gzip.compress(f"{GOOD}\n{GOOD}\n".encode())[:-9])
    with pytest.raises(IsADirectoryError, match="is a folder"):
        jsonl.opened(tmp_path)
    with pytest.raises(ValueError, match=r"in\.gz:1 is no gzip data"):
        run(content, path=tmp_path / "in.gz")


def test_values_come_back_as_they_came() -> None:
    """Large numbers, lone surrogates, nulls, names that are not ours."""
    row = {
        "id": 2**200,
        "x": "\ud800",
        "none": None,
        "error": "the user's own",
        "chunks": [{"text": "a \udfff", "id": 10**30, "score": 1e308, "page": None, "vector": [0.1] * 3}],
    }
    code, (line,), err = run(json.dumps(row).encode())
    assert (code, err) == (0, "")
    assert {name: line[name] for name in row} == row


def test_every_field_of_a_chunk_is_read() -> None:
    """Those that frame, divide and locate it too, as in a table."""
    chunks = [
        {"text": "B", "source": "s", "offset": [3, 2], "head": "<", "tail": ">"},
        {"text": "A", "source": "s", "offset": [3, 1], "head": None},
        {"text": "C", "source": "s", "offset": [2, 9], "section": "other"},
    ]
    _, (line,), _ = run(json.dumps({"chunks": chunks}).encode(), "--block")
    assert line["block"] == "A\n\n<B>\n\nC"
    columns = {"chunks": {"text": ["A", "B"], "score": None}}
    assert run(json.dumps(columns).encode())[1][0]["chunks"] == [{"text": "A"}, {"text": "B"}]


def test_its_own_lines_are_read_again() -> None:
    """A line that was mended has no error any more; one that was not has the same."""
    content = b'{"chunks": "ab"}\n[1]\n' + GOOD.encode()
    once = run(content)[1]
    again = run("\n".join(map(json.dumps, once)).encode())[1]
    assert again[0] == once[0]
    assert (again[1]["line"], again[1]["placement"]) == ([1], None)
    assert again[2] == once[2]
    assert run(json.dumps(once[0] | {"chunks": ["ab"]}).encode())[1][0].keys() == {"chunks", "placement"}


def test_what_fails_every_line_ends_the_run(tmp_path: Path) -> None:
    """Before the first: a setting that is none, a counter that there is not."""
    for options, said in (
        (["--order", "best"], "order='best'"),
        (["--budget", "9", "--counter", "no such"], "no such"),
    ):
        with pytest.raises((ValueError, RuntimeError), match=said):
            run(GOOD.encode(), *options)
    code, (small, fine), err = run(
        b'{"chunks": ["a b c d e f g"]}\n{"chunks": ["a"]}',
        *("--budget", "4", "--overflow", "error", "--counter", "o200k_base"),
    )
    assert (code, fine["placement"]["tokens"]) == (1, 1)
    assert small["error"].startswith("BudgetError: ")
    assert "1 of 2 lines have an error" in err


def test_a_line_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not kept, and those after it are read."""
    monkeypatch.setattr(jsonl, "_LONGEST", 100)
    long = json.dumps({"chunks": ["x" * 85]})
    _, lines, _ = run(f"{GOOD}\n{long}\n{GOOD}\n{long}".encode())
    assert [line["placement"] is None for line in lines] == [False, True, False, True]
    assert lines[1]["line"] == long
    assert lines[1]["error"] == "ValueError: stdin:2 is longer than 100 bytes; write one JSON object a line"
    monkeypatch.setattr(jsonl, "_KEPT", 9)
    assert run(long.encode())[1][0]["line"] == long[:9]


def test_a_closed_stdin_is_an_empty_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As the terminal's other streams."""
    monkeypatch.setattr(sys, "argv", ["edgeorder", "place"])
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code or 0, capsys.readouterr().out) == (0, "")


def test_lines_are_answered_one_by_one() -> None:
    """A program that asks line by line need not close the pipe to get an answer."""
    command = [sys.executable, "-m", "edgeorder.cli", "place"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asked:
        assert asked.stdin is not None
        assert asked.stdout is not None
        for line in (GOOD, "[1]", GOOD):
            asked.stdin.write(line + "\n")
            asked.stdin.flush()
            assert ("error" in json.loads(asked.stdout.readline())) == (line == "[1]")


@settings(max_examples=100, deadline=None)
@given(
    lines=st.lists(st.one_of(st.just(GOOD.encode()), st.binary(max_size=30), st.sampled_from([b for b, _ in BAD[:16]])))
)
def test_no_line_is_lost(lines: list[bytes]) -> None:
    """As many come out as hold anything, each placed or with an error."""
    content = b"\n".join(lines)
    wanted = [line.removeprefix(b"\xef\xbb\xbf").strip() for line in content.split(b"\n")]
    raw = io.BufferedReader(io.BytesIO(b"\n" + content))  # type: ignore[arg-type]
    found = list(jsonl.read_lines(raw, "x"))
    assert len(found) == sum(map(bool, wanted))
    numbers = [number for number, _ in found]
    assert numbers == sorted(set(numbers))
    for (_, value), line in zip(found, filter(None, wanted), strict=True):
        if isinstance(value, jsonl.BadLine):
            assert line in value.text.encode(errors="surrogateescape")
        else:
            assert value == json.loads(line)
