"""Whatever happens in the runs of an agent, what the model receives fits the budget, and numbers keep their meaning."""

import asyncio
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from agents import asked, blocks, calling, fact, finding, results, saying
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, before_model, dynamic_prompt
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from edgeorder import Budget, BudgetError, message_counter
from edgeorder.rendering import split_block
from langchain_edgeorder import ContextMiddleware, EdgeOrder, EdgeOrderMiddleware, cited

FULL = "No document fits the token budget."
CITE = "Cite like [1].\n\n"
COUNT = message_counter(lambda text: len(text.split()), image_tokens=30)
NAMES = "ABCDEFGHIJ"
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


def find(query: str) -> list[Any]:
    """Documents named by the letters of a query, longer ones later in the alphabet."""
    return [fact(name, 8 + 4 * NAMES.index(name)) for name in query.split("/")[0] if name in NAMES]


@tool
def clock(query: str) -> str:
    """Tell the time, at length."""
    return "\n".join(["noon it is"] * (3 * len(query) % 22))


@tool(response_format="content_and_artifact")
def album(query: str) -> Any:
    """Return documents, and a picture beside them."""
    return [{"type": "text", "text": "found"}, IMAGE], find(query)


queries = st.text(NAMES, min_size=0, max_size=6)
calls = st.lists(st.tuples(st.sampled_from(["search", "search", "clock", "album"]), queries), max_size=5)
turns = st.lists(
    st.tuples(st.integers(0, 30), st.booleans(), st.lists(calls, max_size=3)),
    min_size=1,
    max_size=4,
)


def step(number: int, made: list[tuple[str, str]]) -> AIMessage:
    """A message that makes calls, under ids that another step has too, as those of some models."""
    return AIMessage(
        "So. " * (number % 3),
        tool_calls=[
            {"name": name, "args": {"query": query + "/" + "why " * (number % 4)}, "id": str(at)}
            for at, (name, query) in enumerate(made)
        ],
    )


class Setting(NamedTuple):
    """How an agent is made."""

    budget: int
    overflow: str
    already: str
    texts: bool
    system: int
    before: frozenset[str]


class Run(NamedTuple):
    """What became of a conversation."""

    sent: Sequence[tuple[list[BaseMessage], Any]]
    """Each model call, with the tools that were bound."""
    raised: bool
    full: bool
    """Whether anything found no room."""


@dynamic_prompt
def longer(request: Any) -> str:
    """A system prompt that changes from call to call."""
    return "Mind this. " * (len(request.messages) % 5)


@before_model
def nudge(state: Any, runtime: Any) -> dict[str, Any] | None:
    """Say something after the results of tools."""
    after = isinstance(state["messages"][-1], ToolMessage)
    return {"messages": [HumanMessage("Go on, and mind the rules. " * 3)]} if after else None


def talk(way: str, turns: Any, said: list[AIMessage], setting: Setting, *, strict: bool) -> Run:
    """Have a conversation, to its end or to the error of a strict middleware."""
    model, placer = saying(*said), EdgeOrder(budget=Budget(setting.budget, COUNT, setting.overflow))
    clearing = ContextEditingMiddleware(
        edits=[ClearToolUsesEdit(trigger=60, keep=1)], token_counter=lambda messages: COUNT(messages)
    )
    retrieving = ContextMiddleware(RunnableLambda(find), placer, instruction=CITE.strip(), strict=strict)
    others = {"prompt": longer, "clear": clearing, "nudge": nudge, "context": retrieving}
    ours = EdgeOrderMiddleware(
        placer,
        tools=None if setting.texts else ["search", "album"],
        reserve_history=True,
        already=setting.already,
        texts=setting.texts,
        strict=strict,
    )
    agent = create_agent(
        model,
        [finding(find), clock, album],
        system_prompt="Be brief. " * setting.system if setting.system and "prompt" not in setting.before else None,
        middleware=[*(one for name, one in others.items() if name in setting.before), ours],
        checkpointer=InMemorySaver(),
    )
    raised = False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for words, image, _ in turns:
            content = [{"type": "text", "text": "A B C? " + "word " * words}, *[IMAGE] * image]
            try:
                result = asked(agent, way, [HumanMessage(content)], {"configurable": {"thread_id": "1"}})
            except BudgetError:
                raised = True
                break
            cited(result)
    sent = list(zip(model.seen, model.bound, strict=False))
    told = [str(warning.message) for warning in caught]
    full = any("dropped (budget)" in text or "the conversation alone" in text for text in told) or any(
        message.text == FULL for messages, _ in sent for message in results(messages)
    )
    return Run(sent, raised, full)


def least(messages: list[BaseMessage]) -> list[BaseMessage]:
    """The messages with the least that can stand where documents do: what a model has seen is not written again."""
    last = max((at for at, message in enumerate(messages) if isinstance(message, AIMessage)), default=0)
    return [
        shortest(message)
        if at > last and isinstance(message, ToolMessage)
        else SystemMessage(message.text.partition("\n\nCite like")[0].partition("Cite like")[0])
        if isinstance(message, SystemMessage)
        else message
        for at, message in enumerate(messages)
    ]


def shortest(message: ToolMessage) -> ToolMessage:
    """A message of ours with no more than a line, and what is no text."""
    ours = "edgeorder" in message.response_metadata and COUNT.counter(message.text) > COUNT.counter(FULL)
    others = message.content[1:] if isinstance(message.content, list) else []
    line = [{"type": "text", "text": FULL}, *others] if others else FULL
    return message.model_copy(update={"content": line}) if ours else message


@pytest.mark.parametrize("way", ["sync", "async", "tokens", "events"])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    turns=turns,
    setting=st.builds(
        Setting,
        budget=st.integers(60, 400),
        overflow=st.sampled_from(["skip", "stop", "truncate"]),
        already=st.sampled_from(["send", "point", "drop"]),
        texts=st.booleans(),
        system=st.integers(0, 20),
        before=st.frozensets(st.sampled_from(["prompt", "clear", "nudge", "context"])),
    ),
    strict=st.booleans(),
)
def test_runs(way, turns, setting, strict):
    """The budget holds at every call unless the conversation alone exceeds it, no run fails, `[n]` means one chunk.

    Where it is strict, a run fails exactly where something would have found no room.
    """
    said: list[AIMessage] = []
    for number, (_, _, steps) in enumerate(turns):
        said += [step(10 * number + at, made) for at, made in enumerate(steps) if made]
        said.append(AIMessage("Well [1], [2]."))
    run = talk(way, turns, said, setting, strict=False)
    assert not run.raised
    assert len(run.sent) == len(said)
    meaning: dict[int, str] = {}
    for messages, tools in run.sent:
        check(messages, tools, setting.budget, meaning)
    if strict:
        checked = talk(way, turns, said, setting, strict=True)
        assert checked.raised == run.full
        assert all(COUNT(messages, tools) <= setting.budget for messages, tools in checked.sent)


def check(messages: list[BaseMessage], tools: Any, budget: int, meaning: dict[int, str]) -> None:
    """Check one model call."""
    assert COUNT(messages, tools) <= budget or COUNT(least(messages), tools) > budget
    assert all(
        IMAGE in message.content for message in results(messages) if message.name == "album" and message.artifact
    )
    shown = [pair for block in blocks(messages) for pair in block]
    for message in messages:
        if isinstance(message, SystemMessage) and CITE in message.text:
            shown += split_block(message.text.split(CITE)[1], "numbered")
    for number, text in shown:
        # A shortened passage starts as its chunk does; a pointer has no text, and leads to one that was shown.
        name = text[: len("Fact-A")] or meaning[number]
        assert meaning.setdefault(number, name) == name


def test_nothing_is_counted_in_the_event_loop():
    """In async runs conversations are counted in threads, warnings come out all the same."""

    def counter(text: str) -> int:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return len(text.split())

    placer = EdgeOrder(budget=Budget(60, counter))
    middleware = [
        ContextMiddleware(RunnableLambda(find), placer),
        EdgeOrderMiddleware(placer, reserve_history=True, texts=True),
    ]
    agent = create_agent(saying(calling("ABC", "D"), "So [1]."), [finding(find)], middleware=middleware)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asked(agent, "async", [HumanMessage("word " * 80)])
    assert any("the conversation alone needs them" in str(warning.message) for warning in caught)
