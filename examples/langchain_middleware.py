"""An agent whose retrieval tool knows nothing of edgeorder: `EdgeOrderMiddleware` places what the tool returns.

The tool is made by LangChain's own `create_retriever_tool`, with its documents as the artifact. What the model gets is
the rendered block, numbered; the budget holds on all that it receives, and `cited` gives the documents that its answer
cites.

Run it: `pip install 'edgeorder[agents,text]'`, then
`python examples/langchain_middleware.py`. It needs no network and no tokenizer: tokens are counted by
`approximate_counter`, an upper bound.
"""

from collections.abc import Sequence
from typing import Any

from handbook import search
from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.tools import create_retriever_tool

from edgeorder import Budget, approximate_counter, capture
from langchain_edgeorder import EdgeOrder, EdgeOrderMiddleware, cited

QUESTION = "I fly to Singapore next week. Which class may I book?"


class HandbookRetriever(BaseRetriever):
    """Finds sections of the handbook, best first. A vector store's retriever stands here in your code."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [
            Document(section.text, id=str(section), metadata={"title": section.title, "source": section.document})
            for section, _ in search(query, 12)
        ]


class ScriptedModel(GenericFakeChatModel):
    """Says its messages one after the other, whatever it is told."""

    def bind_tools(self, tools: Sequence[object], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Return itself: the script knows which tool it calls."""
        return self


tool = create_retriever_tool(
    HandbookRetriever(),
    name="search_handbook",
    description="Search the travel policy.",
    response_format="content_and_artifact",  # the middleware needs the documents, which are the artifact
)
# 3,600 tokens for all that the model receives, its tools included, and 600 more for its answer.
placer = EdgeOrder(budget=Budget(4200, approximate_counter(), reserve=600), layout="numbered")
middleware = EdgeOrderMiddleware(placer, tools="search_handbook", reserve_history=True)


def main() -> None:
    """Ask the agent, and show what its model saw and what it cited."""
    agent = create_agent(scripted_model(), [tool], middleware=[middleware])
    with capture() as records:
        result = agent.invoke({"messages": [HumanMessage(QUESTION)]})
    found = next(message for message in result["messages"] if isinstance(message, ToolMessage))
    answer = result["messages"][-1].text

    print("The tool message that the model saw:")
    for line in found.text.splitlines():
        if line.startswith("["):
            print(f"  {line}")
    (record,) = records
    print(f"\nThe record: order {record.order} ({record.reason}), {record.tokens} tokens in a room of {record.room}")
    print(f"  ranks:   {', '.join(str(chunk.rank) for chunk in record.placed)}")
    print(f"  dropped: {', '.join(f'rank {chunk.rank} ({chunk.dropped})' for chunk in record.dropped)}")
    print(f"\nThe answer: {answer}")
    for document in cited(result):
        print(f"  it cites {document.id}")


def scripted_model() -> ScriptedModel:
    """Return a model that calls the tool once and then answers."""
    call = ToolCall(name="search_handbook", args={"query": "Which class on a long flight?"}, id="call-1")
    answer = "Premium economy, as a single flight takes six hours or more [5] (scripted)."
    return ScriptedModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage(answer)]))


if __name__ == "__main__":
    main()
