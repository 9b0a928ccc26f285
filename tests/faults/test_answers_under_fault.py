"""The answer cache on disks that are full, files that are damaged or old, and with company."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import EdgeOrderWarning
from edgeorder.probe.answers import AnswerCache, ask_cached, cache_key
from edgeorder.probe.called import CalledModel
from edgeorder.probe.replies import Reply

MODEL = CalledModel(str.upper, "m")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def filled(path: Path, answers: int) -> Path:
    """Return a cache with some answers, closed."""
    with AnswerCache(path) as cache:
        for number in range(answers):
            cache.put(MODEL, f"{number}", Reply(f"answer {number}"))
    return path


def fill(folder: Path) -> Path:
    """Return a file that takes up what room a disk has left."""
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return folder / "filler"


# Full disks


def test_a_disk_that_is_full_is_known_before_anything_is_asked(small_disk: Path) -> None:
    path = filled(small_disk / "a.db", 3)
    filler = fill(small_disk)
    for name in (path, small_disk / "new.db"):
        with pytest.raises(ValueError, match="cannot be used as an answer cache") as caught:
            AnswerCache(name)
        assert "\n" not in str(caught.value)
    filler.unlink()
    with AnswerCache(path) as cache:
        assert len(cache) == 3


@pytest.mark.parametrize("freed", [True, False])
def test_a_disk_that_fills_up_in_the_middle_loses_no_answer(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, freed: bool
) -> None:
    """What does not fit is kept where there is room, counted and used, and goes back as soon as it can."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path, asked = small_disk / "a.db", []

    async def ask(prompt: str) -> Reply:
        asked.append(prompt)
        return Reply(f"answer {prompt} " + "x" * 200, "stop", 9, 8, 7, unsent=("temperature",))

    model = CalledModel(ask, "m")
    cache = AnswerCache(path)

    async def replies(*numbers: int) -> list[Reply]:
        return [await ask_cached(model, f"{n}", cache) for n in numbers]

    first = asyncio.run(replies(*range(20)))
    filler = fill(small_disk)
    said = r"a\.db failed \(.*full\); further answers are kept in .*\.rest"
    with pytest.warns(EdgeOrderWarning, match=said) as warned:
        more = asyncio.run(replies(*range(20, 60)))
    assert len(warned) == 1
    assert cache.trouble == str(warned[0].message)
    assert asyncio.run(replies(*range(60))) == first + more
    assert len(cache) == len(asked) == 60
    [rest] = tmp_path.glob("a.db.*.rest")
    if freed:
        filler.unlink()
    cache.close()
    if not freed:
        filler.unlink()
        shutil.move(rest, small_disk)
    with AnswerCache(path) as again:
        assert len(again) == 60
        assert [again.get(model, f"{n}") for n in range(60)] == first + more
    assert not [*tmp_path.glob("*.rest"), *small_disk.glob("*.rest")]


_QUOTA = """
import resource, signal, sys, warnings
from edgeorder import EdgeOrderWarning
from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.called import CalledModel
from edgeorder.probe.replies import Reply

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model, cache = CalledModel(str.upper, "m"), AnswerCache(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (64_000, resource.RLIM_INFINITY))
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    for number in range(100):
        cache.put(model, f"{number}", Reply(f"answer {number}" + "x" * 999))
assert all(cache.get(model, f"{number}").text.startswith(f"answer {number}xxx") for number in range(100))
for warning in warned:
    assert warning.category is EdgeOrderWarning
    print(warning.message)
if sys.argv[2] == "raised":
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
cache.close()
print(cache.trouble)
"""


@pytest.mark.parametrize("ends", ["raised", "kept"])
def test_a_quota_is_a_full_disk(tmp_path: Path, ends: str) -> None:
    """The file, then another beside it, then memory; and all into the file at the end, if it may grow by then."""
    path = tmp_path / "a.db"
    command = [sys.executable, "-c", _QUOTA, str(path), ends]
    run = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    moved, remembered, trouble = run.stdout.splitlines()
    assert "further answers are kept in" in moved
    assert "the next run takes it up" in moved
    assert "kept in memory" in remembered
    assert trouble == ("None" if ends == "raised" else remembered)
    with AnswerCache(path) as cache:
        assert (len(cache) == 100) if ends == "raised" else (20 < len(cache) < 100)
    assert [*tmp_path.iterdir()] == [path]


# Files


def test_what_cannot_be_a_cache_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no database, but a text that is long enough to be taken for one" * 9)
    with sqlite3.connect(tmp_path / "other") as database:
        database.execute("CREATE TABLE answers (question TEXT, answer TEXT)")
    database.close()
    for name, said in (("folder", "unable to open"), ("text", "not a database"), ("other", "question, answer")):
        with pytest.raises(
            ValueError, match=f"cannot be used as an answer cache .*{said}.*give another path"
        ) as caught:
            AnswerCache(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError, match="make it first"):
        AnswerCache(tmp_path / "none" / "a.db")


def test_a_disk_for_reading_only_is_refused_in_one_line(small_disk: Path) -> None:
    path = filled(small_disk / "a.db", 3)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)  # noqa: S607
    for name in (path, small_disk / "new.db"):
        with pytest.raises(ValueError, match="cannot be used as an answer cache"):
            AnswerCache(name)


def old(path: Path, answers: int = 2) -> Path:
    """Return a file as the first version wrote it."""
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE answers (key TEXT PRIMARY KEY, model TEXT, text TEXT, finish TEXT, prompt_tokens INTEGER, "
            "computed_tokens INTEGER, completion_tokens INTEGER, seconds REAL) WITHOUT ROWID"
        )
        rows = [(cache_key(MODEL, f"{n}"), "m", f"{n}", "stop", 9, 8, 7, 0.5) for n in range(answers)]
        database.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    database.close()
    return path


def test_an_old_file_is_read_and_written(tmp_path: Path) -> None:
    path = old(tmp_path / "a.db")
    with AnswerCache(path) as cache:
        assert cache.get(MODEL, "0") == Reply("0", "stop", 9, 8, 7)
        cache.put(MODEL, "new", Reply("new", unsent=("max_tokens",)))
    with AnswerCache(path) as cache:
        assert len(cache) == 3
        assert cache.get(MODEL, "new") == Reply("new", unsent=("max_tokens",))


def test_many_may_open_an_old_file_at_once(tmp_path: Path) -> None:
    path = old(tmp_path / "a.db")

    def opened(_: int) -> int:
        with AnswerCache(path) as cache:
            return len(cache)

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(opened, range(16))] == [2] * 16


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the content of a cache of 150 answers."""
    return filled(tmp_path_factory.mktemp("whole") / "a.db", 150).read_bytes()


@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
@settings(max_examples=60, deadline=None)
@given(damage=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=64)), max_size=4), cut=st.floats(0, 1))
def test_a_damaged_file_is_read_or_refused(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[float, bytes]], cut: float
) -> None:
    """Whatever was overwritten and however much is left: one line at the door, or answers and new ones beside them."""
    path = tmp_path_factory.mktemp("damaged") / "a.db"
    content = bytearray(whole)
    for at, junk in damage:
        start = int(at * len(content))
        content[start : start + len(junk)] = junk
    path.write_bytes(content[: int(cut * len(content)) if cut < 0.5 else None])
    cache, refused = None, ""
    try:
        cache = AnswerCache(path)
    except ValueError as error:
        refused = str(error)
    if cache is None:
        assert "cannot be used as an answer cache" in refused
        return
    with cache:
        for number in (0, 75, 149):
            found = cache.get(MODEL, f"{number}")
            assert found is None or found.usable
            cache.put(MODEL, f"{number}", Reply("new"))
            assert cache.get(MODEL, f"{number}") == Reply("new")


@pytest.mark.parametrize("column", ["text = NULL", "finish = 'maybe'", "prompt_tokens = 'many'", "unsent = '{'"])
def test_a_damaged_answer_is_asked_for_again(tmp_path: Path, column: str) -> None:
    path = filled(tmp_path / "a.db", 2)
    with sqlite3.connect(path) as database:
        database.execute(f"UPDATE answers SET {column} WHERE key = ?", (cache_key(MODEL, "1"),))  # noqa: S608
    database.close()
    with AnswerCache(path) as cache:
        with pytest.warns(EdgeOrderWarning, match="a damaged answer, which is asked for again"):
            assert cache.get(MODEL, "1") is None
        cache.put(MODEL, "1", Reply("new"))
        assert cache.get(MODEL, "1") == Reply("new")


def test_a_file_that_is_taken_away_in_the_middle_loses_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with AnswerCache(path) as cache:
        cache.put(MODEL, "0", Reply("0"))
        path.unlink()
        with pytest.warns(EdgeOrderWarning, match="the next run takes it up"):
            cache.put(MODEL, "1", Reply("1"))
        assert cache.get(MODEL, "1") == Reply("1")
    with AnswerCache(path) as cache:
        assert cache.get(MODEL, "1") == Reply("1")


def test_what_a_running_cache_keeps_elsewhere_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with AnswerCache(path) as cache:
        path.unlink()
        with pytest.warns(EdgeOrderWarning):
            cache.put(MODEL, "1", Reply("1"))
        with AnswerCache(path) as other:
            assert len(other) == 0
            assert len([*tmp_path.glob("*.rest")]) == 1
        cache.put(MODEL, "2", Reply("2"))
    with AnswerCache(path) as cache:
        assert len(cache) == 2
    assert [*tmp_path.iterdir()] == [path]


def test_a_rest_that_is_damaged_is_left_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.db.x.rest").write_text("no database, but a text that is long enough to be taken for one" * 9)
    with pytest.warns(EdgeOrderWarning, match=r"a\.db\.x\.rest holds answers that cannot be taken up"):
        AnswerCache(tmp_path / "a.db").close()
    assert (tmp_path / "a.db.x.rest").exists()


# Company


def test_threads_and_loops_share_a_cache_and_ask_once(tmp_path: Path) -> None:
    """Eight threads with a loop each, the same prompts in each: every prompt is asked once."""
    asked: list[str] = []

    async def ask(prompt: str) -> str:
        asked.append(prompt)
        await asyncio.sleep(0.01)
        return prompt.upper()

    model = CalledModel(ask, "m", concurrency=50)

    async def run(cache: AnswerCache) -> list[str]:
        replies = await asyncio.gather(*(ask_cached(model, f"p{n}", cache) for n in range(50)))
        return [reply.text for reply in replies]

    with AnswerCache(tmp_path / "a.db") as cache, ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda _: asyncio.run(run(cache)), range(8))]
        assert len(cache) == 50
    assert found == [[f"P{n}" for n in range(50)]] * 8
    assert sorted(asked) == sorted(f"p{n}" for n in range(50))


async def test_who_waits_for_another_s_answer_asks_when_that_one_gives_up(tmp_path: Path) -> None:
    asked: list[str] = []
    begun = asyncio.Event()

    async def ask(prompt: str) -> str:
        asked.append(prompt)
        begun.set()
        await asyncio.sleep(60 if len(asked) == 1 else 0)
        return prompt

    model = CalledModel(ask, "m")
    with AnswerCache(tmp_path / "a.db") as cache:
        first = asyncio.create_task(ask_cached(model, "p", cache))
        await begun.wait()
        others = [asyncio.create_task(ask_cached(model, "p", cache)) for _ in range(3)]
        await asyncio.sleep(0.01)
        others[0].cancel()
        first.cancel()
        assert [reply.text for reply in await asyncio.gather(*others[1:])] == ["p", "p"]
    assert len(asked) == 2


_COMPANY = """
import asyncio, sys
from edgeorder.probe.answers import AnswerCache, ask_cached
from edgeorder.probe.called import CalledModel

async def ask(prompt):
    return "answer " + prompt

async def main():
    with AnswerCache(sys.argv[1]) as cache:
        model = CalledModel(ask, "m")
        for number in range(12):
            assert (await ask_cached(model, str(number), cache)).text == f"answer {number}"
            assert (await ask_cached(model, f"{sys.argv[2]}-{number}", cache)).text
            print(number, flush=True)

asyncio.run(main())
"""


def test_eight_processes_share_a_file_and_killed_ones_harm_none(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", _COMPANY, str(path), str(number)],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    for run in runs[:2]:
        assert run.stdout
        while run.stdout.readline() not in ("6\n", ""):
            pass
        run.send_signal(signal.SIGKILL)
    ends = [run.communicate(timeout=300) for run in runs]
    assert [(run.returncode, err) for run, (_, err) in zip(runs[2:], ends[2:], strict=True)] == [(0, "")] * 6
    with AnswerCache(path) as cache:
        assert cache.get(MODEL, "11") == Reply("answer 11")
        assert 12 * 7 + 2 * 7 <= len(cache) <= 12 * 9
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_cache_is_used_across_a_fork(tmp_path: Path) -> None:
    code = """
import os, sys
from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.called import CalledModel
from edgeorder.probe.replies import Reply

model, cache = CalledModel(str.upper, "m"), AnswerCache(sys.argv[1])
cache.put(model, "before", Reply("before"))
children = []
for number in range(4):
    child = os.fork()
    if child == 0:
        for n in range(20):
            cache.put(model, f"{number}-{n}", Reply("child"))
        os._exit(0 if cache.get(model, "before") == Reply("before") else 1)
    children.append(child)
for n in range(20):
    cache.put(model, f"parent-{n}", Reply("parent"))
assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
assert len(cache) == 101
cache.close()
"""
    command = [sys.executable, "-c", code, str(tmp_path / "a.db")]
    run = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)
    assert (run.returncode, run.stderr) == (0, "")


# Numbers


def test_numpy_s_integers_are_integers(tmp_path: Path) -> None:
    reply = Reply("x", "stop", np.int64(9), np.uint8(8), np.int32(7), seconds=np.float32(0.5))  # type: ignore[arg-type]
    assert json.dumps([reply.prompt_tokens, reply.computed_tokens, reply.completion_tokens]) == "[9, 8, 7]"
    model = CalledModel(str.upper, "m", {"max_tokens": np.int64(5), "top_p": np.float32(0.5)})
    assert cache_key(model, "p") == cache_key(CalledModel(str.upper, "m", {"max_tokens": 5, "top_p": 0.5}), "p")
    with AnswerCache(tmp_path / "a.db") as cache:
        cache.put(model, "p", reply)
        assert cache.get(model, "p") == reply


@pytest.mark.parametrize("count", [-1, 2**31, 10**30, True, 1.5, "9", np.float64(3)])
def test_what_is_no_count_is_no_count(count: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"Reply\.prompt_tokens"):
        Reply("x", prompt_tokens=count)
