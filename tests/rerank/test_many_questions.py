"""Scoring the pairs of many questions together: full batches, and the scores of each question alone."""

import random
from pathlib import Path
from typing import Any

import pytest
from material import passage

from edgeorder import Budget, EdgeOrderWarning, Rerank, place
from edgeorder.batch import PlaceBatch
from edgeorder.chunk import Chunk
from edgeorder.rerank import CrossEncoderScorer, OnnxCrossEncoderScorer
from edgeorder.scorers.pairs import PairScorer


def questions(n: int) -> dict[str, list[Any]]:
    """Return a table of questions whose chunks are of many lengths."""
    drawn = random.Random(3)
    return {
        "query": [f"what may a hotel cost in case {at}?" for at in range(n)],
        "chunks": [[passage(drawn.randint(2, 60), at * 100 + chunk) for chunk in range(1 + at % 7)] for at in range(n)],
    }


class Recording:
    """A model with `predict` that keeps what it was shown."""

    def __init__(self) -> None:
        self.calls: list[list[tuple[str, str]]] = []

    def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
        self.calls.append(list(pairs))
        if any("poison" in text for _, text in pairs):
            raise RuntimeError("poisoned")
        return [len(query) + len(text) / 7 for query, text in pairs]


def test_pairs_of_all_rows_go_to_the_model_at_once_longest_first() -> None:
    """One call for a batch; blank texts, rows without chunks and bad rows take no part."""
    model, table = Recording(), questions(8)
    table["chunks"][2] = []
    table["chunks"][3] = None
    table["chunks"][4] = [" ", "a text"]
    placed = PlaceBatch(rerank=model)(table)
    assert len(model.calls) == 1
    lengths = [len(query) + len(text) for query, text in model.calls[0]]
    assert lengths == sorted(lengths, reverse=True)
    assert len(lengths) == sum(len(row or ()) for row in table["chunks"]) - 1
    for at in (0, 1, 4, 5, 6, 7):
        alone = place(list(map(Chunk, table["chunks"][at])), query=table["query"][at], rerank=Recording())
        assert placed["kept"][at] == list(alone.indices)


def test_a_text_that_breaks_the_model_breaks_its_own_row_only() -> None:
    """Scoring together fails, so each row is scored alone."""
    model, table = Recording(), questions(5)
    table["chunks"][3] = ["fine", "poison"]
    placed = PlaceBatch(rerank=model)(table)
    assert [bool(error) for error in placed["error"]] == [False, False, False, True, False]
    assert "poisoned" in placed["error"][3]
    assert len(model.calls) == 1 + 5


def test_many_pairs_are_read_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokens of a whole table would fill the memory."""
    monkeypatch.setattr("edgeorder.scorers.pairs._AT_ONCE", 10)
    model, table = Recording(), questions(9)
    placed = PlaceBatch(rerank=model)(table)
    assert [len(call) for call in model.calls[:-1]] == [10] * (len(model.calls) - 1)
    monkeypatch.undo()
    assert placed == PlaceBatch(rerank=Recording())(table)


@pytest.mark.parametrize("kind", ["torch", "fp32", "int8"])
def test_a_question_gets_the_scores_that_it_gets_alone(kind: str, folder: Path, exported: Path) -> None:
    """Real models: what is quantized exactly, the others but for the rounding of sums."""
    scorer: PairScorer = (
        CrossEncoderScorer(str(folder), device="cpu")
        if kind == "torch"
        else OnnxCrossEncoderScorer(exported, precision="fp32" if kind == "fp32" else "int8")
    )
    table = questions(9)
    together = scorer.score_many(list(zip(table["query"], table["chunks"], strict=True)))
    for query, chunks, scores in zip(table["query"], table["chunks"], together, strict=True):
        assert scores == pytest.approx(scorer(query, chunks), abs=0 if kind == "int8" else 1e-4)
    placed = PlaceBatch(rerank=scorer, top_n=3)(table)
    for query, chunks, kept in zip(table["query"], table["chunks"], placed["kept"], strict=True):
        assert kept == list(place(list(map(Chunk, chunks)), query=query, rerank=scorer, top_n=3).indices)


def test_long_passages_are_cut_into_windows_here_too(folder: Path) -> None:
    """Each passage gets its best window, whatever else is scored."""
    scorer = CrossEncoderScorer(str(folder), device="cpu", max_length=32, long_passages="window")
    table = questions(4)
    together = scorer.score_many(list(zip(table["query"], table["chunks"], strict=True)))
    alone = [scorer(query, chunks) for query, chunks in zip(table["query"], table["chunks"], strict=True)]
    assert together == [pytest.approx(scores, abs=1e-4) for scores in alone]


def test_long_passages_are_told_once_a_batch(folder: Path) -> None:
    """As place tells them, for many rows in one line."""
    scorer = CrossEncoderScorer(str(folder), device="cpu", max_length=32)
    with pytest.warns(EdgeOrderWarning, match="passages are longer than the 32 tokens") as told:
        PlaceBatch(rerank=scorer)(questions(8))
    assert len(told) == 1


def test_sentences_that_are_left_out_are_scored_by_the_scorer_too() -> None:
    """Compression asks for other texts than those that were scored together."""
    model = Recording()
    sentences = (
        "One short sentence about hotels. Another one that is a little longer than it. And a last one about trains."
    )
    table = {"query": ["q"], "chunks": [[f"{'so ' * at}{sentences}" for at in range(5)]]}
    settings: dict[str, Any] = {"budget": Budget(400, len, "compress")}
    placed = PlaceBatch(rerank=Rerank(model), **settings)(table)
    assert len(model.calls) == 2
    alone = place(list(map(Chunk, table["chunks"][0])), query="q", rerank=Recording(), **settings)
    assert alone.texts
    assert placed["block"] == [alone.block.text]
