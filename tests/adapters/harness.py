"""What the contract needs to know of an adapter. To have another checked: describe it, and add it to `HARNESSES`."""

import asyncio
import copy
import pickle
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar

from edgeorder.adapter import Adapter

Items = list[Any]
Face = Callable[[Any, Items, str], Items]
AsyncFace = Callable[[Any, Items, str], Awaitable[Any]]
Crowd = Callable[[Any, Items, str, int], Awaitable[Sequence[Any]]]


def many(face: AsyncFace) -> Crowd:
    """Return what calls a face that many times at once."""

    async def crowd(placer: Any, items: Items, query: str, calls: int) -> Sequence[Any]:
        return await asyncio.gather(*(face(placer, items, query) for _ in range(calls)))

    return crowd


class Harness(ABC):
    """An adapter under the contract.

    Attributes:
        name: What its tests are called.
        placer: Its class.
        labels: The metadata keys under which title, source, date and page are found without a setting.
        kind: What an error calls its items.
        settings: Keyword arguments that only this adapter knows, by name, for the round trips.
    """

    name: ClassVar[str]
    placer: ClassVar[type[Adapter]]
    labels: ClassVar[tuple[str, str, str, str]]
    kind: ClassVar[str]
    settings: ClassVar[Mapping[str, dict[str, Any]]] = {}

    @abstractmethod
    def make(self, text: str, metadata: dict[str, Any], score: Any, id: str) -> Any:
        """Return an item whose metadata no model gets to see, unless the adapter's users ask for that."""

    @abstractmethod
    def text(self, item: Any) -> str:
        """Return the body."""

    @abstractmethod
    def id(self, item: Any) -> str | None:
        """Return the identifier."""

    @abstractmethod
    def metadata(self, item: Any) -> dict[str, Any]:
        """Return the very metadata of an item."""

    @property
    @abstractmethod
    def faces(self) -> Mapping[str, Face]:
        """What of the framework places items and returns items, by name."""

    @property
    @abstractmethod
    def async_faces(self) -> Mapping[str, AsyncFace]:
        """The same for what is awaited."""

    @property
    def crowds(self) -> Mapping[str, Crowd]:
        """Whatever is awaited, called many times at once."""
        return {**{name: many(face) for name, face in self.async_faces.items()}, "aplace": many(self.aplace)}

    @property
    def executors(self) -> Mapping[str, Callable[[Any, Items, str], Any]]:
        """What of the framework places three times, in threads or tasks that the framework starts."""
        return {}

    @property
    def dumps(self) -> Mapping[str, Callable[[Any], Any]]:
        """Ways to write settings as data."""
        return {"model_dump": lambda placer: placer.model_dump(), "model_dump_json": lambda p: p.model_dump_json()}

    @property
    def round_trips(self) -> Mapping[str, Callable[[Any], Any]]:
        """Ways to write settings and read them again."""
        cls = self.placer
        return {
            "pickle": lambda placer: pickle.loads(pickle.dumps(placer)),
            "copy": copy.copy,
            "deepcopy": copy.deepcopy,
            "model_copy": lambda placer: placer.model_copy(deep=True),
            "keywords": lambda placer: cls(**placer.model_dump()),
            "keywords, JSON": lambda placer: cls(**placer.model_dump(mode="json")),
            "changed keywords": lambda placer: cls(**placer.model_dump(exclude_unset=True)),
            "model_validate_json": lambda placer: cls.model_validate_json(placer.model_dump_json()),
        }

    async def aplace(self, placer: Any, items: Items, query: str) -> Any:
        """Return where the items go."""
        return (await placer.aplace(items, query)).indices

    def items(
        self,
        texts: Sequence[str],
        metadata: Sequence[dict[str, Any]] = (),
        scores: Sequence[Any] = (),
    ) -> Items:
        """Return items with ids "0", "1", ..., each with the metadata and the score given for it, if any are."""
        return [
            self.make(text, dict(metadata[at]) if metadata else {}, scores[at] if scores else None, str(at))
            for at, text in enumerate(texts)
        ]

    def spelt(self, items: Items) -> str:
        """Return the bodies of items as one string."""
        return "".join(map(self.text, items))

    def label(self, **values: Any) -> dict[str, Any]:
        """Return metadata that a label is made of, from its `title`, `source`, `date` and `page`."""
        keys = dict(zip(("title", "source", "date", "page"), self.labels, strict=True))
        return {keys[name]: value for name, value in values.items()}
