"""A LlamaIndex agent that searches several times: one window for all of its searches, one number for each passage.

`retriever_tool` keeps the numbers in the workflow's `Context`, so that `[2]` means one section in all turns. Inside
`with window(...)` the searches of a run share its tokens: two at once are served one after the other, and one that
finds no room left says so in a line. `cited` gives the nodes that the answer cites. A scripted model stands in for a
real one.

Run it: `pip install 'edgeorder[llamaindex,text]'`, then
`python examples/llamaindex_agent.py`. It needs no network and no tokenizer: tokens are counted by
`approximate_counter`, an upper bound.
"""

import asyncio
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from handbook import search
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.workflow import Context

from edgeorder import Budget, approximate_counter, window
from llamaindex_edgeorder import EdgeOrderPostprocessor, cited, retriever_tool

WINDOW = Budget(4000, approximate_counter())  # for all blocks of one run


class HandbookRetriever(BaseRetriever):
    """Finds sections of the handbook, best first. The retriever of an index stands here in your code."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    text=section.text,
                    id_=str(section),
                    metadata={"title": section.title, "file_name": section.document},
                    excluded_llm_metadata_keys=["title", "file_name"],  # the label shows them
                ),
                score=score,
            )
            for section, score in search(str(query_bundle), 3)
        ]


def calls(*queries: str) -> ChatMessage:
    """Return what a model says that searches for several things at once."""
    blocks = [ToolCallBlock(tool_call_id=query, tool_name="search", tool_kwargs={"query": query}) for query in queries]
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)


def says(text: str) -> ChatMessage:
    """Return what a model says that answers."""
    return ChatMessage(role=MessageRole.ASSISTANT, content=text)


SCRIPT = [
    calls("hotel limit in Geneva", "serviced flat for a long stay"),
    calls("meals during a long stay"),
    says("Up to the limit of the city [1], or a flat from the third week [4] (scripted)."),
    calls("who approves a higher hotel limit"),
    says("Paying more is explained in [7] (scripted)."),
]


def scripted() -> MockFunctionCallingLLM:
    """Return a model that says what stands in the script, whatever it is sent."""
    script: Iterator[ChatMessage] = iter(SCRIPT)

    def next_message(messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
        return next(script)

    return MockFunctionCallingLLM(response_generator=next_message, is_chat_model=True)


async def main() -> None:
    """Ask two questions in one context."""
    warnings.filterwarnings("ignore", module="workflows")  # LlamaIndex warns that it does not save the memory itself
    placer = EdgeOrderPostprocessor(order="relevance")
    agent = FunctionAgent(tools=[retriever_tool(HandbookRetriever(), placer)], llm=scripted(), streaming=False)
    context, memory = Context(agent), ChatMemoryBuffer.from_defaults(token_limit=20_000)
    for question in ("What may my room in Geneva cost, for four weeks?", "Who may approve more?"):
        print(f"Question: {question}")
        with window(WINDOW) as shared:
            result: Any = await agent.run(question, ctx=context, memory=memory)
        for call in result.tool_calls:
            print(f"  search for {call.tool_kwargs['query']!r}:")
            for line in call.tool_output.content.splitlines():
                if line.startswith(("[", "No ")):
                    print(f"    {line}")
        print(f"  {WINDOW.tokens - (shared.left or 0)} tokens of {WINDOW.tokens} were used")
        print(f"Answer: {result.response.content}")
        for node in cited(result):
            print(f"  it cites {node.node.node_id}")


if __name__ == "__main__":
    asyncio.run(main())
