"""A warning points at the caller's line, whatever framework stands between: Python shows it once for each such line."""

import asyncio
import linecache
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from llama_index.core import MockEmbedding, QueryBundle, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeWithScore, TextNode

from edgeorder import Budget, BudgetError, Chunk, EdgeOrderWarning, aplace, audit, place
from edgeorder.alerts import kind_of, of_each_kind
from langchain_edgeorder import EdgeOrder, EdgeOrderRetriever, context_prompt
from llamaindex_edgeorder import EdgeOrderPostprocessor

TEXTS = ["a fair in Geneva", "a hotel in Oslo", "a train to Bern"]
DOCUMENTS = [Document(text) for text in TEXTS]
NODES = [NodeWithScore(node=TextNode(text=text)) for text in TEXTS]
NO_SCORES = "found no score to rank by"


class Found(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return DOCUMENTS


def placer() -> EdgeOrder:
    return EdgeOrder(rank_by="score")


def engine():
    index = VectorStoreIndex([node.node for node in NODES], embed_model=MockEmbedding(embed_dim=2))
    dropped = SimpleNamespace(postprocess_nodes=lambda nodes, **_: [NodeWithScore(node=node.node) for node in nodes])
    return index.as_query_engine(
        llm=MockLLM(), node_postprocessors=[dropped, EdgeOrderPostprocessor(rank_by="score")], similarity_top_k=3
    )


CALLS: dict[str, Callable[[], object]] = {
    "place": lambda: place([Chunk(text) for text in TEXTS], rank_by="score"),
    "transform_documents": lambda: placer().transform_documents(DOCUMENTS),
    "compress_documents": lambda: placer().compress_documents(DOCUMENTS, "q"),
    "invoke": lambda: placer().invoke(DOCUMENTS),
    "chain": lambda: (RunnableLambda(lambda _: DOCUMENTS) | placer() | len).invoke("q"),
    "stream": lambda: list((RunnableLambda(lambda _: DOCUMENTS) | placer()).stream("q")),
    "retriever": lambda: EdgeOrderRetriever(base_retriever=Found(), placer=placer()).invoke("q"),
    "prompt": lambda: context_prompt(placer()).invoke({"context": DOCUMENTS, "question": "q"}),
    "nodes": lambda: EdgeOrderPostprocessor(rank_by="score").postprocess_nodes(NODES),
    "nodes and question": lambda: EdgeOrderPostprocessor(rank_by="score").postprocess_nodes(NODES, QueryBundle("q")),
    "engine": lambda: engine().query("q"),
}
ACALLS = {
    "aplace": lambda: aplace([Chunk(text) for text in TEXTS], rank_by="score"),
    "ainvoke": lambda: placer().ainvoke(DOCUMENTS),
    "achain": lambda: (RunnableLambda(lambda _: DOCUMENTS) | placer() | len).ainvoke("q"),
}


def told(caught: list[warnings.WarningMessage]) -> warnings.WarningMessage:
    (one,) = (warning for warning in caught if issubclass(warning.category, EdgeOrderWarning))
    assert NO_SCORES in str(one.message)
    return one


@pytest.mark.parametrize("name", CALLS)
def test_the_line_of_the_caller(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    warning = told(caught)
    assert warning.filename == __file__
    assert warning.lineno == CALLS[name].__code__.co_firstlineno


@pytest.mark.parametrize("name", ACALLS)
async def test_the_line_of_the_caller_that_awaits(name: str) -> None:
    """Where the framework made a task of its own, no line of the caller's is left: then it is the framework's."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        await ACALLS[name]()
    warning = told(caught)
    assert "edgeorder/alerts" not in warning.filename
    assert linecache.getline(warning.filename, warning.lineno)
    if name == "aplace":
        assert warning.filename == __file__


def test_a_thread_without_a_caller_warns_all_the_same() -> None:
    with warnings.catch_warnings(record=True) as caught, ThreadPoolExecutor(1) as pool:
        warnings.simplefilter("always")
        pool.submit(placer().invoke, DOCUMENTS).result()
    assert told(caught).lineno > 0


def test_each_place_is_told_once() -> None:
    """As Python does by default: one line for a call in a loop, and another for another call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            placer().invoke(DOCUMENTS)
        (placer() | len).invoke(DOCUMENTS)
    assert len([one for one in caught if NO_SCORES in str(one.message)]) == 2


FAILING = {"min_score": 0.5, "budget": Budget(30, len, "error")}


@pytest.mark.parametrize(
    "fail",
    [
        lambda: place([Chunk(text) for text in TEXTS], **FAILING),
        lambda: asyncio.run(aplace([Chunk(text) for text in TEXTS], **FAILING)),
        lambda: audit(lambda question: [Chunk(text) for text in TEXTS], FAILING, [{"question": "q", "gold": TEXTS[0]}]),
    ],
    ids=["place", "aplace", "audit"],
)
def test_what_was_warned_of_is_told_before_a_failure(fail: Callable[[], object]) -> None:
    """It may say why, and is not lost where warnings are collected first."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(BudgetError):
            fail()
    assert ["could not judge" in str(one.message) for one in caught] == [True]


@pytest.mark.parametrize("way", ["-c", "-"])
def test_what_is_typed_is_warned_as_well(way: str) -> None:
    """A program without a file, as `python -c`, a pipe and the prompt of Python have it, is a caller like any other."""
    program = "from edgeorder.alerts import warn\nwarn('heard')\nprint('went on')\n"
    command = [sys.executable, way, *([program] if way == "-c" else [])]
    run = subprocess.run(
        command, input="" if way == "-c" else program, capture_output=True, text=True, check=False, timeout=60
    )
    assert (run.returncode, run.stdout) == (0, "went on\n"), run.stderr
    assert "EdgeOrderWarning: heard" in run.stderr


@given(messages=st.lists(st.sampled_from([*"abcdefgh", "a 1", "a 22.5"])))
def test_each_kind_is_told_with_how_many_there_were(messages: list[str]) -> None:
    """None hides behind another, up to some; and the counts are those of all."""
    told = of_each_kind(messages, " in all")
    kinds = list(dict.fromkeys(map(kind_of, messages)))
    assert [kind_of(message) for message in told] == kinds[:5]
    counts = [int(found[1]) if (found := re.search(r"one of (\d+) warnings in all\)$", one)) else 1 for one in told]
    assert sum(counts) == len(messages)
