"""Scores as LlamaIndex gives them: missing, NaN, logits, numpy; and parity with its own LongContextReorder."""

import random
from typing import Any

import pytest
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.schema import NodeWithScore, TextNode

from edgeorder import EdgeOrderWarning, capture
from llamaindex_edgeorder import EdgeOrderPostprocessor

NAN = float("nan")


def _nodes(scores: list[Any], **metadata: list[Any]) -> list[NodeWithScore]:
    nodes = [
        TextNode(id_=str(i), text=f"text {i}", metadata={key: values[i] for key, values in metadata.items()})
        for i in range(len(scores))
    ]
    return [NodeWithScore(node=node, score=score) for node, score in zip(nodes, scores, strict=True)]


def _ids(nodes: list[NodeWithScore]) -> str:
    return " ".join(node.node_id for node in nodes)


@pytest.mark.case(7)
def test_long_context_reorder_of_llama_index_is_reproduced() -> None:
    """For distinct scores, in any input order, the compat mode gives LlamaIndex's own order to the letter."""
    post = EdgeOrderPostprocessor(order="long_context_reorder", rank_by="score", reading="off")
    for n in range(51):
        scores = [0.37 * i - 5 for i in range(n)]
        random.Random(n).shuffle(scores)
        nodes = _nodes(scores)
        assert _ids(post.postprocess_nodes(nodes)) == _ids(LongContextReorder().postprocess_nodes(nodes))


@pytest.mark.parametrize("score", [None, NAN])
def test_with_no_score_at_all_the_input_order_counts(score: float | None) -> None:
    """Without scores the first node is at the head, where LlamaIndex's LongContextReorder puts the middle one."""
    nodes = _nodes([score] * 5)
    post = EdgeOrderPostprocessor(order="bookend")
    with capture() as records:
        assert _ids(post.postprocess_nodes(nodes)) == "0 2 4 3 1"
    assert records[0].notes == ("no chunk has a score; the input order is the ranking",)
    assert [chunk.score for chunk in records[0].chunks] == [None] * 5
    if score is None:
        assert _ids(LongContextReorder().postprocess_nodes(nodes))[0] != "0"
    with pytest.warns(EdgeOrderWarning, match="rank_by='score' found no score"):
        by_score = EdgeOrderPostprocessor(order="bookend", rank_by="score").postprocess_nodes(nodes)
    assert _ids(by_score) == "0 2 4 3 1"


def test_scores_of_mixed_scales_do_not_undo_the_given_order() -> None:
    """By default a merged list keeps its order whatever its scores say, and the record notes that they disagree."""
    with capture() as records:
        placed = EdgeOrderPostprocessor(order="relevance").postprocess_nodes(_nodes([0.81, 14.2, 0.79, 9.1]))
    assert _ids(placed) == "0 1 2 3"
    assert records[0].notes == ("the scores disagree with the input order, which was kept as the ranking",)


@pytest.mark.parametrize(
    ("key", "ranked"),
    [
        (None, "3 0 2 1"),
        ("store.score", "1 0 2 3"),
        (["absent", "relevance"], "1 0 3 2"),
        (lambda node: -node.score, "1 2 0 3"),
    ],
)
def test_where_scores_are_found(key: Any, ranked: str) -> None:
    """A node's own score counts, unless `score_key` says where another one is."""
    nodes = _nodes(
        [0.2, -0.2, 0.0, 0.9],
        store=[{"score": 2}, {"score": 3}, {"score": 1}, {}],
        relevance=[3, 4, 1, 2],
    )
    post = EdgeOrderPostprocessor(order="relevance", rank_by="score", score_key=key)
    assert _ids(post.postprocess_nodes(nodes)) == ranked
