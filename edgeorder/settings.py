"""The one definition of the adapters' fields: the keywords of `place()` as a pydantic model.

A field keeps what was written (`6000` stays `6000`). Value objects dump to plain dicts and load from them; a callable
cannot be dumped, and says so.
"""

import logging
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from numbers import Integral, Real
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FieldSerializationInfo,
    PlainValidator,
    field_serializer,
    model_validator,
)

from edgeorder.auto import Auto
from edgeorder.budget import Budget, Reserve, as_budget
from edgeorder.chunk import ChunkView
from edgeorder.errors import EdgeOrderError
from edgeorder.listening import Recorder, check_recorders
from edgeorder.metadata import Key, check_key
from edgeorder.placement import Placement
from edgeorder.placing import aplace, place
from edgeorder.plan import OrderSetting, Plan, make_plan
from edgeorder.profile import PositionProfile
from edgeorder.prompting import Prompt, QuestionPlace
from edgeorder.ranking import RankBy
from edgeorder.reading import Reading
from edgeorder.recorders import recorder_from_plain, recorder_to_plain
from edgeorder.records import OrderRecord  # noqa: F401 - pydantic looks the name up here
from edgeorder.rendering import Layout, Style, as_layout
from edgeorder.scoring import Rerank, Scorer
from edgeorder.selecting import Dedupe
from edgeorder.tracing import within

T = TypeVar("T")


def to_plain(value: object, where: str) -> Any:
    """Return a setting as JSON-ready values.

    Raises:
        TypeError: If it holds a callable, naming the field.
    """
    if isinstance(value, PositionProfile):
        return value.to_dict()
    if isinstance(value, Auto | Budget | Layout | Prompt | Rerank):
        return {field.name: to_plain(getattr(value, field.name), f"{where}.{field.name}") for field in fields(value)}
    if isinstance(value, list | tuple):
        return [to_plain(part, where) for part in value]
    if isinstance(value, Real) and not isinstance(value, int | float):  # NumPy's numbers
        return int(value) if isinstance(value, Integral) else float(value)
    if where == "recorders" and (plain := recorder_to_plain(value)) is not value:
        return plain
    if callable(value):
        raise TypeError(f"{where} holds {value!r}, which cannot be written as data; set it again after loading")
    return value


def _setting(load: Callable[[Any], object] = lambda value: value) -> tuple[PlainValidator]:
    """Return how a field is checked (by `place` itself, later) and loaded."""
    return (PlainValidator(load),)


def _from_dict(kind: type) -> Callable[[Any], object]:
    """Return a loader that makes a value object of a dict and leaves everything else as it is."""

    def load(value: Any) -> object:
        if not isinstance(value, dict):
            return value
        known = [field.name for field in fields(kind)]
        unknown = sorted(set(value) - set(known))
        if unknown:
            raise ValueError(f"{kind.__name__} has no {', '.join(map(repr, unknown))}; it has: {', '.join(known)}")
        return kind(**value)

    return load


def _order_from_dict(value: Any) -> object:
    """Return an order, also from the dict of an `Auto` or of a profile."""
    if isinstance(value, dict) and "lengths" in value:
        return PositionProfile.from_dict(value)
    return _from_dict(Auto)(value)


def _tuple_of_list(value: Any) -> object:
    """Return a list that came from JSON as the tuple that was written, so that both compare equal."""
    return tuple(value) if isinstance(value, list) else value


def _recorders_from_plain(value: Any) -> object:
    """Return recorders, also from the plain data that they were written as."""
    return tuple(map(recorder_from_plain, value)) if isinstance(value, list | tuple) else value


_KEYS = ("score_key", "source_key", "offset_key", "end_key", "title_key", "date_key", "page_key")
KeyField: TypeAlias = Annotated[Key | None, *_setting(_tuple_of_list)]


class PlacementSettings(BaseModel):
    """The settings that both adapters share, and the two calls that use them."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    rank_by: Annotated[RankBy, *_setting()] = Field(
        default="input", description='"input", "score", "distance", or a callable from an item to a sortable key.'
    )
    rerank: Annotated[Rerank | Scorer | None, *_setting()] = Field(
        default=None, description="A scorer, (query, texts) -> scores, or a Rerank."
    )
    dedupe: Annotated[Dedupe, *_setting()] = Field(default="off", description='"off", "id", "text" or "near".')
    top_n: Annotated[int | None, *_setting()] = Field(default=None, description="Keep at most this many chunks.")
    min_score: Annotated[float | None, *_setting()] = Field(
        default=None, description="Keep chunks that score at least this much."
    )
    budget: Annotated[Budget | int | None, *_setting(_from_dict(Budget))] = Field(
        default=None, description="Tokens for the rendered block, or a Budget."
    )
    reading: Annotated[Reading, *_setting()] = Field(
        default="runs", description='Document order for neighbours ("runs"), whole sources ("source"), or "off".'
    )
    order: Annotated[OrderSetting, *_setting(_order_from_dict)] = Field(
        default="auto",
        description='"auto", the name of an order, a callable from n to a permutation, an Auto or a PositionProfile.',
    )
    layout: Annotated[Layout | Style | None, *_setting(_from_dict(Layout))] = Field(
        default=None, description='"plain", "numbered", "xml", a callable, or a Layout: how the block is written.'
    )
    prompt: Annotated[Prompt | QuestionPlace | None, *_setting(_from_dict(Prompt))] = Field(
        default=None, description='The question "before", "after" or on "both" sides of the block, or a Prompt.'
    )
    recorders: Annotated[Sequence[Recorder], *_setting(_recorders_from_plain)] = Field(
        default=(), description="Callables that get each OrderRecord."
    )
    score_key: KeyField = Field(default=None, description="Where the score lives.")
    source_key: KeyField = Field(default=None, description="Where the source lives.")
    offset_key: KeyField = Field(default=None, description="Where the offset in the source, or an ordinal, lives.")
    end_key: KeyField = Field(
        default=None, description="Where the end of the chunk lives; it makes offset and end a span of characters."
    )
    title_key: KeyField = Field(default=None, description="Where the title lives that labels show.")
    date_key: KeyField = Field(default=None, description="Where the date lives that labels show.")
    page_key: KeyField = Field(default=None, description="Where the page lives that labels show.")
    annotate: bool = Field(
        default=False, strict=True, description='Write rank, position and scores into copies, under "edgeorder".'
    )

    shadow: bool = Field(
        default=False, strict=True, description="Return what came in, untouched, and only record what would be done."
    )

    @model_validator(mode="after")
    def _check(self) -> "PlacementSettings":
        make_plan(**self._values())
        check_recorders(self.recorders)
        for name in _KEYS:
            check_key(name, getattr(self, name))
        return self

    @field_serializer(*Plan._fields, "recorders", *_KEYS)
    def _dump(self, value: Any, info: FieldSerializationInfo) -> Any:
        return to_plain(value, info.field_name)

    def __getstate__(self) -> dict[Any, Any]:
        for name in type(self).model_fields.keys() - {"callback_manager"}:
            try:
                pickle.dumps(getattr(self, name))
            except Exception as error:
                msg = f"{type(self).__name__}.{name} cannot be pickled: {error}. Use a function defined in a module."
                raise TypeError(msg) from error
        return super().__getstate__()

    def place_view(self, view: ChunkView, query: str | None, *, reserve: Reserve | None = None) -> Placement:
        """Place the chunks of a view by these settings.

        Args:
            view: The chunks.
            query: The question.
            reserve: What this request adds to the reserve of the budget.
        """
        with within(None, shadow=self.shadow):
            return place(view, query=query, recorders=self.recorders, **self._values(reserve))

    async def aplace_view(self, view: ChunkView, query: str | None, *, reserve: Reserve | None = None) -> Placement:
        """The same, never blocking the event loop."""
        with within(None, shadow=self.shadow):
            return await aplace(view, query=query, recorders=self.recorders, **self._values(reserve))

    def placed_items(
        self,
        items: Sequence[T],
        placement: Placement,
        copy: Callable[[T, str | None], T],
        annotated: Callable[[T, dict[str, Any]], None],
    ) -> list[T]:
        """Return the items of a placement: the very objects, or copies where something was changed.

        Args:
            items: What was placed.
            placement: Where it goes.
            copy: Returns a copy of an item, with another body if one is given, and with metadata of its own.
            annotated: Writes an annotation into the metadata of a copy.
        """
        if self.shadow:
            return list(items)
        placed = placement.apply(items)
        if placement.texts or self.annotate:
            for position, index in enumerate(placement.indices):
                if self.annotate or index in placement.texts:
                    placed[position] = copy(items[index], placement.texts.get(index))
        if self.annotate:
            for item, record in zip(placed, placement.record.placed, strict=True):
                annotated(item, record.annotation())
        return placed

    @contextmanager
    def harmless(self) -> Iterator[None]:
        """In shadow mode, log what fails instead of failing what the placement is not used for."""
        try:
            yield
        except EdgeOrderError as error:
            if not self.shadow:
                raise
            logging.getLogger("edgeorder").warning("shadow mode: nothing was placed: %s", error)

    def check_verbatim(self, instead: str) -> None:
        """Raise ValueError if the block holds more than the items that a face returns: labels would get lost."""
        if self.shadow:
            return
        if self.prompt is None and (self.layout is None or as_layout(self.layout).verbatim):
            return
        setting = f"layout={self.layout!r}" if self.prompt is None else f"prompt={self.prompt!r}"
        raise ValueError(f"{setting} shapes the text of the block, which is not what is returned here. {instead}")

    def _values(self, reserve: Reserve | None = None) -> dict[str, Any]:
        """Return the keywords of `place`, with a request's reserve added to the budget's."""
        values = {name: getattr(self, name) for name in Plan._fields}
        if reserve:
            if (whole := as_budget(self.budget)) is None:
                raise ValueError(f"reserve={reserve!r:.80} needs a budget to be taken from: set budget=...")
            values["budget"] = whole.reserving(reserve)
        return values
