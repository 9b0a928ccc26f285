"""Whatever happens in the runs of an agent, what the model receives fits the budget, and numbers keep their meaning."""

import warnings
from typing import Any

import pytest
from agents import blocks, fact, finding, saying
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, dynamic_prompt
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from edgeorder import Budget, EdgeOrderWarning, message_counter
from edgeorder.rendering import split_block
from langchain_edgeorder import ContextMiddleware, EdgeOrder, EdgeOrderMiddleware, cited

FULL = "No document fits the token budget."
CITE = "Cite like [1].\n\n"
COUNT = message_counter(lambda text: len(text.split()), image_tokens=30)
NAMES = "ABCDEFGHIJ"


def find(query: str) -> list[Any]:
    """Documents named by the letters of a query, longer ones later in the alphabet."""
    return [fact(name, 8 + 4 * NAMES.index(name)) for name in query.split("/")[0] if name in NAMES]


@tool
def clock(query: str) -> str:
    """Tell the time, at length."""
    return "noon " * (len(query) % 7)


queries = st.text(NAMES, min_size=0, max_size=6)
calls = st.lists(st.tuples(st.sampled_from(["search", "search", "clock"]), queries), max_size=5)
turns = st.lists(
    st.tuples(st.integers(0, 30), st.booleans(), st.lists(calls, max_size=3)),
    min_size=1,
    max_size=4,
)


def step(number: int, made: list[tuple[str, str]]) -> AIMessage:
    """A message that makes calls."""
    return AIMessage(
        "So. " * (number % 3),
        tool_calls=[
            {"name": name, "args": {"query": query + "/" + "why " * (number % 4)}, "id": f"{number}-{at}"}
            for at, (name, query) in enumerate(made)
        ],
    )


def least(messages: list[BaseMessage]) -> list[BaseMessage]:
    """The messages with the least that can stand where documents do: what a model has seen is not written again."""
    last = max((at for at, message in enumerate(messages) if isinstance(message, AIMessage)), default=0)
    return [
        message.model_copy(update={"content": FULL})
        if at > last and isinstance(message, ToolMessage) and message.name == "search" and message.artifact is not None
        else SystemMessage(message.text.partition("\n\nCite like")[0].partition("Cite like")[0])
        if isinstance(message, SystemMessage)
        else message
        for at, message in enumerate(messages)
    ]


@pytest.mark.parametrize("way", ["sync", "async"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    turns=turns,
    budget=st.integers(60, 400),
    overflow=st.sampled_from(["skip", "stop", "truncate"]),
    already=st.sampled_from(["send", "point", "drop"]),
    system=st.integers(0, 20),
    before=st.sets(st.sampled_from(["prompt", "clear", "context"])),
)
async def test_runs(way, turns, budget, overflow, already, system, before):
    """The budget holds at every call unless the conversation alone exceeds it, no run fails, `[n]` means one chunk."""
    said: list[AIMessage] = []
    for number, (_, _, steps) in enumerate(turns):
        said += [step(10 * number + at, made) for at, made in enumerate(steps) if made]
        said.append(AIMessage("Well [1], [2]."))
    model = saying(*said)

    @dynamic_prompt
    def longer(request: Any) -> str:
        return "Mind this. " * (len(request.messages) % 5)

    others = {
        "prompt": longer,
        "clear": ContextEditingMiddleware(
            edits=[ClearToolUsesEdit(trigger=60, keep=1)], token_counter=lambda messages: COUNT(messages)
        ),
        "context": ContextMiddleware(
            RunnableLambda(find), EdgeOrder(budget=Budget(budget, COUNT, overflow)), instruction=CITE.strip()
        ),
    }
    agent = create_agent(
        model,
        [finding(find), clock],
        system_prompt="Be brief. " * system if system and "prompt" not in before else None,
        middleware=[
            *(others[name] for name in ("prompt", "clear", "context") if name in before),
            EdgeOrderMiddleware(
                EdgeOrder(budget=Budget(budget, COUNT, overflow)), tools="search", reserve_history=True, already=already
            ),
        ],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "1"}}
    meaning: dict[int, str] = {}
    answered = 0
    for words, image, _ in turns:
        content: list[Any] = [{"type": "text", "text": "A B C? " + "word " * words}]
        if image:
            content.append({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}})
        values = {"messages": [HumanMessage(content)]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            result = agent.invoke(values, config) if way == "sync" else await agent.ainvoke(values, config)
            cited(result)
        for messages, tools in zip(model.seen[answered:], model.bound[answered:], strict=True):
            check(messages, tools, budget, meaning)
        answered = len(model.seen)
    assert answered == len(said)


def check(messages: list[BaseMessage], tools: Any, budget: int, meaning: dict[int, str]) -> None:
    """Check one model call."""
    assert COUNT(messages, tools) <= budget or COUNT(least(messages), tools) > budget
    shown = [pair for block in blocks(messages) for pair in block]
    for message in messages:
        if isinstance(message, SystemMessage) and CITE in message.text:
            shown += split_block(message.text.split(CITE)[1], "numbered")
    for number, text in shown:
        # A shortened passage starts as its chunk does; a pointer has no text, and leads to one that was shown.
        name = text[: len("Fact-A")] or meaning[number]
        assert meaning.setdefault(number, name) == name
