"""`ContextMiddleware` where a turn is not as one would think: said again, interrupted, begun by nobody."""

import warnings
from typing import Any

import pytest
from agents import asked, fact, letters, saying
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, before_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from edgeorder import Budget, EdgeOrderWarning, message_counter
from edgeorder.rendering import split_block
from langchain_edgeorder import ContextMiddleware, EdgeOrder, cited

COUNT = message_counter(lambda text: len(text.split()), image_tokens=40)
CONFIG = {"configurable": {"thread_id": "1"}}
WAYS = pytest.mark.parametrize("way", ["sync", "async", "tokens"])
BUDGETS = pytest.mark.parametrize("budget", [None, 400])


def plain(budget: int | None, **settings: Any) -> EdgeOrder:
    settings = {"order": "relevance", "reading": "off", **settings}
    return EdgeOrder(budget=None if budget is None else Budget(budget, COUNT), **settings)


def two(budget: int | None, first: Any = letters) -> list[Any]:
    """Two of them, for letters and for laws."""
    laws = RunnableLambda(lambda query: [fact("L"), fact("M")])
    return [
        ContextMiddleware(RunnableLambda(first), plain(budget), name="letters", instruction="Letters:"),
        ContextMiddleware(laws, plain(budget), name="laws", instruction="Laws:"),
    ]


def shown(model: Any) -> list[tuple[int, str]]:
    """The numbers and names in the last system message."""
    parts = model.seen[-1][0].text.replace("Letters:\n\n", "").split("\n\nLaws:\n\n")
    return [(number, text[5]) for part in parts for number, text in split_block(part, "numbered")]


class Failing(AgentMiddleware):
    """Fails so many model calls, or so many turns before the first one."""

    def __init__(self, calls: int = 0, turns: int = 0) -> None:
        super().__init__()
        self.calls, self.turns = calls, turns

    def before_agent(self, state: Any, runtime: Any) -> None:
        self.turns -= 1
        if self.turns >= 0:
            raise RuntimeError("down")

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self.calls -= 1
        if self.calls >= 0:
            raise RuntimeError("overloaded")
        return handler(request)


@BUDGETS
@pytest.mark.parametrize("fails", [{"calls": 1}, {"turns": 1}, {"calls": 2}, {"turns": 1, "calls": 1}])
def test_said_again_after_a_failure(budget, fails):
    """Frontends send a message again under its id: it is a turn of its own, and each has its own documents."""
    model, failing = saying("So [2] and [3]."), Failing(**fails)
    first, second = two(budget)
    agent = create_agent(model, middleware=[first, failing, second], checkpointer=InMemorySaver())
    for query in ("CD", "AB", "AB", "AB"):
        try:
            result = agent.invoke({"messages": [HumanMessage(query, id="h")]}, CONFIG)
            break
        except RuntimeError:
            continue
    names = [name for _, name in shown(model)]
    assert names == [*(["A", "B"] if query == "AB" else []), "L", "M"]
    assert [document.id for document in result["context"]] == names
    numbers = dict(shown(model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOrderWarning)  # of numbers of the turn that failed
        assert [document.id for document in cited(result)] == [numbers[n] for n in (2, 3) if n in numbers]


@WAYS
@BUDGETS
def test_a_message_between(way, budget):
    """What another middleware says between the two does not begin another turn."""

    @before_agent
    def adds(state: Any, runtime: Any) -> Any:
        return {"messages": [HumanMessage("Mind the date.")]}

    first, second = two(budget)
    model = saying("So [3].", "So [5].")
    agent = create_agent(model, middleware=[first, adds, second], checkpointer=InMemorySaver())
    for query in ("AB", "C"):
        result = asked(agent, way, [HumanMessage(query)], CONFIG)
        assert [name for _, name in shown(model)] == [*query, "L", "M"]
        assert [document.id for document in result["context"]] == [*query, "L", "M"]
        assert [document.id for document in cited(result)] == ["L" if query == "AB" else "C"]


@WAYS
@BUDGETS
def test_one_that_finds_nothing(way, budget):
    """The documents of the other one are in the result as they were shown."""
    reverse = plain(None if budget is None else 110, order="reverse")
    empty = ContextMiddleware(RunnableLambda(lambda query: []), plain(budget), name="empty")
    model = saying("So [1] and [2].")
    agent = create_agent(model, middleware=[empty, ContextMiddleware(RunnableLambda(letters), reverse)])
    result = asked(agent, way, [HumanMessage("ABCDEF")])
    names = [name for _, name in shown(model)]
    assert names == list("FEDCBA" if budget is None else "DCBA")
    assert [document.id for document in result["context"]] == names
    assert [document.id for document in cited(result)] == names[:2]


@WAYS
@pytest.mark.parametrize("said", [[AIMessage("Hello")], [SystemMessage("Begin.")], [HumanMessage("")]])
def test_nobody_asked(way, said):
    """Where no human said anything, nothing is looked up, a warning says so, and the run goes on."""
    model = saying("Well.")
    with pytest.warns(EdgeOrderWarning, match="there is no text to retrieve for"):
        result = asked(
            create_agent(model, middleware=[ContextMiddleware(RunnableLambda(letters), plain(90))]), way, said
        )
    assert (result["messages"][-1].text, result["context"]) == ("Well.", [])


def test_roles():
    """A chat message of a user is one of a human, and one of somebody else is not."""
    model = saying("Well.")
    talk = [ChatMessage("AB", role="user"), ChatMessage("CD", role="critic")]
    agent = create_agent(model, middleware=[ContextMiddleware(RunnableLambda(letters), plain(None))])
    assert [document.id for document in agent.invoke({"messages": talk})["context"]] == ["A", "B"]


@BUDGETS
@pytest.mark.parametrize(
    ("found", "message"),
    [(None, "must be a list of Document, not NoneType"), ([(fact("A"), 0.3)], r"documents\[0\] is a tuple")],
)
def test_what_is_no_list_of_documents(budget, found, message):
    """It is an error at once, which names what came."""
    agent = create_agent(
        saying("So."), middleware=[ContextMiddleware(RunnableLambda(lambda query: found), plain(budget))]
    )
    with pytest.raises(TypeError, match=message):
        agent.invoke({"messages": [HumanMessage("A")]})


def test_documents_from_an_iterator():
    """What a function filters is a list in the end."""
    found = RunnableLambda(lambda query: filter(lambda one: one.id != "B", letters(query)))
    agent = create_agent(saying("So."), middleware=[ContextMiddleware(found, plain(400))])
    assert [document.id for document in agent.invoke({"messages": [HumanMessage("ABC")]})["context"]] == ["A", "C"]


class Scored(Document):
    """A document of a class of the user's own."""

    relevance: float = 0.5


@BUDGETS
def test_a_class_of_its_own_in_a_strict_checkpoint(budget):
    """A strict checkpoint gives such documents back as dicts; they are placed and cited all the same."""
    found = RunnableLambda(
        lambda query: [Scored(page_content=f"Fact-{name}.", id=name) for name in query] + [fact("Z")]
    )
    saver = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    agent = create_agent(
        saying("So [2] and [3]."),
        middleware=[ContextMiddleware(found, plain(budget))],
        checkpointer=saver,
        interrupt_before=["model"],
    )
    agent.invoke({"messages": [HumanMessage("AB")]}, CONFIG)
    result = agent.invoke(None, CONFIG)
    for state in (result, agent.get_state(CONFIG).values):
        assert [document.id for document in cited(state)] == ["B", "Z"]
