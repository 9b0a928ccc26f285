"""An agent whose retrieval tool returns placed documents, a scripted model in place of a real one.

`EdgeOrderRetriever` wraps the retriever, so the tool and the agent are made as always. `k=8` limits what is returned:
all that the base retriever finds is ranked first, and the best 8 at most are placed.

Run it: `pip install 'edgeorder[agents,text]'`, then
`python examples/langchain_agent.py`. It needs no network and no tokenizer: tokens are counted by
`approximate_counter`, an upper bound.
"""

from collections.abc import Sequence
from typing import Any

from handbook import search
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool, create_retriever_tool

from edgeorder import Budget, OrderRecord, approximate_counter
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever

QUESTION = "I fly to Singapore next week. Which class may I book?"


class ScriptedModel(GenericFakeChatModel):
    """Says its messages one after the other, whatever it is told."""

    def bind_tools(self, tools: Sequence[object], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Return itself: the script knows which tool it calls."""
        return self


def main() -> None:
    """Ask the agent, and show what its tool gave it."""
    records: list[OrderRecord] = []
    agent = create_agent(scripted_model(), [handbook_tool(records)])
    messages = agent.invoke({"messages": [HumanMessage(QUESTION)]})["messages"]

    for message in messages:
        if isinstance(message, ToolMessage):
            print("The tool message holds, in this order:")
            for document in message.artifact:
                print(f"  {document.id}")
    print(f"\nThe answer: {messages[-1].content}\n")
    for record in records:
        print(f"The record: order {record.order} ({record.reason}), {record.tokens} of {record.budget} tokens")
        print(f"  sent:    {', '.join(f'{chunk.id} (rank {chunk.rank})' for chunk in record.placed)}")
        print(f"  dropped: {', '.join(f'rank {chunk.rank} ({chunk.dropped})' for chunk in record.dropped)}")


def handbook_tool(records: list[OrderRecord]) -> BaseTool:
    """Return a tool that searches the handbook; each search adds a record to the list."""
    retriever = EdgeOrderRetriever(
        base_retriever=RunnableLambda(find),
        placer=EdgeOrder(budget=Budget(4000, approximate_counter()), recorders=[records.append]),
        k=8,
    )
    return create_retriever_tool(
        retriever,
        name="search_handbook",
        description="Search the travel policy.",
        response_format="content_and_artifact",  # the message's content is the text; its artifact, the documents
    )


def find(query: str) -> list[Document]:
    """Return sections of the handbook, best first. A vector store's retriever stands here in your code."""
    return [
        Document(
            section.text,
            id=str(section),
            metadata={"source": section.document, "chunk_index": section.number, "score": score},
        )
        for section, score in search(query, 15)
    ]


def scripted_model() -> ScriptedModel:
    """Return a model that calls the tool once and then answers."""
    call = ToolCall(name="search_handbook", args={"query": "Which class on a long flight?"}, id="call-1")
    answer = "Premium economy, as a single flight takes six hours or more (scripted)."
    return ScriptedModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage(answer)]))


if __name__ == "__main__":
    main()
