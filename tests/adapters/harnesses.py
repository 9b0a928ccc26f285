"""The adapters under the contract: LangChain's, LlamaIndex's, and the one that is an example."""

import asyncio
import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from harness import AsyncFace, Crowd, Face, Harness, Items, many
from langchain_core.documents import Document
from langchain_core.load import dumpd, dumps, load, loads
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langgraph.prebuilt.tool_node import ToolCallRequest
from llama_index.core.async_utils import run_async_tasks
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine, SubQuestionQueryEngine
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool, QueryEngineTool
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

from edgeorder.adapter import Adapter
from langchain_edgeorder import ContextMiddleware, EdgeOrder, EdgeOrderMiddleware, EdgeOrderRetriever, context_prompt
from llamaindex_edgeorder import EdgeOrderPostprocessor

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import third_adapter


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


class Fixed(BaseRetriever):
    """A retriever of LlamaIndex that always finds the same."""

    def __init__(self, nodes: list[NodeWithScore]) -> None:
        super().__init__()
        self.nodes = nodes

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.nodes


class Three(BaseQuestionGenerator):
    """Asks the same tool three times."""

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """Have none."""

    def generate(self, tools: Any, query: QueryBundle) -> list[SubQuestion]:
        return [SubQuestion(sub_question=f"{query.query_str} {n}", tool_name="search") for n in range(3)]

    async def agenerate(self, tools: Any, query: QueryBundle) -> list[SubQuestion]:
        return self.generate(tools, query)


class LlamaIndex(Harness):
    """`EdgeOrderPostprocessor`."""

    name = "llamaindex"
    placer = EdgeOrderPostprocessor
    labels = ("title", "file_name", "date", "page_label")
    kind = "NodeWithScore"

    def make(self, text: str, metadata: dict[str, Any], score: Any, id: str) -> NodeWithScore:
        node = TextNode(id_=id, text=text, metadata=metadata, excluded_llm_metadata_keys=list(metadata))
        return NodeWithScore(node=node, score=score)

    def text(self, item: NodeWithScore) -> str:
        return item.text

    def id(self, item: NodeWithScore) -> str:
        return item.node_id

    def metadata(self, item: NodeWithScore) -> dict[str, Any]:
        return item.node.metadata

    @property
    def faces(self) -> Mapping[str, Face]:
        return {
            "query_str": lambda placer, items, query: placer.postprocess_nodes(items, query_str=query),
            "query_bundle": lambda placer, items, query: placer.postprocess_nodes(items, QueryBundle(query)),
        }

    @property
    def async_faces(self) -> Mapping[str, AsyncFace]:
        return {"apostprocess_nodes": lambda placer, items, query: placer.apostprocess_nodes(items, query_str=query)}

    @property
    def executors(self) -> Mapping[str, Any]:
        def sub_questions(placer: Adapter, items: Items) -> SubQuestionQueryEngine:
            synthesizer = get_response_synthesizer(llm=MockLLM())
            engine = RetrieverQueryEngine(Fixed(items), synthesizer, node_postprocessors=[placer])
            tool = QueryEngineTool.from_defaults(engine, name="search", description="Searches.")
            return SubQuestionQueryEngine(Three(), synthesizer, [tool], verbose=False, use_async=True)

        async def in_loop(placer: Adapter, items: Items, query: str) -> Any:
            return sub_questions(placer, items).query(query)

        async def tools(placer: Adapter, items: Items, query: str) -> Any:
            tool = FunctionTool.from_defaults(lambda: len(placer.place(items, query)), name="place")
            return await asyncio.gather(tool.acall(), tool.acall(), tool.acall())

        class Steps(Workflow):
            @step
            def placing(self, ev: StartEvent) -> StopEvent:
                ev.placer.place(ev.nodes, "?")
                return StopEvent()

        async def workflows(placer: Adapter, items: Items, query: str) -> Any:
            return await asyncio.gather(*(Steps().run(placer=placer, nodes=items) for _ in range(3)))

        return {
            "SubQuestionQueryEngine": lambda placer, items, query: sub_questions(placer, items).query(query),
            "SubQuestionQueryEngine, async": lambda placer, items, query: sub_questions(placer, items).aquery(query),
            "SubQuestionQueryEngine, in a loop": in_loop,
            "run_async_tasks": lambda placer, items, query: run_async_tasks(
                [placer.apostprocess_nodes(items) for _ in range(3)]
            ),
            "FunctionTool": tools,
            "Workflow": workflows,
        }

    @property
    def dumps(self) -> Mapping[str, Any]:
        return {
            **super().dumps,
            "to_dict": lambda placer: placer.to_dict(),
            "to_json": lambda placer: placer.to_json(),
        }

    @property
    def round_trips(self) -> Mapping[str, Any]:
        cls = EdgeOrderPostprocessor
        return {
            **super().round_trips,
            "to_dict": lambda placer: cls.from_dict(placer.to_dict()),
            "to_json": lambda placer: cls.from_json(placer.to_json()),
        }


class Example(Harness):
    """The placer of `examples/third_adapter.py`, and the component over it."""

    name = "third"
    placer = third_adapter.DocumentPlacer
    labels = ("title", "file_path", "date", "page_number")
    kind = "Document"

    def make(self, text: str, metadata: dict[str, Any], score: Any, id: str) -> third_adapter.Document:
        return third_adapter.Document(id, text, metadata, score)

    def text(self, item: third_adapter.Document) -> str:
        return item.content or ""

    def id(self, item: third_adapter.Document) -> str:
        return item.id

    def metadata(self, item: third_adapter.Document) -> dict[str, Any]:
        return item.meta

    @staticmethod
    def component(placer: Adapter) -> third_adapter.EdgeOrder:
        component = third_adapter.EdgeOrder()
        component.placer = placer
        return component

    @property
    def faces(self) -> Mapping[str, Face]:
        return {"run": lambda placer, items, query: self.component(placer).run(items, query)["documents"]}

    @property
    def async_faces(self) -> Mapping[str, AsyncFace]:
        async def run(placer: Adapter, items: Items, query: str) -> Items:
            return (await self.component(placer).run_async(items, query))["documents"]

        return {"run_async": run}

    @property
    def dumps(self) -> Mapping[str, Any]:
        return {**super().dumps, "to_dict": lambda placer: self.component(placer).to_dict()}

    @property
    def round_trips(self) -> Mapping[str, Any]:
        def saved(placer: Adapter) -> Adapter:
            data = json.loads(json.dumps(self.component(placer).to_dict()))
            return third_adapter.EdgeOrder.from_dict(data).placer

        return {**super().round_trips, "to_dict": saved}


HARNESSES: tuple[Harness, ...] = (LangChain(), LlamaIndex(), Example())
ADAPTERS = pytest.mark.parametrize("adapter", HARNESSES, ids=lambda adapter: adapter.name)


def each(attribute: str) -> pytest.MarkDecorator:
    """Parametrize a test over every adapter and, as `way`, over what an attribute of its harness lists."""
    return pytest.mark.parametrize(
        ("adapter", "way"),
        [
            pytest.param(adapter, way, id=f"{adapter.name}-{name}")
            for adapter in HARNESSES
            for name, way in getattr(adapter, attribute).items()
        ],
    )
