"""Models under every fault: a reply or one line, in time, and never a key in anything that is seen afterwards."""

import asyncio
import logging
import time
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from faults.planted import KEY, whole_traceback
from faults.server import ENDLESS, FAULTS, FaultServer

from edgeorder.probe.answers import AnswerCache, ask_cached
from edgeorder.probe.called import CalledModel
from edgeorder.probe.models import as_model
from edgeorder.probe.replies import Model, ModelError, Reply

PASSWORD = "hush-4411"  # noqa: S105
HOPELESS = {"moved", "moved in a circle", "echo", "401", "403", "404"}  # of the faults, those that no retry mends


def completion(content: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": "stop", "message": {"content": content}}], **more}


@pytest.fixture
def server() -> Iterator[FaultServer]:
    server = FaultServer(lambda request: completion(request["messages"][0]["content"].split()[-1]))
    server.interval = 0.02
    with server.running():
        yield server


def endpoint(server: FaultServer, **options: Any) -> Any:
    model: Any = as_model("m", **{"base_url": server.url, "api_key": KEY, "timeout": 300, **options})
    model._pause = 0.001
    return model


async def come(model: Model, prompt: str = "Gold") -> Reply | ModelError:
    """Return what comes of asking."""
    try:
        return await model.ask(prompt)
    except ModelError as error:
        return error


@pytest.mark.parametrize("fault", FAULTS)
async def test_every_fault_costs_one_prompt_or_ends_the_run_in_one_line(server: FaultServer, fault: str) -> None:
    server.always = FAULTS[fault]
    async with asyncio.timeout(60):  # nothing waits for what never ends, nor as long as a server says
        found = await come(endpoint(server, timeout=0.2 if fault in ENDLESS else 300))
    said = str(found) if isinstance(found, ModelError) else found.error or ""
    assert isinstance(found, ModelError) == (fault in HOPELESS)
    assert 3 < len(said) < 500
    assert said.isprintable()
    server.always = None
    assert (await come(endpoint(server))) == Reply("Gold")


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_key_is_never_seen(
    server: FaultServer,
    fault: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Every fault, the key sent in full: errors with their locals, logs, output, warnings, replies, the cache."""
    caplog.set_level(logging.DEBUG)
    server.always = FAULTS[fault]
    url = server.url.replace("//", f"//me:{PASSWORD}@")
    seen, sent = [], []
    with warnings.catch_warnings(record=True) as warned, AnswerCache(tmp_path / "a.db") as cache:
        for options in ({"api_key": f" {KEY}\n"}, {"base_url": url}):
            model = endpoint(server, timeout=0.2 if fault in ENDLESS else 300, **options)
            server.headers.clear()
            for _ in range(100):  # on a busy machine the time may be over before anything was sent
                try:
                    found: Any = await ask_cached(model, "Gold", cache)
                except ModelError as error:
                    found = error
                    seen += whole_traceback(error)
                seen += [repr(found), str(found), str(vars(model)), repr(model), repr(vars(found))]
                seen.append(repr(model.settings))
                if server.headers:
                    break
            sent.append(server.headers[0]["Authorization"])
    assert sent == [f"Bearer {KEY}", f"Basic {b64encode(f'me:{PASSWORD}'.encode()).decode()}"]
    seen += [*capfd.readouterr(), caplog.text, *(str(warning) for warning in warned)]
    seen.append((tmp_path / "a.db").read_bytes().decode("latin-1"))
    for secret in (KEY, KEY.replace("/", "\\/"), PASSWORD, sent[1].split()[1]):
        assert not [text for text in seen if secret in text]


async def test_a_key_that_is_answered_is_masked(server: FaultServer) -> None:
    server.answer = lambda request: completion(f"I was sent {KEY}.")
    assert (await endpoint(server).ask("x")).text == "I was sent ***."
    server.script = [b'{"choices": [{"message": {"content": "' + KEY.replace("/", "\\/").encode() + b'"}}]}']
    assert (await endpoint(server).ask("x")).text == "***"


@pytest.mark.parametrize("key", ["sk-planted\n-9d1f", "sk-planted 9d1f", "sk-planted\u20139d1f", "sk-planted\x7f9d1f"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    for given in (key, None):
        with pytest.raises(ModelError, match="copy it again") as caught:
            as_model("m", api_key=given)
        assert not [text for text in whole_traceback(caught.value) if "planted" in text]


async def test_a_key_of_the_environment_is_stripped(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\r\n")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/ \n")
    assert await as_model("m").ask("Gold") == Reply("Gold")
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


async def test_credentials_in_an_address_are_sent_and_never_shown(server: FaultServer) -> None:
    model = endpoint(server, base_url=server.url.replace("//", f"//me:{PASSWORD}@") + f"?api-key={PASSWORD}&version=2")
    assert await model.ask("Gold") == Reply("Gold")
    assert server.headers[0]["Authorization"] == "Basic bWU6aHVzaC00NDEx"
    assert model.settings["base_url"] == f"{server.url}/?api-key=***&version=2"


class Framework:
    """A framework's model that holds its key and, refused, repeats it."""

    def __init__(self, failure: type[BaseException]) -> None:
        self.model = "f-1"
        self.api_key = KEY
        self._failure = failure

    async def ainvoke(self, prompt: str) -> str:
        headers = {"Authorization": f"Bearer {self.api_key}"}
        if prompt == "echo":
            return f"{headers}"
        raise self._failure(f"Illegal header value {headers}")


class RefusedError(Exception):
    status_code = 401


class PanicException(BaseException):
    """What a panic in Rust becomes."""


@pytest.mark.parametrize("failure", [RefusedError, ModelError, RuntimeError, TimeoutError, PanicException])
async def test_no_framework_s_error_shows_the_key(failure: type[BaseException]) -> None:
    model: Any = as_model(Framework(failure))
    model._pause = 0.001
    found = await come(model)
    assert isinstance(found, ModelError) == (failure in (RefusedError, ModelError))
    told = whole_traceback(found) if isinstance(found, ModelError) else [repr(found)]
    assert not [text for text in told if KEY in text]
    assert "Illegal header value" in told[0]
    assert KEY not in (await model.ask("echo")).text


# Counts, settings and threads

ODD = ["12", {}, [], 10**30, -1, 1.5, True, None, float("nan"), "9" * 5000, {"cached_tokens": 10**30}, 50]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: f"{odd!r:.30}")
async def test_no_malformed_count_loses_an_answer(server: FaultServer, odd: Any) -> None:
    usages = [
        odd,
        {"prompt_tokens": odd, "completion_tokens": odd, "prompt_tokens_details": odd},
        {"prompt_tokens": 40, "prompt_tokens_details": {"cached_tokens": odd}},
    ]
    for usage in usages:
        server.script = [completion("Gold", usage=usage, timings={"prompt_n": odd})]
        reply = await endpoint(server).ask("x")
        assert (reply.text, reply.finish) == ("Gold", "stop")
        for count in (reply.prompt_tokens, reply.computed_tokens, reply.completion_tokens):
            assert count is None or (type(count) is int and 0 <= count <= 50)


async def test_a_count_of_thousands_of_digits_loses_no_answer(server: FaultServer) -> None:
    server.script = [
        b'{"choices": [{"message": {"content": "Gold"}}], "usage": {"prompt_tokens": ' + b"7" * 5000 + b"}}"
    ]
    assert await endpoint(server).ask("x") == Reply("Gold")


@pytest.mark.parametrize(
    ("refusals", "unsent", "sent"),
    [
        ([], (), {"temperature": 0, "max_tokens": 100}),
        (
            ["Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."],
            (),
            {"max_completion_tokens": 100},
        ),
        (["Unsupported value: 'temperature' does not support 0."], ("temperature",), {"max_tokens": 100}),
        (
            ["Unrecognized request argument supplied: max_tokens", "temperature: Extra inputs are not permitted"],
            ("temperature", "max_tokens"),
            {},
        ),
        (
            [
                "'max_tokens' is not supported, use 'max_completion_tokens'",
                "Unknown parameter: 'max_completion_tokens'",
            ],
            ("max_tokens",),
            {"temperature": 0},
        ),
    ],
)
async def test_what_a_model_refuses_stands_beside_its_answer(
    server: FaultServer, tmp_path: Path, refusals: list[str], unsent: tuple[str, ...], sent: dict[str, int]
) -> None:
    server.script = [{"status": 400, "message": message} for message in refusals]
    model = endpoint(server)
    with AnswerCache(tmp_path / "a.db") as cache:
        assert (await ask_cached(model, "Gold", cache)).unsent == unsent
        assert (
            await ask_cached(endpoint(server), "Gold", cache)
        ).unsent == unsent  # from the cache, under the same key
    assert len(server.asked) == 1 + len(refusals)
    assert sent.items() <= server.asked[-1].items()
    assert not {*unsent} & server.asked[-1].keys()
    assert (await model.ask("Gold")).unsent == unsent


async def test_what_is_too_long_is_not_taken_for_a_refused_setting(server: FaultServer) -> None:
    server.script = [
        {"status": 400, "message": "'max_tokens' or 'max_completion_tokens' is too large: 100. Reduce it."}
    ]
    model = endpoint(server)
    assert "400: 'max_tokens' or" in ((await model.ask("x")).error or "")
    await model.ask("x")
    assert server.asked[-1]["max_tokens"] == 100


@pytest.mark.parametrize("kind", ["sync", "async", "endpoint"])
async def test_two_hundred_at_once_need_no_thread_of_the_loop(server: FaultServer, kind: str) -> None:
    def sync(prompt: str) -> str:
        time.sleep(0.005)
        return prompt

    async def later(prompt: str) -> str:
        return await asyncio.to_thread(sync, prompt)  # which may use the only thread that there is

    calls: dict[str, Callable[[str], Any]] = {"sync": sync, "async": later}
    model = endpoint(server) if kind == "endpoint" else CalledModel(calls[kind], "m", concurrency=200)
    with ThreadPoolExecutor(1) as only:
        asyncio.get_running_loop().set_default_executor(only)
        replies = await asyncio.wait_for(asyncio.gather(*(model.ask(f"{n}") for n in range(200))), 60)
    assert [reply.text for reply in replies] == [f"{n}" for n in range(200)]


def test_a_model_serves_one_loop_after_another(server: FaultServer) -> None:
    model = endpoint(server, concurrency=1)

    async def ask() -> list[Reply]:
        return list(await asyncio.gather(*(model.ask("Gold") for _ in range(5))))

    assert [asyncio.run(ask()) for _ in range(2)] == [[Reply("Gold")] * 5] * 2


async def test_a_model_that_cancels_itself_is_one_that_failed() -> None:
    """A run goes on: the reply says what happened, and nobody was cancelled."""

    async def cancelling(prompt: str) -> str:
        raise asyncio.CancelledError

    def exhausted(prompt: str) -> str:
        none: list[str] = []
        return next(iter(none))

    for call, said in ((cancelling, "its own work was cancelled"), (exhausted, "StopIteration")):
        reply = await asyncio.wait_for(CalledModel(call, "m", pause=0.01).ask("?"), 60)
        assert reply.finish == "error"
        assert said in (reply.error or "")
