"""Results that are no plain list of documents in a plain conversation: nothing is lost, and the budget holds."""

import warnings
from typing import Annotated, Any

import pytest
from agents import asked, blocks, calling, fact, finding, letters, results, saying
from langchain.agents import create_agent
from langchain.agents.middleware import before_model, dynamic_prompt, wrap_model_call
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import MessagesState, StateGraph, add_messages
from langgraph.prebuilt import ToolNode
from typing_extensions import TypedDict

from edgeorder import Budget, BudgetError, EdgeOrderWarning, message_counter
from langchain_edgeorder import EdgeOrder, EdgeOrderMiddleware, cited

COUNT = message_counter(lambda text: len(text.split()), image_tokens=40)
HI = [HumanMessage("Why?")]
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
PAPER = {"type": "file", "url": "https://example.org/a.pdf"}
WAYS = pytest.mark.parametrize("way", ["sync", "async", "tokens"])


def plain(budget: int | None = None, **settings: Any) -> EdgeOrder:
    settings = {"order": "relevance", "reading": "off", **settings}
    return EdgeOrder(budget=None if budget is None else Budget(budget, COUNT), **settings)


def numbers(messages: Any) -> list[list[int]]:
    return [[number for number, _ in block] for block in blocks(messages)]


@tool(response_format="content_and_artifact")
def album(query: str) -> Any:
    """Return documents, and a picture and a file beside them."""
    return [{"type": "text", "text": "found"}, PICTURE, PAPER], letters(query)


class TestBlocks:
    """Content blocks of a tool message."""

    @WAYS
    @pytest.mark.parametrize("queries", [["ABCDEFGH"], ["ABCDEF", "GH"], ["ABC", "DEF", "GHI"]])
    def test_what_is_no_text_stays(self, way, queries):
        """Pictures beside documents are sent as before, and count."""
        model = saying(calling(*queries, name="album"), "So [1].")
        middleware = EdgeOrderMiddleware(plain(330), reserve_history=True)
        result = asked(create_agent(model, [album], middleware=[middleware]), way, HI)
        assert [message.content[1:] for message in results(model.seen[1])] == [[PICTURE, PAPER]] * len(queries)
        assert [len(message.content[0]["text"]) > 50 for message in results(model.seen[1])] == [True] * len(queries)
        assert 280 < COUNT(model.seen[1], model.bound[1]) <= 330
        assert [document.id for document in cited(result)] == ["A"]

    @pytest.mark.parametrize(
        "block",
        [
            {"type": "text", "text": "raw"},
            {"type": "search_result", "source": "a", "title": "b", "content": [{"type": "text", "text": "raw"}]},
            {"type": "json", "json": {"raw": 1}},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "raw"}},
        ],
        ids=lambda block: block["type"],
    )
    def test_the_words_of_a_tool_are_written_anew(self, block):
        """What it wrote of the documents is not sent beside the block."""

        @tool(response_format="content_and_artifact")
        def search(query: str) -> Any:
            """Search."""
            return [block], letters(query)

        model = saying(calling("AB"), "So [1].")
        create_agent(model, [search], middleware=[EdgeOrderMiddleware(plain())]).invoke({"messages": HI})
        [message] = results(model.seen[1])
        assert "raw" not in str(message.content)
        assert numbers([message]) == [[1, 2]]

    def test_at_the_end_of_a_run(self):
        """Results of `return_direct` tools are within the budget with what they show."""
        direct = album.model_copy(update={"return_direct": True})
        middleware = EdgeOrderMiddleware(plain(280), reserve_history=True)
        model = saying(calling("ABCDEF", "GHIJK", name="album"))
        messages = create_agent(model, [direct], middleware=[middleware]).invoke({"messages": HI})["messages"]
        assert 190 < COUNT(messages, model.bound[0]) <= 280
        shown = [number for block in numbers(messages) for number in block]
        assert len(shown) == len(set(shown)) >= 4

    @WAYS
    def test_texts_in_blocks(self, way):
        """With `texts=True` the text of blocks is cut as well, each block a part of its own; a picture stays."""
        log = "\n".join(f"step {n} done" for n in range(200))

        @tool
        def one(query: str) -> Any:
            """Return one block."""
            return [{"type": "text", "text": log}]

        @tool
        def mixed(query: str) -> Any:
            """Return text around a picture."""
            return [{"type": "text", "text": "started"}, PICTURE, {"type": "text", "text": log}]

        for names, budget in ((["mixed"], 400), (["one", "mixed"], 700)):
            calls = [call for name in names for call in calling("a", name=name).tool_calls]
            model = saying(AIMessage("", tool_calls=calls), "So.")
            middleware = EdgeOrderMiddleware(plain(budget), reserve_history=True, texts=True)
            asked(create_agent(model, [one, mixed], middleware=[middleware]), way, HI)
            *others, last = results(model.seen[-1])
            assert last.content[1:] == [PICTURE]
            assert last.content[0]["text"].startswith("started\nstep 0 done\n")
            assert all(" lines]\n" in message.text for message in (*others, last))
            assert budget - 10 < COUNT(model.seen[-1], model.bound[-1]) <= budget


class TestMessages:
    """What stands around a result."""

    @WAYS
    def test_a_message_after_the_results(self, way):
        """Results that a message of another middleware follows are settled all the same."""

        @before_model
        def nudge(state: Any, runtime: Any) -> Any:
            after = isinstance(state["messages"][-1], ToolMessage)
            return {"messages": [HumanMessage("Mind the rules. " * 10)]} if after else None

        model = saying(calling("ABCDEF", "GH", "CD"), "So [4].")
        middleware = EdgeOrderMiddleware(plain(280), reserve_history=True, already="point")
        result = asked(create_agent(model, [finding(letters)], middleware=[nudge, middleware]), way, HI)
        assert numbers(model.seen[1]) == [[1, 2, 3], [4, 5], [3, 6]]
        assert [len(message.artifact) for message in results(result["messages"])] == [3, 2, 2]
        assert all("open" not in m.response_metadata["edgeorder"] for m in results(result["messages"]))
        assert COUNT(model.seen[1], model.bound[1]) <= 280

    def test_a_run_that_died_before_the_answer(self):
        """The next turn sends what it left, settled."""
        model = saying(calling("ABC", "CD"), "So [1].")

        @wrap_model_call
        def failing(request: Any, handler: Any) -> Any:
            if request.messages[-1].text == "" or isinstance(request.messages[-1], ToolMessage):
                raise RuntimeError("down")
            return handler(request)

        agent = create_agent(model, [finding(letters)], middleware=[EdgeOrderMiddleware(plain()), failing])
        states: list[Any] = []
        with pytest.raises(RuntimeError, match="down"):
            states.extend(agent.stream({"messages": HI}, stream_mode="values"))
        talk = [*states[-1]["messages"], HumanMessage("Still there?")]
        result = agent.invoke({**states[-1], "messages": talk})
        assert numbers(model.seen[-1]) == [[1, 2, 3], [3, 4]]
        assert [document.id for document in cited(result)] == ["A"]

    @WAYS
    def test_a_middleware_that_takes_ids_away(self, way):
        """What is written anew for a call takes its place in the state, and no message stands there twice."""

        @wrap_model_call
        def bare(request: Any, handler: Any) -> Any:
            return handler(request.override(messages=[m.model_copy(update={"id": None}) for m in request.messages]))

        class Bare(type(bare)):  # type: ignore[misc]
            async def awrap_model_call(self, request: Any, handler: Any) -> Any:
                messages = [m.model_copy(update={"id": None}) for m in request.messages]
                return await handler(request.override(messages=messages))

        @dynamic_prompt
        def growing(request: Any) -> str:
            return "Mind this. " * (20 if isinstance(request.messages[-1], ToolMessage) else 0)

        model = saying(calling("ABCDEFGH", "IJ"), "So [1].")
        middleware = [Bare(), growing, EdgeOrderMiddleware(plain(240), reserve_history=True)]
        result = asked(create_agent(model, [finding(letters)], middleware=middleware), way, HI)
        assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "tool", "ai"]
        assert [m.text for m in results(result["messages"])] == [m.text for m in results(model.seen[1])]
        assert 200 < COUNT(model.seen[1], model.bound[1]) <= 240


class TestBareNodes:
    """A `ToolNode` in a graph of one's own."""

    def test_calls_with_one_id(self):
        """Some models give all calls one id: no number is given twice."""
        calls = [{"name": "search", "args": {"query": query}, "id": "x"} for query in ("AB", "CD", "AB", "EA")]
        node = ToolNode([finding(letters)], wrap_tool_call=EdgeOrderMiddleware(plain()).wrap_tool_call)
        graph = StateGraph(MessagesState)
        graph.add_node("tools", node)
        graph.set_entry_point("tools")
        messages = graph.compile().invoke({"messages": [AIMessage("", tool_calls=calls)]})["messages"]
        shown = [pair for block in blocks(messages) for pair in block]
        assert all(dict(shown)[number] == text for number, text in shown)

    @pytest.mark.parametrize("words", [10, 120])
    def test_another_key(self, words):
        """Messages that stand under another key of the state are the conversation, too."""

        class State(TypedDict):
            chat: Annotated[list, add_messages]

        middleware = EdgeOrderMiddleware(plain(170), reserve_history=True)
        node = ToolNode([finding(letters)], messages_key="chat", wrap_tool_call=middleware.wrap_tool_call)
        graph = StateGraph(State)
        graph.add_node("tools", node)
        graph.set_entry_point("tools")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            said = [HumanMessage("word " * words), calling("ABCDEF", "CDE")]
            messages = graph.compile().invoke({"chat": said})["chat"]
        assert COUNT(messages) <= 170
        shown = [pair for block in blocks(messages) for pair in block]
        assert len({number for number, _ in shown}) == len({text for _, text in shown})
        assert bool(shown) == (words == 10)

    def test_no_messages_at_all(self):
        """Without a conversation there is nothing to take off, and a warning says so."""
        middleware = EdgeOrderMiddleware(plain(170), reserve_history=True)
        node = ToolNode([finding(letters)], wrap_tool_call=middleware.wrap_tool_call)
        graph = StateGraph(list)
        graph.add_node("tools", node)
        graph.set_entry_point("tools")
        with pytest.warns(EdgeOrderWarning, match="the state of the graph has no messages"):
            graph.compile().invoke([{**calling("AB").tool_calls[0], "type": "tool_call"}])


@WAYS
def test_a_strict_step_whose_share_is_too_small(way):
    """What one of two results does not need is the other's, so that it fails only where in the end nothing fits."""
    model = saying(calling("A", ""), "So.")
    asked(create_agent(model, [finding(letters)], middleware=[EdgeOrderMiddleware(plain())]), way, HI)
    needed = COUNT(model.seen[1], model.bound[1])
    for budget, fits in ((needed + 1, True), (needed - 1, False)):
        model = saying(calling("A", ""), "So.")
        middleware = EdgeOrderMiddleware(plain(budget), reserve_history=True, strict=True)
        agent = create_agent(model, [finding(letters)], middleware=[middleware])
        if fits:
            asked(agent, way, HI)
            assert blocks(model.seen[1]) == [[(1, fact("A").page_content)]]
        else:
            with pytest.raises(BudgetError, match="the window is full"):
                asked(agent, way, HI)
