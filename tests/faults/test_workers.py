"""A process that answers, and one that does not: it ends in time, says why, and leaves nobody behind."""

import gc
import os
from pathlib import Path

import pytest

from edgeorder.probe.worker import Worker, WorkerError

_ODD = """
import json, os, signal, sys, time

if sys.argv[1] == "fail":
    sys.exit("no such model")
if sys.argv[1] == "hang":
    time.sleep(600)
print(json.dumps({"ready": os.getpid()}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if asked == "leave":
        sys.exit("out of memory")
    if asked == "hang":
        time.sleep(600)
    if asked == "half":
        print('{"text": ', end="", flush=True)
        os._exit(3)
    print("no JSON" if asked == "rave" else json.dumps(asked.upper()), flush=True)
"""


@pytest.fixture(autouse=True)
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the module that is run."""
    (tmp_path / "odd_worker.py").write_text(_ODD)
    monkeypatch.syspath_prepend(str(tmp_path))


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("die", r"it ended \(killed by SIGKILL\)"),
        ("leave", r"it ended \(exit code 1\): out of memory"),
        ("half", r"it ended \(exit code 3\)"),
        ("hang", r"no answer within 0\.5 s"),
    ],
)
def test_one_that_ends_or_stalls_is_one_line(asked: str, said: str) -> None:
    worker = Worker("odd_worker", "go", timeout=60)
    assert worker.ask("gold \udcff") == "GOLD \udcff"
    worker._timeout = 0.5 if asked == "hang" else 60
    with pytest.raises(WorkerError, match=f"^{said}$"):
        worker.ask(asked)
    assert not runs(worker.first["ready"])
    assert not worker.end.alive
    with pytest.raises(WorkerError, match="it ended"):
        worker.ask("gold")


def test_one_that_answers_no_json_raises_for_that_line_only() -> None:
    worker = Worker("odd_worker", "go", timeout=60)
    with pytest.raises(ValueError, match="Expecting value"):
        worker.ask("rave")
    assert worker.ask("gold") == "GOLD"
    worker.end()


@pytest.mark.parametrize(
    ("start", "said"), [("fail", r"exit code 1\): no such model"), ("hang", "no answer within 1 s")]
)
def test_one_that_never_begins_is_one_line(start: str, said: str) -> None:
    with pytest.raises(WorkerError, match=said):
        Worker("odd_worker", start, timeout=1 if start == "hang" else 60)


def test_it_ends_with_what_holds_it() -> None:
    worker = Worker("odd_worker", "go", timeout=60)
    pid = worker.first["ready"]
    assert runs(pid)
    del worker
    gc.collect()
    assert not runs(pid)
