"""Scorers that score the rows of a batch together: whatever they do, each row gets what it gets alone."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edgeorder import Chunk, EdgeOrderWarning, Rerank, RerankError
from edgeorder.alerts import warn
from edgeorder.auditing import audit_rows
from edgeorder.batch import PlaceBatch, Row, place_table
from edgeorder.rerank import CrossEncoderScorer, EvidenceRanker

BATCH = {
    "query": ["a", "bad", "", "  ", None, 5, " b ", "nan", "\ud800"],
    "chunks": [[" ", "one", "two words", "three more words"]] * 9,
}


def alone(query: str, texts: list[str]) -> list[float]:
    """Prefer long texts; some questions it cannot answer."""
    if query == "bad":
        raise OSError("no answer")
    return [float("nan") if query == "nan" else float(len(text) + len(query)) for text in texts]


class Together:
    """The same scorer with a way to score many, which may be broken."""

    def __init__(self, many: Callable[..., Any]) -> None:
        self.asked: list[str] = []
        self._many = many

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        return alone(query, texts)

    def score_many(self, questions: Any) -> Any:
        self.asked = [query for query, _ in questions]
        return self._many([alone(query, texts) if query != "bad" else None for query, texts in questions])


def raising(error: Exception) -> Callable[..., Any]:
    """Return a function that raises."""

    def call(found: Any) -> Any:
        raise error

    return call


MANY: dict[str, Callable[..., Any]] = {
    "whole": lambda found: found,
    "lazy": iter,
    "one too few": lambda found: found[1:],
    "one too many": lambda found: [*found, [1.0]],
    "nothing": lambda found: None,
    "a number": lambda found: 1.0,
    "fails": raising(RuntimeError("out of memory")),
}


@pytest.mark.parametrize("loads", [False, True])
@pytest.mark.parametrize("many", MANY.values(), ids=MANY)
def test_a_row_gets_what_it_gets_alone(many: Callable[..., Any], loads: bool) -> None:
    """Also where there is nothing to load, and where what came back cannot be told apart."""
    scorer = Together(many)
    if loads:
        scorer.load = lambda: None  # type: ignore[attr-defined]
    placed, wanted = PlaceBatch(rerank=scorer, top_n=2)(BATCH), PlaceBatch(rerank=alone, top_n=2)(BATCH)
    assert scorer.asked == ["a", "bad", "b", "nan", "?"]
    assert placed["kept"] == wanted["kept"]
    assert [bool(error) for error in placed["error"]] == [bool(error) for error in wanted["error"]]
    assert [at for at, error in enumerate(wanted["error"]) if not error] == [0, 6, 8]


def test_failures_that_may_be_are_told_row_by_row() -> None:
    """In `reason`, of these rows only."""
    placed = []
    for scorer in (Together(MANY["fails"]), alone):
        with pytest.warns(EdgeOrderWarning) as told:
            placed.append(PlaceBatch(rerank=Rerank(scorer, on_error="input_order"))(BATCH))
        found = [str(one.message)[:42] for one in told]
        assert found == [f"row {at} of a batch: rerank failed, the order" for at in (1, 7)]
    together, wanted = ({name: own for name, own in one.items() if name != "reason"} for one in placed)
    assert together == wanted
    assert [at for at, reason in enumerate(placed[0]["reason"]) if reason and "rerank failed" in reason] == [1, 7]


def test_what_a_scorer_warned_of_is_told_where_it_cannot_be_loaded() -> None:
    """It may say why."""

    class Broken:
        def load(self) -> None:
            warn("the device is busy")
            raise RerankError("cannot be loaded")

        def score_many(self, questions: Any) -> Any:
            raise AssertionError

        __call__ = score_many

    with (
        pytest.warns(EdgeOrderWarning, match="^the device is busy$") as told,
        pytest.raises(RerankError, match="cannot be loaded"),
    ):
        PlaceBatch(rerank=Broken())({"query": ["a"], "chunks": [["A", "B"]]})
    assert len(told) == 1


def test_a_scorer_that_can_only_be_awaited_is_refused() -> None:
    """At once, also as the second of a cascade: it would fail every row."""

    async def scorer(query: str, texts: list[str]) -> list[float]:
        return [0.0 for _ in texts]

    class Asked:
        async def __call__(self, query: str, texts: list[str]) -> list[float]:
            return [0.0 for _ in texts]

    async def llm(prompt: str) -> str:
        return prompt

    for one in (scorer, Asked(), partial(scorer), Rerank([alone, scorer], keep=2), EvidenceRanker(llm)):
        with pytest.raises(TypeError, match=r"scorer .* is async, and batches are placed without an event loop"):
            PlaceBatch(rerank=one)


def test_a_row_that_fills_the_device_fails_alone(tmp_path: Path) -> None:
    """The model is not left alone for the rows after it, in its batch and in the next ones, as a server leaves it."""

    class Small:
        def predict(self, pairs: Any, **more: Any) -> list[float]:
            if any("huge" in text for _, text in pairs):
                raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
            return [float(len(text)) for _, text in pairs]

    scorer = CrossEncoderScorer(Small())
    texts = [["huge", "x"] if at == 3 else ["x", f"word {at}"] for at in range(9)]
    pq.write_table(pa.table({"query": ["q"] * 9, "chunks": texts}), tmp_path / "t.parquet")
    for rows in (1, 2, 9):
        place_table(tmp_path / "t.parquet", tmp_path / f"{rows}", PlaceBatch(rerank=scorer), batch_rows=rows)
        placed = pq.read_table(tmp_path / f"{rows}").to_pylist()
        assert [row["kept"] for row in placed] == [None if at == 3 else [1, 0] for at in range(9)]
        assert "CUDA out of memory" in placed[3]["error"]
    labelled = [Row("q", [*map(Chunk, own)], None, {"gold": "x"}) for own in texts]
    kinds = [row.finding.kind for row in audit_rows(labelled, {"rerank": scorer}).rows]
    assert [at for at, kind in enumerate(kinds) if kind == "unknown"] == [3]


def test_a_row_that_takes_too_long_fails_alone() -> None:
    """The next ones wait for what still runs, as long as a row may take, and no longer: some never end."""
    ended = Event()

    def scorer(query: str, texts: list[str]) -> list[float]:
        if query != "a":
            ended.wait(0.7 if query == "slow" else 30)
        return [float(len(text)) for text in texts]

    place_batch = PlaceBatch(rerank=Rerank(scorer, timeout=0.5))
    rows = {"query": ["a", "slow", "a", "a"], "chunks": [["x", "long"]] * 4}
    assert place_batch(rows)["kept"] == [[1, 0], None, [1, 0], [1, 0]]
    labelled = [Row(query, [Chunk("x"), Chunk("long")], None, {"gold": "x"}) for query in rows["query"]]
    kinds = [row.finding.kind for row in audit_rows(labelled, {"rerank": Rerank(scorer, timeout=0.5)}).rows]
    assert [kind == "unknown" for kind in kinds] == [False, True, False, False]
    began = monotonic()
    found = place_batch({"query": ["never", "a"], "chunks": [["x", "long"]] * 2})
    ended.set()
    assert found["kept"] == [None, None]
    assert "it still runs, for a call that was given up" in found["error"][1]
    assert monotonic() - began < 20
