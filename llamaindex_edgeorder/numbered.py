"""Nodes with the number that each passage has, for faces of LlamaIndex that know nothing but nodes."""

from collections.abc import Iterable
from typing import Any

from llama_index.core.bridge.pydantic import Field, model_validator
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from typing_extensions import override

from edgeorder.alerts import warn
from edgeorder.placement import Placement
from edgeorder.register import Register
from edgeorder.rendering import as_layout
from llamaindex_edgeorder.postprocessor import EdgeOrderPostprocessor, query_of


class NumberedPostprocessor(BaseNodePostprocessor):
    """Place nodes and write each one's label into it, so that chat and query engines show numbered passages.

    The nodes that come out are copies whose text is the passage as the block has it, `[1] title - source` first: joined
    by the engine they are the block that was counted. Last among the `node_postprocessors`; inside
    `with window(register=register):` a chunk keeps its number over all turns. `cited(response)` gives the nodes that
    the answer cites.

    Args:
        placer: How they are placed; with layout `"numbered"` unless it says another that needs no frame around it. With
            `shadow=True` the nodes come out untouched, without numbers.
    """

    placer: EdgeOrderPostprocessor = Field(default_factory=EdgeOrderPostprocessor)

    @model_validator(mode="after")
    def _check(self) -> "NumberedPostprocessor":
        labelled(self.placer)
        return self

    @classmethod
    @override
    def class_name(cls) -> str:
        return "NumberedPostprocessor"

    @override
    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        placer, query = labelled(self.placer), query_of(query_bundle)
        return placer.placed_items(nodes, query) if placer.shadow else numbered(nodes, placer.place(nodes, query))

    @override
    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        placer, query = labelled(self.placer), query_of(query_bundle)
        if placer.shadow:
            return await placer.aplaced_items(nodes, query)
        return numbered(nodes, await placer.aplace(nodes, query))


def labelled(placer: EdgeOrderPostprocessor) -> EdgeOrderPostprocessor:
    """Return the placer, its passages numbered unless it says how the block is written.

    Raises:
        ValueError: If the block is more than its passages with a blank line between them, as engines join nodes.
    """
    if placer.layout is None:
        placer = placer.model_copy(update={"layout": "numbered"})
    layout = as_layout(placer.layout)
    if layout.style in ("plain", "xml") or layout.echo or layout.separator != "\n\n" or placer.prompt is not None:
        raise ValueError(
            f"layout={placer.layout!r}, prompt={placer.prompt!r}: engines join numbered nodes by a blank line and put "
            "their own prompt around them. Use layout='numbered', or a callable, and no prompt"
        )
    return placer


def numbered(nodes: list[NodeWithScore], placement: Placement) -> list[NodeWithScore]:
    """Return the passages of a placement as nodes; the metadata key "edgeorder" has what the record says of each."""
    layout, view = placement.call.plan.layout, placement.call.view
    found: list[NodeWithScore] = []
    for passage, record in zip(placement.block.passages, placement.record.placed, strict=True):
        node = nodes[passage.index]
        metadata = {**node.node.metadata, "edgeorder": record.annotation()}
        copy = TextNode(
            id_=node.node.node_id,
            text=layout.part(view, passage.index, placement.texts.get(passage.index), passage.number),
            metadata=metadata,
            relationships=node.node.relationships,
            text_template="{content}",  # the label is in the text, and the metadata that the template showed
            excluded_llm_metadata_keys=list(metadata),
            excluded_embed_metadata_keys=list(metadata),
        )
        found.append(NodeWithScore(node=copy, score=node.score))
    return found


def cited(result: Any) -> list[NodeWithScore]:
    """Return the nodes that an answer cites, in the order of its citations.

    Args:
        result: What a query or chat engine returned, with nodes of `NumberedPostprocessor`; or an agent, with tools of
            `retriever_tool`.

    A citation whose node is not among those of this result, as it was shown in an earlier turn, is warned of;
    `Register.sources` knows its id.
    """
    register = Register()
    nodes: dict[int, NodeWithScore] = {}
    for node in _nodes_of(result):
        number = (node.metadata.get("edgeorder") or {}).get("number")
        if number is not None:
            nodes.setdefault(number, node)
    answer = getattr(result, "response", result)
    text = getattr(answer, "content", None) or str(answer)
    highest = max(nodes, default=0)
    register.update({f"{number}": {"number": number} for number in range(1, highest + 1)})
    asked = register.cited(text)
    if lost := [number for number in asked if number not in nodes]:
        warn(f"the nodes of {lost} were shown in earlier turns: Register.sources knows their ids")
    return [nodes[number] for number in asked if number in nodes]


def _nodes_of(result: Any) -> Iterable[NodeWithScore]:
    """Yield the nodes that a result was made from."""
    yield from getattr(result, "source_nodes", None) or ()
    for call in getattr(result, "tool_calls", None) or ():
        output = getattr(getattr(call, "tool_output", None), "raw_output", None)
        if isinstance(output, list):
            yield from (node for node in output if isinstance(node, NodeWithScore))
