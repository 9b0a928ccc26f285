"""What LangChain adds to the settings: its defaults, its ways to dump, and what holds an `EdgeOrder`."""

import pickle
import warnings

import pytest
from langchain_core.load import dumpd, load
from langchain_core.runnables import RunnableLambda, RunnableSequence
from langchain_core.tools import StructuredTool

from edgeorder import Auto, Budget
from edgeorder.settings import PlacementSettings
from langchain_edgeorder import ContextMiddleware, EdgeOrder, EdgeOrderMiddleware, EdgeOrderRetriever, context_prompt


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


@pytest.mark.parametrize("wrong", ["bookend", EdgeOrder, EdgeOrderRetriever(base_retriever=RunnableLambda(len)), 6000])
@pytest.mark.parametrize(
    "make",
    [context_prompt, EdgeOrderMiddleware, lambda placer: ContextMiddleware(RunnableLambda(len), placer)],
    ids=["context_prompt", "EdgeOrderMiddleware", "ContextMiddleware"],
)
def test_only_an_edge_order_is_a_placer(make, wrong):
    """What else is given for a placer, such as the class or a retriever, is named."""
    with pytest.raises(TypeError, match=r"placer must be an EdgeOrder, such as EdgeOrder\(budget=6000\), not"):
        make(wrong)


@pytest.mark.parametrize("name", [None, "search"])
@pytest.mark.parametrize("given", [str, None, ["A"]])
def test_what_is_no_retriever_is_told_what_to_give(given, name):
    """A plain function is no Runnable: how it becomes one is said."""
    with pytest.raises(TypeError, match=r"^give a retriever, .* or a Runnable, such as RunnableLambda\(search\), not "):
        ContextMiddleware(given, name=name)


@pytest.mark.parametrize("tools", [5, [StructuredTool.from_function(str.upper, description="Cry.")], ["search", None]])
def test_tools_go_by_their_names(tools):
    """What is no name of a tool, such as the tool itself, is refused at construction."""
    with pytest.raises(TypeError, match="tools= takes the name of a tool or a list of names, not"):
        EdgeOrderMiddleware(tools=tools)


@pytest.mark.parametrize("tools", [["a", "b"], {"a": 1, "b": 2}.keys(), (name for name in "ab")], ids=type)
def test_names_of_tools_may_come_in_any_form(tools):
    """Also one that can be read once: looking at them uses none up."""
    assert EdgeOrderMiddleware(tools=tools)._finder.names == {"a", "b"}
