"""Whole runs of LlamaIndex's agents: whatever they search for, the window holds, and every number means one chunk."""

import re
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.tools import QueryEngineTool
from llama_index.core.workflow import Context
from talking import PLAIN, Letters, Scripted, calling, results, saying, words

from edgeorder import Budget, EdgeOrderWarning, window
from edgeorder.rendering import split_block
from llamaindex_edgeorder import EdgeOrderPostprocessor, cited, retriever_tool

# LlamaIndex's workflows warn of their own parts.
pytestmark = pytest.mark.filterwarnings("ignore")

LINES = ("No document fits the token budget.", "No document was found.", "All documents that were found stand above.")
QUERY = st.text("ABCDEFGH", max_size=5)
CALLS = st.lists(st.tuples(st.sampled_from(["search", "lookup"]), QUERY), min_size=1, max_size=4)
TURNS = st.lists(st.lists(CALLS, max_size=3), min_size=1, max_size=3)


def tools(**settings: Any) -> list[Any]:
    """Two search tools."""
    return [
        retriever_tool(Letters(), EdgeOrderPostprocessor(**PLAIN), name=name, **settings)
        for name in ("search", "lookup")
    ]


def message_of(calls: Sequence[tuple[str, str]], step: int) -> ChatMessage:
    """Return what an LLM says that calls several tools at once."""
    blocks = [
        ToolCallBlock(tool_call_id=f"{step}-{at}", tool_name=name, tool_kwargs={"query": query})
        for at, (name, query) in enumerate(calls)
    ]
    return ChatMessage(role="assistant", blocks=blocks)


def thought_of(calls: Sequence[tuple[str, str]]) -> ChatMessage:
    """Return what an LLM says to a `ReActAgent` that calls the first of some tools."""
    name, query = calls[0]
    return saying(f'Thought: t\nAction: {name}\nAction Input: {{"query": "{query}"}}')


def blocks_of(contents: Sequence[str], already: str) -> list[tuple[int, str]]:
    """Return the passages of the results of a run, by number; check that nothing else stands in them."""
    shown: list[tuple[int, str]] = []
    for content in contents:
        if content in LINES:
            continue
        assert already == "point" or not re.search(r"^\[\d+\] above$", content, re.MULTILINE)
        whole = re.sub(r"^\[\d+\] above(?:\n\n|\Z)", "", content, flags=re.MULTILINE)
        shown += [(number, text.strip()) for number, text in split_block(whole.strip(), "numbered")] if whole else []
    return shown


@settings(max_examples=40, deadline=None)
@given(
    turns=TURNS,
    kind=st.sampled_from(["function", "react", "workflow"]),
    tokens=st.sampled_from([10, 60, 140, 900]),
    already=st.sampled_from(["send", "point", "drop"]),
    streaming=st.booleans(),
    whole=st.booleans(),
)
async def test_runs(turns: list[Any], kind: str, tokens: int, already: str, streaming: bool, whole: bool) -> None:
    """In every run the blocks of all searches fit its window, over all turns a number is one chunk, nothing raises."""
    said: list[ChatMessage] = []
    for steps in turns:
        made = thought_of if kind == "react" else message_of
        said += [made(*((calls,) if kind == "react" else (calls, at))) for at, calls in enumerate(steps)]
        said.append(saying("Thought: I can answer.\nAnswer: So [1], [2]." if kind == "react" else "So [1], [2]."))
    llm = Scripted(*said)
    own = ReActAgent if kind == "react" else FunctionAgent
    one = own(name="one", description="It.", tools=tools(already=already), llm=llm, streaming=streaming)
    agent = AgentWorkflow(agents=[one]) if kind == "workflow" else one
    ctx: Any = Context(agent)
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    texts: dict[int, str] = {}
    sent: list[str] = []
    for steps in turns:
        budget = Budget(tokens, words)
        with window(budget) as shared, warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            result = await agent.run("Why?", ctx=ctx, memory=memory)
        contents = [call.tool_output.content for call in result.tool_calls]
        assert len(contents) == sum(1 if kind == "react" else len(calls) for calls in steps)
        sent += contents
        used = sum(words(content) for content in contents if content not in LINES)
        assert used <= tokens
        assert shared.left == max(0, tokens - sum(map(words, contents)))
        shown = blocks_of(contents, already)
        for number, text in shown:
            assert texts.setdefault(number, text) == text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EdgeOrderWarning)
            for node in cited(result):
                assert any(node.node.get_content("llm") in content for content in sent)
    assert len(set(texts.values())) == len(texts)


async def test_engines_as_tools_share_the_window(make_llm: Any) -> None:
    """What a query engine reads that an agent calls as a tool is taken from the window of the run, too."""
    reader = make_llm(answer="So [1].")
    placer = EdgeOrderPostprocessor(**PLAIN)
    engine = RetrieverQueryEngine.from_args(Letters(), llm=reader, node_postprocessors=[placer])
    asked = QueryEngineTool.from_defaults(engine, name="ask", description="Ask.")
    llm = Scripted(
        ChatMessage(
            role="assistant",
            blocks=[ToolCallBlock(tool_call_id="1", tool_name="ask", tool_kwargs={"input": "ABC"})],
        ),
        calling("DEF"),
        saying("So."),
    )
    agent = FunctionAgent(tools=[*tools(), asked], llm=llm, streaming=False)
    with window(Budget(70, words)) as shared, pytest.warns(EdgeOrderWarning):
        await agent.run("Why?")
    read = reader.prompts[0].split("---------------------")[1]
    assert words(read) == 63
    assert len(results(llm.seen[-1])) == 2
    assert shared.left is not None
    assert shared.left <= 7
