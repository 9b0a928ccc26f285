"""What is counted is what the LLM gets: metadata, templates and separators included."""

from collections.abc import Iterator
from typing import Any

import llama_index.core
import pytest
from llama_index.core import Settings
from llama_index.core.schema import MetadataMode, Node, NodeWithScore, TextNode

from edgeorder import Budget, EdgeOrderWarning, capture
from llamaindex_edgeorder import EdgeOrderPostprocessor

BODIES = [
    "Trains are refunded. Second class only. Keep the ticket. Hand it in.",
    "Hotels are refunded up to 140 euros. Breakfast is included. Bars are not. Nor is the sauna.",
    "Taxis are refunded at night. By day take the bus. Or walk. It is healthy.",
    "Flights are booked two weeks ahead. The desk does it. Ask for a window seat.",
    "Meals need names. Of all guests. On the receipt. Written by hand.",
]
SUMMARY = {"summary": None}  # stands for the node's own body

# name: (template, metadata, excluded keys)
SHAPES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "bare": ("{metadata_str}\n\n{content}", {}, []),
    "metadata": ("{metadata_str}\n\n{content}", {"title": "Travel policy", "page": 3}, []),
    "excluded": ("{metadata_str}\n\n{content}", {"title": "Travel policy", "page": 3}, ["title"]),
    "all excluded": ("{metadata_str}\n\n{content}", {"title": "Travel policy"}, ["title"]),
    "content first": ("{content}\n\n({metadata_str})", {"title": "Travel policy"}, []),
    "content last word of a line": ("[{metadata_str}] >> {content}", {"title": "Travel policy"}, []),
    "content in the middle": ("<rule>\n{metadata_str}\n{content}\n</rule>", {"title": "Travel policy"}, []),
    "body in the metadata": ("{metadata_str}\n\n{content}", SUMMARY, []),
    "body in the metadata, content first": ("{content}\n\n{metadata_str}", SUMMARY, []),
    "body in the metadata, content in the middle": ("<rule>{metadata_str}\n{content}</rule>", SUMMARY, []),
    "content alone": ("-- {content} --", {"title": "hidden"}, []),
    "braces": ("{metadata_str}\n\n{content}", {"json": '{"a": [1, {"b": 2}]}'}, []),
}


def _tokens(text: str) -> int:
    return len(Settings.tokenizer(text))


def _seen(nodes: list[NodeWithScore]) -> list[str]:
    return [node.node.get_content(MetadataMode.LLM).strip() for node in nodes]


def _nodes(shape: str, kind: Any, white: str = "") -> list[NodeWithScore]:
    template, metadata, excluded = SHAPES[shape]
    nodes = []
    for body in BODIES:
        text = white + body + white
        nodes.append(
            kind(
                **{"text": text} if kind is TextNode else {"text_resource": {"text": text}},
                metadata={key: body if value is None else value for key, value in metadata.items()},
                excluded_llm_metadata_keys=excluded,
                text_template=template,
            )
        )
    return [NodeWithScore(node=node) for node in nodes]


@pytest.mark.parametrize("kind", [TextNode, Node])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("overflow", ["skip", "truncate"])
@pytest.mark.parametrize("white", ["", "\n  "], ids=["stripped", "outer white space"])
def test_the_block_is_what_the_llm_sees(shape: str, kind: Any, overflow: Any, white: str) -> None:
    """For every template and budget the block is the join of the returned nodes' stripped contents, within budget."""
    nodes = _nodes(shape, kind, white)
    whole = _tokens("\n\n".join(_seen(nodes)))
    shortened = 0
    for budget in (None, whole + 10, whole - 1, whole * 2 // 3, whole // 3):
        post = EdgeOrderPostprocessor(order="bookend", budget=budget and Budget(budget, overflow=overflow))
        placement = post.place(nodes)
        returned = post.postprocess_nodes(nodes)
        assert placement.block.text == "\n\n".join(_seen(returned))
        if budget is not None:
            assert placement.tokens == _tokens(placement.block.text) <= budget
        shortened += len(placement.texts)
        assert bool(placement.texts or placement.dropped) is (budget is not None and budget < whole)
    assert (shortened > 0) is (overflow == "truncate")


@pytest.mark.case(29)
@pytest.mark.parametrize(("excluded", "kept"), [([], 0), (["long"], 1)], ids=["sent", "excluded"])
def test_metadata_counts_when_it_is_sent(excluded: list[str], kept: int) -> None:
    """A node of 10 tokens with 40 of metadata exceeds a budget of 30, unless the metadata is kept from the LLM."""
    node = TextNode(
        text="one two three four five six seven eight nine ten",
        metadata={"long": " ".join(["word"] * 38)},
        excluded_llm_metadata_keys=excluded,
    )
    assert _tokens(node.text) == 10
    assert _tokens(node.get_metadata_str(MetadataMode.ALL)) == 40
    post = EdgeOrderPostprocessor(budget=30)
    with capture() as records:
        if kept:
            assert len(post.postprocess_nodes([NodeWithScore(node=node)])) == 1
        else:
            with pytest.warns(EdgeOrderWarning, match="all 1 chunks were dropped"):
                assert post.postprocess_nodes([NodeWithScore(node=node)]) == []
    assert records[0].chunks[0].tokens == _tokens(node.get_content(MetadataMode.LLM)) == (10 if kept else 51)
    assert records[0].chunks[0].dropped == (None if kept else "budget")


@pytest.mark.parametrize(("budget", "kept"), [(11, 1), (12, 2), (19, 2), (20, 3)])
def test_separators_count(budget: int, kept: int) -> None:
    """Nodes of 4 tokens are joined by a separator of one token or more: n of them need more than 4 n tokens."""
    nodes = [NodeWithScore(node=TextNode(text=f"{word} {word} {word} {word}")) for word in ("one", "two", "six")]
    assert [_tokens("\n\n".join(_seen(nodes[:n]))) for n in (1, 2, 3)] == [4, 9, 14]
    post = EdgeOrderPostprocessor(budget=Budget(budget, reserve=[1, "one one"] if budget < 19 else 6))
    assert len(post.postprocess_nodes(nodes)) == kept


@pytest.fixture
def tokenizer_of_words() -> Iterator[None]:
    """Set a tokenizer of words in `Settings`, and restore what was there."""
    before = llama_index.core.global_tokenizer
    Settings.tokenizer = str.split
    yield
    llama_index.core.global_tokenizer = before


@pytest.mark.usefixtures("tokenizer_of_words")
def test_the_tokenizer_of_settings_counts_as_it_stands_at_the_call() -> None:
    """Without a counter of its own a budget counts by `Settings.tokenizer`, whatever that is when it counts."""
    nodes = _nodes("bare", TextNode)
    post = EdgeOrderPostprocessor(budget=100)
    for tokenizer, kept in ((str.split, 5), (list, 1)):
        Settings.tokenizer = tokenizer
        with capture() as records:
            returned = post.postprocess_nodes(nodes)
        assert len(returned) == kept
        assert records[0].tokens == len(tokenizer("\n\n".join(_seen(returned)))) > 50
        assert records[0].counter == "llama_index Settings.tokenizer"


@pytest.mark.case(12)
@pytest.mark.usefixtures("tokenizer_of_words")
@pytest.mark.parametrize(("counter", "name", "kept"), [(len, "len", 1), ("cl100k_base", "cl100k_base", 5)])
def test_a_counter_of_the_budget_comes_before_settings(counter: Any, name: str, kept: int) -> None:
    """A `Budget` with a counter counts by that, not by `Settings.tokenizer`."""
    nodes = _nodes("bare", TextNode)
    with capture() as records:
        returned = EdgeOrderPostprocessor(budget=Budget(100, counter=counter)).postprocess_nodes(nodes)
    assert (len(returned), records[0].counter) == (kept, name)


def test_a_scorer_gets_the_body_without_metadata() -> None:
    """What is scored is the node's own text, stripped, never its metadata."""
    heard: list[str] = []

    def scorer(query: str, texts: list[str]) -> list[float]:
        heard.extend(texts)
        return [1.0] * len(texts)

    node = TextNode(text=" see above\n", metadata={"title": "Refunds"})
    EdgeOrderPostprocessor(rerank=scorer).postprocess_nodes([NodeWithScore(node=node)], query_str="q")
    assert heard == ["see above"]


def test_the_text_of_a_special_token_is_counted() -> None:
    """A node that quotes a special token is counted like the synthesizers count it, without an error."""
    node = NodeWithScore(node=TextNode(text="The text ends with <|endoftext|> here."))
    placement = EdgeOrderPostprocessor(budget=50).place([node])
    assert placement.tokens == _tokens(node.text) > 5


def test_a_template_without_content_is_an_error_when_it_must_be_cut() -> None:
    """A node that does not show its text to the LLM cannot be shortened, and the error names it."""
    node = TextNode(text="one two three " * 9, metadata={"title": "T " * 30}, text_template="{metadata_str}")
    post = EdgeOrderPostprocessor(budget=Budget(10, overflow="truncate"))
    with pytest.raises(ValueError, match=r"nodes\[0\] must show its own text to the LLM exactly once"):
        post.postprocess_nodes([NodeWithScore(node=node)])
