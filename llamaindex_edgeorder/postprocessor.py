"""`EdgeOrderPostprocessor`: the node postprocessor."""

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.schema import NodeWithScore
from llama_index_instrumentation.span import active_span_id
from pydantic import ConfigDict
from typing_extensions import override

from edgeorder.adapter import Adapter
from edgeorder.budget import Reserve
from edgeorder.chunk import ChunkView
from edgeorder.placement import Placement
from edgeorder.scoring import as_rerank
from edgeorder.tracing import within
from llamaindex_edgeorder.component import Component
from llamaindex_edgeorder.events import dispatcher, send
from llamaindex_edgeorder.neighbours import hits_first
from llamaindex_edgeorder.nodes import Nodes, with_body


class EdgeOrderPostprocessor(Adapter, Component):
    """Decide where each retrieved node sits in the prompt, and keep the block within a token budget.

    It goes wherever LlamaIndex's `LongContextReorder` went, last among the `node_postprocessors`. All keywords of
    `edgeorder.place` are fields. It needs no query, unless `rerank` is set.

    What is counted is what the LLM gets: `get_content(MetadataMode.LLM)`, joined as the synthesizers join it, by the
    tokenizer of LlamaIndex's `Settings` unless the `Budget` names another.

    The nodes come in best first unless `rank_by` says otherwise. They are returned as they are, the same objects,
    unless a text was shortened or `annotate` is on: then in copies. What shapes the text around them (a `layout` with
    labels or an echo, a `prompt`) cannot be returned as nodes: `place` gives it, and `text_qa_template` has a prompt.

    Args:
        score_key: Where the score lives in the metadata: a name, names tried in order, a dotted path or a callable.
            Default: the node's own score.
        source_key: The same for the source. Default: `ref_doc_id`, then the file path, then the file name.
        section_key: Where section headers live; all its names count together, and the parent node with them. Characters
            count from there, so only nodes of one section are neighbours by them. Default: "Header 1" to "Header 6",
            "header_path", "section", "heading", "parent_id" and "doc_id".
        offset_key: The same for an ordinal, `"page_label"` where nodes are whole pages; `[("page", "line")]` is one
            made of two. Default: the links to previous and next node, then the character span, then "chunk_index" or
            "index".
        end_key: The same for the end of the chunk, which makes what `offset_key` finds a character offset; so it needs
            one. Default: none.
        title_key: The same for what labels show. Default: "title".
        date_key: The same for the date. Default: "date".
        page_key: The same for the page. Default: "page_label".
        annotate: Write rank, position and scores into copies, under the metadata key "edgeorder", which is kept out of
            the text for LLM and embedding.
        shadow: Return the nodes untouched, and only record what would have been done.

    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> nodes = [NodeWithScore(node=TextNode(text=text)) for text in "ABCD"]
    >>> [n.text for n in EdgeOrderPostprocessor(order="bookend").postprocess_nodes(nodes)]
    ['A', 'C', 'D', 'B']
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    instead = (
        "Use place(nodes, query_str).block or .prompt; for a question and an instruction in engines, text_qa_template."
    )

    @classmethod
    @override
    def class_name(cls) -> str:
        return "EdgeOrderPostprocessor"

    @override
    def place(
        self, nodes: Sequence[NodeWithScore], query_str: str | None = None, *, reserve: Reserve | None = None
    ) -> Placement:
        """Return the placement itself: indices, ranks, what was dropped and why, the rendered block, the record.

        Args:
            nodes: The nodes, best first.
            query_str: The question; only a scorer, a prompt and `overflow="compress"` need it.
            reserve: What this request adds to the budget's reserve: tokens or texts, such as history and question.

        Raises:
            TypeError: For an item that is no `NodeWithScore`, naming its index and type.
            BudgetError: If the reserve leaves no room, or with `overflow="error"` if a node does not fit.
        """
        self._rerank_starts(nodes, query_str)
        with within(active_span_id.get(), shadow=self.shadow):
            placement = super().place(nodes, query_str, reserve=reserve)
        self._send(nodes, placement)
        return placement

    @override
    async def aplace(
        self, nodes: Sequence[NodeWithScore], query_str: str | None = None, *, reserve: Reserve | None = None
    ) -> Placement:
        """The same, never blocking the event loop."""
        self._rerank_starts(nodes, query_str)
        with within(active_span_id.get(), shadow=self.shadow):
            placement = await super().aplace(nodes, query_str, reserve=reserve)
        self._send(nodes, placement)
        return placement

    @override
    def _process(self, nodes: Sequence[NodeWithScore], query: str | None) -> list[NodeWithScore]:
        return self.placed_items(nodes, query)

    @override
    async def _aprocess(self, nodes: Sequence[NodeWithScore], query: str | None) -> list[NodeWithScore]:
        return await self.aplaced_items(nodes, query)

    @override
    def view(self, nodes: Sequence[NodeWithScore]) -> ChunkView:
        view = Nodes(nodes, self)
        mixed = self.score_key is not None or len({node.score is None for node in nodes}) == 2
        return hits_first(view, nodes) if mixed and self.rank_by == "input" else view

    @override
    def copied(self, node: NodeWithScore, body: str | None, added: Mapping[str, Any]) -> NodeWithScore:
        copy = with_body(node, body)
        copy.node.metadata.update(added)
        for name in ("excluded_llm_metadata_keys", "excluded_embed_metadata_keys"):
            keys = getattr(copy.node, name)
            setattr(copy.node, name, [*keys, *(key for key in added if key not in keys)])
        return copy

    def _rerank_starts(self, nodes: Sequence[NodeWithScore], query_str: str | None) -> None:
        rerank = as_rerank(self.rerank)
        if rerank is not None and nodes and query_str:
            top_n = len(nodes) if self.top_n is None else self.top_n
            dispatcher.event(ReRankStartEvent(query=query_str, nodes=list(nodes), top_n=top_n, model_name=rerank.name))

    def _send(self, nodes: Sequence[NodeWithScore], placement: Placement) -> None:
        if self.rerank is not None and nodes:
            dispatcher.event(ReRankEndEvent(nodes=placement.by_rank(nodes)))
        send(placement)
