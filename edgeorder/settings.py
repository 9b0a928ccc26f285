"""The one definition of the adapters' fields: the keywords of `place()` as a pydantic model.

A field keeps what was written (`6000` stays `6000`). Value objects dump to plain dicts and load from them; a callable
cannot be dumped, and says so.
"""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import fields
from decimal import Decimal
from numbers import Integral, Real
from typing import Annotated, Any, TypeAlias

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
from edgeorder.budget import Budget
from edgeorder.listening import Recorder, check_recorders
from edgeorder.message_parts import MessageParts
from edgeorder.metadata import SECTIONS, Key, check_key
from edgeorder.plan import OrderSetting, Plan, make_plan
from edgeorder.profile import PositionProfile
from edgeorder.prompting import Prompt, QuestionPlace
from edgeorder.ranking import RankBy
from edgeorder.reading import Reading
from edgeorder.recorders import recorder_from_plain, recorder_to_plain
from edgeorder.rendering import Layout, Style
from edgeorder.scoring import Rerank, Scorer
from edgeorder.selecting import Dedupe


def to_plain(value: object, where: str) -> Any:
    """Return a setting as JSON-ready values.

    Raises:
        TypeError: If it holds a callable, naming the field.
    """
    if isinstance(value, PositionProfile):
        return value.to_dict()
    if isinstance(value, Auto | Budget | Layout | MessageParts | Prompt | Rerank):
        return {field.name: to_plain(getattr(value, field.name), f"{where}.{field.name}") for field in fields(value)}
    if isinstance(value, list | tuple):
        return [to_plain(part, where) for part in value]
    if isinstance(value, Real | Decimal) and not isinstance(value, bool):  # NumPy's numbers, too
        return int(value) if isinstance(value, Integral) else float(value)
    if where == "recorders" and (plain := recorder_to_plain(value)) is not value:
        return plain
    if callable(value):
        raise TypeError(f"{where} holds {value!r}, which cannot be written as data; set it again after loading")
    return value


def _setting(load: Callable[[Any], object] = lambda value: value) -> PlainValidator:
    """Return how a field is checked (by `place` itself, later) and loaded."""
    return PlainValidator(load)


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
    return tuple(map(_tuple_of_list, value)) if isinstance(value, list) else value


def _recorders_from_plain(value: Any) -> object:
    """Return recorders, also from the plain data that they were written as."""
    return tuple(map(recorder_from_plain, value)) if isinstance(value, list | tuple) else value


_KEYS = ("score_key", "source_key", "section_key", "offset_key", "end_key", "title_key", "date_key", "page_key")
KeyField: TypeAlias = Annotated[Key | None, _setting(_tuple_of_list)]


class PlacementSettings(BaseModel):
    """The settings that all adapters share."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    rank_by: Annotated[RankBy, _setting()] = Field(
        default="input", description='"input", "score", "distance", or a callable from an item to a sortable key.'
    )
    rerank: Annotated[Rerank | Scorer | None, _setting()] = Field(
        default=None, description="A scorer, (query, texts) -> scores, or a Rerank."
    )
    dedupe: Annotated[Dedupe, _setting()] = Field(
        default="off", description='"off", "id", "text", "near", or a callable from an item to a key.'
    )
    top_n: Annotated[int | None, _setting()] = Field(default=None, description="Keep at most this many chunks.")
    min_score: Annotated[float | None, _setting()] = Field(
        default=None, description="Keep chunks that score at least this much."
    )
    budget: Annotated[Budget | int | None, _setting(_from_dict(Budget))] = Field(
        default=None, description="Tokens for the rendered block, or a Budget."
    )
    reading: Annotated[Reading, _setting()] = Field(
        default="runs", description='Document order for neighbours ("runs"), whole sources ("source"), or "off".'
    )
    order: Annotated[OrderSetting, _setting(_order_from_dict)] = Field(
        default="auto",
        description='"auto", the name of an order, a callable from n to a permutation, an Auto or a PositionProfile.',
    )
    layout: Annotated[Layout | Style | None, _setting(_from_dict(Layout))] = Field(
        default=None, description='"plain", "numbered", "xml", a callable, or a Layout: how the block is written.'
    )
    prompt: Annotated[Prompt | QuestionPlace | None, _setting(_from_dict(Prompt))] = Field(
        default=None, description='The question "before", "after" or on "both" sides of the block, or a Prompt.'
    )
    recorders: Annotated[Sequence[Recorder], _setting(_recorders_from_plain)] = Field(
        default=(), description="Callables that get each OrderRecord."
    )
    score_key: KeyField = Field(default=None, description="Where the score lives.")
    source_key: KeyField = Field(default=None, description="Where the source lives.")
    section_key: KeyField = Field(
        default=SECTIONS,
        description="Where headers or a parent's id live, as offsets start anew there; all names count together.",
    )
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
        make_plan(**self.keywords())
        check_recorders(self.recorders)
        for name in _KEYS:
            check_key(name, getattr(self, name))
        if self.end_key is not None and self.offset_key is None:  # nothing would read it
            raise ValueError(f"end_key={self.end_key!r} is where a chunk ends; give offset_key=, where it begins, too")
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

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of `place`, recorders aside."""
        return {name: getattr(self, name) for name in Plan._fields}
