"""The harness of the LangChain adapter."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from harness import AsyncFace, Crowd, Face, Harness, Items, many
from langchain_core.documents import Document
from langchain_core.load import dumpd, dumps, load, loads
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langgraph.prebuilt.tool_node import ToolCallRequest

from langchain_edgeorder import ContextMiddleware, EdgeOrder, EdgeOrderMiddleware, EdgeOrderRetriever, context_prompt


def loaded(data: Any) -> Any:
    """Load what LangChain dumped, as a user does who trusts this class and LangChain's prompts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `load` is marked beta
        read = loads if isinstance(data, str) else load
        allowed = [EdgeOrder, PromptTemplate]
        return read(data, allowed_objects=allowed, valid_namespaces=["langchain_edgeorder"])


def finding(items: Items) -> RunnableLambda:
    """Return a retriever of LangChain that always finds the same."""
    return RunnableLambda(lambda query: items)


def retriever(placer: EdgeOrder, items: Items) -> EdgeOrderRetriever:
    """Return one that finds items and places them."""
    return EdgeOrderRetriever(base_retriever=finding(items), placer=placer)


class LangChain(Harness):
    """`EdgeOrder`, and what is built on it."""

    name = "langchain"
    placer = EdgeOrder
    labels = ("title", "source", "date", "page")
    kind = "Document"
    settings: ClassVar = {
        "document_prompt": {"document_prompt": PromptTemplate.from_template("{source}: {page_content}")},
        "document_prompt in mustache": {
            "document_prompt": PromptTemplate.from_template("{{ page_content }}", template_format="mustache")
        },
    }

    def make(self, text: str, metadata: dict[str, Any], score: Any, id: str) -> Document:
        return Document(text, id=id, metadata=metadata if score is None else {**metadata, "score": score})

    def text(self, item: Document) -> str:
        return item.page_content

    def id(self, item: Document) -> str | None:
        return item.id

    def metadata(self, item: Document) -> dict[str, Any]:
        return item.metadata

    @property
    def faces(self) -> Mapping[str, Face]:
        return {
            "transform_documents": lambda placer, items, query: placer.transform_documents(items, query=query),
            "compress_documents": lambda placer, items, query: placer.compress_documents(items, query),
            "invoke": lambda placer, items, query: placer.invoke(items, query=query),
            "EdgeOrderRetriever": lambda placer, items, query: retriever(placer, items).invoke(query),
        }

    @property
    def async_faces(self) -> Mapping[str, AsyncFace]:
        return {
            "atransform_documents": lambda placer, items, query: placer.atransform_documents(items, query=query),
            "acompress_documents": lambda placer, items, query: placer.acompress_documents(items, query),
            "ainvoke": lambda placer, items, query: placer.ainvoke(items, query=query),
            "EdgeOrderRetriever": lambda placer, items, query: retriever(placer, items).ainvoke(query),
        }

    @property
    def crowds(self) -> Mapping[str, Crowd]:
        async def abatch(placer: EdgeOrder, items: Items, query: str, calls: int) -> Sequence[Any]:
            return await retriever(placer, items).abatch([query] * calls)

        async def prompt(placer: EdgeOrder, items: Items, query: str) -> Any:
            return await context_prompt(placer).ainvoke({"context": items, "question": query})

        async def around_model(placer: EdgeOrder, items: Items, query: str) -> Any:
            state: Any = {"messages": [HumanMessage(query)]}
            return await ContextMiddleware(finding(items), placer).abefore_agent(state, None)

        async def around_tool(placer: EdgeOrder, items: Items, query: str) -> Any:
            async def search(request: ToolCallRequest) -> ToolMessage:
                return ToolMessage("as found", tool_call_id="1", artifact=list(items))

            call: Any = {"name": "search", "args": {"query": query}, "id": "1"}
            request = ToolCallRequest(tool_call=call, tool=None, state={"messages": []}, runtime=None)
            return await EdgeOrderMiddleware(placer).awrap_tool_call(request, search)

        return {
            **super().crowds,
            "EdgeOrderRetriever.abatch": abatch,
            "ContextPrompt": many(prompt),
            "ContextMiddleware": many(around_model),
            "EdgeOrderMiddleware": many(around_tool),
        }

    @property
    def executors(self) -> Mapping[str, Any]:
        def parallel(placer: EdgeOrder, items: Items) -> Any:
            chain = finding(items) | placer
            return RunnableParallel(a=chain, b=chain, c=RunnablePassthrough() | chain)

        return {
            "RunnableParallel": lambda placer, items, query: parallel(placer, items).invoke(query),
            "RunnableParallel, async": lambda placer, items, query: parallel(placer, items).ainvoke(query),
            "batch": lambda placer, items, query: placer.batch([items] * 3),
            "abatch": lambda placer, items, query: placer.abatch([items] * 3),
            "batch_as_completed": lambda placer, items, query: list(placer.batch_as_completed([items] * 3)),
            "a sync step in async": lambda placer, items, query: RunnableLambda(placer.transform_documents).abatch(
                [items] * 3
            ),
            "retriever, abatch": lambda placer, items, query: retriever(placer, items).abatch([query] * 3),
        }

    @property
    def dumps(self) -> Mapping[str, Any]:
        return {**super().dumps, "dumpd": dumpd, "dumps": dumps}

    @property
    def round_trips(self) -> Mapping[str, Any]:
        return {
            **super().round_trips,
            "dumpd, load": lambda placer: loaded(dumpd(placer)),
            "dumps, loads": lambda placer: loaded(dumps(placer)),
        }
