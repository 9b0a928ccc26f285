"""Models: what comes of an endpoint, a framework's model and a callable, and of what they do wrong."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest
from endpoints import Endpoint, completion
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, ChatResponse, MockLLM

from edgeorder.probe.answers import cache_key
from edgeorder.probe.called import CalledModel
from edgeorder.probe.endpoint import EndpointModel
from edgeorder.probe.models import as_model
from edgeorder.probe.replies import ModelError, Reply, read_answer

Connect = Callable[..., EndpointModel]


@pytest.fixture
async def connect(endpoint: Endpoint) -> AsyncIterator[Connect]:
    """Return what makes a model at the endpoint."""
    made: list[EndpointModel] = []

    def connect(**options: Any) -> EndpointModel:
        defaults = {"base_url": endpoint.url, "api_key": "k", "max_tokens": 8, "concurrency": 2, "timeout": 300}
        made.append(EndpointModel("m", **{**defaults, "tries": 3, "pause": 0.01, **options}))  # type: ignore[arg-type]
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
    "failure", [429, 500, 503, 60.0, "{not JSON", "[]", "null", {"choices": []}, {"choices": [{"message": None}]}]
)
async def test_what_fails_once_is_asked_again(endpoint: Endpoint, connect: Connect, failure: Any) -> None:
    endpoint.script = [failure]
    reply = await connect(timeout=6 if failure == 60.0 else 300).ask("Gold")  # one try may take half of it
    if failure == {"choices": [{"message": None}]}:
        assert reply.text == ""  # a message without content is an empty answer
    else:
        assert reply.text == "Gold"
        assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    ("failure", "said"),
    [(429, "429"), (500, "500"), (60.0, "no answer"), ("{not JSON", "no JSON"), ({"choices": []}, "malformed")],
)
async def test_what_keeps_failing_is_counted(endpoint: Endpoint, connect: Connect, failure: Any, said: str) -> None:
    endpoint.script = [failure] * 3
    reply = await connect(timeout=1 if failure == 60.0 else 300).ask("Gold")
    assert reply.finish == "error"
    assert not reply.usable
    assert said in (reply.error or "")
    if failure == 60.0:  # the time for all of them ends first
        assert len(endpoint.asked) < 3
    else:
        assert len(endpoint.asked) == 3


@pytest.mark.parametrize(
    ("status", "said"), [(401, "key"), (402, "credit"), (403, "key"), (404, "no such model"), (405, "no such address")]
)
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
        await connect(base_url="http://127.0.0.1:9/v1").ask("x")


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


async def test_an_error_that_cannot_be_told_costs_one_prompt() -> None:
    class OddError(Exception):
        wait = float("nan")

        def __str__(self) -> str:
            raise RuntimeError

    async def fail(prompt: str) -> str:
        raise OddError

    reply = await CalledModel(fail, "fail", pause=0.01).ask("x")
    assert reply.error == "OddError: without a message (RuntimeError)"


async def test_a_callable_that_hangs_is_left_alone() -> None:
    async def hang(prompt: str) -> str:
        await asyncio.sleep(60)
        return prompt

    assert "no answer within 0.01 s" in (
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


async def test_a_llamaindex_llm_that_only_chats() -> None:
    class Chatty:
        def __init__(self) -> None:
            self.model, self.api_key = "chatty", "sk-planted-4711"

        async def achat(self, messages: list[ChatMessage]) -> ChatResponse:
            [message] = messages
            assert message.role == "user"
            raw = {"choices": [{"finish_reason": "length"}]}
            return ChatResponse(
                message=ChatMessage(role="assistant", content=f"{message.content} sk-planted-4711"),
                raw=raw,
                additional_kwargs={"prompt_tokens": 9, "completion_tokens": 2},
            )

    model = as_model(Chatty())
    assert model.name == "chatty"
    assert await model.ask("Gold") == Reply("Gold ***", "length", 9, None, 2)


def test_a_chat_engine_is_refused_since_it_remembers() -> None:
    with pytest.raises(TypeError, match="SimpleChatEngine remembers what it was asked before; give its LLM"):
        as_model(SimpleChatEngine.__new__(SimpleChatEngine))


def test_numbers_are_numbers() -> None:
    model: Any = as_model(
        "m", base_url="http://x", max_tokens=np.int64(9), concurrency=np.int32(2), timeout=np.float32(9)
    )  # type: ignore[arg-type]
    assert (model.settings["max_tokens"], model.concurrency) == (9, 2)
    assert type(model.settings["max_tokens"]) is int
    for field in ("max_tokens", "concurrency"):
        for bad in (True, 1.5, "9", float("nan")):
            with pytest.raises(TypeError, match=field):
                as_model("m", base_url="http://x", **{field: bad})
    for seconds in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="timeout"):
            as_model("m", base_url="http://x", timeout=seconds)


async def test_an_answer_that_was_cut_while_it_thought_is_none(endpoint: Endpoint, connect: Connect) -> None:
    endpoint.script = [completion("<think>Let me see", "length"), completion("<think>x</think> Gold", "length")]
    assert [(await connect().ask("x")).usable for _ in range(2)] == [False, True]


def test_what_cannot_be_asked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="must be a name, a LangChain"):
        as_model(3)
    with pytest.raises(ValueError, match="base_url has no effect on method"):
        as_model(str.upper, base_url="http://x")
    with pytest.raises(ValueError, match="name has no effect on upper"):
        as_model(CalledModel(str.upper, "upper"), name="lower")
    with pytest.raises(ValueError, match="api_key has no effect on local"):
        as_model("local", api_key="k")
    with pytest.raises(ValueError, match=r"'127\.0\.0\.1:8000' is no address"):
        as_model("m", base_url="127.0.0.1:8000")
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
