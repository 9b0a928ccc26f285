"""Settings of every adapter: `place`'s keywords as fields, checked at once, written out and read back unchanged."""

import inspect
import json
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from harness import Harness
from harnesses import ADAPTERS, HARNESSES, PROFILE, each

from edgeorder import (
    ORDERS,
    Auto,
    Budget,
    JsonlRecorder,
    Layout,
    OrderRecord,
    PositionProfile,
    Prompt,
    Rerank,
    log_record,
    place,
)
from edgeorder.settings import PlacementSettings

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "plain values": {
        "rank_by": "score", "dedupe": "id", "top_n": 3, "budget": 6000, "reading": "source",
        "order": "long_context_reorder", "layout": "plain", "annotate": True,
    },
    "scores": {"rank_by": "score", "min_score": -0.5},
    "min_score of zero": {"min_score": 0},
    "Budget": {"budget": Budget(100, counter="cl100k_base", overflow="stop", reserve=7)},
    "Budget with texts": {"budget": Budget(100, reserve=("question", 5))},
    "Auto": {"order": Auto(short_chunks=2, short_bytes=10, flat=0, decisive=0.25)},
    "profile": {"order": PROFILE, "top_n": 5},
    "Layout": {"layout": Layout("numbered", separator="\n- - -\n", echo=1)},
    "Prompt": {"prompt": Prompt("both", ["weak_slots", "own text here"]), "layout": "xml", "budget": 500},
    "keys": {
        "score_key": "a.s", "source_key": ["file", "url"], "offset_key": ("a.b", "c"), "end_key": "end",
        "title_key": ("head.line", "title"), "date_key": "when", "page_key": "leaf",
    },
    "no keys": dict.fromkeys(("score_key", "source_key", "offset_key", "title_key", "date_key", "page_key")),
}  # fmt: skip


def fields_of(placer: Any) -> dict[str, tuple[type, Any]]:
    """Return each field's type and value; what LlamaIndex's engines set is no setting."""
    names = type(placer).model_fields.keys() - {"callback_manager"}
    return {name: (type(getattr(placer, name)), getattr(placer, name)) for name in names}


def fields_in(data: Any) -> dict[str, Any]:
    """Return the fields in what a dump gave."""
    data = json.loads(data) if isinstance(data, str) else data
    fields: dict[str, Any] = data.get("kwargs", data.get("init_parameters", data))
    return fields


@pytest.mark.case(95)
@each("round_trips")
def test_every_way_there_and_back_gives_the_same_settings(adapter: Harness, way: Any) -> None:
    """What comes back is equal in every field, types included, and places as the first did."""
    items = adapter.items("ABCDE", [{"file": "x", "source": "x"}] * 5, [0.5, 0.4, 0.3, 0.2, 0.1])
    for name, settings in {**SETTINGS, **adapter.settings}.items():
        placer = adapter.placer(**settings)
        back = way(placer)
        assert type(back) is adapter.placer, name
        assert back is not placer
        assert fields_of(back) == fields_of(placer), name
        assert back.place(items, "?") == placer.place(items, "?"), name


@each("dumps")
def test_data_is_plain(adapter: Harness, way: Any) -> None:
    """Value objects are written as dicts of their fields: what was dumped is JSON."""
    for settings in SETTINGS.values():
        data = fields_in(way(adapter.placer(**settings)))
        assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))
        if isinstance(settings.get("budget"), Budget):
            assert data["budget"]["tokens"] == 100
            assert data["budget"].keys() == {"tokens", "counter", "overflow", "reserve"}
        if isinstance(settings.get("order"), PositionProfile):
            assert json.loads(json.dumps(data["order"])) == json.loads(json.dumps(PROFILE.to_dict()))
        if "layout" in settings and isinstance(settings["layout"], Layout):
            assert data["layout"] == {"style": "numbered", "separator": "\n- - -\n", "echo": 1}


@ADAPTERS
def test_a_field_keeps_what_was_written(adapter: Harness) -> None:
    """6000 is no Budget, "bookend" no function; and an object is not frozen: what is set counts from the next call."""
    placer = adapter.placer(budget=6000, order="bookend", layout="plain", prompt="both")
    assert (placer.budget, placer.order, placer.layout, placer.prompt) == (6000, "bookend", "plain", "both")
    placer = adapter.placer()
    placer.order = "reverse"
    assert placer.place(adapter.items("ABC")).indices == (2, 1, 0)


NUMBERS: list[tuple[str, Any, Any]] = [
    ("budget", np.int64(40), 40),
    ("budget", Budget(np.uint8(50), reserve=[np.int64(4), np.int8(6)]), Budget(50, reserve=[4, 6]).__dict__),
    ("top_n", np.int32(3), 3),
    ("min_score", np.int8(0), 0),
    ("min_score", np.float32(0.25), 0.25),
    ("min_score", np.float64(0.25), 0.25),
    ("min_score", Decimal("0.25"), 0.25),
    ("layout", Layout(echo=np.int16(1)), Layout(echo=1).__dict__),
]


def plain(value: Any) -> bool:
    """Say whether data holds Python's own types only."""
    if isinstance(value, dict | list | tuple):
        return all(map(plain, value.values() if isinstance(value, dict) else value))
    return type(value) in (int, float, str, bool, type(None))


@each("dumps")
@pytest.mark.parametrize(("field", "number", "same"), NUMBERS)
def test_numbers_of_numpy_are_numbers(adapter: Harness, way: Any, field: str, number: Any, same: Any) -> None:
    """A number of NumPy is taken wherever a number is, does the same, and is written as Python's own."""
    items = adapter.items([f"word {n}" for n in range(9)], scores=[1 - n / 8 for n in range(9)])
    placer, usual = (adapter.placer(**{field: value, "order": "bookend"}) for value in (number, same))
    assert placer.place(items) == usual.place(items)
    assert placer.place(items).block == usual.place(items).block
    data = fields_in(way(placer))[field]
    assert plain(data)
    assert json.loads(json.dumps(data)) == json.loads(json.dumps(same))


@ADAPTERS
def test_numbers_of_numpy_in_what_a_call_takes(adapter: Harness) -> None:
    """Reserves, passes and what a counter or a scorer returns may be of NumPy, too."""
    items = adapter.items([f"word {n}" for n in range(9)])
    assert type(Layout(echo=np.int16(1)).echo) is type(Budget(np.int16(9)).tokens) is int
    counting = Budget(50, counter=lambda text: np.int64(len(text)))
    placer = adapter.placer(budget=counting, rerank=lambda query, texts: np.arange(len(texts)))
    placement = placer.place(items, "?", reserve=np.int64(10))
    assert placement == placer.place(items, "?", reserve=10)
    assert OrderRecord.from_json(placement.record.to_json()) == placement.record
    assert json.loads(json.dumps(placement.record.to_dict(), allow_nan=False)) == placement.record.to_dict()
    assert [one.indices for one in placement.passes(np.int64(30))] == [one.indices for one in placement.passes(30)]


def by_length(query: str, texts: list[str]) -> list[int]:
    """Score by length: a scorer that pickle can find."""
    return [len(text) for text in texts]


CALLABLES: dict[str, tuple[Any, Any]] = {  # what pickle can find, and what it cannot
    "budget": (Budget(100, counter=len), Budget(100, counter=lambda text: len(text))),
    "rerank": (by_length, lambda query, texts: [1.0] * len(texts)),
    "rerank, as Rerank": (Rerank(by_length), Rerank(lambda query, texts: [1.0] * len(texts))),
    "rank_by": (id, lambda item: 1),
    "recorders": ([log_record], [lambda record: None]),
    "order": (ORDERS["reverse"], lambda n: range(n)),
    "layout": (repr, lambda passage: passage.text),
    **{f"{name}_key": (id, lambda item: 1) for name in ("score", "source", "offset", "end", "title", "date", "page")},
}


@ADAPTERS
@pytest.mark.parametrize("name", CALLABLES)
def test_a_function_is_never_lost(adapter: Harness, name: str) -> None:
    """A function cannot be written as data: every dump raises and names the field; copies keep it; pickle keeps it or
    raises, naming the field."""
    field = name.split(",")[0]
    beside = {"offset_key": "at"} if field == "end_key" else {}
    kept, lost = (adapter.placer(**{field: value}, **beside) for value in CALLABLES[name])
    for way in adapter.dumps.values():
        with pytest.raises((TypeError, ValueError), match=rf"{field}[.\w]* holds"):
            way(lost)
    assert fields_of(pickle.loads(pickle.dumps(kept))) == fields_of(kept)
    with pytest.raises(TypeError, match=rf"{adapter.placer.__name__}\.{field} cannot be pickled"):
        pickle.dumps(lost)
    for way in ("copy", "deepcopy", "model_copy"):
        assert fields_of(adapter.round_trips[way](lost)) == fields_of(lost)


@ADAPTERS
def test_a_recorder_of_the_package_survives_a_pickle(adapter: Harness, tmp_path: Any) -> None:
    """A `JsonlRecorder` is pickled with its placer and writes on where it wrote."""
    placer = adapter.placer(recorders=[JsonlRecorder(tmp_path / "log.jsonl"), log_record])
    for one in (placer, pickle.loads(pickle.dumps(placer))):
        one.place(adapter.items("A"))
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["order"] for line in lines] == ["relevance", "relevance"]


@ADAPTERS
def test_fields_are_the_keywords_of_place(adapter: Harness) -> None:
    """Names, order and defaults are those of `place`; the keys, `annotate` and `shadow` come on top, all with a
    description."""
    keywords = dict(inspect.signature(place).parameters)
    del keywords["chunks"], keywords["query"]
    fields = adapter.placer.model_fields
    own = ("annotate", "shadow")
    shared = [name for name in PlacementSettings.model_fields if not name.endswith("_key") and name not in own]
    assert list(keywords) == shared
    assert all(keyword.kind is keyword.KEYWORD_ONLY for keyword in keywords.values())
    assert {name: fields[name].default for name in shared} == {name: kw.default for name, kw in keywords.items()}
    assert all(fields[name].default is False for name in own)
    assert fields.keys() >= PlacementSettings.model_fields.keys()
    assert all(PlacementSettings.model_fields[name].description for name in PlacementSettings.model_fields)


@pytest.mark.case(78)
@ADAPTERS
@pytest.mark.parametrize("name", ["bugdet", "stratgy", "score_keys", "tokens", "query", "class_nam"])
def test_a_misspelt_field_is_refused(adapter: Harness, name: str) -> None:
    """An unknown field raises at construction, alone or beside what was dumped, and the error names it."""
    for others in ({}, adapter.placer().model_dump()):
        with pytest.raises(ValueError, match=rf"{adapter.placer.__name__}\n{name}\n"):
            adapter.placer(**{**others, name: 1})


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"budget": {"tokens": 5, "tokns": 3}}, "Budget has no 'tokns'.*tokens, counter, overflow, reserve"),
    ({"order": {"short_chunk": 5}}, "Auto has no 'short_chunk'.*short_chunks"),
    ({"layout": {"seperator": "x"}}, "Layout has no 'seperator'.*separator"),
    ({"prompt": {"questoin": "after"}}, "Prompt has no 'questoin'.*question"),
    ({"order": {**PROFILE.to_dict(), "version": 9}}, "a profile of version 9 cannot be read"),
    ({"budget": {"tokens": True}}, "budget must be a whole number of tokens, not True"),
    ({"budget": {"tokens": 5, "reserve": True}}, "reserve.*True"),
    ({"budget": {"overflow": "stop"}}, "tokens"),
    ({"budget": True}, "budget.*True"),
    ({"budget": 0}, "budget=0 leaves no room"),
    ({"budget": -5}, "budget=-5"),
    ({"budget": 10.5}, "budget.*10.5"),
    ({"budget": np.float64(10)}, "budget.*10.0"),
    ({"budget": "6000"}, "budget.*'6000'"),
    ({"top_n": True}, "top_n.*True"),
    ({"top_n": 0}, "top_n=0 keeps nothing"),
    ({"top_n": 2.0}, "top_n.*2.0"),
    ({"min_score": True}, "min_score.*True"),
    ({"min_score": "0.5"}, "min_score.*'0.5'"),
    ({"min_score": float("nan")}, "min_score=nan"),
    ({"min_score": 0.5, "rank_by": "distance"}, "min_score"),
    ({"annotate": 1}, "annotate"),
    ({"annotate": "yes"}, "annotate"),
    ({"order": "bookends"}, "order='bookends'.*auto, relevance, bookend, two_to_one, bookend_tail"),
    ({"order": 5}, "order.*5"),
    ({"reading": "run"}, "reading='run'.*runs, source, off"),
    ({"rank_by": "scores"}, "rank_by='scores'.*input, score, distance"),
    ({"dedupe": True}, "dedupe=True.*off, id, text"),
    ({"layout": "fancy"}, "'fancy'.*plain"),
    ({"layout": 5}, "layout.*5"),
    ({"rerank": 5}, "rerank.*5"),
    ({"recorders": print}, "recorders"),
    ({"recorders": ["log"]}, "recorders.*'log'"),
    ({"prompt": Prompt("both", "weak_slots")}, "weak_slots.*layout='numbered' or 'xml'"),
    ({"offset_key": None, "end_key": "to"}, "end_key='to' is where a chunk ends; give offset_key="),
    *(({f"{name}_key": value}, f"{name}_key") for name in ("score", "source", "offset", "end", "title", "date", "page")
      for value in ("", [], 5, [1], ["a", ""], {"a": 1})),
]  # fmt: skip


@ADAPTERS
@pytest.mark.parametrize(("settings", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_value_is_refused_at_construction(adapter: Harness, settings: dict[str, Any], message: str) -> None:
    """What is unknown or impossible raises at once, naming the field, the value and the choices."""
    with pytest.raises((ValueError, TypeError), match=message):
        adapter.placer(**settings)


def test_every_adapter_has_a_name_of_its_own() -> None:
    """The tests of the contract can be told apart."""
    assert len({adapter.name for adapter in HARNESSES}) == len(HARNESSES) > 2
