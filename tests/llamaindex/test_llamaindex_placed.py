"""Placed once among postprocessors, and hits before the neighbours that were put around them."""

from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor import PrevNextNodePostprocessor, SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

from edgeorder import Budget, capture
from llamaindex_edgeorder import EdgeOrderPostprocessor

TEXT = " ".join(f"Sentence number {i} says that the limit is {i} euros <<{i}>>." for i in range(200))
NODES = SentenceSplitter(chunk_size=80, chunk_overlap=0).get_nodes_from_documents([Document(text=TEXT, doc_id="D")])
AT = {node.node_id: at for at, node in enumerate(NODES)}
STORE = SimpleDocumentStore()
STORE.add_documents(NODES)


class Fixed(BaseRetriever):
    """Always finds the same."""

    def __init__(self, nodes: list[NodeWithScore]) -> None:
        self._nodes = nodes
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return list(self._nodes)


def hits(*places: int) -> list[NodeWithScore]:
    return [NodeWithScore(node=NODES[place], score=0.9 - at / 20) for at, place in enumerate(places)]


def around(nodes: list[NodeWithScore], n: int = 2) -> list[NodeWithScore]:
    return PrevNextNodePostprocessor(docstore=STORE, num_nodes=n, mode="both").postprocess_nodes(nodes)


def places(nodes: list[NodeWithScore]) -> list[int]:
    return [AT[node.node.node_id] for node in nodes]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_second_postprocessor_works_from_the_ranks(asynchronous: bool, make_llm: Any) -> None:
    """In an engine with two of them the second one keeps the best."""
    nodes = [NodeWithScore(node=TextNode(text=f"[[{i}]]", id_=f"n{i}"), score=None) for i in range(8)]
    first = EdgeOrderPostprocessor(order="bookend", reading="off")
    second = EdgeOrderPostprocessor(order="relevance", reading="off", top_n=3)
    llm = make_llm()
    engine = RetrieverQueryEngine.from_args(Fixed(nodes), llm=llm, node_postprocessors=[first, second])
    with capture() as records:
        _ = await engine.aquery("?") if asynchronous else engine.query("?")
    assert [chunk.id for chunk in records[1].placed] == ["n0", "n1", "n2"]
    assert "the list was placed before: its ranks count, not its positions" in records[1].notes
    assert "[[0]]\n\n[[1]]\n\n[[2]]" in llm.prompts[0]


def test_a_filter_between_gives_a_plain_list() -> None:
    """A postprocessor that makes a new list gives a plain one, whose positions count."""
    nodes = [NodeWithScore(node=TextNode(text=f"a{i}"), score=0.9 - i / 10) for i in range(4)]
    first = EdgeOrderPostprocessor(order="bookend", reading="off").postprocess_nodes(nodes)
    kept = SimilarityPostprocessor(similarity_cutoff=0.1).postprocess_nodes(first)
    again = EdgeOrderPostprocessor(order="relevance", reading="off").postprocess_nodes(kept)
    assert [node.text for node in again] == ["a0", "a2", "a3", "a1"]


class TestHitsFirst:
    """Nodes without a score around hits have the rank of their hit, and leave first."""

    @pytest.mark.parametrize("settings", [{"top_n": 3}, {"budget": 220}, {"budget": Budget(220, overflow="stop")}])
    def test_cuts_keep_hits(self, settings: dict[str, Any]) -> None:
        """`top_n` and a budget keep the hits, and a note says why."""
        with capture() as records:
            kept = EdgeOrderPostprocessor(**settings).postprocess_nodes(around(hits(10, 30, 20)))
        assert places(kept) == [10, 30, 20]
        assert any(
            note.startswith("12 nodes without a score surround hits: hits rank before them")
            for note in records[0].notes
        )

    def test_neighbours_by_the_rank_of_their_hit(self) -> None:
        """Neighbours compete in the order of their hits, the nearest first."""
        placement = EdgeOrderPostprocessor(order="relevance", reading="off").place(around(hits(30, 10), 2))
        nodes = around(hits(30, 10), 2)
        assert places(placement.by_rank(nodes)) == [30, 10, 29, 31, 28, 32, 9, 11, 8, 12]

    def test_they_are_read_in_document_order(self) -> None:
        """Where there is room for all, each hit stands amid its neighbours, and the best hit's group comes first."""
        nodes = around(hits(10, 30, 20), 1)
        assert places(EdgeOrderPostprocessor(order="relevance").postprocess_nodes(nodes)) == [
            9, 10, 11, 29, 30, 31, 19, 20, 21,
        ]  # fmt: skip

    def test_only_neighbours(self) -> None:
        """A node without a score that surrounds no hit keeps its position, as hits of other searches have none."""
        lone = NodeWithScore(node=TextNode(text="Found by keyword.", id_="k"))
        nodes = [hits(10)[0], lone, *hits(30)]
        placement = EdgeOrderPostprocessor(order="relevance", reading="off").place(nodes)
        assert placement.indices == (0, 1, 2)
        assert not any("surround" in note for note in placement.record.notes)

    @pytest.mark.parametrize("settings", [{"rank_by": "score"}, {"score_key": lambda node: node.score or 0.0}])
    def test_where_scores_rank(self, settings: dict[str, Any]) -> None:
        """Where something else ranks, or every node has a score, nothing changes."""
        placement = EdgeOrderPostprocessor(order="relevance", reading="off", top_n=3, **settings).place(
            around(hits(10, 30))
        )
        assert not any("surround" in note for note in placement.record.notes)

    def test_all_or_none_scored(self) -> None:
        """Lists where all have scores or none has are read as they are."""
        bare = [NodeWithScore(node=node) for node in NODES[:4]]
        for nodes in (bare, hits(3, 2, 1, 0)):
            assert EdgeOrderPostprocessor(order="relevance", reading="off").place(nodes).indices == (0, 1, 2, 3)
