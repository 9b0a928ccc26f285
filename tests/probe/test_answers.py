"""Answers on disk: what is kept, for whom, and what a kill, another process or an old file does to it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from edgeorder.probe.answers import AnswerCache, ask_cached, cache_key
from edgeorder.probe.called import CalledModel
from edgeorder.probe.models import as_model
from edgeorder.probe.replies import Reply


async def test_no_answer_is_asked_for_twice(tmp_path: Path) -> None:
    asked: list[str] = []

    async def ask(prompt: str) -> Reply:
        asked.append(prompt)
        await asyncio.sleep(0.01)
        return Reply(prompt + "\udcff", "length", 3, 1, 2)

    model = CalledModel(ask, "m")
    with AnswerCache(tmp_path / "answers.db") as cache:
        replies = await asyncio.gather(*(ask_cached(model, "p", cache) for _ in range(5)))
        assert set(replies) == {Reply("p\udcff", "length", 3, 1, 2), Reply("p?", "length", 3, 1, 2)}
        await ask_cached(CalledModel(ask, "m", {"temperature": 1}), "p", cache)
        await ask_cached(CalledModel(ask, "other"), "p", cache)
    assert len(asked) == 3
    with AnswerCache(tmp_path / "answers.db") as cache:
        assert len(cache) == 3
        assert (await ask_cached(model, "p", cache)).prompt_tokens == 3
    assert len(asked) == 3
    assert (await ask_cached(model, "p", None)).usable
    assert len(asked) == 4


async def test_the_cache_knows_the_pace(tmp_path: Path) -> None:
    with AnswerCache(tmp_path / "a.db") as cache:
        model = CalledModel(str.upper, "m-1", concurrency=4)
        assert cache.pace("m") is None
        for n, seconds in enumerate([2.0, 4.0, 6.0, None]):
            cache.put(model, f"{n}", Reply("x", seconds=seconds))
        assert cache.pace("m") == cache.pace("m-1") == 1  # four side by side, each in four seconds
        assert cache.pace("m-2") is None


async def test_errors_are_not_kept(tmp_path: Path) -> None:
    answers = iter([Reply("", "error", error="x"), Reply("ok")])
    model = CalledModel(lambda prompt: next(answers), "m", pause=0.01)
    model._call = lambda prompt: next(answers)
    with AnswerCache(tmp_path / "a.db") as cache:
        assert (await ask_cached(model, "p", cache)).finish == "error"
        assert len(cache) == 0
        assert (await ask_cached(model, "p", cache)).text == "ok"


async def test_a_model_without_a_name_of_its_own_is_not_kept(tmp_path: Path) -> None:
    with AnswerCache(tmp_path / "a.db") as cache, pytest.raises(ValueError, match="name it"):
        await ask_cached(as_model(lambda prompt: prompt), "p", cache)


def test_what_is_no_cache_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("no database, but a text that is long enough to be taken for one" * 9)
    with pytest.raises(ValueError, match="cannot be used as an answer cache"):
        AnswerCache(tmp_path / "a.db")
    with pytest.raises(FileNotFoundError, match="make it first"):
        AnswerCache(tmp_path / "none" / "a.db")


_RUN = """
import asyncio, sys
from edgeorder.probe.answers import AnswerCache, ask_cached
from edgeorder.probe.called import CalledModel

async def ask(prompt):
    with open(sys.argv[2], "a") as log:
        log.write(prompt + "\\n")
    return prompt

async def main():
    with AnswerCache(sys.argv[1]) as cache:
        model = CalledModel(ask, "m", concurrency=1)
        for n in range(int(sys.argv[3])):
            await ask_cached(model, str(n), cache)
            print(n, flush=True)

asyncio.run(main())
"""


def test_a_run_that_is_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    log, cache = tmp_path / "log", tmp_path / "a.db"
    for _ in range(3):
        run = subprocess.Popen([sys.executable, "-c", _RUN, str(cache), str(log), "100000"], stdout=subprocess.PIPE)
        assert run.stdout
        done = 0
        while done < 60:
            done += bool(run.stdout.readline())
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        run.stdout.close()
    asked = log.read_text().split()
    with AnswerCache(cache) as kept:
        kept_count = len(kept)
        assert kept_count == len({*asked}) or kept_count == len({*asked}) - 1
    # At most the one that was in flight at each kill is asked for again.
    assert len(asked) - len({*asked}) <= 2
    assert {*asked} == {str(n) for n in range(len({*asked}))}


def test_a_key_is_stable_between_runs() -> None:
    """It may change only with a reason: a change asks for every kept answer again."""
    model = CalledModel(str.upper, "m", {"b": 1, "a": 2})
    assert cache_key(model, "p") == cache_key(CalledModel(str.upper, "m", {"a": 2, "b": 1}), "p")
    assert json.loads(json.dumps(dict(model.settings))) == model.settings
