"""The passages that are ranked, whatever they come as."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgeorder.chunk import Chunk
from edgeorder.records import hash_of


@dataclass(frozen=True)
class Passage:
    """A passage, as constraints see it.

    Args:
        text: What is judged.
        id: What the caller knows it by; None for the hash of its text.
        metadata: What is known of it, such as `date`, `source` and `authority`.
    """

    text: str
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The id, or `sha256:` and the start of the hash of the text."""
        return self.hash if self.id is None else self.id

    @property
    def hash(self) -> str:
        """`sha256:` and the start of the hash of the text."""
        return hash_of(self.text)


def as_passages(items: Sequence[Any]) -> list[Passage]:
    """Return passages made of texts, `Chunk`s, `(id, text)` or `(id, text, metadata)` tuples, dicts, or `Passage`s.

    A dict has a `text`, perhaps an `id`; what else it holds is metadata.

    Raises:
        TypeError: For anything else, naming index and type.
    """
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise TypeError(f"passages must be a list, not {type(items).__name__}: {items!r:.80}")
    return [_passage(item, index) for index, item in enumerate(items)]


def _passage(item: Any, index: int) -> Passage:
    match item:
        case Passage():
            return item
        case str():
            return Passage(item)
        case Chunk():
            known = {name: getattr(item, name) for name in ("source", "date", "title", "page")}
            metadata = {name: value for name, value in known.items() if value is not None}
            return Passage(item.text, None if item.id is None else str(item.id), metadata)
        case (id, str(text)):
            return Passage(text, str(id))
        case (id, str(text), Mapping() as metadata):
            return Passage(text, str(id), metadata)
        case {"text": str(text), **rest}:
            known = {str(name): value for name, value in rest.items() if name != "id"}
            return Passage(text, None if rest.get("id") is None else str(rest["id"]), known)
    raise TypeError(
        f"passages[{index}] is a {type(item).__name__}; it must be a text, a Chunk, (id, text), (id, text, metadata), "
        "a dict with a text, or a Passage"
    )


def labels(n: int) -> list[str]:
    """Return what the passages are called in the prompt, by index: zero-padded words, which no number is taken for.

    >>> labels(3)
    ['p01', 'p02', 'p03']
    """
    width = max(2, len(str(n)))
    return [f"p{number:0{width}d}" for number in range(1, n + 1)]
