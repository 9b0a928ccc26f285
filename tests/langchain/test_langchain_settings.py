"""The settings: `place()`'s keywords as fields, checked at construction, and written out and read back unchanged."""

import copy
import inspect
import pickle
import warnings

import pytest
from langchain_core.load import dumpd, dumps, load, loads
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableSequence

from edgeorder import ORDERS, Auto, Budget, Layout, Rerank, place
from edgeorder.settings import PlacementSettings
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever

SETTINGS = {
    "default": {},
    "plain values": {
        "rank_by": "distance",
        "dedupe": "id",
        "top_n": 3,
        "budget": 6000,
        "reading": "source",
        "order": "long_context_reorder",
        "layout": "plain",
        "annotate": True,
    },
    "min_score": {"rank_by": "score", "min_score": -0.5},
    "min_score of zero": {"min_score": 0},
    "Budget": {"budget": Budget(100, counter="cl100k_base", overflow="stop", reserve=7)},
    "Budget with texts": {"budget": Budget(100, reserve=("question", 5))},
    "Auto": {"order": Auto(short_chunks=2, short_bytes=10, flat=0, decisive=0.25)},
    "Layout": {"layout": Layout(separator="\n- - -\n")},
    "keys": {"score_key": "s", "source_key": ["file", "url"], "offset_key": ("a.b", "c"), "end_key": "end"},
    "no keys": {"score_key": None, "source_key": None, "offset_key": None},
    "prompt": {"document_prompt": PromptTemplate.from_template("{source}: {page_content}")},
    "prompt in jinja": {
        "document_prompt": PromptTemplate.from_template("{{ page_content }}", template_format="mustache"),
        "budget": 50,
    },
}


def a_rule(document):
    return document.metadata["score"]


def loaded(data):
    """Load as a user does who trusts this class and the prompts of LangChain."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain's `load` is marked beta
        read = loads if isinstance(data, str) else load
        return read(
            data,
            allowed_objects=[EdgeOrder, PromptTemplate, RunnableSequence],
            valid_namespaces=["langchain_edgeorder"],
        )


ROUND_TRIPS = {
    "dumpd, load": lambda edge: loaded(dumpd(edge)),
    "dumps, loads": lambda edge: loaded(dumps(edge)),
    "pickle": lambda edge: pickle.loads(pickle.dumps(edge)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "model_copy": lambda edge: edge.model_copy(deep=True),
    "model_dump": lambda edge: EdgeOrder(**edge.model_dump()),
    "model_dump, mode json": lambda edge: EdgeOrder(**edge.model_dump(mode="json")),
    "model_dump, changed fields": lambda edge: EdgeOrder(**edge.model_dump(exclude_unset=True)),
    "model_dump_json": lambda edge: EdgeOrder.model_validate_json(edge.model_dump_json()),
}


class TestRoundTrip:
    """Every way of writing settings out gives the same settings when they are read back."""

    @pytest.mark.parametrize("settings", [pytest.param(value, id=name) for name, value in SETTINGS.items()])
    @pytest.mark.parametrize("there_and_back", [pytest.param(way, id=name) for name, way in ROUND_TRIPS.items()])
    def test_same_settings(self, there_and_back, settings, letters):
        """The object that comes back is equal in every field, type included, and places as the first did."""
        edge = EdgeOrder(**settings)
        back = there_and_back(edge)
        assert type(back) is EdgeOrder
        for name in EdgeOrder.model_fields:
            before, after = getattr(edge, name), getattr(back, name)
            assert (name, type(after), after) == (name, type(before), before)
        assert back == edge
        documents = letters("ABCDE", *({"source": "x", "file": "x", "score": 0.5 - n / 10} for n in range(5)))
        if settings.get("rank_by") != "distance":
            assert back.place(documents) == edge.place(documents)

    def test_data_is_plain(self):
        """Value objects are written as plain dicts, which LangChain can read."""
        edge = EdgeOrder(budget=Budget(100, reserve=7), order=Auto(short_chunks=2), layout=Layout(separator="--"))
        for data in (edge.model_dump(), dumpd(edge)["kwargs"]):
            assert data["budget"] == {"tokens": 100, "counter": None, "overflow": "skip", "reserve": 7}
            assert data["order"] == {"short_chunks": 2, "short_bytes": 4800, "flat": 1e-6, "decisive": None}
            assert data["layout"]["separator"] == "--"

    def test_plain_values_stay_plain(self):
        """A field keeps what was written: 6000 is no Budget, "bookend" no function."""
        edge = EdgeOrder(budget=6000, order="bookend", layout="plain")
        assert (edge.budget, edge.order, edge.layout) == (6000, "bookend", "plain")
        assert type(edge.budget) is int

    def test_in_a_chain(self, letters, spelt):
        """A chain with two of them is dumped and loaded."""
        chain = loaded(dumpd(EdgeOrder(order="bookend", top_n=4) | EdgeOrder(order="reverse")))
        assert spelt(chain.invoke(letters("ABCDE"))) == "BDCA"

    def test_repr(self):
        """The repr shows the settings that were changed."""
        text = repr(EdgeOrder(budget=Budget(6000), order="bookend"))
        assert text == (
            "EdgeOrder(budget=Budget(tokens=6000, counter=None, overflow='skip', reserve=0), order='bookend')"
        )


CALLABLES = {
    "budget.counter": {"budget": Budget(100, counter=lambda text: len(text))},
    "rerank": {"rerank": lambda query, texts: [1.0] * len(texts)},
    "rerank.scorer": {"rerank": Rerank(lambda query, texts: [1.0] * len(texts))},
    "rank_by": {"rank_by": lambda document: 1},
    "recorders": {"recorders": [lambda record: None]},
    "order": {"order": lambda n: range(n)},
    "score_key": {"score_key": lambda document: 1},
    "source_key": {"source_key": lambda document: 1},
    "offset_key": {"offset_key": lambda document: 1},
    "end_key": {"end_key": lambda document: 1},
}


@pytest.mark.parametrize(("field", "settings"), CALLABLES.items(), ids=CALLABLES)
class TestCallables:
    """A function cannot be written as data: that is an error which names the field, never a field lost in silence."""

    def test_dumpd(self, field, settings):
        """dumpd raises, naming the field."""
        with pytest.raises(TypeError, match=rf"^{field} holds"):
            dumpd(EdgeOrder(**settings))

    def test_model_dump(self, field, settings):
        """model_dump and model_dump_json raise, naming the field."""
        for dump in (EdgeOrder.model_dump, EdgeOrder.model_dump_json):
            with pytest.raises((TypeError, ValueError), match=rf"{field} holds"):
                dump(EdgeOrder(**settings))

    def test_pickle(self, field, settings):
        """Pickling a lambda raises, naming the field."""
        with pytest.raises(TypeError, match=rf"EdgeOrder\.{field.split('.')[0]} cannot be pickled"):
            pickle.dumps(EdgeOrder(**settings))

    def test_pickle_of_what_holds_it(self, field, settings):
        """Pickling a retriever raises for its placer's lambda too, naming the field."""
        retriever = EdgeOrderRetriever(base_retriever=RunnableLambda(len), placer=EdgeOrder(**settings))
        with pytest.raises(TypeError, match=rf"EdgeOrder\.{field.split('.')[0]} cannot be pickled"):
            pickle.dumps(retriever)

    def test_deepcopy(self, field, settings):
        """Copying keeps the function."""
        edge = EdgeOrder(**settings)
        assert copy.deepcopy(edge) == edge == edge.model_copy(deep=True)


def test_pickle_of_module_functions(letters, spelt):
    """Functions that are defined in a module are pickled with the settings."""
    edge = EdgeOrder(rank_by=a_rule, order=ORDERS["reverse"], budget=Budget(9, counter=len), score_key=a_rule)
    back = pickle.loads(pickle.dumps(edge))
    assert back == edge
    assert spelt(back.transform_documents(letters("AB", {"score": 1}, {"score": 2}))) == "AB"


class TestFields:
    """The fields are `place()`'s keywords and nothing else that `place()` does not know, but for the keys."""

    def test_same_as_the_signature(self):
        """Names, order and defaults of the shared fields are those of place()."""
        keywords = dict(inspect.signature(place).parameters)
        del keywords["chunks"], keywords["query"]
        shared = {
            name: field
            for name, field in PlacementSettings.model_fields.items()
            if not name.endswith("_key") and name not in ("annotate", "shadow")
        }
        assert list(shared) == list(keywords)
        assert {name: field.default for name, field in shared.items()} == {
            name: keyword.default for name, keyword in keywords.items()
        }
        assert all(keyword.kind is keyword.KEYWORD_ONLY for keyword in keywords.values())

    def test_inherited_with_the_same_defaults(self):
        """EdgeOrder adds document_prompt and where LangChain keeps scores, sources and offsets; the rest is shared."""
        fields, shared = EdgeOrder.model_fields, PlacementSettings.model_fields
        assert set(fields) - set(shared) == {"document_prompt", "name"}  # `name` is every Runnable's
        assert {name for name in shared if fields[name].default != shared[name].default} == {
            "score_key",
            "source_key",
            "offset_key",
            "title_key",
            "date_key",
            "page_key",
        }
        assert all(fields[name].description for name in fields if name != "name")

    def test_fields_can_be_set(self, letters, spelt):
        """An object is not frozen: a field that is set counts from the next call on."""
        edge = EdgeOrder()
        edge.order = "reverse"
        assert spelt(edge.transform_documents(letters("ABC"))) == "CBA"


class TestRefused:
    """What cannot be right is refused at construction, with its name."""

    @pytest.mark.parametrize("name", ["bugdet", "stratgy", "score_keys", "tokens", "query"])
    def test_misspelt_field(self, name):
        """Both classes refuse a field that they do not have, naming it."""
        with pytest.raises(ValueError, match=rf"EdgeOrder\n{name}\n"):
            EdgeOrder(**{name: 1})
        with pytest.raises(ValueError, match=rf"EdgeOrderRetriever\n{name}\n"):
            EdgeOrderRetriever(base_retriever=RunnableLambda(len), **{name: 1})

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"budget": {"tokens": 5, "tokns": 3}}, "Budget has no 'tokns'.*tokens, counter, overflow, reserve"),
            ({"order": {"short_chunk": 5}}, "Auto has no 'short_chunk'.*short_chunks"),
            ({"layout": {"seperator": "x"}}, "Layout has no 'seperator'.*separator"),
            ({"budget": {"tokens": True}}, "budget must be a whole number of tokens, not True"),
            ({"budget": {"tokens": 5, "reserve": True}}, "reserve.*True"),
            ({"budget": {"overflow": "stop"}}, "tokens"),
        ],
    )
    def test_value_objects_from_dicts(self, settings, message):
        """A value object built from a dict refuses unknown keys, wrong values and missing ones, naming them."""
        with pytest.raises((ValueError, TypeError), match=message):
            EdgeOrder(**settings)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"budget": True}, "budget.*True"),
            ({"budget": 0}, "budget=0"),
            ({"budget": -5}, "budget=-5"),
            ({"budget": 10.5}, "budget.*10.5"),
            ({"budget": "6000"}, "budget.*'6000'"),
            ({"top_n": True}, "top_n.*True"),
            ({"top_n": 0}, "top_n=0"),
            ({"top_n": 2.0}, "top_n.*2.0"),
            ({"min_score": True}, "min_score.*True"),
            ({"min_score": "0.5"}, "min_score.*'0.5'"),
            ({"annotate": 1}, "annotate"),
            ({"order": "bookends"}, "order='bookends'.*auto, relevance, bookend, bookend_tail"),
            ({"order": 5}, "order.*5"),
            ({"reading": "run"}, "reading='run'.*runs, source, off"),
            ({"rank_by": "scores"}, "rank_by='scores'.*input, score, distance"),
            ({"dedupe": True}, "dedupe=True.*off, id, text"),
            ({"layout": "fancy"}, "'fancy'.*plain"),
            ({"layout": 5}, "layout.*5"),
            ({"rerank": 5}, "rerank.*5"),
            ({"recorders": print}, "recorders"),
            ({"recorders": ["log"]}, "recorders.*'log'"),
            ({"min_score": 0.5, "rank_by": "distance"}, "min_score"),
        ],
    )
    def test_wrong_values(self, settings, message):
        """A wrong value is refused, with the field, the value and the choices."""
        with pytest.raises((ValueError, TypeError), match=message):
            EdgeOrder(**settings)

    def test_placer(self):
        """EdgeOrderRetriever takes only an EdgeOrder as its placer."""
        with pytest.raises(ValueError, match="placer"):
            EdgeOrderRetriever(base_retriever=RunnableLambda(len), placer=lambda documents: documents)
