"""`cited` on what agents return in the field: structured answers, a server's JSON, agents that call agents."""

import dataclasses
import json
from typing import Any

import pytest
from agents import asked, blocks, calling, finding, letters, saying
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from typing_extensions import TypedDict

from edgeorder import EdgeOrderWarning, Register, window
from edgeorder.rendering import split_block
from langchain_edgeorder import ContextMiddleware, EdgeOrder, EdgeOrderMiddleware, cited

HI = [HumanMessage("Why?")]
PLAIN = EdgeOrder(order="relevance", reading="off", layout="numbered")
WAYS = pytest.mark.parametrize("way", ["sync", "async", "tokens"])


def ids(documents: list[Document]) -> list[Any]:
    return [document.id for document in documents]


class Claim(BaseModel):
    """A claim."""

    text: str


class Model(BaseModel):
    """An answer."""

    claims: list[Claim]


class Typed(TypedDict):
    """An answer."""

    claims: list[dict[str, str]]


@dataclasses.dataclass
class Plain:
    """An answer."""

    claims: list[dict[str, str]]


@WAYS
@pytest.mark.parametrize("schema", [Model, Typed, Plain])
def test_a_structured_answer(way, schema):
    """Its texts cite, those of an answer in words too; numbers in it are no citations."""
    args = {"claims": [{"text": "So it is [2]."}, {"text": "And so [3], says [1]."}]}
    answer = AIMessage("", tool_calls=[{"name": schema.__name__, "args": args, "id": "z"}])
    model = saying(calling("AB", "BC"), answer, calling("[3]"), "No [1].")
    agent = create_agent(
        model,
        [finding(letters)],
        middleware=[EdgeOrderMiddleware(PLAIN)],
        response_format=ToolStrategy(schema),
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "1"}}
    assert ids(cited(asked(agent, way, HI, config))) == ["B", "C", "A"]
    result = asked(agent, way, HI, config)
    assert ids(cited(result)) == ["A"]


@WAYS
def test_the_json_of_a_server(way):
    """A result that went through JSON, as LangGraph's server sends it, gives the same documents."""
    model = saying(calling("AB", "BC"), "So [1], [4] and [5].")
    middleware = [ContextMiddleware(RunnableLambda(lambda query: letters("XY")), PLAIN), EdgeOrderMiddleware(PLAIN)]
    result = asked(create_agent(model, [finding(letters)], middleware=middleware), way, HI)
    flat = {**result, "messages": [message.model_dump() for message in result["messages"]]}
    sent = json.loads(json.dumps(flat, default=lambda one: one.model_dump()))
    assert cited(sent) == cited(result) == [*letters("X"), *letters("BC")]


def test_messages_in_other_forms():
    """Pieces of a stream and pairs are messages too."""
    model = saying(calling("AB"), "So.")
    talk = create_agent(model, [finding(letters)], middleware=[EdgeOrderMiddleware(PLAIN)]).invoke({"messages": HI})
    for answer in (AIMessageChunk("So [2]."), ("ai", "So [2]."), {"role": "assistant", "content": "So [2]."}):
        assert ids(cited({**talk, "messages": [*talk["messages"], answer]})) == ["B"]


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("kind", ["tools", "context"])
def test_agents_that_call_agents(way, kind):
    """In a window with a register they share its numbers, also when they work at once; what is not here is told of."""
    shown: dict[int, set[str]] = {}

    def keep(pairs: list[tuple[int, str]]) -> None:
        for number, text in pairs:
            shown.setdefault(number, set()).add(text)

    @tool
    def ask(query: str) -> str:
        """Ask another agent."""
        own: Any = ContextMiddleware(RunnableLambda(letters), PLAIN)
        script = ["Mine is [1]."]
        if kind == "tools":
            own, script = EdgeOrderMiddleware(PLAIN), [calling(query[:1], query[1:]), *script]
        model = saying(*script)
        create_agent(model, [finding(letters)], middleware=[own]).invoke({"messages": [HumanMessage(query)]})
        for block in blocks(model.seen[-1]):
            keep(block)
        if kind == "context":
            keep(split_block(model.seen[-1][0].text, "numbered"))
        return "My [1]."

    def chat(turns: int) -> dict[str, Any]:
        asks = [*calling("XY").tool_calls, *calling("ABC", "CDE", "EFG", "GAH", name="ask").tool_calls]
        model = saying(*[AIMessage("", tool_calls=asks), calling("XYZ"), "So [2] and [9]."] * turns)
        agent = create_agent(
            model, [finding(letters), ask], middleware=[EdgeOrderMiddleware(PLAIN, tools="search")], checkpointer=saver
        )
        for _ in range(turns):
            with window(register=Register()):  # of each turn: the rest is in the state
                result = asked(agent, way, HI, {"configurable": {"thread_id": "1"}})
        for block in blocks(result["messages"]):
            keep(block)
        return result

    saver = InMemorySaver()
    result = chat(2)
    assert len(shown) == 11
    assert all(len(texts) == 1 for texts in shown.values())
    assert len(set.union(*shown.values())) == 11
    with pytest.warns(EdgeOrderWarning, match=r"the documents of \[.*\] left the conversation"):
        found = cited(result)
    assert set(ids(found)) <= {"X", "Y", "Z"}


@pytest.mark.parametrize("shared", [False, True])
def test_agents_whose_messages_are_joined(shared):
    """Where they numbered side by side a number means two things, and this is said; a register keeps them apart."""
    talks: list[Any] = []
    with window(9000, register=Register() if shared else None):
        for query in ("AB", "BC"):
            middleware = [EdgeOrderMiddleware(PLAIN)]
            agent = create_agent(saying(calling(query), "So."), [finding(letters)], middleware=middleware)
            talks += agent.invoke({"messages": HI})["messages"]
    result = {"messages": [*talks, AIMessage("So [1] and [2].")]}
    if shared:
        assert ids(cited(result)) == ["A", "B"]
        return
    with pytest.warns(EdgeOrderWarning, match=r"\[1, 2\] stand for several documents each"):
        cited(result)
