"""The fields: `place`'s keywords, checked at construction, kept as written, and never lost on the way to disk."""

import copy
import inspect
import json
import pickle
from typing import Any

import pytest
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import ValidationError

import edgeorder
from edgeorder import Auto, Budget, JsonlRecorder, Layout, Rerank, log_record
from edgeorder.settings import PlacementSettings
from llamaindex_edgeorder import EdgeOrderPostprocessor

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "shorthands": {"budget": 6000, "order": "bookend", "layout": "plain", "top_n": 3, "dedupe": "text"},
    "value objects": {
        "budget": Budget(6000, counter="cl100k_base", overflow="truncate", reserve=["question", 500]),
        "order": Auto(short_chunks=2, decisive=0.5),
        "layout": Layout(separator="\n---\n"),
    },
    "a tuple inside": {"budget": Budget(6000, reserve=("question", 500))},
    "keys": {"score_key": "rerank.score", "source_key": ("book", "file"), "offset_key": "line", "end_key": "line_end"},
    "the rest": {"rank_by": "score", "min_score": -0.5, "reading": "off", "annotate": True},
}


def by_length(query: str, texts: list[str]) -> list[int]:
    """Score texts by their length: a scorer that pickle can find."""
    return [len(text) for text in texts]


def rotated(n: int) -> list[int]:
    """Order: the best chunk last, the others by rank."""
    return [*range(1, n), *range(min(n, 1))]


class Labelled(EdgeOrderPostprocessor):
    """A user's subclass with fields of its own."""

    label: str = "x"
    hook: Any = None


def _fields(post: EdgeOrderPostprocessor) -> dict[str, Any]:
    return {name: getattr(post, name) for name in type(post).model_fields if name != "callback_manager"}


def test_the_fields_are_the_keywords_of_place() -> None:
    """Every keyword of `place` but the query is a field with the same default; keys, `annotate` and `shadow` on top."""
    keywords = {
        name: parameter.default
        for name, parameter in inspect.signature(edgeorder.place).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name != "query"
    }
    fields = {name: field.default for name, field in EdgeOrderPostprocessor.model_fields.items()}
    del fields["callback_manager"]
    keys = dict.fromkeys(f"{name}_key" for name in ("score", "source", "offset", "end", "title", "date", "page"))
    own = {**keys, "annotate": False, "shadow": False}
    assert fields == {**keywords, **own}
    assert set(PlacementSettings.model_fields) == set(fields)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(
    "way", ["to_dict", "to_json", "pickle", "deepcopy", "copy", "model_copy", "validate", "kwargs"]
)
def test_round_trips(name: str, way: str) -> None:
    """A postprocessor that was dumped and loaded, by any of the usual ways, has the same fields as before."""
    post = EdgeOrderPostprocessor(**SETTINGS[name])
    loaded = {
        "to_dict": lambda: EdgeOrderPostprocessor.from_dict(post.to_dict()),
        "to_json": lambda: EdgeOrderPostprocessor.from_json(post.to_json()),
        "pickle": lambda: pickle.loads(pickle.dumps(post)),
        "deepcopy": lambda: copy.deepcopy(post),
        "copy": lambda: copy.copy(post),
        "model_copy": lambda: post.model_copy(),
        "validate": lambda: EdgeOrderPostprocessor.model_validate(post.model_dump()),
        "kwargs": lambda: EdgeOrderPostprocessor(**post.model_dump()),
    }[way]()
    assert type(loaded) is EdgeOrderPostprocessor
    assert loaded is not post
    assert _fields(loaded) == _fields(post)
    for field in SETTINGS[name]:
        assert type(getattr(loaded, field)) is type(getattr(post, field))


def test_a_dump_is_plain_data_that_names_the_class() -> None:
    """`to_dict` gives JSON values only: value objects as dicts of their fields, and the stable class name."""
    data = EdgeOrderPostprocessor(**SETTINGS["value objects"]).to_dict()
    assert data == json.loads(json.dumps(data))
    assert data["class_name"] == EdgeOrderPostprocessor.class_name() == "EdgeOrderPostprocessor"
    assert data["budget"] == {
        "tokens": 6000,
        "counter": "cl100k_base",
        "overflow": "truncate",
        "reserve": ["question", 500],
    }
    assert data["order"] == {"short_chunks": 2, "short_bytes": 4800, "flat": 1e-6, "decisive": 0.5}
    assert data["layout"]["separator"] == "\n---\n"
    assert "callback_manager" not in data


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rank_by", len),
        ("rerank", by_length),
        ("rerank", Rerank(by_length)),
        ("order", rotated),
        ("budget", Budget(100, counter=len)),
        ("recorders", [print]),
        ("score_key", len),
        ("source_key", len),
        ("offset_key", len),
        ("end_key", len),
    ],
)
def test_a_callable_is_never_dropped_from_a_dump(field: str, value: Any) -> None:
    """A callable cannot be written as data: dumping raises and names the field; pickle and deepcopy keep it."""
    settings = {field: value, **({"offset_key": "x"} if field == "end_key" else {})}
    post = EdgeOrderPostprocessor(**settings)
    for dump in (post.to_dict, post.to_json, post.model_dump, post.model_dump_json):
        with pytest.raises(Exception, match=field):
            dump()
    for loaded in (pickle.loads(pickle.dumps(post)), copy.deepcopy(post)):
        assert _fields(loaded) == _fields(post)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rank_by", lambda node: node.score),
        ("rerank", lambda query, texts: range(len(texts))),
        ("rerank", Rerank(lambda query, texts: range(len(texts)))),
        ("order", lambda n: range(n)),
        ("budget", Budget(100, counter=lambda text: len(text))),
        ("recorders", [lambda record: None]),
        ("source_key", lambda node: "one"),
    ],
)
def test_a_lambda_is_never_dropped_from_a_pickle(field: str, value: Any) -> None:
    """What pickle cannot write raises and names the field, where LlamaIndex's base would drop it; deepcopy keeps it."""
    post = EdgeOrderPostprocessor(**{field: value})
    with pytest.raises(TypeError, match=rf"EdgeOrderPostprocessor\.{field} cannot be pickled"):
        pickle.dumps(post)
    assert type(getattr(copy.deepcopy(post), field)) is type(getattr(post, field))


def test_a_recorder_of_the_package_survives_a_pickle(tmp_path: Any) -> None:
    """A `JsonlRecorder` is pickled with its postprocessor and writes on where it wrote."""
    post = EdgeOrderPostprocessor(recorders=[JsonlRecorder(tmp_path / "log.jsonl"), log_record])
    nodes = [NodeWithScore(node=TextNode(text="A"))]
    post.postprocess_nodes(nodes)
    pickle.loads(pickle.dumps(post)).postprocess_nodes(nodes)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["order"] for line in lines] == ["relevance", "relevance"]


def test_a_subclass_keeps_its_own_fields() -> None:
    """A user's subclass round-trips with its fields, and a lambda in one of them raises like one in ours."""
    post = Labelled(label="y", budget=Budget(100), hook=by_length)
    loaded = pickle.loads(pickle.dumps(post))
    assert (type(loaded), loaded.label, loaded.budget, loaded.hook) == (Labelled, "y", Budget(100), by_length)
    assert Labelled.from_dict(Labelled(label="z").to_dict()).label == "z"
    with pytest.raises(TypeError, match=r"Labelled\.hook cannot be pickled"):
        pickle.dumps(Labelled(hook=lambda: None))
    with pytest.raises(ValidationError, match="lable"):
        Labelled(lable="y")


@pytest.mark.parametrize("name", ["stratgy", "token_budget", "top_k", "class_nam"])
def test_a_misspelt_field_is_refused(name: str) -> None:
    """An unknown field raises at construction and from a dump, and the error names it."""
    with pytest.raises(ValidationError, match=name):
        EdgeOrderPostprocessor(**{name: "bookend"})
    with pytest.raises(ValidationError, match=name):
        EdgeOrderPostprocessor.from_dict({**EdgeOrderPostprocessor().to_dict(), name: "bookend"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": "bookends"}, r"order='bookends' is not one of: auto, relevance, bookend"),
        ({"rank_by": "scores"}, r"rank_by='scores' is not one of: input, score, distance"),
        ({"reading": "run"}, r"reading='run' is not one of: runs, source, off"),
        ({"dedupe": "exact"}, r"dedupe='exact' is not one of: off, id, text"),
        ({"budget": 0}, r"budget=0 leaves no room"),
        ({"budget": {"token": 5}}, r"Budget has no 'token'; it has: tokens, counter, overflow, reserve"),
        ({"top_n": 0}, r"top_n=0 keeps nothing"),
        ({"annotate": "yes"}, r"annotate"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_bad_value_is_refused_at_construction(settings: dict[str, Any], message: str) -> None:
    """An unknown or impossible value raises at construction, naming the value and the choices."""
    with pytest.raises(ValidationError, match=message):
        EdgeOrderPostprocessor(**settings)


def test_an_engine_can_assign_its_callback_manager() -> None:
    """The postprocessor is not frozen: engines set `callback_manager`, which stays out of every dump."""
    post = EdgeOrderPostprocessor(budget=10)
    manager = CallbackManager([])
    before = post.to_dict()
    post.callback_manager = manager
    assert post.callback_manager is manager
    assert post.to_dict() == before
