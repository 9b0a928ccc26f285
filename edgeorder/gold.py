"""The gold chunk: the one that holds the answer, and how it is found in a record.

By exact identity only: its id, the hash of its text, its source, its index; never by a prefix, since c1 is not c10. A
piece of its text needs a record that holds texts, or the texts themselves.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeAlias

from edgeorder.errors import bad_choice
from edgeorder.records import ChunkRecord, OrderRecord, hash_of
from edgeorder.sortable import is_missing, plain


@dataclass(frozen=True)
class Gold:
    """A gold chunk, told by one thing or by several.

    Args:
        id: Its identifier.
        text: Its whole body.
        source: The document that it was cut from; every chunk of it counts.
        index: Its input index, 0-based.
        fragment: A piece of its body; white space does not matter.
        answers: Aliases of the answer, one of which its body holds as whole words.
        where: Says of a body whether it is the one.

    Raises:
        ValueError: If nothing is told.
        TypeError: For a value of the wrong type.
    """

    id: str | int | None = None
    text: str | None = None
    source: str | int | float | None = None
    index: int | None = None
    fragment: str | None = None
    answers: tuple[str, ...] = ()
    where: Callable[[str], object] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.id, bool):
            raise TypeError(f"Gold.id must be text or a whole number, not {self.id}")
        for name in ("text", "fragment"):
            if not isinstance(getattr(self, name), str | None):
                raise TypeError(f"Gold.{name} must be text, not {getattr(self, name)!r:.60}")
        if self.index is not None and (isinstance(self.index, bool) or not isinstance(self.index, int)):
            raise TypeError(f"Gold.index must be a whole number, not {self.index!r:.60}")
        if self.where is not None and not callable(self.where):
            raise TypeError(f"Gold.where must be a callable from a body, not {self.where!r:.60}")
        if isinstance(self.answers, str):
            raise TypeError(f"Gold.answers must be a list of texts, not the text {self.answers!r:.60}")
        object.__setattr__(self, "answers", tuple(self.answers))
        if not all(isinstance(alias, str) for alias in self.answers):
            raise TypeError(f"Gold.answers must be a list of texts, not {self.answers!r:.60}")
        if all(getattr(self, one.name) == one.default for one in fields(self)):
            raise ValueError("a gold chunk needs an id, a text, a source, an index, a fragment, answers or a predicate")
        if self.fragment is not None and not self.fragment.strip():
            raise ValueError(f"Gold.fragment={self.fragment!r} is blank: it tells no chunk from another")
        if self.index is not None and self.index < 0:
            raise ValueError(f"Gold.index={self.index} must be at least 0")
        for alias in self.answers:
            if not any(map(str.isalnum, alias)):
                raise ValueError(f"Gold.answers: {alias!r:.60} has neither letters nor digits by which to recognise it")

    def __str__(self) -> str:
        for name in ("id", "source", "index"):
            if getattr(self, name) is not None:
                return str(getattr(self, name))
        if told := self.text or self.fragment or "; ".join(self.answers):
            return repr(told if len(told) <= 60 else told[:59] + "…")
        return str(getattr(self.where, "__qualname__", self.where))

    @property
    def in_words(self) -> bool:
        """Whether a part of its text is told, which the body must hold."""
        return bool(self.fragment or self.answers or self.where)

    def holds(self, body: str) -> bool:
        """Say whether a body holds the part of the text that is told."""
        if self.where is not None and not self.where(body):
            return False
        if self.fragment and " ".join(self.fragment.split()) not in " ".join(body.split()):
            return False
        if not self.answers:
            return True
        from edgeorder.probe.grading import contains

        return any(contains(body, alias) for alias in self.answers)


def aliases_of(answers: object) -> tuple[str, ...]:
    """Return the aliases of an answer as a label has them: a text or a number, or a list of them; nulls say nothing.

    Raises:
        TypeError: For anything else: `b'bytes'` would be looked for as it is printed.
    """
    answers = plain(answers)  # an array, as pandas has the lists of a table
    given = answers if isinstance(answers, list | tuple | set) else [answers]
    told = [alias for alias in given if not is_missing(alias)]
    for alias in told:
        if isinstance(alias, bool | bytes | Mapping | list | tuple | set):
            raise TypeError(f"answers must be texts or numbers, not {alias!r:.60}")
    return tuple(map(str, told))


GoldLike: TypeAlias = Gold | str | int | Callable[[str], object] | Sequence[Any]
"""A `Gold`; an id, hash, source, index or text; a predicate on a body; or several of them, one of which is enough."""


class Body(NamedTuple):
    """A chunk's text: `whole` as it was retrieved, `shown` as the model saw it."""

    whole: str
    shown: str


Bodies: TypeAlias = Mapping[int, Body]


class Found(NamedTuple):
    """What was found of one gold chunk.

    Args:
        gold: The gold chunk.
        chunks: The chunks of the record that it may be; several of one source, or that hold the same fragment.
        by: What they were found by; "" if there are none.
        unknown: Why it cannot be told whether it is there; "" if it can.
    """

    gold: Gold
    chunks: Sequence[ChunkRecord]
    by: str
    unknown: str = ""


NEEDS_TEXT = (
    "record texts (JsonlRecorder(path, text=True), capture(text=True)), or give chunks=, the list that was placed"
)


def bodies_of(record: OrderRecord, chunks: Sequence[Any] | None) -> Bodies:
    """Return the texts that are known, by input index.

    Args:
        record: The record.
        chunks: What was placed, in input order: texts, `Chunk`s, LangChain documents or LlamaIndex nodes.

    Raises:
        ValueError: If they are not the ones that were placed.
        TypeError: For an item without a text.
    """
    if chunks is None:
        return {
            chunk.index: Body(chunk.text if chunk.whole is None else chunk.whole, chunk.text)
            for chunk in record.chunks
            if chunk.text is not None
        }
    if len(chunks) != len(record.chunks):
        raise ValueError(f"chunks= holds {len(chunks)}, and {len(record.chunks)} were placed: give the very list")
    return {chunk.index: shown_of(chunk, _text_of(chunks[chunk.index])) for chunk in record.chunks}


def shown_of(chunk: ChunkRecord, whole: str) -> Body:
    """Return a body, and what was shown of it by the spans that were kept."""
    return Body(whole, " […] ".join(whole[start:stop] for start, stop in chunk.kept) if chunk.shortened else whole)


def find(record: OrderRecord, gold: GoldLike, bodies: Bodies) -> Iterator[Found]:
    """Yield what is found of each gold chunk that is meant."""
    if isinstance(gold, Gold):
        yield _find_told(record, gold, bodies)
    elif isinstance(gold, str | int) and not isinstance(gold, bool):
        yield _find_bare(record, gold, bodies)
    elif callable(gold):
        yield _find_told(record, Gold(where=gold), bodies)
    elif isinstance(gold, Sequence) and gold:
        for one in gold:
            yield from find(record, one, bodies)
    elif isinstance(own := getattr(gold, "text", getattr(gold, "page_content", None)), str):
        own_id = getattr(gold, "id", None)
        yield _find_told(record, Gold(id=own_id, text=own) if own_id is not None else Gold(text=own), bodies)
    else:
        raise bad_choice("gold", gold, ("an id", "a text", "a source", "an index", "a Gold", "a predicate", "a list"))


def _find_told(record: OrderRecord, gold: Gold, bodies: Bodies) -> Found:
    tests: list[tuple[str, Callable[[ChunkRecord], bool]]] = []
    if gold.id is not None:
        tests.append(("id", lambda chunk: chunk.id == str(gold.id)))
    if gold.text is not None:
        mark = hash_of(gold.text)
        tests.append(("hash", lambda chunk: mark in (chunk.hash, chunk.id)))
    if gold.source is not None:
        tests.append(("source", lambda chunk: chunk.source is not None and str(chunk.source) == str(gold.source)))
    if gold.index is not None:
        tests.append(("index", lambda chunk: chunk.index == gold.index))
    for by, test in tests:
        if chunks := [chunk for chunk in record.chunks if test(chunk)]:
            return Found(gold, _narrowed(chunks, gold, bodies), by)
    if tests or not record.chunks:
        return Found(gold, (), "")
    return _find_in_words(record, gold, bodies)


def _narrowed(chunks: Sequence[ChunkRecord], gold: Gold, bodies: Bodies) -> Sequence[ChunkRecord]:
    """Return those of several chunks that hold what is told of the text, where that is known."""
    if len(chunks) == 1 or not gold.in_words:
        return chunks
    return [chunk for chunk in chunks if chunk.index in bodies and gold.holds(bodies[chunk.index].whole)] or chunks


def _find_in_words(record: OrderRecord, gold: Gold, bodies: Bodies) -> Found:
    chunks = [one for one in record.chunks if one.index in bodies and gold.holds(bodies[one.index].whole)]
    lacking = len(record.chunks) - len(bodies)
    why = f"the texts of {lacking} of {len(record.chunks)} chunks are not in the record" if lacking else ""
    return Found(gold, chunks, "text" if chunks else "", "" if chunks else why)


def _find_bare(record: OrderRecord, given: str | int, bodies: Bodies) -> Found:
    """Find a bare value: an id before a text, a text before a source, a source before an index."""
    name, gold = str(given), Gold(id=given)
    mark = hash_of(name)
    by_kind: list[tuple[str, Callable[[ChunkRecord], bool]]] = [
        ("id", lambda chunk: chunk.id == name),
        ("hash", lambda chunk: chunk.hash == name or mark in (chunk.hash, chunk.id)),
        ("source", lambda chunk: chunk.source is not None and str(chunk.source) == name),
    ]
    for by, test in by_kind:
        if chunks := [chunk for chunk in record.chunks if test(chunk)]:
            return Found(gold, chunks, by)
    numbered = any(chunk.id.isdecimal() for chunk in record.chunks)  # then a number that is none of them is no index
    if name.isdecimal() and not numbered and (isinstance(given, int) or not _own_ids(record)):
        return Found(gold, [chunk for chunk in record.chunks if chunk.index == int(name)], "index")
    if len(name.split()) > 1 and record.chunks:  # ids and sources seldom hold blanks: a piece of a text
        found = _find_in_words(record, Gold(fragment=name), bodies)
        return found._replace(unknown=found.unknown and f"{found.unknown}; if {name!r:.60} is an id, say Gold(id=...)")
    return Found(gold, (), "")


def _own_ids(record: OrderRecord) -> bool:
    return any(not chunk.id.startswith("sha256:") for chunk in record.chunks)


def _text_of(item: object) -> str:
    if isinstance(item, str):
        return item
    for name in ("page_content", "text"):
        if isinstance(text := getattr(item, name, None), str):
            return text
    raise TypeError(f"chunks= holds a {type(item).__name__} without a text: {item!r:.60}")
