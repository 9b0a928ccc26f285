"""Reading order: where a node's source and its place in it come from."""

import random
from itertools import pairwise
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Node, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from edgeorder import capture
from llamaindex_edgeorder import EdgeOrderPostprocessor


def _scored(nodes: list[Any]) -> list[NodeWithScore]:
    return [NodeWithScore(node=node) for node in nodes]


def _node(id: str, doc: str | None = None, kind: Any = TextNode, **fields: Any) -> Any:
    content = {"text": id} if issubclass(kind, TextNode) else {"text_resource": {"text": id}}
    node = kind(id_=id, **content, **fields)
    if doc is not None:
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=doc)
    return node


def _linked(ids: str, doc: str = "doc", links: tuple[str, ...] = ("PREVIOUS", "NEXT"), kind: Any = TextNode) -> Any:
    """Return nodes by id, each linked to the one before and the one after."""
    nodes = {name: _node(name, doc, kind) for name in ids}
    for before, after in pairwise(ids):
        if "NEXT" in links:
            nodes[before].relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=after)
        if "PREVIOUS" in links:
            nodes[after].relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=before)
    return nodes


def _place(nodes: list[Any], **settings: Any) -> tuple[str, list[set[str]]]:
    """Return the ids in the order of the block, and the runs as sets of ids."""
    post = EdgeOrderPostprocessor(**{"order": "relevance", **settings})
    with capture() as records:
        placed = post.postprocess_nodes(_scored(nodes))
    numbers = sorted({chunk.run for chunk in records[0].chunks if chunk.run})
    runs = [{chunk.id for chunk in records[0].chunks if chunk.run == number} for number in numbers]
    return " ".join(node.node_id for node in placed), runs


def _sources(nodes: list[Any], **settings: Any) -> list[Any]:
    with capture() as records:
        EdgeOrderPostprocessor(**settings).postprocess_nodes(_scored(nodes))
    return [chunk.source for chunk in records[0].chunks]


def _document(name: str, sentences: int = 90) -> Document:
    text = " ".join(f"Sentence number {i} of {name} says what clause {i * 7} allows." for i in range(sentences))
    return Document(text=text, doc_id=name, metadata={"file_path": f"/docs/{name}"})


@pytest.mark.parametrize("reading", ["runs", "source"])
@pytest.mark.parametrize("overlap", [0, 50, 200])
def test_neighbours_of_a_real_splitter_are_read_in_document_order(overlap: int, reading: str) -> None:
    """Neighbours that SentenceSplitter made come out as one run in document order, at the rank of the best of them."""
    splitter = SentenceSplitter(chunk_size=256, chunk_overlap=overlap)
    a = splitter.get_nodes_from_documents([_document("a")])
    b = splitter.get_nodes_from_documents([_document("b")])
    for nodes, name in ((a, "a"), (b, "b")):
        assert len(nodes) > 5
        for i, node in enumerate(nodes):
            node.id_ = f"{name}{i}"
    last = len(b) - 1
    order, runs = _place([a[3], b[last], a[1], a[2], b[0]], reading=reading)
    if reading == "runs":
        assert order == f"a1 a2 a3 b{last} b0"
        assert runs == [{"a1", "a2", "a3"}]
    else:
        assert order == f"a1 a2 a3 b0 b{last}"
        assert runs == [{"a1", "a2", "a3"}, {"b0", f"b{last}"}]


@pytest.mark.parametrize("overlap", [0, 50, 200])
def test_a_whole_shuffled_document_is_one_run(overlap: int) -> None:
    """All chunks of a real document, shuffled, come out in document order, joined at every cut of the splitter."""
    nodes = SentenceSplitter(chunk_size=256, chunk_overlap=overlap).get_nodes_from_documents([_document("a")])
    for i, node in enumerate(nodes):
        node.id_ = f"a{i}"
    expected = " ".join(node.id_ for node in nodes)
    random.Random(1).shuffle(nodes)
    order, runs = _place(nodes, order="reverse")  # which puts the best where it may
    assert order == expected
    assert runs == [{node.id_ for node in nodes}]


@pytest.mark.parametrize("linked", [True, False], ids=["ref_doc_id", "file_path only"])
def test_pages_of_a_pdf_whose_offsets_restart_are_not_mixed(linked: bool) -> None:
    """Chunks of three pages of one file, whose offsets restart on each page, join within a page, never across pages."""
    pages = [
        Document(
            text=" ".join(f"Page {page} line {i} is printed here." for i in range(60)),
            doc_id=f"page{page}",
            metadata={"file_path": "/docs/handbook.pdf", "page_label": str(page)},
        )
        for page in (1, 2, 3)
    ]
    nodes = SentenceSplitter(chunk_size=200, chunk_overlap=0).get_nodes_from_documents(pages)
    chunks: dict[str, list[Any]] = {}
    for node in nodes:
        same_page = chunks.setdefault(node.metadata["page_label"], [])
        node.id_ = f"p{node.metadata['page_label']}.{len(same_page)}"
        same_page.append(node)
        if not linked:
            node.relationships = {}
    assert {node.start_char_idx for node in nodes if node.id_.endswith(".0")} == {0}
    order, runs = _place([chunks["2"][1], chunks["1"][0], chunks["3"][2], chunks["2"][0], chunks["3"][1]])
    assert order == "p2.0 p2.1 p1.0 p3.1 p3.2"
    assert runs == [{"p2.0", "p2.1"}, {"p3.1", "p3.2"}]


@pytest.mark.parametrize(
    ("doc", "metadata", "expected"),
    [
        ("doc", {"file_path": "/a.md", "file_name": "a.md"}, "doc"),
        (None, {"file_name": "a.md", "file_path": "/a.md"}, "/a.md"),
        (None, {"file_name": "a.md"}, "a.md"),
        (None, {"title": "A"}, None),
        (None, {}, None),
    ],
    ids=["ref_doc_id", "file_path", "file_name", "neither", "no metadata"],
)
def test_the_source_is_ref_doc_id_then_file_path_then_file_name(
    doc: str | None, metadata: dict[str, str], expected: str | None
) -> None:
    """The first that a node has of ref_doc_id, file path and file name is its source, also next to other nodes."""
    other = _node("other", "elsewhere", metadata={"file_name": "b.md"})
    for kind in (TextNode, Node):
        assert _sources([_node("x", doc, kind, metadata=metadata), other]) == [expected, "elsewhere"]


def test_nodes_without_anything_stand_alone() -> None:
    """Nodes without source are never grouped with each other, whatever their offsets, also by whole sources."""
    nodes = [
        _node(name, start_char_idx=start, end_char_idx=start + 5) for name, start in zip("cab", (10, 0, 5), strict=True)
    ]
    for reading in ("runs", "source"):
        assert _place(nodes, reading=reading) == ("c a b", [])
    assert _place(nodes, source_key="file", reading="source") == ("c a b", [])


@pytest.mark.parametrize("reading", ["runs", "source", "off"])
def test_sections_4_1_7_of_a_source(reading: str) -> None:
    """Sections 4, 1, 7 of one source become 1, 4, 7 only with `reading="source"`; another source keeps its rank."""
    nodes = [_node(str(i), "doc", metadata={"chunk_index": i}) for i in (4, 1, 7)]
    nodes.insert(1, _node("x", "other"))
    expected = {"runs": "4 x 1 7", "source": "1 4 7 x", "off": "4 x 1 7"}
    assert _place(nodes, reading=reading)[0] == expected[reading]


@pytest.mark.parametrize(
    ("key", "values", "order", "runs"),
    [
        ("chunk_index", [2, 0, 1], "b c a", ["abc"]),
        ("index", [3, 1, 2], "b c a", ["abc"]),
        ("chunk_index", ["11", "9", "10"], "b c a", ["abc"]),
        ("chunk_index", ["11", "9", "12"], "a c b", ["ac"]),
        ("chunk_index", ["3", "3", "3"], "a b c", []),
        ("page_label", ["11", "9", "10"], "a b c", []),
        ("chunk_index", [5, None, 4], "c a b", ["ac"]),
        ("chunk_index", [1, -1, 0], "c a b", ["ac"]),
        ("chunk_index", [1.0, "0", "iv"], "b a c", ["ab"]),
        ("unknown", [2, 0, 1], "a b c", []),
    ],
    ids=[
        "chunk_index",
        "index",
        "natural order",
        "a gap",
        "all the same",
        "a page",
        "None",
        "-1",
        "mixed",
        "no known key",
    ],
)
def test_an_index_key_says_the_place(key: str, values: list[Any], order: str, runs: list[str]) -> None:
    """Without spans an index key orders the nodes of a source, as numbers; missing places stand alone."""
    nodes = [
        _node(name, "doc", metadata={} if value is None else {key: value})
        for name, value in zip("abc", values, strict=True)
    ]
    assert _place(nodes) == (order, [set(run) for run in runs])


@pytest.mark.parametrize("kind", [TextNode, Node])
@pytest.mark.parametrize("links", [("NEXT",), ("PREVIOUS",), ("PREVIOUS", "NEXT")])
@pytest.mark.parametrize(
    ("retrieved", "order", "runs"),
    [
        ("CA", "C A", []),
        ("BA", "A B", ["AB"]),
        ("CAB", "A B C", ["ABC"]),
        ("EADB", "D E A B", ["DE", "AB"]),
        ("B", "B", []),
    ],
)
def test_links_to_previous_and_next_say_the_place(
    retrieved: str, order: str, runs: list[str], links: tuple[str, ...], kind: Any
) -> None:
    """Without spans and index keys, linked nodes form runs; a missing link in the chain keeps its sides apart."""
    nodes = _linked("ABCDE", links=links, kind=kind)
    assert _place([nodes[name] for name in retrieved]) == (order, [set(run) for run in runs])


def test_links_of_a_real_splitter_without_spans() -> None:
    """The links that SentenceSplitter sets are enough when the character spans are lost."""
    nodes = SentenceSplitter(chunk_size=256, chunk_overlap=0).get_nodes_from_documents([_document("a")])
    for i, node in enumerate(nodes):
        node.start_char_idx = node.end_char_idx = None
        node.relationships = {
            link: related if link == NodeRelationship.SOURCE else related.model_copy(update={"node_id": f"a{j}"})
            for link, related in node.relationships.items()
            for j in [i + 1 if link == NodeRelationship.NEXT else i - 1]
        }
        node.id_ = f"a{i}"
    assert _place([nodes[2], nodes[0], nodes[3], nodes[1]]) == ("a0 a1 a2 a3", [{"a0", "a1", "a2", "a3"}])
    assert _place([nodes[3], nodes[0], nodes[2]]) == ("a2 a3 a0", [{"a2", "a3"}])


@pytest.mark.parametrize("loop", ["AB", "A"])
def test_links_in_a_circle_end(loop: str) -> None:
    """Links in a circle, or to the node itself, hang nothing and lose no node."""
    nodes = _linked("ABC")
    nodes[loop[-1]].relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=loop[0])
    nodes[loop[0]].relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=loop[-1])
    order, _ = _place([nodes[name] for name in "CBA"])
    assert sorted(order.split()) == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("settings", "order", "runs"),
    [
        ({}, "c a b d", []),
        ({"source_key": "book"}, "c a d b", ["ad"]),
        ({"source_key": ["nope", "book"], "offset_key": "line"}, "a c b d", ["ac"]),
        ({"source_key": "at.shelf", "offset_key": "line"}, "b c a d", ["bc"]),
        ({"source_key": lambda node: "one", "offset_key": "nr", "reading": "source"}, "a b c d", ["abcd"]),
        ({"source_key": "book", "offset_key": "line", "end_key": "line_end"}, "a c d b", ["acd"]),
        ({"source_key": "book", "offset_key": [("at.shelf", "nr")], "reading": "source"}, "c a d b", ["cad"]),
        ({"source_key": "book", "offset_key": lambda node: -node.node.metadata["line"]}, "c a b d", ["ca"]),
    ],
    ids=["default", "source", "names", "dotted", "callable", "span", "compound", "callable offset"],
)
def test_keys_override_where_source_and_place_live(settings: dict[str, Any], order: str, runs: list[str]) -> None:
    """`source_key`, `offset_key` and `end_key` take a name, names, a dotted path or a callable."""
    places = {"c": ("x", 3, "s", 3), "a": ("x", 2, "t", 1), "b": ("y", 2, "s", 2), "d": ("x", 90, "u", 90)}
    spans = {"c": (700, 800), "a": (0, 90), "b": (5, 10), "d": (95, 100)}
    nodes = []
    for name, (book, line, shelf, nr) in places.items():
        start, end = spans[name]
        metadata = {"book": book, "line": line, "line_end": line + end - start, "at": {"shelf": shelf}, "nr": nr}
        nodes.append(_node(name, start_char_idx=start, end_char_idx=end, metadata=metadata))
        nodes[-1].text = "x" * (end - start)
    assert _place(nodes, **settings) == (order, [set(run) for run in runs])


def test_characters_that_count_from_a_parent_join_within_it() -> None:
    """Leaves of two parents, whose spans would join, stand alone; those of one parent do not."""
    nodes = {name: _node(name, "doc", start_char_idx=at * 2, end_char_idx=at * 2 + 1) for at, name in enumerate("abcd")}
    for name, parent in zip("abcd", ("p", "p", "q", "q"), strict=True):
        nodes[name].relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=parent)
    assert _place([nodes[name] for name in "bcda"]) == ("a b c d", [{"a", "b"}, {"c", "d"}])


def test_links_win_over_characters() -> None:
    """Spans that join do not make neighbours of nodes that say that others are, nor do spans apart undo a link."""
    nodes = _linked("ABCD")
    for at, name in enumerate("ACBD"):
        nodes[name].start_char_idx, nodes[name].end_char_idx = at * 2, at * 2 + 1
    assert _place([nodes[name] for name in "CA"]) == ("C A", [])
    assert _place([nodes[name] for name in "BA"]) == ("A B", [{"A", "B"}])
    assert _place([nodes[name] for name in "DBA"], reading="source") == ("A B D", [{"A", "B", "D"}])


def test_links_know_nodes_whose_ids_were_given_anew() -> None:
    """Ids set after splitting leave the links behind; the hash of the content is the same."""
    nodes = SentenceSplitter(chunk_size=256, chunk_overlap=0).get_nodes_from_documents([_document("a")])
    for at, node in enumerate(nodes):
        node.id_ = f"a{at}"
    assert _place([nodes[3], nodes[0], nodes[2]]) == ("a2 a3 a0", [{"a2", "a3"}])
    for node in nodes:  # without spans, too
        node.start_char_idx = node.end_char_idx = None
    assert _place([nodes[3], nodes[0], nodes[2]]) == ("a2 a3 a0", [{"a2", "a3"}])


def test_pages_are_read_in_their_order_where_the_file_is_the_source() -> None:
    """With `reading="source"` a file is read page by page, and each page by its characters."""
    pages = [
        Document(
            text=" ".join(f"Page {page} line {i} is printed here." for i in range(60)),
            metadata={"file_path": "/docs/handbook.pdf", "page_label": str(page)},
        )
        for page in (9, 10, 11)
    ]
    nodes = SentenceSplitter(chunk_size=200, chunk_overlap=0).get_nodes_from_documents(pages)
    for node in nodes:
        node.id_ = f"p{node.metadata['page_label']}.{node.start_char_idx}"
    shuffled = random.Random(2).sample(nodes, len(nodes))
    order, runs = _place(shuffled, source_key="file_path", reading="source")
    assert order == " ".join(node.id_ for node in nodes)
    assert len(runs) == 1


def test_an_unhashable_source_or_page_is_a_value() -> None:
    """Lists and dicts of metadata are compared by value."""
    nodes = [
        _node(name, start_char_idx=start, end_char_idx=start + 1, metadata={"file_path": path, "page_label": page})
        for name, start, path, page in (
            ("a", 2, ["f", {"x": 1, "y": 2}], ["1", "2"]),
            ("b", 4, ["f", "g"], ["1", "2"]),
            ("c", 0, ["f", {"y": 2, "x": 1}], ["1", "2"]),
        )
    ]
    assert _place(nodes) == ("c a b", [{"c", "a"}])
