"""The register of a conversation: every chunk has one number in it, over all its searches and turns.

A block alone numbers its passages by position. In a conversation `[1]` would then mean another chunk after each
search. With a register a chunk gets its number when it is first shown, and keeps it.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from edgeorder.chunk import ChunkView
from edgeorder.rendering import Block, Passage
from edgeorder.sortable import as_text, is_missing
from edgeorder.text.numerals import page_number
from edgeorder.views import Wrapped


class Source(NamedTuple):
    """A chunk that was shown.

    Args:
        number: Its citation number.
        id: Its identifier; None where it has none.
        title: What its label calls it. These four are one line each, and None when unknown.
        source: Where it was cut from.
        date: When that was written.
        page: The page that it starts on.
    """

    number: int
    id: str | None = None
    title: str | None = None
    source: str | None = None
    date: str | None = None
    page: str | None = None


class Register:
    """The numbers of the chunks of one conversation.

    A chunk is known again by its id, its source and its text, so that two with one id in two stores stay apart.
    Threads may share a register. It is saved as JSON: `Register.from_dict(register.to_dict())` is equal.

    >>> from edgeorder import Chunk, place, window
    >>> register = Register()
    >>> for found in ("AB", "CA"):
    ...     with window(register=register):
    ...         print(place([Chunk(text) for text in found], layout="numbered").block.text.split())
    ['[1]', 'A', '[2]', 'B']
    ['[3]', 'C', '[1]', 'A']
    """

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self._free = 1
        self._step = 1
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._sources)

    def __eq__(self, other: object) -> bool:
        return self._sources == other._sources if isinstance(other, Register) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Register({len(self)} chunks, next number {self._free})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Register.from_dict, (self.to_dict(),)

    @property
    def free(self) -> int:
        """The first number that no chunk has."""
        return self._free

    @property
    def step(self) -> int:
        """By how much the numbers of new chunks go up."""
        return self._step

    def branch(self, at: int = 0, step: int = 1) -> "Register":
        """Return a copy; of several that are filled at once, `at` is 0-based and `step` is how many there are.

        Their new numbers interleave, so that branches that know nothing of each other give none twice.
        """
        branch = Register()
        with self._lock:
            branch._sources = dict(self._sources)
            branch._free, branch._step = self._free + at, step
        return branch

    def cited(self, answer: str) -> tuple[int, ...]:
        """Return the numbers that an answer cites and that the register knows, in the order of the citations."""
        numbers = [source.number for source in self._all()]
        return Block("", passages=tuple(Passage(number, number, "") for number in numbers)).cited(answer)

    def sources(self, numbers: Iterable[int] | None = None) -> tuple[Source, ...]:
        """Return the chunks of these numbers, in this order; all by number without any. Unknown ones are left out."""
        known = {source.number: source for source in self._all()}
        return tuple(known[number] for number in (sorted(known) if numbers is None else numbers) if number in known)

    def known(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the numbers of the keys that the register knows."""
        return {key: self._sources[key].number for key in keys if key in self._sources}

    def add(self, sources: Mapping[str, Source], free: int | None = None) -> bool:
        """Add chunks by key; what the register knows already stays as it is.

        Args:
            sources: The chunks.
            free: The first free number when their numbers were chosen.

        Returns:
            Whether they were added: not if a number was given to others since, or a chunk got another one.
        """
        with self._lock:
            if free is not None:
                known, moved = self._sources, free != self._free
                if any(moved if key not in known else known[key].number != one.number for key, one in sources.items()):
                    return False
            for key, source in sources.items():
                self._sources.setdefault(key, source)
                self._free = max(self._free, source.number + self._step)
            return True

    def update(self, other: "Register | Mapping[str, Any]") -> None:
        """Add the chunks of another register, or of its JSON, that this one does not know."""
        self.add(dict((other if isinstance(other, Register) else Register.from_dict(other))._sources))

    def adopt(self, other: "Register") -> None:
        """Add the chunks of another register that this one does not know, but those whose number means another here."""
        with self._lock:
            taken = {source.number for source in self._sources.values()}
            for key, source in list(other._sources.items()):
                if key not in self._sources and source.number not in taken:
                    self._sources[key] = source
                    taken.add(source.number)
                    self._free = max(self._free, source.number + self._step)

    def _all(self) -> list[Source]:
        """Return all chunks, copied in one step: other threads may add some while they are read."""
        return list(self._sources.values())

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values: a chunk by its key, with its number and what labels say of it."""
        return {
            key: {name: value for name, value in source._asdict().items() if value is not None}
            for key, source in list(self._sources.items())
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Register":
        """Return the register that `to_dict` made.

        Raises:
            TypeError: For anything else: a chunk with an unknown field, or without a number from 1 on.
        """
        register = cls()
        try:
            sources = {key: Source(**source) for key, source in data.items()}
        except (AttributeError, TypeError) as error:
            raise TypeError(f"this is no register, as Register.to_dict() writes it: {data!r:.80} ({error})") from error
        for key, source in sources.items():
            if type(source.number) is not int or source.number < 1:
                raise TypeError(f"a number in a register counts from 1, and {key!r} has {source.number!r:.80}")
        register.add(sources)
        return register


class Numbered(Wrapped):
    """A view whose chunks have the numbers of a register; new ones get the next free numbers, head first.

    Args:
        view: The chunks.
        register: What it knows now; later changes do not show.
    """

    __slots__ = ("_known", "_step", "free", "keys")

    def __init__(self, view: ChunkView, register: Register) -> None:
        super().__init__(view)
        sources = view.sources(range(len(view)))
        self.keys = [_key(view.id(index), source, view.text(index)) for index, source in enumerate(sources)]
        self.free, self._step = register.free, register.step
        self._known = register.known(self.keys)

    def number(self, index: int) -> int | None:
        """Return the number of a chunk that the register knows."""
        return self._known.get(self.keys[index])

    def numbers(self, indices: Sequence[int], first: int) -> Sequence[int]:
        known, free = self._known, self.free + first - 1
        fresh: dict[str, int] = {}
        for index in indices:
            if (key := self.keys[index]) not in known and key not in fresh:
                fresh[key] = free + len(fresh) * self._step
        return [known.get(key) or fresh[key] for key in (self.keys[index] for index in indices)]

    def shown(self, indices: Sequence[int], first: int) -> dict[str, Source]:
        """Return what a register should know of the chunks at these positions."""
        return {
            self.keys[index]: source_of(self.view, index, number)
            for index, number in zip(indices, self.numbers(indices, first), strict=True)
        }

    def keep(self, sources: Mapping[str, Source]) -> None:
        """Know these numbers from now on."""
        self._known |= {key: source.number for key, source in sources.items()}


def source_of(view: ChunkView, index: int, number: int) -> Source:
    """Return a chunk under a number, with what labels say of it."""
    identity = view.id(index)
    label = view.label(index)
    fields = [
        None if is_missing(value) else " ".join(as_text(value).split()) or None
        for value in label._replace(page=page_number(label.page))
    ]
    return Source(number, None if is_missing(identity) else as_text(identity), *fields)


def _key(identity: object, source: object, text: str) -> str:
    whole = "\0".join(["" if part is None else as_text(part) for part in (identity, source)] + [text])
    return sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]
