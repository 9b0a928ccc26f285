"""Nodes with the number that each passage has, for faces of LlamaIndex that know nothing but nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.bridge.pydantic import Field, SerializeAsAny, model_validator
from llama_index.core.schema import BaseNode, ImageNode, MetadataMode, NodeWithScore, TextNode
from typing_extensions import override

from edgeorder.placed import Placed
from edgeorder.placement import Placement
from edgeorder.rendering import as_layout
from edgeorder.views import Wrapped
from llamaindex_edgeorder.component import Component
from llamaindex_edgeorder.postprocessor import EdgeOrderPostprocessor

KEY = "edgeorder"
"""The key in the metadata of a copy: what the record says of its node."""


class NumberedPostprocessor(Component):
    """Place nodes and write each one's label into it, so that chat and query engines show numbered passages.

    The nodes that come out are copies whose text is the passage as the block has it, `[1] title - source` first: joined
    by the engine they are the block that was counted. All else stays, images too. Last among the `node_postprocessors`;
    inside `with window(register=register):` a chunk keeps its number over all turns. `cited(response)` gives the nodes
    that the answer cites.

    Args:
        placer: How they are placed; with layout `"numbered"` unless it says another that needs no frame around it. With
            `shadow=True` the nodes come out untouched, without numbers.
    """

    placer: SerializeAsAny[EdgeOrderPostprocessor] = Field(default_factory=EdgeOrderPostprocessor)

    @model_validator(mode="after")
    def _check(self) -> "NumberedPostprocessor":
        labelled(self.placer)
        return self

    @override
    def __getstate__(self) -> dict[str, Any]:
        self.placer.__getstate__()  # raises where a setting cannot be pickled, which LlamaIndex would only leave out
        return super().__getstate__()

    @classmethod
    @override
    def class_name(cls) -> str:
        return "NumberedPostprocessor"

    @override
    def _process(self, nodes: Sequence[NodeWithScore], query: str | None) -> list[NodeWithScore]:
        placer = labelled(self.placer)
        return placer.placed_items(nodes, query) if placer.shadow else numbered(nodes, placer.place(nodes, query))

    @override
    async def _aprocess(self, nodes: Sequence[NodeWithScore], query: str | None) -> list[NodeWithScore]:
        placer = labelled(self.placer)
        if placer.shadow:
            return await placer.aplaced_items(nodes, query)
        return numbered(nodes, await placer.aplace(nodes, query))


def labelled(placer: EdgeOrderPostprocessor) -> EdgeOrderPostprocessor:
    """Return the placer, its passages numbered unless it says how the block is written.

    Raises:
        TypeError: For something else than an `EdgeOrderPostprocessor`.
        ValueError: If the block is more than its passages with a blank line between them, as engines join nodes.
    """
    if not isinstance(placer, EdgeOrderPostprocessor):
        raise TypeError(f"placer must be an EdgeOrderPostprocessor, not {placer!r:.80}")
    if placer.layout is None:
        placer = placer.model_copy(update={"layout": "numbered"})
    layout = as_layout(placer.layout)
    if layout.style in ("plain", "xml") or layout.echo or layout.separator != "\n\n" or placer.prompt is not None:
        raise ValueError(
            f"layout={placer.layout!r}, prompt={placer.prompt!r}: engines join numbered nodes by a blank line and put "
            "their own prompt around them. Use layout='numbered', or a callable, and no prompt"
        )
    return placer


def numbered(nodes: Sequence[NodeWithScore], placement: Placement, *, whole: bool = False) -> list[NodeWithScore]:
    """Return the passages of a placement as nodes; the metadata key "edgeorder" has what the record says of each.

    Args:
        nodes: What was placed.
        placement: What came of it.
        whole: Whether a passage that the block only points at is given as it stands above.
    """
    layout, view = placement.call.plan.layout, placement.call.view
    if whole and view.above:
        view = Wrapped(view)
        view.above = frozenset()
    found: list[NodeWithScore] = []
    for passage, record in zip(placement.block.passages, placement.record.placed, strict=True):
        text = layout.part(view, passage.index, placement.texts.get(passage.index), passage.number)
        found.append(_showing(nodes[passage.index], text, record.annotation()))
    return Placed(found, placement)


def _showing(node: NodeWithScore, text: str, note: Mapping[str, Any]) -> NodeWithScore:
    """Return a copy of a node of which the LLM gets just this text: it holds what the metadata template showed, too."""
    inner = node.node.model_copy(update={"metadata": {**node.node.metadata, KEY: dict(note)}})
    shown = _as_it_is(inner, text)
    if shown.get_content(MetadataMode.LLM).strip() != text.strip():  # a class of its own that writes something else
        base = {name: getattr(inner, name) for name in BaseNode.model_fields}
        shown = _as_it_is(TextNode(**base), text)
    return node.model_copy(update={"node": shown})


def _as_it_is(node: BaseNode, text: str) -> BaseNode:
    """Return a node, which is changed, that shows a text without anything around it."""
    if (resource := getattr(node, "text_resource", None)) is not None:
        node.text_resource = resource.model_copy(update={"text": text})  # type: ignore[attr-defined]
    else:
        node.set_content(text)
    if hasattr(node, "text_template"):
        node.text_template = "{content}"
    keys = list(node.metadata)
    node.excluded_embed_metadata_keys = keys
    node.excluded_llm_metadata_keys = keys
    if isinstance(node, ImageNode):
        # Where images are sent, LlamaIndex sends no text of an image's node but that of its metadata.
        node.excluded_llm_metadata_keys = [key for key in keys if key != KEY]
        node.metadata_template = text.replace("{", "{{").replace("}", "}}")
    return node
