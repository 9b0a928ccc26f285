"""Reading order on generated corpora, cut by real splitters and retrieved at random or in clusters."""

import random

import pytest
from corpora import LANGCHAIN, LLAMAINDEX, Found, cut, judge, place, retrieve

TRIALS = 25
TRACED = [name for name in (*LANGCHAIN, *LLAMAINDEX) if "no trace" not in name and "context" not in name]


def judged(name: str, how: str, k: int = 10) -> list[Found]:
    """Return what became of some retrievals."""
    rng = random.Random(f"{name} {how}")
    return [judge(retrieve(cut(name), how, k, rng)) for _ in range(TRIALS)]


@pytest.mark.parametrize("how", ["random", "clustered"])
@pytest.mark.parametrize("name", TRACED)
def test_runs_are_neighbours_in_the_document(name: str, how: str) -> None:
    """No run joins what is apart, and all neighbours are found that locations can tell."""
    found = judged(name, how)
    assert sum(one.false for one in found) == 0
    assert sum(one.found for one in found) == sum(one.told for one in found) > 0


@pytest.mark.parametrize("k", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("name", [*LANGCHAIN, *LLAMAINDEX])
def test_the_best_chunk_is_among_the_first_three(name: str, k: int) -> None:
    """By default, whatever was retrieved around it."""
    assert max(one.best for one in judged(name, "clustered", k)) <= 2


def test_cutting_twice_without_a_trace_is_told_where_locations_contradict_each_other() -> None:
    """Nothing in the metadata shows it, so some false neighbours stay; most clusters show a contradiction."""
    found = judged("prose, cut twice, no trace, overlap 0", "clustered")
    assert sum(one.joined for one in found) < 0.3 * sum(one.true for one in found)
    chunks = retrieve(cut("prose, cut twice, no trace, overlap 0"), "clustered", 12, random.Random(0))
    note = place(chunks).record.notes[-1]
    assert note == f"locations that contradict each other were not used: input indices {list(range(10))} (10 of 12)"


def test_context_before_a_chunk_joins_nothing() -> None:
    """Its span, counted from its length, reaches into other chunks and holds another text than they do."""
    assert sum(one.joined for one in judged("prose, context before each chunk", "clustered")) == 0
