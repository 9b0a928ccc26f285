"""Copies of every kind of node keep everything but what was asked for."""

import base64
from copy import deepcopy
from typing import Any

import pytest
from llama_index.core import Document, Settings
from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.schema import (
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)

from edgeorder import Budget
from llamaindex_edgeorder import EdgeOrderPostprocessor, NumberedPostprocessor


class Clause(TextNode):
    """A user's own kind of node."""

    paragraph: int = 0


class Hit(NodeWithScore):
    """A user's own kind of scored node."""

    retriever: str = "bm25"


KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    "TextNode": (TextNode, {"start_char_idx": 5, "end_char_idx": 500}),
    "Node": (Node, {}),
    "Document": (Document, {}),
    "IndexNode": (IndexNode, {"index_id": "table"}),
    "ImageNode": (ImageNode, {"image_url": "https://example.org/map.png"}),
    "subclass": (Clause, {"paragraph": 7}),
}


def _node(kind: str, text: str, **fields: Any) -> Any:
    cls, extra = KINDS[kind]
    content = {"text_resource": {"text": text, "mimetype": "text/markdown"}} if cls is Node else {"text": text}
    return cls(
        **content,
        **extra,
        **{
            "id_": "rule-1",
            "metadata": {"title": "Refunds", "tags": ["a", "b"], "secret": "x"},
            "excluded_llm_metadata_keys": ["secret"],
            "excluded_embed_metadata_keys": ["tags"],
            "metadata_template": "{key} = {value}",
            "metadata_separator": " | ",
            "text_template": "[{metadata_str}]\n{content}",
            "embedding": [0.1, 0.2],
            "relationships": {
                NodeRelationship.SOURCE: RelatedNodeInfo(node_id="handbook"),
                NodeRelationship.NEXT: RelatedNodeInfo(node_id="rule-2"),
            },
            **fields,
        },
    )


def _nodes() -> list[NodeWithScore]:
    kinds = list(KINDS) * 2
    nodes = [
        _node(kind, f"Rule {i} says this. It says that too. And more of it.", id_=f"rule-{i}", relationships={})
        for i, kind in enumerate(kinds)
    ]
    return [NodeWithScore(node=node, score=1 - i / 10) for i, node in enumerate(nodes)]


@pytest.mark.case(74)
@pytest.mark.parametrize("annotate", [False, True])
@pytest.mark.parametrize("wrapper", [NodeWithScore, Hit])
@pytest.mark.parametrize("kind", KINDS)
def test_a_shortened_copy_keeps_everything_but_the_text(kind: str, wrapper: Any, annotate: bool) -> None:
    """A shortened copy keeps class, id, links, templates, keys and embedding, with a metadata dict of its own."""
    original = wrapper(node=_node(kind, "One sentence fits. Another one does not fit at all."), score=0.5)
    before = deepcopy(original)
    room = len(Settings.tokenizer(_node(kind, "One sentence fits. […]").get_content(MetadataMode.LLM)))
    post = EdgeOrderPostprocessor(budget=Budget(room, overflow="truncate"), annotate=annotate)
    (copy,) = post.postprocess_nodes([original])
    assert original == before
    assert copy.node.get_content(MetadataMode.NONE) == "One sentence fits. […]"
    assert type(copy) is wrapper
    assert type(copy.node) is KINDS[kind][0]
    assert copy.node is not original.node
    assert copy.node.metadata is not original.node.metadata
    assert len(Settings.tokenizer(copy.node.get_content(MetadataMode.LLM))) <= room
    different = {
        name for name in type(copy.node).model_fields if getattr(copy.node, name) != getattr(original.node, name)
    }
    added = {"metadata", "excluded_llm_metadata_keys", "excluded_embed_metadata_keys"} if annotate else set()
    assert different == added | ({"text"} if "text" in type(copy.node).model_fields else {"text_resource"})
    assert copy.model_dump(exclude={"node"}) == original.model_dump(exclude={"node"})
    if kind == "Node":
        assert copy.node.text_resource.mimetype == "text/markdown"


@pytest.mark.parametrize("kind", KINDS)
def test_annotations_go_into_copies_and_out_of_every_text(kind: str) -> None:
    """`annotate=True` writes rank, position and scores under "edgeorder", hidden from the LLM and the embedding."""
    originals = [
        NodeWithScore(node=_node(kind, text, id_=text, relationships={}), score=score)
        for text, score in (("A", 0.9), ("B", None), ("C", 0.7))
    ]
    post = EdgeOrderPostprocessor(annotate=True, order="reverse")
    returned = post.postprocess_nodes(originals)
    assert [node.node_id for node in returned] == ["C", "B", "A"]
    assert [node.metadata["edgeorder"] for node in returned] == [
        {"rank": rank, "position": position, "score": score, "rerank_score": None, "number": position + 1}
        for rank, position, score in ((3, 0, 0.7), (2, 1, None), (1, 2, 0.9))
    ]
    for node, original in zip(returned, originals[::-1], strict=True):
        assert "edgeorder" not in original.metadata
        assert original.node.excluded_llm_metadata_keys == ["secret"]
        for mode in (MetadataMode.LLM, MetadataMode.EMBED, MetadataMode.NONE):
            assert node.node.get_content(mode) == original.node.get_content(mode)
        assert "edgeorder" in node.node.get_content(MetadataMode.ALL) or kind == "Document"


def test_annotating_twice_leaves_the_newer_annotation_once() -> None:
    """Nodes that were annotated before get the new annotation in its place, and their keys stay excluded once; the list
    that was placed before is placed by its ranks."""
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in "AB"]
    once = EdgeOrderPostprocessor(annotate=True, order="reverse").postprocess_nodes(nodes)
    twice = EdgeOrderPostprocessor(annotate=True, order="relevance").postprocess_nodes(once)
    assert [node.text for node in once] == ["B", "A"]
    assert [node.text for node in twice] == ["A", "B"]
    assert [node.metadata["edgeorder"]["rank"] for node in once] == [2, 1]
    assert [node.metadata["edgeorder"]["rank"] for node in twice] == [1, 2]
    assert twice[0].node.excluded_llm_metadata_keys == ["edgeorder"]
    assert twice[0].node.excluded_embed_metadata_keys == ["edgeorder"]


def test_the_budget_holds_on_annotated_nodes() -> None:
    """Annotation costs no token: what the LLM sees of annotated nodes is the block that was counted."""
    nodes = _nodes()
    post = EdgeOrderPostprocessor(annotate=True, budget=100, order="bookend")
    returned = post.postprocess_nodes(nodes)
    seen = "\n\n".join(node.node.get_content(MetadataMode.LLM).strip() for node in returned)
    placement = post.place(nodes)
    assert seen == placement.block.text
    assert len(Settings.tokenizer(seen)) == placement.tokens <= 100


@pytest.mark.parametrize("wrapper", [NodeWithScore, Hit])
@pytest.mark.parametrize("kind", KINDS)
def test_a_numbered_copy_keeps_everything_but_what_the_llm_sees(kind: str, wrapper: Any) -> None:
    """It keeps class, id, links, embedding, spans and images, and shows the label and what the template showed."""
    original = wrapper(node=_node(kind, "One {sentence}."), score=0.5)
    before = deepcopy(original)
    (copy,) = NumberedPostprocessor().postprocess_nodes([original])
    shown = "[1] Refunds\n[title = Refunds | tags = ['a', 'b']]\nOne {sentence}."
    assert original == before
    assert (type(copy), type(copy.node)) == (wrapper, KINDS[kind][0])
    for mode in (MetadataMode.LLM, MetadataMode.EMBED, MetadataMode.NONE):
        assert copy.node.get_content(mode) == shown
    assert copy.model_dump(exclude={"node"}) == original.model_dump(exclude={"node"})
    different = {
        name for name in type(copy.node).model_fields if getattr(copy.node, name) != getattr(original.node, name)
    }
    assert different <= {
        "text", "text_resource", "text_template", "metadata", "excluded_llm_metadata_keys",
        "excluded_embed_metadata_keys", "metadata_template",
    }  # fmt: skip
    assert {key: value for key, value in copy.metadata.items() if key != "edgeorder"} == original.metadata
    assert copy.metadata["edgeorder"]["number"] == 1


def test_numbered_images_are_sent_with_their_labels() -> None:
    """Where LlamaIndex sends images, as blocks of a message, the label stands before each, and none gets lost."""
    picture = base64.b64encode(b"picture")
    nodes = [
        ImageNode(text="A {map}", image=picture.decode(), metadata={"title": "Map"}),
        Node(text_resource=MediaResource(text="A plan"), image_resource=MediaResource(data=picture)),
        TextNode(text="A text", metadata={"title": "Text"}),
    ]
    out = NumberedPostprocessor().postprocess_nodes([NodeWithScore(node=node) for node in nodes])
    blocks = [node.node.get_content_blocks(MetadataMode.LLM) for node in out]
    texts = [[block.text for block in each if isinstance(block, TextBlock)] for each in blocks]
    assert texts == [["[1] Map\ntitle: Map\n\nA {map}"], ["[2]\nA plan"], ["[3] Text\ntitle: Text\n\nA text"]]
    images = [[block.image for block in each if isinstance(block, ImageBlock)] for each in blocks]
    assert images == [[picture], [picture], []]


def test_a_class_that_writes_something_else_becomes_a_text() -> None:
    """A user's own class whose text is not what is set shows the passage all the same, as a plain text node."""

    class Loud(TextNode):
        def get_content(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> str:
            return super().get_content(metadata_mode).upper()

    nodes = [NodeWithScore(node=Loud(text="a", id_="loud", embedding=[0.5], metadata={"title": "t"}), score=0.5)]
    (copy,) = NumberedPostprocessor().postprocess_nodes(nodes)
    assert copy.node.get_content(MetadataMode.LLM) == "[1] t\nTITLE: T\n\nA"
    assert (type(copy.node), copy.node_id, copy.embedding, copy.score) == (TextNode, "loud", [0.5], 0.5)


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_numbered_nodes_know_their_ranks(asynchronous: bool) -> None:
    """What comes after takes them by rank, not by position: a budget there drops the weakest."""
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in "ABCDE"]
    first = NumberedPostprocessor(placer=EdgeOrderPostprocessor(order="bookend", reading="off"))
    out = await first.apostprocess_nodes(nodes) if asynchronous else first.postprocess_nodes(nodes)
    assert [node.text[-1] for node in out] == list("ACEDB")
    again = EdgeOrderPostprocessor(top_n=3, order="relevance", reading="off").postprocess_nodes(out)
    assert [node.text[-1] for node in again] == list("ABC")
