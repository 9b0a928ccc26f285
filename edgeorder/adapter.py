"""The kit of an adapter: a view of another framework's items, and settings that place them and hand them back.

An adapter is a subclass of each, with the methods that its framework calls; `examples/third_adapter.py` is a whole one.
The contract that every adapter keeps stands in `tests/adapters`: to have it checked, describe the adapter in a harness.
"""

import logging
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, Self, TypeVar

from edgeorder.budget import Reserve, as_budget
from edgeorder.chunk import ChunkView, Label, Locations, check_items
from edgeorder.errors import EdgeOrderError
from edgeorder.metadata import Key, read, read_locations
from edgeorder.placed import Placed, ranked_as_before
from edgeorder.placement import Placement
from edgeorder.placing import aplace, place
from edgeorder.rendering import as_layout
from edgeorder.settings import PlacementSettings
from edgeorder.tracing import within

T = TypeVar("T")


class ItemView(ChunkView, Generic[T]):
    """The chunks of a list of items, each with metadata in which the keys of the settings are looked up.

    A subclass says what its items are (`kind`, and what an error calls a list of them) and where their `text` and
    `metadata` are; it overrides what its framework keeps elsewhere, such as `id` and `score`.

    Args:
        items: The items; they are not copied.
        keys: Settings that say where score, source, offset, end and the parts of a label live.

    Raises:
        TypeError: For an item of another kind, naming its index and type.
    """

    __slots__ = ("items", "keys")

    kind: ClassVar[type]
    name: ClassVar[str]

    def __init__(self, items: Sequence[T], keys: PlacementSettings) -> None:
        check_items(items, self.kind, self.name)
        self.items = items
        self.keys = keys

    @abstractmethod
    def metadata(self, index: int) -> Mapping[str, Any]:
        """Return the metadata of an item."""

    def __len__(self) -> int:
        return len(self.items)

    def item(self, index: int) -> T:
        return self.items[index]

    def affixes(self, index: int) -> tuple[str, str]:
        return "", ""

    def id(self, index: int) -> object:
        return None

    def score(self, index: int) -> object:
        return self.read(index, self.keys.score_key)

    def source(self, index: int) -> object:
        return self.read(index, self.keys.source_key)

    def label(self, index: int) -> Label:
        keys = self.keys
        return Label(
            self.read(index, keys.title_key),
            self.source(index),
            self.read(index, keys.date_key),
            self.read(index, keys.page_key),
        )

    def locations(self, indices: Sequence[int]) -> Locations:
        keys = self.keys
        return read_locations(
            [self.items[index] for index in indices],
            [self.metadata(index) for index in indices],
            lambda at: len(self.text(indices[at])),
            offset_key=keys.offset_key,
            end_key=keys.end_key,
            page_key=keys.page_key,
            section_key=keys.section_key,
        )

    def read(self, index: int, key: Key | None) -> object:
        """Return what a key finds for an item."""
        return read(self.items[index], self.metadata(index), key)


class Adapter(PlacementSettings):
    """Settings that place a framework's items. What the framework calls is a line or two over these methods.

    An adapter writes `view` and `copied`. They are not declared abstract, since LlamaIndex opens a span of its own for
    each call of a method that implements an abstract one.
    """

    instead: ClassVar[str] = "Use place(items, query).block or .prompt."
    """Where users find what cannot be returned as items."""

    def view(self, items: Sequence[Any]) -> ChunkView:
        """Return the chunks of items.

        Raises:
            TypeError: For an item of another kind, naming its index and type.
        """
        raise NotImplementedError(f"{type(self).__name__} must say how its items are read: write view(items)")

    def copied(self, item: Any, body: str | None, added: Mapping[str, Any]) -> Any:
        """Return a copy of an item that shares nothing with it that anybody would change.

        Args:
            item: The caller's own.
            body: The text of the copy; None for the item's.
            added: What is written into its metadata, out of sight of models where the framework can do that.
        """
        raise NotImplementedError(f"{type(self).__name__} must say how its items are copied: write copied(...)")

    def place(self, items: Sequence[Any], query: str | None = None, /, *, reserve: Reserve | None = None) -> Placement:
        """Return the placement of items.

        Args:
            items: The items, best first unless `rank_by` says otherwise.
            query: The question.
            reserve: What this request adds to the reserve of the budget: tokens, texts or messages.
        """
        with within(None, shadow=self.shadow):
            return place(self._ranked(items), query=query, recorders=self.recorders, **self._reserving(reserve))

    async def aplace(
        self, items: Sequence[Any], query: str | None = None, /, *, reserve: Reserve | None = None
    ) -> Placement:
        """The same, never blocking the event loop."""
        with within(None, shadow=self.shadow):
            return await aplace(self._ranked(items), query=query, recorders=self.recorders, **self._reserving(reserve))

    def placed(self, items: Sequence[T], placement: Placement) -> list[T]:
        """Return the items of a placement: the very objects, or copies where something was changed.

        In shadow mode these are all of them, as they came in.

        Args:
            items: What was placed.
            placement: What `place` made of them.
        """
        if self.shadow:
            return list(items)
        placed = placement.apply(items)
        if placement.texts or self.annotate:
            notes = placement.record.placed if self.annotate else ()
            for position, index in enumerate(placement.indices):
                if notes or index in placement.texts:
                    added = {"edgeorder": notes[position].annotation()} if notes else {}
                    placed[position] = self.copied(items[index], placement.texts.get(index), added)
        return Placed(placed, placement)

    def placed_items(self, items: Sequence[T], query: str | None = None, **request: Any) -> list[T]:
        """Return items placed, as the faces of a framework do that know nothing but items.

        Args:
            items: The items.
            query: The question.
            request: What else `place` takes.

        Raises:
            ValueError: If layout or prompt hold more than the items: labels or the question would get lost.
        """
        self.check_faces(items)
        with self.harmless():
            return self.placed(items, self.place(items, query, **request))
        return list(items)

    async def aplaced_items(self, items: Sequence[T], query: str | None = None, **request: Any) -> list[T]:
        """The same, never blocking the event loop."""
        self.check_faces(items)
        with self.harmless():
            return self.placed(items, await self.aplace(items, query, **request))
        return list(items)

    def unchanged(self) -> Self:
        """Return a placer that writes items as they came: what faces show in shadow mode that return no items."""
        settings = {"order": "relevance", "reading": "off", "rank_by": "input", "rerank": None, "dedupe": "off"}
        nothing = {"top_n": None, "min_score": None, "budget": None, "recorders": (), "shadow": False}
        return self.model_copy(update={**settings, **nothing})

    @contextmanager
    def harmless(self) -> Iterator[None]:
        """In shadow mode, log what fails instead of failing what the placement is not used for."""
        try:
            yield
        except Exception as error:  # a callable of the user's may raise anything
            if not self.shadow:
                raise
            unknown = None if isinstance(error, EdgeOrderError) else error
            logging.getLogger("edgeorder").warning("shadow mode: nothing was placed: %s", error, exc_info=unknown)

    def check_faces(self, items: Sequence[Any]) -> None:
        """Raise for what cannot be returned, in shadow mode too for items of another kind: that is the caller's."""
        self.check_verbatim()
        if self.shadow:
            self.view(items)

    def check_verbatim(self) -> None:
        """Raise ValueError if the block holds more than the items."""
        if self.shadow or (self.prompt is None and (self.layout is None or as_layout(self.layout).verbatim)):
            return
        setting = f"layout={self.layout!r}" if self.prompt is None else f"prompt={self.prompt!r}"
        raise ValueError(f"{setting} shapes the text of the block, which is not what is returned here. {self.instead}")

    def _ranked(self, items: Sequence[Any]) -> ChunkView:
        """Return the chunks of items; those of a list that was placed before are ranked as they were."""
        return ranked_as_before(self.view(items), items)

    def _reserving(self, reserve: Reserve | None) -> dict[str, Any]:
        """Return the keywords of `place`, with a request's reserve added to the budget's."""
        keywords = self.keywords()
        if reserve:
            if (whole := as_budget(self.budget)) is None:
                raise ValueError(f"reserve={reserve!r:.80} needs a budget to be taken from: set budget=...")
            keywords["budget"] = whole.reserving(reserve)
        return keywords
