"""Shadow mode in faces that return no documents: what came in is sent, and what would be done is recorded."""

import re

import pytest
from agents import asked, calling, results, saying
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from edgeorder import Budget, Register, capture, window
from langchain_edgeorder import ContextMiddleware, EdgeOrder, EdgeOrderMiddleware, context_prompt

DOCUMENTS = [Document(f"{name} " * 20, id=name, metadata={"title": name}) for name in "abcdef"]


def words(text: str) -> int:
    return len(text.split())


def shadow(**settings) -> EdgeOrder:
    return EdgeOrder(order="reverse", layout="numbered", budget=Budget(60, words), shadow=True, **settings)


@tool(response_format="content_and_artifact")
def search(query: str) -> tuple[str, list[Document]]:
    """Search."""
    return "what the tool wrote", DOCUMENTS


@pytest.mark.parametrize("whole", [False, True])
def test_a_tool_message_stays_as_it_is(whole):
    """Its text and its artifact; the record says what would have been sent."""
    model = saying(calling("q", "r", name="search"), "So.")
    with capture() as records:
        agent = create_agent(model, [search], middleware=[EdgeOrderMiddleware(shadow(), reserve_history=whole)])
        agent.invoke({"messages": [HumanMessage("?")]})
    sent = results(model.seen[1])
    assert [(message.content, message.artifact) for message in sent] == [("what the tool wrote", DOCUMENTS)] * 2
    assert [(record.shadow, record.order, len(record.placed) < 6) for record in records] == [
        (True, "reverse", True)
    ] * 2


@pytest.mark.parametrize("way", ["sync", "async", "stream"])
def test_a_strict_window_fails_no_run(way):
    """What would be done is only recorded, also where the conversation alone exceeds the budget."""
    model = saying(calling("q", "r", name="search"), "So.")
    middleware = EdgeOrderMiddleware(shadow(), reserve_history=True, strict=True)
    with capture() as records:
        asked(create_agent(model, [search], middleware=[middleware]), way, [HumanMessage("word " * 80)])
    assert [message.content for message in results(model.seen[1])] == ["what the tool wrote"] * 2
    assert [record.shadow for record in records] == [True] * 2


def test_a_system_message_shows_all_that_was_found():
    """In the order in which it was found."""
    model = saying("So.")
    with capture() as records:
        middleware = ContextMiddleware(RunnableLambda(lambda query: DOCUMENTS), shadow())
        agent = create_agent(model, [], middleware=[middleware])
        agent.invoke({"messages": [HumanMessage("?")]})
    text = model.seen[0][0].text
    assert re.findall(r"^\[(\d)\] (\w)$", text, re.MULTILINE) == [(str(n), name) for n, name in enumerate("abcdef", 1)]
    assert [record.shadow for record in records] == [True]


@pytest.mark.parametrize("budget", [60, 3])
async def test_a_prompt_shows_all_that_came(budget):
    """Also where the placement would have failed for want of room."""
    placer = shadow().model_copy(update={"budget": Budget(budget, words)})
    values = {"context": DOCUMENTS, "question": "Which?"}
    with capture() as records:
        sync, later = context_prompt(placer).invoke(values), await context_prompt(placer).ainvoke(values)
    assert sync == later
    assert all(document.page_content.strip() in sync.to_string() for document in DOCUMENTS)
    assert "Which?" in sync.to_string()
    assert [record.shadow for record in records] == [True] * (2 if budget == 60 else 0)


def test_a_list_that_was_placed_before_is_shown_as_it_came():
    """Its positions count here, and not its ranks."""
    placed = EdgeOrder(order="reverse").transform_documents(DOCUMENTS)
    text = context_prompt(shadow()).invoke({"context": placed, "question": "Which?"}).to_string()
    assert re.findall(r"^(?:Human: )?\[\d\] (\w)$", text, re.MULTILINE) == list("fedcba")


@pytest.mark.parametrize("way", ["sync", "async"])
def test_one_record_and_one_event_for_a_turn(way, events):
    """What is sent goes its way without us: only the shadow is told of, to captures, recorders and handlers."""
    recorded: list[object] = []
    middleware = ContextMiddleware(RunnableLambda(lambda query: DOCUMENTS), shadow(recorders=[recorded.append]))
    with capture() as records:
        config = {"callbacks": [events]}
        asked(create_agent(saying("So."), [], middleware=[middleware]), way, [HumanMessage("?")], config)
    assert [record.shadow for record in records] == [True]
    assert recorded == records
    assert [data["shadow"] for _, data, _ in events.custom] == [True]


async def test_a_window_around_takes_nothing_out():
    """All that came in is shown, in any window; its register gives the numbers, and no tokens are taken."""
    register, found, model = Register(), DOCUMENTS[::-1], saying("So.")
    prompt, values = context_prompt(shadow()), {"context": found, "question": "Which?"}
    with window(Budget(9, words), register=Register(), strict=True) as shared:
        texts = [prompt.invoke(values).to_string(), (await prompt.ainvoke(values)).to_string()]
        middleware = ContextMiddleware(RunnableLambda(lambda query: DOCUMENTS), shadow())
        create_agent(model, [], middleware=[middleware]).invoke({"messages": [HumanMessage("?")]})
    for text in [*texts, model.seen[0][0].text]:
        assert sorted(re.findall(r"^(?:Human: )?\[\d\] (\w)$", text, re.MULTILINE)) == list("abcdef")
    assert shared.left == 9
    with window(register=register):
        texts = [prompt.invoke({"context": DOCUMENTS[at:], "question": "?"}).to_string() for at in (3, 0)]
    assert [source.title for source in register.sources()] == list("defabc")
    assert re.findall(r"\[(\d)\]", texts[1]) == list("456123")


@tool(response_format="content_and_artifact")
def look_up(what: str) -> tuple[str, list[Document]]:
    """Search under another name."""
    return "what the tool wrote", DOCUMENTS


def broken(*_: object) -> list[float]:
    raise KeyError("broken")


@pytest.mark.parametrize("settings", [{"rerank": lambda query, texts: list(range(len(texts)))}, {"rank_by": broken}])
@pytest.mark.parametrize("face", ["tool", "context", "prompt", "documents"])
def test_what_is_only_recorded_fails_nothing(face, settings, caplog):
    """No query where a scorer wants one, a callable that raises: it is logged, and what came in is used."""
    placer, model = shadow(**settings), saying("So.")
    if face == "tool":
        call = {"name": "look_up", "args": {"what": "?"}, "id": "1"}
        model = saying(AIMessage("", tool_calls=[call]), "So.")
        agent = create_agent(model, [look_up], middleware=[EdgeOrderMiddleware(placer)])
        agent.invoke({"messages": [HumanMessage("?")]})
        assert results(model.seen[1])[0].content == "what the tool wrote"
    elif face == "context":
        middleware = ContextMiddleware(RunnableLambda(lambda query: DOCUMENTS), placer)
        create_agent(model, [], middleware=[middleware]).invoke({"messages": [HumanMessage("?")]})
        assert model.seen[0][0].text.count("[") == 6
    elif face == "prompt":
        assert context_prompt(placer).invoke({"context": DOCUMENTS, "question": "?"}).to_string().count("[") == 6
    else:
        assert placer.transform_documents(DOCUMENTS) == DOCUMENTS
    asks = "rerank" in settings and face in ("context", "prompt")  # these have a query
    assert ("shadow mode: nothing was placed" in caplog.text) != asks
