"""A chunk, and the lazy view through which every stage reads chunks.

The stages never see a framework's objects. They ask a `ChunkView` for one field of the chunk at an input
index (0-based), and only for the fields that they need: no text is copied, and a call without a budget
reads no text beyond what `auto` needs to see that the block is long.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

TokenCounter: TypeAlias = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrieved passage.

    Args:
        text: The body. It is what is scored, compared, hashed and, where asked for, shortened.
        score: The retriever's score, if any. Any real number; `None`, NaN and infinities mean "unscored".
        source: The document that the chunk was cut from. Chunks without one stand alone.
        offset: Where in the source it starts: a 0-based character offset when `end` is given, otherwise an
            ordinal or any sortable key (`7`, `"7"`, `"p. 12"`, `(3, 2)`). `None` and `-1` mean "unknown".
        end: The character offset just past the chunk's last character.
        id: An identifier, for the record and for `dedupe="id"`.
        head: What the item template puts before the body. Counted, never altered.
        tail: What the item template puts after the body.
        title: What labels call it: labels show title, source, date and page.
        date: When it was written.
        page: The page that it starts on. Offsets may start anew on each.
        section: The part of the source that it was cut from: headers, the id of a parent chunk, any value. Offsets may
            start anew in each.

    Raises:
        TypeError: If `text`, `head` or `tail` is not a string.

    >>> Chunk("Refunds take five days.", score=0.82, source="refunds.md", offset=3).score
    0.82
    """

    text: str
    score: float | None = None
    source: object = None
    offset: object = None
    end: float | None = None
    id: object = None
    head: str = ""
    tail: str = ""
    title: object = None
    date: object = None
    page: object = None
    section: object = None

    def __post_init__(self) -> None:
        for name in ("text", "head", "tail"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise TypeError(f"Chunk.{name} must be a str, not {type(value).__name__}: {value!r}")


class Label(NamedTuple):
    """What a label says of a chunk; None for what is not known."""

    title: object = None
    source: object = None
    date: object = None
    page: object = None


class Locations(NamedTuple):
    """Where in their source chunks stand: a column for each thing that can be known; None for one that nobody knows.

    Args:
        offsets: First characters (0-based) where there is an end, otherwise ordinals or any sortable keys.
        ends: The character offsets just past the last characters.
        pages: What the chunks are ordered by before their offsets: the page.
        sections: What else offsets may start anew in.
        links: (chain, number in it) where chunks say themselves which is the next: this wins over offsets.
    """

    offsets: Sequence[object] | None = None
    ends: Sequence[object] | None = None
    pages: Sequence[object] | None = None
    sections: Sequence[object] | None = None
    links: Sequence[tuple[int, int] | None] | None = None


class ChunkView(ABC):
    """Chunks by input index, a field at a time. Subclass it to place another framework's objects."""

    __slots__ = ()

    counter: TokenCounter | None = None
    """What counts the tokens of these chunks where nothing else was asked for; None for tiktoken's o200k_base."""

    ranking: Sequence[int] | None = None
    """All input indices, best first, where it is known that the list is in another order; `ranking_note` says why."""

    ranking_note: str = ""

    above: frozenset[int] = frozenset()
    """Input indices of the chunks that stand in the conversation already: here a pointer stands for them."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of chunks."""

    @abstractmethod
    def item(self, index: int) -> object:
        """Return the caller's own object, as handed to a `rank_by` callable."""

    @abstractmethod
    def text(self, index: int) -> str:
        """Return the body."""

    @abstractmethod
    def affixes(self, index: int) -> tuple[str, str]:
        """Return what the item template puts before and after the body."""

    @abstractmethod
    def id(self, index: int) -> object:
        """Return the identifier, or None."""

    @abstractmethod
    def score(self, index: int) -> object:
        """Return the raw score, or None."""

    @abstractmethod
    def source(self, index: int) -> object:
        """Return the source, or None."""

    @abstractmethod
    def locations(self, indices: Sequence[int]) -> Locations:
        """Return where each of the given chunks, which share a source, stands in it."""

    def source_text(self, index: int) -> str:
        """Return the text as it was cut from the source, which offset and end span."""
        return self.text(index)

    def scores(self) -> Sequence[object]:
        """Return the raw score of every chunk; all None when they cannot be compared with each other."""
        return [self.score(index) for index in range(len(self))]

    def why_unscored(self) -> str:
        """Return what a user should know when no chunk has a score that can be compared; may be empty."""
        return ""

    def sources(self, indices: Sequence[int]) -> list[object]:
        """Return the source of each of the given chunks."""
        return [self.source(index) for index in indices]

    def label(self, index: int) -> Label:
        """Return what a label says of a chunk."""
        return Label(source=self.source(index))

    def numbers(self, indices: Sequence[int], first: int) -> Sequence[int]:
        """Return the citation numbers of the chunks at these positions: from `first` on, head first."""
        return range(first, first + len(indices))

    def rendered(self, index: int, body: str | None = None) -> str:
        """Return the text that the model sees for a chunk, with `body` in place of its own if given."""
        head, tail = self.affixes(index)
        return head + (self.text(index) if body is None else body) + tail


class ChunkList(ChunkView):
    """The view of a plain sequence of `Chunk`s."""

    __slots__ = ("_chunks",)

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        check_items(chunks, Chunk, "chunks")
        self._chunks = chunks

    def __len__(self) -> int:
        return len(self._chunks)

    def item(self, index: int) -> Chunk:
        return self._chunks[index]

    def text(self, index: int) -> str:
        return self._chunks[index].text

    def affixes(self, index: int) -> tuple[str, str]:
        chunk = self._chunks[index]
        return chunk.head, chunk.tail

    def id(self, index: int) -> object:
        return self._chunks[index].id

    def score(self, index: int) -> object:
        return self._chunks[index].score

    def source(self, index: int) -> object:
        return self._chunks[index].source

    def label(self, index: int) -> Label:
        chunk = self._chunks[index]
        return Label(chunk.title, chunk.source, chunk.date, chunk.page)

    def locations(self, indices: Sequence[int]) -> Locations:
        chunks = [self._chunks[index] for index in indices]
        return Locations(
            known([chunk.offset for chunk in chunks]),
            known([chunk.end for chunk in chunks]),
            known([chunk.page for chunk in chunks]),
            known([chunk.section for chunk in chunks]),
        )


def known(column: list[object]) -> list[object] | None:
    """Return a column, or None if there is nothing in it."""
    return None if {type(None)}.issuperset(map(type, column)) else column


def check_items(items: Sequence[object], kind: type, name: str) -> None:
    """Raise TypeError, naming index and type, unless `items` is a sequence of `kind`."""
    if not isinstance(items, list | tuple) and (isinstance(items, str) or not isinstance(items, Sequence)):
        raise TypeError(f"{name} must be a list of {kind.__name__}, not {type(items).__name__}: {items!r:.80}")
    # One pass in C over the types; the slow search for the culprit runs only when there is one.
    types = set(map(type, items))
    if types <= {kind} or all(issubclass(found, kind) for found in types):
        return
    for index, item in enumerate(items):
        if not isinstance(item, kind):
            found = f"{name}[{index}] is a {type(item).__name__}, not a {kind.__name__}: {item!r:.80}"
            raise TypeError(found + _what_instead(item, kind))


def _what_instead(item: object, kind: type) -> str:
    """Return the end of an error that says where an item of a wrong but well-known type belongs."""
    if isinstance(item, tuple) and item and isinstance(item[0], kind):
        return f". Give each {kind.__name__} alone, with the score in it"
    if isinstance(item, str) and kind is Chunk:
        return ". Give each text as Chunk(text)"
    if hasattr(item, "page_content"):
        return ". EdgeOrder of langchain_edgeorder takes LangChain's documents"
    if hasattr(item, "node"):
        return ". EdgeOrderPostprocessor of llamaindex_edgeorder takes LlamaIndex's nodes"
    if hasattr(item, "node_id"):
        return ". LlamaIndex's retrievers give NodeWithScore(node=...), which EdgeOrderPostprocessor takes"
    return ""
