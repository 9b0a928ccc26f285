"""Generated corpora, cut by real splitters, and what is true of their chunks.

Every few words a number stands that occurs once in all documents, so the words that a chunk holds can be found in its
document whatever a splitter did to white space, headers or offsets. Words of headers do not count.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count, pairwise
from typing import Any, NamedTuple

from langchain_core.documents import Document
from langchain_text_splitters import (
    HTMLHeaderTextSplitter,
    MarkdownHeaderTextSplitter,
    RecursiveCharacterTextSplitter,
    TextSplitter,
)
from llama_index.core import Document as LlamaDocument
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    MarkdownNodeParser,
    SentenceSplitter,
    TokenTextSplitter,
    get_leaf_nodes,
)
from llama_index.core.schema import BaseNode, NodeWithScore

from edgeorder import OrderRecord, Placement, tiktoken_counter
from langchain_edgeorder import EdgeOrder
from llamaindex_edgeorder import EdgeOrderPostprocessor

PLACES = ("hotels", "taxis", "meals", "laptops", "desks", "badges", "samples", "boats")
SPEAKERS = ("Ada", "Ben", "Cleo")
LEVELS = [("#", "Header 1"), ("##", "Header 2")]


class Chunk(NamedTuple):
    """A chunk and the truth about it.

    Args:
        item: The framework's own object.
        source: Its document.
        start: The first word of the document that it holds.
        stop: The word after its last.
        part: What its location is local to; equal for two chunks whose locations can be compared.
        number: Where only the next chunk says that it is: the number of this one.
    """

    item: Any
    source: str
    start: int
    stop: int
    part: object
    number: int | None = None


class Split(NamedTuple):
    """A corpus, cut.

    Args:
        chunks: Its chunks.
        traced: Whether text or metadata tell what the locations are local to.
    """

    chunks: list[Chunk]
    traced: bool = True


class Found(NamedTuple):
    """What reading order made of retrieved chunks.

    Args:
        false: Pairs in a run that are no neighbours in the document.
        joined: Pairs in a run.
        found: Pairs of true neighbours that are in one run.
        told: Pairs of true neighbours whose locations can be compared.
        true: Pairs of true neighbours.
        best: Position (0-based) of the best chunk by default.
    """

    false: int
    joined: int
    found: int
    told: int
    true: int
    best: int


def _sentences(numbers: Iterator[int], n: int, rng: random.Random) -> str:
    return " ".join(
        f"Rule n{next(numbers)} sets the limit for {rng.choice(PLACES)} of n{next(numbers)} {rng.choice(PLACES)} at "
        f"{rng.randrange(9)} hundred."
        for _ in range(n)
    )


@cache
def texts(kind: str, n: int = 3, size: int = 1) -> dict[str, str]:
    """Return made-up documents by source: "prose", "markdown", "html" or "transcript"."""
    rng, numbers = random.Random(kind), count(100_000)
    made = {}
    for document in range(n):
        parts = []
        for section in range(6 * size):
            paragraphs = [_sentences(numbers, rng.randrange(2, 9), rng) for _ in range(rng.randrange(3, 7))]
            if kind == "transcript":
                parts += [f"{rng.choice(SPEAKERS)}: {line}" for text in paragraphs for line in text.split(". ")]
            elif kind == "markdown":
                parts += [f"# Heading-{section}", paragraphs[0], "## Heading-Details", *paragraphs[1:]]
            elif kind == "html":
                body = "".join(f"<p>{text}</p>" for text in paragraphs[1:])
                parts += [f"<h1>Heading-{section}</h1><p>{paragraphs[0]}</p><h2>Heading-Details</h2>{body}"]
            else:
                parts += paragraphs
        made[f"{kind}{document}"] = ("\n" if kind == "transcript" else "\n\n").join(parts)
    return made


def _pages(kind: str = "prose") -> Iterator[tuple[str, int, str]]:
    """Yield (source, page, text): each document on pages of about 2,500 characters, cut between words."""
    for source, text in texts(kind).items():
        words = text.split(" ")
        for page, start in enumerate(range(0, len(words), 420)):
            yield source, page, " ".join(words[start : start + 420])


class Truth:
    """Finds the words of a chunk in its document."""

    def __init__(self, kind: str) -> None:
        self._words = {source: _words(text) for source, text in texts(kind).items()}
        self._at = {
            word: (source, at)
            for source, words in self._words.items()
            for at, word in enumerate(words)
            if word[0] == "n" and word[1:].isdigit()
        }

    def chunk(self, item: Any, text: str, part: object) -> Chunk | None:
        """Return the chunk; None if it is too short to be found."""
        words = _words(text)
        for offset, word in enumerate(words):
            if word in self._at:
                source, at = self._at[word]
                return Chunk(item, source, at - offset, at - offset + len(words), part)
        return None

    def split(
        self, items: Sequence[Any], text: Callable[[Any], str], part: Callable[[Any], object], **more: Any
    ) -> Split:
        """Return the chunks that are long enough to be found."""
        chunks = [self.chunk(item, text(item), part(item)) for item in items]
        return Split([chunk for chunk in chunks if chunk is not None], **more)


def _words(text: str) -> list[str]:
    text = re.sub(r"<[^>]*>", " ", re.sub(r"\[Context:[^]]*\]", " ", text))
    return [word.strip(".") for word in text.split() if not word.startswith(("#", "Heading-"))]


class Uneven(TextSplitter):
    """Cuts between paragraphs at random, as a splitter by meaning does."""

    def split_text(self, text: str) -> list[str]:
        rng, paragraphs, chunks = random.Random(len(text)), text.split("\n\n"), []
        while paragraphs:
            n = rng.choice((1, 1, 2, 4))
            chunks.append("\n\n".join(paragraphs[:n]))
            paragraphs = paragraphs[n:]
        return chunks


def _recursive(size: int = 600, overlap: int = 0) -> RecursiveCharacterTextSplitter:
    return RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, add_start_index=True)


def _documents(kind: str) -> list[Document]:
    return [Document(text, metadata={"source": source}) for source, text in texts(kind).items()]


def _content(document: Document) -> str:
    return document.page_content


def _of(*names: str) -> Callable[[Document], object]:
    return lambda document: tuple(document.metadata.get(name) for name in names)


def _langchain() -> Iterator[tuple[str, Callable[[], Split]]]:
    """Yield the name of each way to cut with LangChain, and what cuts."""

    def plain(kind: str, splitter: TextSplitter) -> Split:
        chunks = splitter.split_documents(_documents(kind))
        # Where lengths are tokens, the splitter does not find the start of some chunks, and writes -1.
        return Truth(kind).split(chunks, _content, lambda chunk: chunk.metadata["start_index"] < 0 and id(chunk))

    for kind in ("prose", "transcript", "markdown"):
        for overlap in (0, 100):
            yield f"{kind}, recursive, overlap {overlap}", lambda k=kind, o=overlap: plain(k, _recursive(overlap=o))
    yield "prose, uneven", lambda: plain("prose", Uneven(add_start_index=True))
    yield (
        "prose, recursive by tokens, overlap 20",
        lambda: plain(
            "prose",
            RecursiveCharacterTextSplitter(
                chunk_size=120, chunk_overlap=20, length_function=tiktoken_counter(), add_start_index=True
            ),
        ),
    )

    def headers(kind: str, overlap: int) -> Split:
        first: Any = MarkdownHeaderTextSplitter(LEVELS)
        if kind == "html":
            first = HTMLHeaderTextSplitter([("h1", "Header 1"), ("h2", "Header 2")])
        parts = []
        for source, text in texts(kind).items():
            for part in first.split_text(text):
                if part.page_content.startswith("Heading-") and " " not in part.page_content:
                    continue  # the HTML splitter makes a chunk of each header
                part.metadata["source"] = source
                parts.append(part)
        chunks = _recursive(overlap=overlap).split_documents(parts)
        return Truth(kind).split(chunks, _content, _of("Header 1", "Header 2"))

    for kind in ("markdown", "html"):
        for overlap in (0, 100):
            yield f"{kind}, by headers then recursive, overlap {overlap}", lambda k=kind, o=overlap: headers(k, o)

    def pages(overlap: int) -> Split:
        loaded = [Document(text, metadata={"source": source, "page": page}) for source, page, text in _pages()]
        return Truth("prose").split(_recursive(overlap=overlap).split_documents(loaded), _content, _of("page"))

    for overlap in (0, 100):
        yield f"pages, recursive, overlap {overlap}", lambda o=overlap: pages(o)

    def twice(trace: str | None, overlap: int = 0) -> Split:
        parts = _recursive(1500, overlap).split_documents(_documents("prose"))
        for number, part in enumerate(parts):
            del part.metadata["start_index"]
            if trace:
                part.metadata[trace] = f"p{number}"
        chunks = _recursive(400, overlap).split_documents(parts)
        return Truth("prose").split(chunks, _content, _of(trace) if trace else _of(), traced=trace is not None)

    for trace in ("section", "doc_id"):
        for overlap in (0, 60):
            yield f"prose, cut twice, {trace}, overlap {overlap}", lambda t=trace, o=overlap: twice(t, o)
    for overlap in (0, 60):
        yield f"prose, cut twice, no trace, overlap {overlap}", lambda o=overlap: twice(None, o)

    def in_context() -> Split:
        chunks = _recursive().split_documents(_documents("prose"))
        for number, chunk in enumerate(chunks):
            about = " ".join(f"about-{number}-{word}" for word in range(40))
            chunk.page_content = f"[Context: {about}]\n{chunk.page_content}"
        return Truth("prose").split(chunks, _content, _of(), traced=False)

    yield "prose, context before each chunk", in_context

    def numbered(restart: bool) -> Split:
        loaded = [Document(text, metadata={"source": source, "page": page}) for source, page, text in _pages()]
        chunks, numbers = RecursiveCharacterTextSplitter(chunk_size=600, chunk_overlap=0).split_documents(loaded), {}
        for chunk in chunks:
            key = (chunk.metadata["source"], chunk.metadata["page"] if restart else None)
            numbers[key] = chunk.metadata["chunk_index"] = numbers.get(key, -1) + 1
        return Truth("prose").split(chunks, _content, _of("page") if restart else _of())

    yield "pages, chunk_index through the document", lambda: numbered(False)
    yield "pages, chunk_index anew on every page", lambda: numbered(True)


def _llamaindex() -> Iterator[tuple[str, Callable[[], Split]]]:
    """Yield the name of each way to cut with LlamaIndex, and what cuts."""

    def load(kind: str) -> list[LlamaDocument]:
        return [
            LlamaDocument(text=text, doc_id=source, metadata={"file_name": source})
            for source, text in texts(kind).items()
        ]

    def split(kind: str, nodes: Sequence[BaseNode], part: Callable[[Any], object] = lambda node: None) -> Split:
        chunks = Truth(kind).split(nodes, lambda node: node.get_content(), part).chunks
        linked = [chunk.item.next_node or chunk.item.prev_node for chunk in chunks]
        return Split([chunk._replace(number=at if linked[at] else None) for at, chunk in enumerate(chunks)])

    def parent(node: Any) -> object:
        return node.parent_node and node.parent_node.node_id

    for kind in ("prose", "transcript"):
        for overlap in (0, 30):
            yield (
                f"{kind}, sentences, overlap {overlap}",
                lambda k=kind, o=overlap: split(
                    k, SentenceSplitter(chunk_size=150, chunk_overlap=o).get_nodes_from_documents(load(k))
                ),
            )
    for overlap in (0, 30):
        yield (
            f"prose, tokens, overlap {overlap}",
            lambda o=overlap: split(
                "prose", TokenTextSplitter(chunk_size=150, chunk_overlap=o).get_nodes_from_documents(load("prose"))
            ),
        )

    def without_links(overlap: int) -> Split:
        splitter = SentenceSplitter(chunk_size=150, chunk_overlap=overlap, include_prev_next_rel=False)
        return split("prose", splitter.get_nodes_from_documents(load("prose")))

    for overlap in (0, 30):
        yield f"prose, sentences without links, overlap {overlap}", lambda o=overlap: without_links(o)

    def renamed() -> Split:
        nodes = SentenceSplitter(chunk_size=150, chunk_overlap=0).get_nodes_from_documents(load("prose"))
        for number, node in enumerate(nodes):
            node.id_ = f"node-{number}"
        return split("prose", nodes)

    yield "prose, sentences, ids given anew", renamed

    def hierarchical(leaves: bool, overlap: int) -> Split:
        parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[1000, 400, 120], chunk_overlap=overlap)
        nodes = parser.get_nodes_from_documents(load("prose"))
        return split("prose", get_leaf_nodes(nodes) if leaves else nodes, parent)

    for overlap in (0, 20):
        yield f"prose, leaves of a hierarchy, overlap {overlap}", lambda o=overlap: hierarchical(True, o)
    yield "prose, all of a hierarchy", lambda: hierarchical(False, 20)

    def markdown(then: bool, links: bool = True) -> Split:
        nodes = MarkdownNodeParser(include_prev_next_rel=links).get_nodes_from_documents(load("markdown"))
        if then:
            splitter = SentenceSplitter(chunk_size=150, chunk_overlap=0, include_prev_next_rel=links)
            nodes = splitter.get_nodes_from_documents(nodes)
        return split("markdown", nodes, lambda node: None if links else node.metadata["header_path"])

    yield "markdown, by headers", lambda: markdown(False)
    yield "markdown, by headers then sentences", lambda: markdown(True)

    def pages() -> Split:
        loaded = [
            LlamaDocument(text=text, metadata={"file_name": source, "page_label": str(page + 1)})
            for source, page, text in _pages()
        ]
        nodes = SentenceSplitter(chunk_size=150, chunk_overlap=0).get_nodes_from_documents(loaded)
        return split("prose", nodes, lambda node: node.metadata["page_label"])

    yield "pages, sentences", pages


LANGCHAIN = dict(_langchain())
LLAMAINDEX = dict(_llamaindex())


@cache
def cut(name: str) -> Split:
    """Return the corpus that is cut that way."""
    return (LANGCHAIN[name] if name in LANGCHAIN else LLAMAINDEX[name])()


def retrieve(split: Split, how: str, k: int, rng: random.Random) -> list[Chunk]:
    """Return k chunks, best first: "random", or "clustered" around a few hits of one document."""
    if how == "random":
        return rng.sample(split.chunks, k)
    found: dict[int, None] = {}
    while len(found) < k:
        hit = rng.randrange(len(split.chunks))
        around = sorted(
            range(max(0, hit - 6), min(len(split.chunks), hit + 7)), key=lambda at: abs(at - hit) + rng.random()
        )
        found.update(dict.fromkeys(around[: rng.randrange(1, k)]))
    return [split.chunks[at] for at in list(found)[:k]]


def place(chunks: Sequence[Chunk], **settings: Any) -> Placement:
    """Place chunks with their framework's adapter."""
    items = [chunk.item for chunk in chunks]
    if isinstance(items[0], Document):
        return EdgeOrder(**settings).place(items)
    nodes = [NodeWithScore(node=node, score=1 - at / 100) for at, node in enumerate(items)]
    return EdgeOrderPostprocessor(**settings).place(nodes)


def judge(chunks: Sequence[Chunk]) -> Found:
    """Compare the runs of a placement with the truth."""
    runs = _runs(place(chunks, order="reverse").record)  # which never splits one
    false = 0
    for run in runs:
        reach = chunks[run[0]].stop
        for before, after in pairwise(run):
            false += chunks[after].start > reach or chunks[after].start < chunks[before].start
            reach = max(reach, chunks[after].stop)
    run_of = {index: number for number, run in enumerate(runs) for index in run}
    pairs = list(_neighbours(chunks))
    found = [run_of.get(before) is not None and run_of.get(before) == run_of.get(after) for before, after in pairs]
    told = sum(_told(chunks[before], chunks[after]) for before, after in pairs)
    return Found(false, sum(len(run) - 1 for run in runs), sum(found), told, len(pairs), place(chunks).indices.index(0))


def _told(before: Chunk, after: Chunk) -> bool:
    if before.number is not None and after.number is not None and after.number != before.number + 1:
        return False  # they overlap across the one between them
    return before.part == after.part


def _runs(record: OrderRecord) -> list[list[int]]:
    runs: dict[int, list[int]] = {}
    for chunk in record.placed:
        if chunk.run is not None:
            runs.setdefault(chunk.run, []).append(chunk.index)
    return list(runs.values())


def _neighbours(chunks: Sequence[Chunk]) -> Iterator[tuple[int, int]]:
    """Yield the pairs that follow each other in a document, without a word between them."""
    order = sorted(range(len(chunks)), key=lambda at: (chunks[at].source, chunks[at].start, chunks[at].stop))
    for before, after in pairwise(order):
        if chunks[before].source == chunks[after].source and chunks[after].start <= chunks[before].stop:
            yield before, after
