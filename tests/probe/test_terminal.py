"""The terminal: whatever stdout and stderr are, a run that was paid for keeps its profile."""

import contextlib
import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from reading import ReadingEndpoint, case_file, reading

from edgeorder import PositionProfile
from edgeorder.cli.logs import print_json
from edgeorder.cli.masking import shown
from edgeorder.cli.progress import progress
from edgeorder.cli.terminal import Steady, say, show

Shell = Callable[..., "subprocess.CompletedProcess[str]"]
CODE = "from edgeorder.cli import main; main()"


@pytest.fixture(scope="module")
def server() -> Iterator[ReadingEndpoint]:
    """Return a running endpoint that reads."""
    with reading() as running:
        yield running


@pytest.fixture
def shell(server: ReadingEndpoint, tmp_path: Path) -> Shell:
    """Return what runs a shell line; `{probe}` is a probe of two questions, with p.json, and `{compare}` like it."""
    case_file(tmp_path / "cases.jsonl", 2, 5)
    python = f"{shlex.quote(sys.executable)} -c {shlex.quote(CODE)}"
    asked = f"--model m --base-url {server.url} --cases cases.jsonl"
    commands = {
        "edgeorder": python,
        "probe": f"{python} probe {asked} --chunks 5 --depths 3 --fixed --out p.json",
        "compare": f"{python} compare {asked} --chunks 4 --orders relevance,bookend_tail",
    }

    def run(line: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["/bin/bash", "-c", line.format(**commands)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
            cwd=tmp_path,
            capture_output=True,
            check=False,
            timeout=300,
            encoding=environment.get("PYTHONIOENCODING", "utf-8"),
        )

    return run


@pytest.mark.parametrize(
    ("line", "code", "out", "err"),
    [
        pytest.param("{probe} 2>&-", 0, "profile: p.json", "", id="no stderr"),
        pytest.param("{probe} --cache c --json all.json <&- >&- 2>&-", 0, "", "", id="none of them"),
        pytest.param("{probe} | head -n 1; exit ${{PIPESTATUS[0]}}", 0, "5 chunks", "", id="a reader that leaves"),
        pytest.param("{probe} 2> >(true)", 0, "profile: p.json", "", id="nobody at stderr"),
        pytest.param("{probe} > /dev/full", 0, "", "edgeorder: not everything could be printed: [Errno 28]", id="full"),
        pytest.param("{probe} --json /dev/full", 1, "5 chunks", "/dev/full could not be written (No space", id="json"),
    ],
)
def test_whatever_the_streams_are_the_profile_is_kept(
    shell: Shell, tmp_path: Path, line: str, code: int, out: str, err: str
) -> None:
    """Closed, full or left by its reader: the profile is whole, no traceback comes, and the exit code is the run's."""
    done = shell(line)
    assert (done.returncode, done.stderr == "") == (code, err == ""), done.stderr
    assert out in done.stdout
    assert err in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert PositionProfile.load(tmp_path / "p.json").model == "m"
    if "all.json" in line:
        assert json.loads((tmp_path / "all.json").read_text())["calls"] == 10
        assert (tmp_path / "c" / "answers.sqlite").read_bytes().startswith(b"SQLite format 3\0")


def test_json_may_go_to_the_pipe_itself(shell: Shell) -> None:
    """Before the tables, all of it comes through."""
    done = shell("{probe} --json /dev/stdout | head -n 1")
    assert json.loads(done.stdout)["calls"] == 10


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_terminal_of_few_characters_gets_the_nearest(shell: Shell, encoding: str) -> None:
    """A minus stays one, lines of a table become ASCII, and nothing fails."""
    done = shell("{compare}", PYTHONIOENCODING=encoding, COLUMNS="150")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"relevance +\| after +\| +4 \| +0 % \| +0-66 % \| +-100\.0 \|", done.stdout), done.stdout


def test_a_run_that_fails_says_so_in_one_line_wherever_it_is_run(shell: Shell) -> None:
    """A narrow stderr changes the line as little as it can, and no stderr changes no code."""
    line = "{edgeorder} probe --cases 'Übermut–.jsonl'"
    done = shell(f"{line}; {line} 2>&- >&2; echo $?", PYTHONIOENCODING="ascii")
    assert done.stdout == "1\n"
    assert done.stderr.startswith("edgeorder: cases '\\xdcbermut-.jsonl': there is no such file")
    assert done.stderr.count("\n") == 1


def test_a_traceback_shows_no_local(shell: Shell, tmp_path: Path) -> None:
    """A fault of our own leaves a traceback without the values of variables, in colour or not."""
    code = (
        "import edgeorder.cli.runs as runs\n"
        "def broken(*a, **k):\n    planted = 'sk-' + 'planted' * 3\n    raise KeyError(len(planted))\n"
        "runs.as_model = broken\nfrom edgeorder.cli import main; main()"
    )
    (tmp_path / "broken.py").write_text(code)
    for environment in ({}, {"FORCE_COLOR": "1"}, {"TYPER_STANDARD_TRACEBACK": "1"}):
        done = shell(
            f"{shlex.quote(sys.executable)} broken.py probe --cases cases.jsonl --chunks 5 --depths 3", **environment
        )
        assert done.returncode == 1
        assert "KeyError" in done.stderr
        assert "plantedplanted" not in done.stderr + done.stdout
        assert "locals" not in done.stderr


def test_a_stream_that_breaks_goes_silent_and_knows_why() -> None:
    """What comes after the first failure is not tried again."""
    written: list[str] = []

    class Breaking:
        encoding = "utf-8"

        def write(self, text: str) -> int:
            written.append(text)
            raise OSError(28, "full")

        def flush(self) -> None:
            raise AssertionError("tried again")

    stream = Steady(Breaking())
    assert [stream.write("one"), stream.write("two")] == [3, 3]
    stream.flush()
    assert (written, str(stream.broken), stream.encoding) == (["one"], "[Errno 28] full", "utf-8")


def test_a_line_obeys_no_server(capfd: pytest.CaptureFixture[str]) -> None:
    """What a server said may hold line breaks and terminal codes; the line does not."""
    say("edgeorder: 500:\x1b[2J\x9b2J gone\r\n\x00for good")
    assert capfd.readouterr() == ("", "edgeorder: 500: [2J 2J gone for good\n")


def test_what_cannot_be_shown_ends_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """A fault in a table is a line on stderr."""

    class Broken:
        def __rich__(self) -> str:
            raise ZeroDivisionError("no table")

    show("before", Broken(), "after")
    assert capfd.readouterr() == ("before\n", "edgeorder: not everything could be printed: no table\n")


# Progress


def test_a_short_run_is_silent_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    """Piped output gets no progress bar, and no line before half a minute."""
    with progress("Asking") as step:
        step(1, 2)
    assert capfd.readouterr() == ("", "")


def test_a_long_run_without_a_terminal_says_lines(capfd: pytest.CaptureFixture[str]) -> None:
    """Done, total and time left, again and again, also while nothing gets done."""

    def told(n: int) -> list[str]:
        """Wait for so many lines."""
        found, until = "", time.monotonic() + 60
        while found.count("\n") < n and time.monotonic() < until:
            time.sleep(0.01)
            out, err = capfd.readouterr()
            assert out == ""
            found += err
        return found.splitlines()

    with progress("Asking", every=0.05) as step:
        assert told(1)[0] == "Asking: none of the questions is done yet"
        step(10, 40)
        lines = told(4)
    assert len(lines) >= 4
    assert re.fullmatch(r"Asking: 10 of at most 40 questions done, about \d+ s left", lines[3])
    capfd.readouterr()
    time.sleep(0.1)
    assert capfd.readouterr().err == ""


def test_progress_shows_a_bar_and_the_time_left_on_a_terminal_and_leaves_stdout_alone() -> None:
    """On a terminal the bar goes to stderr, so that stdout can be piped."""
    code = (
        "import time; from edgeorder.cli.progress import progress\n"
        "with progress('Asking') as step:\n"
        "    for done in range(1, 6): step(done, 8); time.sleep(0.15); print('answer', done, flush=True)\n"
    )
    out, shown = on_a_terminal(code, TERM="xterm")
    assert out.split() == [word for done in range(1, 6) for word in ("answer", str(done))]
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert "Asking" in text
    assert "5/8" in text
    assert re.search(r"0:\d\d:\d\d", text)


def test_a_terminal_that_draws_nothing_gets_lines() -> None:
    """A dumb terminal shows no bar until the end, so it is told in lines."""
    code = (
        "import sys, threading; from edgeorder.cli.progress import progress\n"
        "told, write = threading.Event(), sys.stderr.write\n"
        "sys.stderr.write = lambda text: write(text) and told.set()\n"
        "with progress('Asking', every=0.05) as step: step(3, 8); told.wait(60)\n"
    )
    _, shown = on_a_terminal(code, TERM="dumb")
    assert re.search(r"Asking: 3 of at most 8 questions done, about \d+ s left", shown)
    assert "\x1b" not in shown


def on_a_terminal(code: str, **environment: str) -> tuple[str, str]:
    """Run code with stderr on a terminal, and return what it wrote to stdout and to that."""
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, **environment}
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # how a pseudo-terminal says that its other end is closed
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)
    out, _ = run.communicate(timeout=300)
    assert run.returncode == 0, shown
    return out.decode(), shown.decode()


@pytest.mark.parametrize("terminal", [False, True])
def test_json_is_never_broken(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are lines in a pipe, also where colours are forced, as on build servers; only a terminal's lines are."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", out)
    data = {"advice": "a word and another " * 20}
    print_json(data)
    assert json.loads(out.getvalue()) == data
    out.truncate(out.seek(0))
    show(data["advice"])
    assert (out.getvalue().count("\n") > 1) == terminal


# Secrets


@pytest.mark.parametrize(
    "line",
    [
        "edgeorder probe --base-url https://me:{}@host/v1 --model m",
        "edgeorder probe --base-url 'https://host/v1?api_key={}' --model m",
        "edgeorder probe --instruction 'my key is sk-{}'",
        "edgeorder probe --instruction 'Authorization: Bearer {}'",
        "edgeorder probe --api-key={}",
        "edgeorder probe --instruction '{}, from the environment'",
    ],
)
def test_no_credential_is_stored_in_a_command(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an address, with the beginning of a key, named as one, or held by the environment: it is masked."""
    planted = "plante3d-Secret-55555555"
    monkeypatch.setenv("MY_API_KEY", f" {planted}\n")
    masked = shown(line.format(planted))
    assert planted not in masked
    assert "***" in masked
    assert masked.startswith("edgeorder probe --")


@pytest.mark.parametrize(
    "word",
    ["facts", "a/b.jsonl", "--max-tokens", "gpt-4.1-mini", "relevance,bookend", "Answer basic tasks.", "sk-learn"],
)
def test_a_usual_command_is_stored_as_it_is(word: str) -> None:
    """What is no secret reproduces the run."""
    line = f"edgeorder probe --model m --base-url https://host.example:8080/v1 {word} --max-tokens 16 --seed 3"
    assert shown(line) == line
