"""What LangChain adds to the settings: its defaults, its ways to dump, and what holds an `EdgeOrder`."""

import pickle
import warnings

import pytest
from langchain_core.load import dumpd, load
from langchain_core.runnables import RunnableLambda, RunnableSequence

from edgeorder import Auto, Budget
from edgeorder.settings import PlacementSettings
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever


@pytest.mark.case(95)
def test_a_chain_is_dumped_and_loaded(letters, spelt):
    """A chain with two of them places as before; the value objects of its dump are plain dicts."""
    chain = EdgeOrder(order="bookend", top_n=4) | EdgeOrder(order=Auto(short_chunks=9), budget=Budget(100))
    data = dumpd(chain)
    budget = {"tokens": 100, "counter": None, "overflow": "skip", "reserve": 0}
    assert data["kwargs"]["last"]["kwargs"]["budget"] == budget
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain's `load` is marked beta
        back = load(data, allowed_objects=[EdgeOrder, RunnableSequence], valid_namespaces=["langchain_edgeorder"])
    assert back == chain
    assert spelt(back.invoke(letters("ABCDE"))) == "ABCD"  # the second places by the ranks of the first


@pytest.mark.case(95)
def test_repr():
    """The repr shows the settings that were changed."""
    text = repr(EdgeOrder(budget=Budget(6000), order="bookend"))
    assert text == "EdgeOrder(budget=Budget(tokens=6000, counter=None, overflow='skip', reserve=0), order='bookend')"


def test_defaults():
    """EdgeOrder adds document_prompt and where LangChain keeps scores, sources and offsets; the rest is shared."""
    fields, shared = EdgeOrder.model_fields, PlacementSettings.model_fields
    assert set(fields) - set(shared) == {"document_prompt", "name"}  # `name` is every Runnable's
    changed = {name for name in shared if fields[name].default != shared[name].default}
    assert changed == {f"{name}_key" for name in ("score", "source", "offset", "title", "date", "page")}
    assert all(fields[name].description for name in fields if name != "name")


def test_a_retriever_keeps_the_rules_of_its_placer():
    """A lambda cannot be pickled with it, a misspelt field is refused, and only an EdgeOrder is a placer."""
    base = RunnableLambda(len)
    retriever = EdgeOrderRetriever(base_retriever=base, placer=EdgeOrder(rank_by=lambda document: 1))
    with pytest.raises(TypeError, match=r"EdgeOrder\.rank_by cannot be pickled"):
        pickle.dumps(retriever)
    for name in ("bugdet", "top_n", "query"):
        with pytest.raises(ValueError, match=rf"EdgeOrderRetriever\n{name}\n"):
            EdgeOrderRetriever(base_retriever=base, **{name: 1})
    with pytest.raises(ValueError, match="placer"):
        EdgeOrderRetriever(base_retriever=base, placer=lambda documents: documents)
