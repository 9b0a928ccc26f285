"""The harness of the LlamaIndex adapter."""

import asyncio
from collections.abc import Mapping
from typing import Any

from harness import AsyncFace, Face, Harness, Items
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
from llamaindex_edgeorder import EdgeOrderPostprocessor


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
