"""Histories that are trimmed or summarised beside ours: a pointer leads somewhere, and nothing is left out unsaid."""

import re
import warnings
from typing import Any

import pytest
from agents import asked, blocks, calling, fact, finding, letters, results, saying
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware, before_model
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from edgeorder import Budget, EdgeOrderWarning, capture, message_counter
from langchain_edgeorder import EdgeOrder, EdgeOrderMiddleware, cited

COUNT = message_counter(lambda text: len(text.split()))
HI = [HumanMessage("Why?")]
WAYS = pytest.mark.parametrize("way", ["sync", "async", "tokens"])


def plain(budget: int, **settings: Any) -> EdgeOrder:
    return EdgeOrder(budget=Budget(budget, COUNT), order="relevance", reading="off", **settings)


@before_model
def trimmer(state: Any, runtime: Any) -> Any:
    """Keep the first message and the last step."""
    messages = state["messages"]
    last = max((at for at, message in enumerate(messages) if isinstance(message, AIMessage)), default=0)
    return {"messages": [RemoveMessage(message.id) for message in messages[1:last]]}


def check(sent: list[Any]) -> None:
    """What a new pointer leads to stands before it, in what the same call received; old ones are not mended."""
    whole: set[int] = set()
    last = max(at for at, message in enumerate(sent) if message.type != "tool")
    for at, message in enumerate(sent):
        for number, text in [pair for block in blocks([message]) for pair in block]:
            if text:
                whole.add(number)
            else:
                assert number in whole or at < last


@WAYS
@pytest.mark.parametrize("first", [True, False])
def test_pointers(way, first):
    """What was removed is sent again, be it removed before or after ours; one result in one step, or several."""
    model = saying(calling("AB"), calling("BC"), calling("CB", "AB"), "So [1].")
    ours = EdgeOrderMiddleware(plain(600), reserve_history=True, already="point")
    middleware = [trimmer, ours] if first else [ours, trimmer]
    with capture() as records:
        result = asked(create_agent(model, [finding(letters)], middleware=middleware), way, HI)
    for sent in model.seen:
        check(sent)
    assert [[n for n, _ in block] for block in blocks(model.seen[2])] == [[2, 3]]
    assert results(model.seen[3])[1].text.endswith("[2] above")
    assert [document.id for document in cited(result)] == ["A"]
    assert not first or len(records) == 4


@WAYS
def test_what_is_left_out(way):
    """With `"drop"` it is there again; where it was removed after ours, a warning says so."""
    for middleware, found in (([trimmer, True], [2, 3]), ([True, trimmer], [3])):
        model = saying(calling("AB"), calling("BC"), "So [1].")
        ours = EdgeOrderMiddleware(plain(600), reserve_history=True, already="drop")
        agent = create_agent(model, [finding(letters)], middleware=[ours if one is True else one for one in middleware])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            asked(agent, way, HI)
        assert [[n for n, _ in block] for block in blocks(model.seen[2])] == [found]
        told = [str(warning.message) for warning in caught if warning.category is EdgeOrderWarning]
        assert [re.sub(" since they.*: list", ":", text) for text in told if "left out" in text] == [
            "documents were left out: EdgeOrderMiddleware after it"
        ] * (len(found) == 1)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(st.lists(st.text("ABCDE", max_size=4), min_size=1, max_size=3), min_size=1, max_size=6),
    kept=st.integers(1, 4),
    first=st.booleans(),
    single=st.booleans(),
)
def test_summaries(steps, kept, first, single):
    """Whatever is summarised when, beside ours: pointers lead somewhere, and every chunk found is there or above."""
    model = saying(*[calling(*(queries[:1] if single else queries)) for queries in steps], "So.")
    summing = SummarizationMiddleware(saying(*["They spoke."] * 40), trigger=("messages", 4), keep=("messages", kept))
    ours = EdgeOrderMiddleware(plain(900), reserve_history=True, already="point")
    middleware = [summing, ours] if first else [ours, summing]
    agent = create_agent(model, [finding(letters)], middleware=middleware, checkpointer=InMemorySaver())
    agent.invoke({"messages": HI}, {"configurable": {"thread_id": "1"}, "recursion_limit": 99})
    for sent, queries in zip(model.seen[1:], steps, strict=True):
        check(sent)
        shown = "".join(message.text for message in results(sent))
        last = [message for message in results(sent) if message.name == "search"][-1:]
        for message in last:
            query = queries[0] if single else queries[-1]
            assert all(fact(name).page_content in shown for name in query) or not message.artifact


@tool(response_format="content_and_artifact")
def look_up(query: Any = "", place: str = "") -> Any:
    """Look up."""
    return "found", letters("ABCDEF")


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("given", [{"query": " \n"}, {"place": "x"}, {"query": []}])
@pytest.mark.parametrize("overflow", ["skip", "compress"])
def test_a_model_that_asks_for_nothing(way, parallel, given, overflow):
    """A blank query scores nothing: documents stay as they were found, and the run goes on; a list is one query."""
    asked_for: list[str] = []

    def scorer(query: str, texts: list[str]) -> list[float]:
        asked_for.append(query)
        return list(range(len(texts)))

    placer = EdgeOrder(budget=Budget(300, COUNT, overflow), order="relevance", rerank=scorer)
    calls = [{"name": "look_up", "args": given, "id": str(at)} for at in range(1 + parallel)]
    model = saying(AIMessage("", tool_calls=calls), "So [1].")
    agent = create_agent(
        model,
        [look_up],
        middleware=[EdgeOrderMiddleware(placer, reserve_history=True)],
        checkpointer=InMemorySaver(),
    )
    result = asked(agent, way, HI, {"configurable": {"thread_id": "1"}})
    assert [document.id for document in cited(result)] == ["A"]
    assert asked_for == []


def test_a_list_of_queries():
    """It is one query for a scorer."""
    asked_for: list[str] = []
    placer = EdgeOrder(rerank=lambda query, texts: asked_for.append(query) or list(range(len(texts))))
    call = {"name": "look_up", "args": {"query": ["red", "blue"]}, "id": "1"}
    agent = create_agent(
        saying(AIMessage("", tool_calls=[call]), "So."), [look_up], middleware=[EdgeOrderMiddleware(placer)]
    )
    agent.invoke({"messages": HI})
    assert asked_for == ["red\nblue"]


@pytest.mark.parametrize("settings", [{"rerank": lambda query, texts: [1.0]}, {"overflow": "compress"}])
def test_a_tool_without_a_query(settings):
    """Where the tool has no such argument, the error names those that it has."""

    @tool(response_format="content_and_artifact")
    def search(what: str) -> Any:
        """Search."""
        return "found", letters(what)

    overflow = settings.pop("overflow", "skip")
    placer = EdgeOrder(budget=Budget(300, COUNT, overflow), **settings)
    call = {"name": "search", "args": {"what": "AB"}, "id": "1"}
    model = saying(AIMessage("", tool_calls=[call]), "So.")
    agent = create_agent(model, [search], middleware=[EdgeOrderMiddleware(placer)])
    with pytest.raises(ValueError, match=r"has none under 'query': set query_arg to one of \['what'\]"):
        agent.invoke({"messages": HI})
