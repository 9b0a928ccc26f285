"""What tools return, understood as documents, or said to be something else."""

import warnings
from typing import Annotated, Any

import pytest
from agents import asked, blocks, calling, fact, finding, letters, results, saying
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from langgraph.prebuilt import InjectedState
from langgraph.types import Command

from edgeorder import EdgeOrderWarning
from langchain_edgeorder import EdgeOrder, EdgeOrderMiddleware, cited

HI = [HumanMessage("Why?")]
EDGE = EdgeOrder(order="relevance", reading="off", top_n=2)


@tool
def listed(query: str) -> Any:
    """Return a list."""
    return letters(query)


@tool
def tupled(query: str) -> Any:
    """Return a tuple."""
    return tuple(letters(query))


@tool(response_format="content_and_artifact")
def tuple_artifact(query: str) -> Any:
    """Return a tuple as the artifact."""
    return "found", tuple(letters(query))


@tool
async def awaited(query: str) -> Any:
    """Return a list, async only."""
    return letters(query)


@tool
def with_state(query: str, state: Annotated[dict, InjectedState], call: Annotated[str, InjectedToolCallId]) -> Any:
    """Return a list, and see the state."""
    assert state["messages"]
    assert call
    return letters(query)


class Own(BaseTool):
    """A tool that is a class of its own."""

    name: str = "own"
    description: str = "Return a list."

    def _run(self, query: str, run_manager: Any = None) -> Any:
        assert run_manager is not None
        return letters(query)


def _both(query: str) -> Any:
    return letters(query)


async def _aboth(query: str) -> Any:
    return letters(query)


both = StructuredTool.from_function(_both, coroutine=_aboth, name="both", description="Sync and async.")


@tool
def blocky(query: str) -> Any:
    """Return content blocks, as MCP tools do."""
    return [
        {"type": "text", "text": document.page_content, "id": f"lc_{n}"} for n, document in enumerate(letters(query))
    ]


UNDERSTOOD = [listed, tupled, tuple_artifact, with_state, Own(), both, blocky]


def placed(tools: list[Any], way: str, middleware: Any) -> Any:
    """What the first tool is shown to have returned, and the model's last messages."""
    model = saying(calling("ABC", name=tools[0].name), "So [2].")
    result = asked(create_agent(model, tools, middleware=[middleware]), way, HI)
    return result, results(model.seen[1])[0]


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("one", UNDERSTOOD, ids=lambda one: one.name)
def test_understood(way, named, one):
    """Lists and tuples of documents, as artifacts or results, and text blocks are placed, and can be cited."""
    result, message = placed([one], way, EdgeOrderMiddleware(EDGE, tools=one.name if named else None))
    [block] = blocks([message])
    assert block == [(1, fact("A").page_content), (2, fact("B").page_content)]
    assert [document.page_content for document in message.artifact] == [text for _, text in block]
    assert [document.page_content for document in cited(result)] == [block[1][1]]


def test_async_only_tools():
    """A tool that is only async is understood too, also by its name in a list."""
    for tools in (None, ["awaited"]):
        _, message = placed([awaited], "async", EdgeOrderMiddleware(EDGE, tools=tools))
        assert len(blocks([message])[0]) == 2


def test_one_text_block():
    """One text block is placed where its tool is named; elsewhere it is a text like others."""
    model = saying(calling("A", name="blocky"), "So.")
    create_agent(model, [blocky], middleware=[EdgeOrderMiddleware(EDGE)]).invoke({"messages": HI})
    assert results(model.seen[1])[0].content == [{"type": "text", "text": fact("A").page_content, "id": "lc_0"}]
    model = saying(calling("A", name="blocky"), "So.")
    create_agent(model, [blocky], middleware=[EdgeOrderMiddleware(EDGE, tools="blocky")]).invoke({"messages": HI})
    assert blocks(model.seen[1]) == [[(1, fact("A").page_content)]]


@pytest.mark.parametrize("parallel", [False, True])
def test_an_artifact_of_the_tool_stays(parallel):
    """Where the text blocks are placed and the artifact is something else, the artifact stays what it was."""

    @tool(response_format="content_and_artifact")
    def both_things(query: str) -> Any:
        """Return blocks and what they were made of."""
        return [{"type": "text", "text": document.page_content} for document in letters(query)], {"took": 3}

    model = saying(calling("AB", *["CD"] * parallel, name="both_things"), "So.")
    agent = create_agent(model, [both_things], middleware=[EdgeOrderMiddleware(EDGE)])
    found = results(agent.invoke({"messages": HI})["messages"])
    assert [message.artifact for message in found] == [{"took": 3}] * (1 + parallel)
    numbers = [number for block in blocks(found) for number, _ in block]
    assert len(numbers) == len(set(numbers)) == 2 * (1 + parallel)


@tool
def text(query: str) -> str:
    """Return a text."""
    return "a text"


@tool
def mapping(query: str) -> Any:
    """Return a dict."""
    return {"documents": letters(query)}


@tool(response_format="content_and_artifact")
def mapping_artifact(query: str) -> Any:
    """Return a dict as the artifact."""
    return "found", {"documents": letters(query)}


@tool
def command(query: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Update the state."""
    return Command(update={"messages": [ToolMessage("by command", tool_call_id=tool_call_id, artifact=letters(query))]})


@tool
def mixed(query: str) -> Any:
    """Return blocks that are not only text."""
    return [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]


NOT_UNDERSTOOD = {
    "text": (text, "returned a text"),
    "dict": (mapping, "returned a text"),
    "dict artifact": (mapping_artifact, "returned an artifact of type dict"),
    "command": (command, "returned a Command"),
    "image": (mixed, "returned content blocks of type image_url, text"),
}


@pytest.mark.parametrize("name", NOT_UNDERSTOOD)
def test_not_understood(name):
    """A tool that was named and returns something else is pointed out, and its result passes; others pass silently."""
    one, what = NOT_UNDERSTOOD[name]
    _, plain = placed([one], "sync", EdgeOrderMiddleware(EDGE))
    with pytest.warns(EdgeOrderWarning, match=f"the tool '{one.name}' {what}, which .* does not understand"):
        _, message = placed([one], "sync", EdgeOrderMiddleware(EDGE, tools=one.name))
    assert message.model_copy(update={"id": None}) == plain.model_copy(update={"id": None})


def test_the_default_of_create_retriever_tool_is_pointed_out():
    """It returns a text, in which nothing can be placed: said with what to write, though no tool was named."""
    one = finding(letters, response_format="content")
    for tools in (None, one.name):
        with pytest.warns(
            EdgeOrderWarning, match=r"the tool 'search' returned a text.*response_format='content_and_art"
        ):
            _, message = placed([one], "sync", EdgeOrderMiddleware(EDGE, tools=tools))
        assert message.content.startswith(letters("A")[0].page_content)


def test_silence():
    """Nothing found, errors, and tools that were not named are no matter of ours."""

    @tool
    def fails(query: str) -> Any:
        """Fail."""
        raise RuntimeError("down")

    fails.handle_tool_error = True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one in (text, listed):
            middleware = EdgeOrderMiddleware(EDGE, tools="listed")
            model = saying(calling("", name=one.name), "So.")
            create_agent(model, [text, listed], middleware=[middleware]).invoke({"messages": HI})
            assert results(model.seen[1])[0].content in ("a text", "[]", [])


def test_names():
    """One name is one name, and a name that no tool has is pointed out."""
    assert EdgeOrderMiddleware(tools="search").name == EdgeOrderMiddleware(tools=["search"]).name
    middleware = EdgeOrderMiddleware(EDGE, tools=["serch", "listed"])
    with pytest.warns(EdgeOrderWarning, match=r"tools=\['serch'\] of EdgeOrderMiddleware are no tools of this agent"):
        placed([listed, text], "sync", middleware)


def test_documents_are_not_changed():
    """What the tool returned stays as it was: the list, and the documents in it."""
    kept = [Document(name, id=name) for name in "CAB"]

    @tool
    def same(query: str) -> Any:
        """Return the same list."""
        return kept

    _, message = placed([same], "sync", EdgeOrderMiddleware(EdgeOrder(order="reverse", annotate=True)))
    assert [document.id for document in kept] == list("CAB")
    assert all(document.metadata == {} for document in kept)
    assert [document.metadata["edgeorder"]["rank"] for document in message.artifact] == [3, 2, 1]
