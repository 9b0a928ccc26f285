"""Searches, query engines and retrievers as tools of one agent: a number means one chunk, whoever gave it."""

import asyncio
import json
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine, SubQuestionQueryEngine
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.tools import QueryEngineTool, RetrieverTool
from llama_index.core.workflow import Context, JsonSerializer
from talking import PLAIN, Letters, Scripted, calling, numbers, results, saying, words

from edgeorder import Budget, EdgeOrderWarning, Register, window
from llamaindex_edgeorder import (
    EdgeOrderPostprocessor,
    NumberedPostprocessor,
    cited,
    query_engine_tool,
    retriever_tool,
)

# LlamaIndex's workflows warn of their own parts.
pytestmark = [pytest.mark.filterwarnings("error::edgeorder.EdgeOrderWarning"), pytest.mark.filterwarnings("ignore")]

PLACER = EdgeOrderPostprocessor(**PLAIN)
NUMBERED = NumberedPostprocessor(placer=PLACER)
ARGUMENT = {"search": "query", "ask": "query", "theirs": "input", "finds": "input"}


def engine(llm: Any, retriever: Any = None, **settings: Any) -> RetrieverQueryEngine:
    return RetrieverQueryEngine.from_args(retriever or Letters(), llm=llm, node_postprocessors=[NUMBERED], **settings)


def calls(*asked: tuple[str, str]) -> ChatMessage:
    """A message that calls several tools at once."""
    return ChatMessage(
        role="assistant",
        blocks=[
            ToolCallBlock(tool_call_id=f"{at}", tool_name=name, tool_kwargs={ARGUMENT[name]: query})
            for at, (name, query) in enumerate(asked)
        ],
    )


def tools(reader: Any, **settings: Any) -> dict[str, Any]:
    """A search and an engine that number by the context, and LlamaIndex's own, which know nothing of it."""
    return {
        "search": retriever_tool(Letters(), PLACER, **settings),
        "ask": query_engine_tool(engine(reader)),
        "theirs": QueryEngineTool.from_defaults(engine(reader), name="theirs", description="Ask."),
        "finds": RetrieverTool.from_defaults(Letters(), [NUMBERED], name="finds", description="Find."),
    }


def shown_by(result: Any) -> list[tuple[int, str]]:
    """Return what the tools of a run showed: number and id of each passage."""
    raw = [call.tool_output.raw_output for call in result.tool_calls]
    nodes = [node for each in raw for node in getattr(each, "source_nodes", each)]
    return [(node.metadata["edgeorder"]["number"], node.node_id) for node in nodes]


CALLS = st.lists(st.tuples(st.sampled_from(list(ARGUMENT)), st.text("ABCDEFGH", max_size=4)), min_size=1, max_size=4)


@settings(max_examples=20, deadline=None)
@given(
    turns=st.lists(st.lists(CALLS, max_size=2), min_size=1, max_size=3),
    around=st.booleans(),
    saved=st.booleans(),
    workflow=st.booleans(),
    tokens=st.sampled_from([None, 60, 900]),
)
async def test_runs(turns: Any, around: bool, saved: bool, workflow: bool, tokens: int | None) -> None:
    """Over calls at once, turns and a saved context, a number is one chunk; with a register around also where
    LlamaIndex's own tools give some."""
    said: list[ChatMessage] = []
    for steps in turns:
        for asked in steps:
            own = [(name, query) for name, query in asked if around or name in ("search", "ask")]
            said += [calls(*own)] if own else []
        said.append(saying("So."))
    llm = Scripted(*said)
    made = list(tools(MockLLM(max_tokens=2)).values())
    one = FunctionAgent(name="one", description="It.", tools=made, llm=llm, streaming=False)
    agent: Any = AgentWorkflow(agents=[one]) if workflow else one
    ctx, register = Context(agent), Register()
    ids: dict[int, str] = {}
    share = {"register": register} if around else {}
    for _ in turns:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            if share or tokens:
                with window(None if tokens is None else Budget(tokens, words), **share):
                    result = await agent.run("Why?", ctx=ctx)
            else:
                result = await agent.run("Why?", ctx=ctx)
        for number, name in shown_by(result):
            assert ids.setdefault(number, name) == name
        if saved:
            data = json.loads(json.dumps(ctx.to_dict(serializer=JsonSerializer())))
            ctx = Context.from_dict(agent, data, serializer=JsonSerializer())
    assert len(set(ids.values())) == len(ids)


class TestEngines:
    """Query engines as tools of an agent."""

    async def test_beside_a_search(self, make_llm: Any) -> None:
        """Without a window: ours goes on with the numbers of the context, and the answer's citations lead to nodes."""
        reader = make_llm(answer="So [3].")
        made = tools(reader)
        llm = Scripted(
            calls(("search", "AB")), calls(("ask", "CA")), calls(("search", "DC")), saying("So [3] and [1].")
        )
        agent = FunctionAgent(tools=[made["search"], made["ask"]], llm=llm, streaming=False)
        ctx: Any = Context(agent)
        result = await agent.run("Why?", ctx=ctx)
        assert "[3] C\n" in reader.prompts[0]
        assert "[1] A\n" in reader.prompts[0]
        assert results(llm.seen[-1])[1] == "So [3]."
        assert numbers(llm.seen[-1]) == [[1, 2], [4, 3]]
        assert [node.node_id for node in cited(result)] == ["C", "A"]
        assert [source.id for source in Register.from_dict(await ctx.store.get("edgeorder")).sources()] == list("ABCD")

    @pytest.mark.parametrize("name", ["theirs", "finds"])
    async def test_of_llamaindex(self, name: str, make_llm: Any) -> None:
        """LlamaIndex's own tools number by the register around the run, and so does a search there."""
        made = tools(make_llm(answer="So [1]."))
        llm = Scripted(calls((name, "AB")), calls(("search", "CA")), saying("So [1] and [3]."))
        agent = FunctionAgent(tools=[made["search"], made[name]], llm=llm, streaming=False)
        with window(register=Register()):
            result = await agent.run("Why?")
        assert numbers(llm.seen[-1])[-1] == [3, 1]
        assert [node.node_id for node in cited(result)] == ["A", "C"]

    async def test_the_register_around_knows_what_the_context_knew(self) -> None:
        """Turns without a register, then one with a new one, then without again: the numbers go on."""
        llm = Scripted(calling("AB"), saying("So."), calling("CB"), saying("So."), calling("DCA"), saying("So."))
        agent = FunctionAgent(tools=[retriever_tool(Letters(), PLACER)], llm=llm, streaming=False)
        ctx: Any = Context(agent)
        register = Register()
        await agent.run("Why?", ctx=ctx)
        with window(register=register):
            await agent.run("Why?", ctx=ctx)
        await agent.run("Why?", ctx=ctx)
        latest = [results(seen)[-1][:3] for seen in llm.seen if results(seen)]
        assert list(dict.fromkeys(latest)) == ["[1]", "[3]", "[4]"]  # some releases show those of earlier turns again
        assert [source.id for source in register.sources()] == list("ABC")

    async def test_several_at_once(self, make_llm: Any) -> None:
        """Engines and searches that wait for each other in any order give no number twice."""

        class Slow(Letters):
            async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
                await asyncio.sleep(0.01 * (len(str(query_bundle)) % 3))
                return self._retrieve(query_bundle)

        ask = query_engine_tool(engine(make_llm(), Slow()))
        asked = [("ask", "AB"), ("search", "BCD"), ("ask", "DE"), ("search", "FAG"), ("ask", "HIJ")]
        llm = Scripted(calls(*asked), saying("So."))
        agent = FunctionAgent(tools=[retriever_tool(Slow(), PLACER), ask], llm=llm, streaming=False)
        shown = set(shown_by(await agent.run("Why?")))
        assert len({number for number, _ in shown}) == len({name for _, name in shown}) == len(shown) == 10

    @pytest.mark.parametrize("streaming", [False, True])
    async def test_streaming_and_sub_questions(self, streaming: bool, make_llm: Any) -> None:
        """An engine that streams, and one that asks others: the answer is whole, and one register numbers it all."""

        class Asks(BaseQuestionGenerator):
            def _get_prompts(self) -> Any:
                return {}

            def _update_prompts(self, prompts: Any) -> None:
                pass

            def generate(self, tools: Any, query: Any) -> Any:
                return [SubQuestion(sub_question=question, tool_name="sub") for question in ("AB", "CA")]

            async def agenerate(self, tools: Any, query: Any) -> Any:
                return self.generate(tools, query)

        reader = make_llm(answer="So [1] and [3].")
        inner = QueryEngineTool.from_defaults(engine(reader), name="sub", description="Ask.")
        outer: Any = engine(reader, streaming=True)
        if not streaming:
            outer = SubQuestionQueryEngine.from_defaults(
                [inner], llm=reader, question_gen=Asks(), use_async=True, verbose=False
            )  # fmt: skip
        llm = Scripted(calls(("ask", "ABC")), saying("So [1] and [3]."))
        agent = FunctionAgent(tools=[query_engine_tool(outer)], llm=llm, streaming=False)
        result = await agent.run("Why?")
        assert results(llm.seen[-1]) == ["So [1] and [3]."]
        assert sorted(node.node_id for node in cited(result)) in (["A", "C"], ["B", "C"])

    def test_two_loops(self) -> None:
        """A context goes on in another event loop, with calls that wait for each other in both."""
        asked = [calling("AB", "BC", "CD"), saying("So."), calling("DE", "EF", "FA"), saying("So.")]
        agent = FunctionAgent(tools=[retriever_tool(Letters(), PLACER)], llm=Scripted(*asked), streaming=False)
        contexts: list[Any] = []

        async def turn() -> list[tuple[int, str]]:
            contexts[:] = contexts or [Context(agent)]
            with window(Budget(900, words)):
                return shown_by(await agent.run("Why?", ctx=contexts[0]))

        assert asyncio.run(turn()) == [(1, "A"), (2, "B"), (2, "B"), (3, "C"), (3, "C"), (4, "D")]
        assert asyncio.run(turn()) == [(4, "D"), (5, "E"), (5, "E"), (6, "F"), (6, "F"), (1, "A")]

    async def test_a_failing_engine(self, make_llm: Any) -> None:
        """What fails is told to the model, and the next call goes on with the numbers."""

        class Broken(Letters):
            def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
                raise OSError("no route")

        ask = query_engine_tool(engine(make_llm(), Broken()))
        llm = Scripted(calls(("search", "A"), ("ask", "B")), calls(("search", "BA")), saying("So."))
        agent = FunctionAgent(tools=[retriever_tool(Letters(), PLACER), ask], llm=llm, streaming=False)
        await agent.run("Why?")
        assert sum("no route" in text for text in results(llm.seen[-1])) == 1  # the calls end in any order
        assert numbers(llm.seen[-1])[-1] == [2, 1]


async def test_a_key_of_the_context_that_is_the_users() -> None:
    """What stands there and is no register is named, not written over."""
    llm = Scripted(calling("A"), saying("So."))
    agent = FunctionAgent(tools=[retriever_tool(Letters(), PLACER)], llm=llm, streaming=False)
    ctx: Any = Context(agent)
    await ctx.store.set("edgeorder", "mine")
    await agent.run("Why?", ctx=ctx)
    assert results(llm.seen[-1])[0].startswith(
        "edgeorder keeps its numbers in the context under 'edgeorder': this is no"
    )
    assert await ctx.store.get("edgeorder") == "mine"


async def test_lines_draw_from_the_window() -> None:
    """What a search says that shows nothing is taken too, as far as there is room for it."""
    tool = retriever_tool(Letters(), PLACER)
    llm = Scripted(calling("A"), calling("", "B"), calling("C"), calling("D"), saying("So."))
    with window(Budget(29, words)) as shared, warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOrderWarning)
        await FunctionAgent(tools=[tool], llm=llm, streaming=False).run("Why?")
    said = results(llm.seen[-1])
    assert said[1:] == ["No document was found.", *["No document fits the token budget."] * 3]
    assert [words(text) for text in said] == [23, 4, 6, 6, 6]
    assert shared.left == 0
    with window(Budget(60, words)) as shared, warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOrderWarning)
        llm = Scripted(calling("ABC", "DEF"), calling("GHI"), saying("So."))
        await FunctionAgent(tools=[tool], llm=llm, streaming=False).run("Why?")
    assert shared.left == max(0, 60 - sum(map(words, results(llm.seen[-1]))))
