"""Models: what comes of an endpoint, a framework's model and a callable, and of what they do wrong."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from endpoints import Endpoint, completion
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from llama_index.core.llms import MockLLM

from edgeorder.probe.answers import AnswerCache, Reply, ask_cached, cache_key
from edgeorder.probe.models import CalledModel, EndpointModel, ModelError, as_model, read_answer

Connect = Callable[..., EndpointModel]


@pytest.fixture
async def connect(endpoint: Endpoint) -> AsyncIterator[Connect]:
    """Return what makes a model at the endpoint."""
    made: list[EndpointModel] = []

    def connect(**options: Any) -> EndpointModel:
        defaults = {"name": None, "base_url": endpoint.url, "api_key": "k", "max_tokens": 8, "concurrency": 2}
        made.append(EndpointModel("m", **{**defaults, "timeout": 5, "retries": 2, **options}))  # type: ignore[arg-type]
        made[-1]._pause = 0.01
        return made[-1]

    yield connect
    for model in made:
        await model.aclose()


async def test_an_endpoint_is_asked_greedily_and_says_what_it_computed(endpoint: Endpoint, connect: Connect) -> None:
    reply = await connect().ask("What is it? Gold")
    assert reply == Reply("Gold", "stop", 40, 10, 3)
    asked = endpoint.asked[0]
    assert asked["messages"] == [{"role": "user", "content": "What is it? Gold"}]
    assert (asked["temperature"], asked["max_tokens"], asked["model"]) == (0, 8, "m")


async def test_llama_cpp_tells_computed_tokens_in_its_timings(endpoint: Endpoint, connect: Connect) -> None:
    endpoint.script = [completion("x", timings={"prompt_n": 7, "cache_n": 33})]
    assert (await connect().ask("x")).computed_tokens == 7


@pytest.mark.parametrize(
    "failure", [429, 500, 503, 6.0, "{not JSON", "[]", "null", {"choices": []}, {"choices": [{"message": None}]}]
)
async def test_what_fails_once_is_asked_again(endpoint: Endpoint, connect: Connect, failure: Any) -> None:
    endpoint.script = [failure if failure != 6.0 else 1.5]
    reply = await connect(timeout=0.7).ask("Gold")
    if failure == {"choices": [{"message": None}]}:
        assert reply.text == ""  # a message without content is an empty answer
    else:
        assert reply.text == "Gold"
        assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    ("failure", "said"),
    [(429, "429"), (500, "500"), (0.9, "timeout"), ("{not JSON", "JSONDecodeError"), ({"choices": []}, "malformed")],
)
async def test_what_keeps_failing_is_counted(endpoint: Endpoint, connect: Connect, failure: Any, said: str) -> None:
    endpoint.script = [failure] * 3
    reply = await connect(timeout=0.3).ask("Gold")
    assert reply.finish == "error"
    assert not reply.usable
    assert said in (reply.error or "")
    assert len(endpoint.asked) == 3


@pytest.mark.parametrize(("status", "said"), [(401, "key"), (403, "key"), (404, "no such model")])
async def test_what_no_retry_mends_stops_at_once(endpoint: Endpoint, connect: Connect, status: int, said: str) -> None:
    endpoint.script = [status]
    with pytest.raises(ModelError, match=said) as caught:
        await connect().ask("x")
    assert "\n" not in str(caught.value)
    assert len(endpoint.asked) == 1


async def test_an_empty_account_stops_at_once(endpoint: Endpoint, connect: Connect) -> None:
    endpoint.script = [{"status": 429, "code": "insufficient_quota", "message": "pay"}] * 3
    with pytest.raises(ModelError, match="no quota"):
        await connect().ask("x")


async def test_an_address_where_nobody_listens_stops_at_once(connect: Connect) -> None:
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:9/v1/ cannot be reached"):
        await connect(base_url="http://127.0.0.1:9/v1", retries=0).ask("x")


async def test_reasoning_models_get_the_options_that_they_know(endpoint: Endpoint, connect: Connect) -> None:
    model = connect()
    before = cache_key(model, "p")
    endpoint.script = [
        {"status": 400, "message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."},
        {"status": 400, "message": "Unsupported value: 'temperature' does not support 0 with this model."},
    ]
    assert (await model.ask("Gold")).text == "Gold"
    assert "max_tokens" not in endpoint.asked[-1]
    assert "temperature" not in endpoint.asked[-1]
    assert endpoint.asked[-1]["max_completion_tokens"] == 8
    assert cache_key(model, "p") == before
    endpoint.script = [{"status": 400, "message": "context length exceeded"}]
    assert "400: " in ((await model.ask("x")).error or "")


async def test_a_cut_answer_is_told_from_one_that_was_never_given(endpoint: Endpoint, connect: Connect) -> None:
    endpoint.script = [completion("Paris is", "length"), completion(None, "length"), completion(None, "content_filter")]
    cut, silent, filtered = [await connect().ask("x") for _ in range(3)]
    assert (cut.finish, cut.usable) == ("length", True)
    assert (silent.finish, silent.usable) == ("length", False)
    assert (filtered.finish, filtered.usable) == ("error", False)


async def test_concurrency_is_bounded(endpoint: Endpoint, connect: Connect) -> None:
    model, endpoint.pause = connect(concurrency=3), 0.05
    replies = await asyncio.gather(*(model.ask(f"{n}") for n in range(12)))
    assert [reply.text for reply in replies] == [f"{n}" for n in range(12)]
    assert endpoint.most_at_once == 3


async def test_any_callable_sync_or_async() -> None:
    async def later(prompt: str) -> str:
        return prompt.upper()

    for ask in (str.upper, later, lambda prompt: later(prompt), lambda prompt: Reply(prompt.upper())):
        assert (await as_model(ask, name="upper").ask("gold")).text == "GOLD"


async def test_a_callable_that_fails_is_tried_three_times() -> None:
    tries: list[str] = []

    def fail(prompt: str) -> str:
        tries.append(prompt)
        if len(tries) == 3:
            return "at last"
        raise RuntimeError("busy")

    assert (await CalledModel(fail, "fail", pause=0.01).ask("x")).text == "at last"
    tries.extend(["x"] * 3)
    reply = await CalledModel(fail, "fail", pause=0.01).ask("x")
    assert (reply.finish, reply.error) == ("error", "RuntimeError: busy")
    for bad in (None, 3, {"text": "no"}, b"no"):
        reply = await CalledModel(lambda prompt, bad=bad: bad, "bad", pause=0.01).ask("x")
        assert "malformed answer" in (reply.error or "")


async def test_a_callable_that_hangs_is_left_alone() -> None:
    async def hang(prompt: str) -> str:
        await asyncio.sleep(60)
        return prompt

    assert "no answer within 0.02 s" in (
        (await CalledModel(hang, "hang", timeout=0.02, pause=0.01).ask("x")).error or ""
    )


async def test_a_wrong_key_behind_a_framework_stops_at_once() -> None:
    class RefusedError(Exception):
        status_code = 401

    async def refuse(prompt: str) -> str:
        raise RefusedError("Incorrect API key")

    with pytest.raises(ModelError, match=r"mine refuses \(401\): the key is not accepted: Incorrect API key"):
        await as_model(refuse, name="mine").ask("x")


async def test_a_langchain_chat_model() -> None:
    message = AIMessage(
        content=[{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Gold"}],
        usage_metadata={
            "input_tokens": 9,
            "output_tokens": 2,
            "total_tokens": 11,
            "input_token_details": {"cache_read": 4},
        },
        response_metadata={"finish_reason": "length"},
    )
    model = as_model(GenericFakeChatModel(messages=iter([message])))
    assert model.name == "<GenericFakeChatModel>"
    assert await model.ask("x") == Reply("Gold", "length", 9, 5, 2)


async def test_a_llamaindex_llm() -> None:
    model = as_model(MockLLM(max_tokens=2))
    assert (await model.ask("one two three")).text
    assert model.settings["max_tokens"] == 2


def test_what_cannot_be_asked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="must be a name, a LangChain"):
        as_model(3)
    with pytest.raises(ValueError, match="base_url goes with the name"):
        as_model(str.upper, base_url="http://x")
    with pytest.raises(ValueError, match="concurrency=0 must be at least 1"):
        as_model("m", concurrency=0)
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelError, match="set OPENAI_API_KEY"):
        as_model("gpt-x")
    with pytest.raises(ValueError, match="an error has both"):
        Reply("", "error")
    assert read_answer("x").usable


def test_a_model_is_returned_as_it_is() -> None:
    model = CalledModel(str.upper, "upper")
    assert as_model(model) is model


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
from edgeorder.probe.models import CalledModel

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
