"""`cited`: a citation leads to its node, or is warned of; whatever engine or agent gave the result, however it came."""

import asyncio
import json
from typing import Any

import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import PydanticResponse, Response
from llama_index.core.chat_engine import CondenseQuestionChatEngine, ContextChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.schema import ImageNode, IndexNode, Node, NodeWithScore, TextNode
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent, JsonSerializer
from pydantic import BaseModel
from talking import PLAIN, Letters, Scripted, calling, saying

from edgeorder import EdgeOrderWarning, Register, window
from llamaindex_edgeorder import EdgeOrderPostprocessor, NumberedPostprocessor, cited, retriever_tool

# LlamaIndex's workflows warn of their own parts.
pytestmark = [pytest.mark.filterwarnings("error::edgeorder.EdgeOrderWarning"), pytest.mark.filterwarnings("ignore")]

PLACER = EdgeOrderPostprocessor(**PLAIN)
NUMBERED = NumberedPostprocessor(placer=PLACER)


def engine(llm: Any, post: Any = NUMBERED, **settings: Any) -> RetrieverQueryEngine:
    return RetrieverQueryEngine.from_args(Letters(), llm=llm, node_postprocessors=[post], **settings)


def chat(llm: Any) -> Any:
    memory = ChatMemoryBuffer.from_defaults(token_limit=900)
    return ContextChatEngine.from_defaults(Letters(), llm=llm, memory=memory, node_postprocessors=[NUMBERED])


def ids(nodes: list[NodeWithScore]) -> list[str]:
    return [node.node_id for node in nodes]


def numbered(*names: str, first: int = 1) -> list[NodeWithScore]:
    """Nodes as `NumberedPostprocessor` gives them."""
    with window(register=(register := Register())):
        if first > 1:
            NUMBERED.postprocess_nodes(Letters().retrieve("ZYXWVUTSRQ"[: first - 1]))
        nodes = NUMBERED.postprocess_nodes(Letters().retrieve("".join(names)))
    assert len(register) == first - 1 + len(names)
    return nodes


class TestStreams:
    """An answer that streams: it is read once, and LlamaIndex does not always keep it."""

    @pytest.mark.parametrize("asynchronous", [False, True])
    async def test_of_a_query_engine(self, asynchronous: bool, make_llm: Any) -> None:
        """Unread it is read; read by hand, its text is given, or a warning says what is missing."""
        streaming = engine(make_llm(answer="So [2]."), streaming=True)

        async def response() -> Any:
            return await streaming.aquery("AB?") if asynchronous else streaming.query("AB?")

        assert ids(cited(await response())) == ["B"]
        read = await response()
        if asynchronous:
            text = "".join([piece async for piece in read.async_response_gen()])
            assert ids(cited(read)) == ["B"]
        else:
            text = "".join(read.response_gen)
            with pytest.warns(EdgeOrderWarning, match=r"its stream was read before.*: give that as answer=\.\.\."):
                assert cited(read) == []
        assert ids(cited(read, answer=text)) == ["B"]

    async def test_of_a_chat_engine(self, make_llm: Any) -> None:
        """Read to its end, citations lead to nodes; before, an error says so."""
        talking = chat(make_llm(answer="So [2]."))
        response = await talking.astream_chat("AB?")
        with pytest.raises(ValueError, match="still streaming: read it to its end first"):
            cited(response)
        assert ids(cited(response, answer="So [1].")) == ["A"]
        text = "".join([piece async for piece in response.async_response_gen()])
        assert ids(cited(response)) == ids(cited(response, answer=text)) == ["B"]

    @pytest.mark.parametrize("asynchronous", [False, True])
    async def test_of_an_engine_in_a_chat_engine(self, asynchronous: bool, make_llm: Any) -> None:
        """The nodes of a streaming engine that a chat engine asks are found too."""
        llm = make_llm(answer="So [2].")
        memory = ChatMemoryBuffer.from_defaults(token_limit=900)
        talking = CondenseQuestionChatEngine.from_defaults(engine(llm, streaming=True), llm=llm, memory=memory)
        if asynchronous:
            response = await talking.astream_chat("AB?")
            _ = [piece async for piece in response.async_response_gen()]
        else:
            response = await asyncio.to_thread(talking.stream_chat, "AB?")
            _ = list(response.response_gen)
        assert ids(cited(response)) == ["B"]


class TestEarlierTurns:
    """What was shown in an earlier turn is cited in a later one."""

    def test_of_a_chat(self, make_llm: Any) -> None:
        """Given the earlier results, the node is found; the latest that knows the number counts."""
        llm, register, turns = make_llm(answer="So [1], [3] and [2]."), Register(), []
        talking = chat(llm)
        for message in ("AB?", "C?", "D?"):
            with window(register=register):
                turns.append(talking.chat(message))
        with pytest.warns(
            EdgeOrderWarning, match=r"has the number 1, 3, 2, which .* cited\(result, earlier=\[\.\.\.\]\)"
        ):
            assert cited(turns[2]) == []
        assert ids(cited(turns[2], turns[:2])) == ["A", "C", "B"]
        assert ids(cited(turns[0], tuple(turns[1:]))) == ["A", "C", "B"]

    async def test_of_an_agent(self) -> None:
        """An agent that answers without a search, from what its memory holds."""
        llm = Scripted(calling("AB"), saying("So [1]."), saying("As said in [2]."))
        agent = FunctionAgent(tools=[retriever_tool(Letters(), PLACER)], llm=llm, streaming=False)
        ctx: Any = Context(agent)
        first, second = [await agent.run(question, ctx=ctx) for question in ("Why?", "And?")]
        assert ids(cited(second, [first])) == ["B"]
        with pytest.warns(EdgeOrderWarning, match="the number 2"):
            assert cited(second) == []

    async def test_that_a_search_points_at(self) -> None:
        """What a search found again and only pointed at is given as it stands above, not as the pointer."""
        llm = Scripted(calling("AB"), saying("So."), calling("CA"), saying("So [1]."))
        tool = retriever_tool(Letters(), PLACER, already="point")
        agent = FunctionAgent(tools=[tool], llm=llm, streaming=False)
        ctx: Any = Context(agent)
        memory = ChatMemoryBuffer.from_defaults(token_limit=9000)
        first, second = [await agent.run(question, ctx=ctx, memory=memory) for question in ("Why?", "And?")]
        assert second.tool_calls[0].tool_output.content.endswith("[1] above")
        assert cited(second)[0].text == cited(first, answer="[1]")[0].text != "[1] above"

    def test_own_nodes_come_first(self) -> None:
        """Where turns do not share a register, a number is the one of its own turn."""
        first, second = Response("", numbered("A", "B")), Response("So [1] and [2].", numbered("C"))
        assert ids(cited(second, [first])) == ["C", "B"]


class TestNumbers:
    """Numbers that lead nowhere, or to several nodes."""

    @pytest.mark.parametrize(("answer", "lost"), [("So [2][9].", "9"), ("So [2], [3-4].", "3, 4"), ("[1] [2]", "1")])
    def test_that_no_node_has(self, answer: str, lost: str) -> None:
        """One is warned of, below the numbers of the result, among and above them."""
        nodes = numbered("B", first=2)
        with pytest.warns(
            EdgeOrderWarning, match=f"has the number {lost}, which the answer cites.*otherwise .* invents it"
        ):
            assert ids(cited(Response(answer, nodes))) == ["B"]

    def test_of_an_engine_that_numbers_nothing(self, make_llm: Any) -> None:
        """The warning says what gives numbers; an answer without citations is none's fault."""
        with pytest.warns(EdgeOrderWarning, match="none has a number at all; NumberedPostprocessor, last among"):
            assert cited(engine(make_llm(answer="So [1]."), PLACER).query("AB?")) == []
        assert cited(engine(make_llm(answer="So it is."), PLACER).query("AB?")) == []
        assert cited(Response(None, [])) == []

    def test_that_mean_several_nodes(self) -> None:
        """Engines that numbered apart: all nodes are returned, and the warning says what shares numbers."""
        response = Response("So [2], [1].", [*numbered("A", "B"), *numbered("A", "C")])
        with pytest.warns(
            EdgeOrderWarning, match=r"\[2\] means several nodes: \['B', 'C'\].*window\(register=Register"
        ):
            assert ids(cited(response)) == ["B", "C", "A"]

    def test_of_a_citation_engine(self, make_llm: Any) -> None:
        """LlamaIndex's own labels count where the nodes have them in turn; a node that only quotes one has none."""
        nodes = [node.node for node in Letters().retrieve("ABC")]
        index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=2))
        citing = CitationQueryEngine.from_args(
            index, llm=make_llm(answer="So [3], [1]."), similarity_top_k=3, node_postprocessors=[PLACER]
        )
        response = citing.query("Why?")
        assert [node.text for node in cited(response)] == [response.source_nodes[at].text for at in (2, 0)]
        quoting = [NodeWithScore(node=TextNode(text=f"Source {number}:\nquoted")) for number in (1, 3)]
        with pytest.warns(EdgeOrderWarning, match="none has a number"):
            assert cited(Response("So [1].", quoting)) == []

    @pytest.mark.parametrize("mark", ["mine", 5, None, [1], {"number": "1"}, {"number": True}])
    def test_a_key_of_the_users(self, mark: Any) -> None:
        """Metadata that happens to be called so is no number."""
        node = NodeWithScore(node=TextNode(text="x", metadata={"edgeorder": mark}))
        with pytest.warns(EdgeOrderWarning, match="none has a number"):
            assert cited(Response("So [1].", [node])) == []


class TestResults:
    """What results of every kind hold."""

    async def test_a_tool_that_ends_the_run(self) -> None:
        """With `return_direct` the result holds what the tool gave."""
        tool = retriever_tool(Letters(), PLACER, return_direct=True)
        result = await FunctionAgent(tools=[tool], llm=Scripted(calling("AB")), streaming=False).run("Why?")
        assert ids(cited(result)) == ["A", "B"]

    @pytest.mark.parametrize("node", [TextNode, ImageNode, Node, IndexNode])
    async def test_a_run_that_was_saved_and_went_on(self, node: Any) -> None:
        """A context that was JSON while a person was asked: the nodes of the searches before are nodes again."""

        class Kind(Letters):
            def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
                kinds = {
                    TextNode: TextNode(text="t", id_="A"),
                    ImageNode: ImageNode(text="t", id_="A", image="aGk="),
                    Node: Node(text_resource={"text": "t"}, image_resource={"data": b"aGk="}, id_="A"),
                    IndexNode: IndexNode(text="t", id_="A", index_id="i"),
                }
                return [NodeWithScore(node=kinds[node], score=0.5)]

        async def approve(ctx: Context) -> str:
            """Ask a person."""
            asked = InputRequiredEvent(prefix="?")  # type: ignore[call-arg]
            event: Any = await ctx.wait_for_event(HumanResponseEvent, waiter_id="one", waiter_event=asked)
            return str(event.response)

        asks = calling("x", name="approve")
        asks.blocks[0].tool_kwargs = {}  # type: ignore[union-attr]
        llm = Scripted(calling("A"), asks, saying("So [1]."))
        agent = FunctionAgent(tools=[retriever_tool(Kind(), PLACER), approve], llm=llm, streaming=False)
        handler = agent.run("Why?")
        data: Any = None
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                data = json.dumps(handler.ctx.to_dict(serializer=JsonSerializer()))
                break
        await handler.cancel_run()
        again = agent.run(ctx=Context.from_dict(agent, json.loads(data), serializer=JsonSerializer()))
        await again.ctx.store.set("memory", ChatMemoryBuffer.from_defaults(token_limit=9000))
        again.ctx.send_event(HumanResponseEvent(response="yes"))  # type: ignore[call-arg]
        (found,) = cited(await again)
        assert (type(found.node), found.node_id, found.score) == (node, "A", 0.5)
        assert found.node.get_content("llm").startswith("[1]")

    def test_answers_of_every_kind(self) -> None:
        """A message, an object, none."""

        class Answer(BaseModel):
            content: list[str] = ["So [2]."]

        class Output:
            response = ChatMessage(role="assistant", content="So [2].")
            source_nodes = numbered("A", "B")

        assert ids(cited(Output())) == ["B"]
        assert ids(cited(PydanticResponse(Answer(), numbered("A", "B")))) == ["B"]
        assert cited(Response(None, numbered("A"))) == []

    @pytest.mark.parametrize("wrong", [None, 5, "So [1].", {"messages": []}, numbered("A")])
    def test_what_is_no_result(self, wrong: Any) -> None:
        """An error names it: nothing is taken for an answer without citations."""
        with pytest.raises(TypeError, match=r"cited\(\) takes what an engine returned, or an agent once its run was"):
            cited(wrong)
        with pytest.raises(TypeError, match=r"earlier is a list of results|takes what an engine"):
            cited(Response("So.", []), wrong if not isinstance(wrong, list) else [wrong])

    async def test_a_run_that_was_not_awaited(self) -> None:
        """The handler of a run is no result."""
        handler = FunctionAgent(tools=[], llm=Scripted(saying("So.")), streaming=False).run("Why?")
        with pytest.raises(TypeError, match="once its run was awaited"):
            cited(handler)
        await handler
