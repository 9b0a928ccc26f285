"""Models and constraints of others, as the ranker meets them."""

import asyncio
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeorder import RerankError
from edgeorder.ranker.constraints import constrained
from edgeorder.rerank import (
    EvidenceRanker,
    HttpScorer,
    OnnxCrossEncoderScorer,
    Passage,
    RankingRecord,
    Thresholds,
    prefer,
    ranking_cases,
    read_rankings,
    recency,
)

TEXTS = ["Refunds take three days.", "Trains run hourly."]
PASSAGES = [Passage(text) for text in TEXTS]
TOKENIZER = json.dumps(
    {"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}
)
NO_ANSWER = 20  # seconds, after which a test says that nobody answered


def exhausted(prompt: str) -> str:
    """Replay replies of which none is left."""
    none: Iterator[str] = iter(())
    return next(none)


async def cancelling(prompt: str) -> str:
    """Let the cancellation of own work escape."""
    raise asyncio.CancelledError


@pytest.mark.parametrize("llm", [exhausted, cancelling])
def test_a_model_that_raises_what_no_future_takes_leaves_the_fallback(llm: Any) -> None:
    """The caller neither waits for ever nor is told that somebody cancelled it."""
    ranking = asyncio.run(
        asyncio.wait_for(EvidenceRanker(llm, fallback="input_order").arank("refunds?", TEXTS), NO_ANSWER)
    )
    assert (ranking.status, ranking.indices) == ("fallback", (0, 1))
    assert len(ranking.attempts) == 2
    assert all("the model failed with RuntimeError" in one.errors[0] for one in ranking.attempts)


@pytest.mark.parametrize("odd", [float("nan"), "0.5", float("-inf"), np.nan])
def test_a_constraint_that_gives_no_score_is_named(odd: Any) -> None:
    """A NaN would leave the order to chance."""

    def mine(passages: Any, scores: Any) -> Any:
        return [odd, 0.3]

    with pytest.raises(ValueError, match=r"mine gave .*, which is no score"):
        constrained([mine], PASSAGES, [0.2, 0.5])
    assert constrained([lambda passages, scores: np.array([0.1, 0.9])], PASSAGES, [0.2, 0.5]).order == [1, 0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: EvidenceRanker(len, review_below="0.5"),
            TypeError,
            "review_below must be a number in 0..1, not '0.5'",
        ),
        (lambda: prefer(weight=None, a=1), TypeError, r"prefer\(weight\) must be a number"),  # type: ignore[arg-type]
        (lambda: recency("30"), TypeError, "must be a number of days, not '30'"),  # type: ignore[arg-type]
        (lambda: Thresholds(high="8"), TypeError, "Thresholds.high must be a number, not '8'"),  # type: ignore[arg-type]
        (lambda: HttpScorer(None), TypeError, "base_url must be text, not None"),  # type: ignore[arg-type]
        (lambda: HttpScorer("http://host", timeout=10**400), ValueError, r"timeout=1000.* must be a positive number"),
        (lambda: HttpScorer("http://host", options={"top_n": np.float32(1)}), TypeError, "options must be fields of"),
        (lambda: HttpScorer("http://host", options={"top_n": float("nan")}), TypeError, "options must be fields of"),
        (lambda: HttpScorer("http://host", options={1: 2}), TypeError, "options must be fields of"),  # type: ignore[dict-item]
        (lambda: HttpScorer("http://host", options=None), TypeError, "options must be fields of"),  # type: ignore[arg-type]
    ],
)
def test_an_odd_setting_is_named_where_it_is_made(make: Any, error: type[Exception], message: str) -> None:
    """Not at the first call, and not by a comparison of types."""
    with pytest.raises(error, match=message):
        make()


def test_a_line_end_is_no_part_of_an_address() -> None:
    """Settings that are read from a file bring one along."""
    assert HttpScorer("http://host/v1\n") == HttpScorer("http://host/v1")


def ranking_line(**changes: Any) -> str:
    """Return the line of a ranking of two passages, with some fields of other values."""
    record = RankingRecord("q", ({"id": "a"}, {"id": "b"}), ({"index": 1},), (0,), "ok", "proceed")
    return json.dumps({**record.to_dict(), **changes}, ensure_ascii=False) + "\n"


def test_rankings_are_read_as_any_log_is(tmp_path: Path) -> None:
    """Packed, with a mark at its head, with line ends that only text has, and with lines that were never finished."""
    path = tmp_path / "log.jsonl"
    data = ("\ufeff" + ranking_line(notes=["a\u2028b\x0bc"]) + '{"kind": "ranking", "que\n' + ranking_line()).encode()
    for content in (data, gzip.compress(data)):
        path.write_bytes(content)
        assert [one.notes for one in read_rankings(path)] == [("a\u2028b\x0bc",), ()]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 9}, "version 9 of the form, and 1 is known; upgrade"),
        ({"passages": [{}, {}]}, "passages must be objects with id"),
        ({"ranked": [{"index": 7}]}, "not each ranked or unranked, once"),
        ({"unranked": [1]}, "not each ranked or unranked, once"),
        ({"attempts": [{}]}, "attempts must be objects with errors"),
        ({"correction": 5}, "correction cannot be"),
        ({"query": 5}, "query and correction"),
    ],
)
def test_a_ranking_of_odd_values_is_named(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    """Where it is read, and not where somebody works with it."""
    path = tmp_path / "log.jsonl"
    path.write_text(ranking_line(**changes))
    with pytest.raises(ValueError, match=f"line 1 of the log is no ranking: .*{said}"):
        read_rankings(path)


@pytest.mark.parametrize("correction", [{"a": None}, {"a": "good"}, {"a": 1.5}, {"a": 1e999}, {"z": 1}, [["a"]]])
def test_a_correction_that_is_none_is_named(tmp_path: Path, correction: Any) -> None:
    """By the question of its ranking."""
    path = tmp_path / "log.jsonl"
    path.write_text(ranking_line(correction=correction))
    with pytest.raises(ValueError, match="the correction of the ranking for 'q' is none"):
        ranking_cases(path)


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"tokenizer.json": "{", "onnx/model.onnx": "x"}, "tokenizer.json"),
        ({"tokenizer.json": TOKENIZER, "onnx/model.onnx": "<html>"}, "model.onnx"),
        ({"tokenizer.json": TOKENIZER, "onnx/model.onnx": "x", "config.json": "[1]"}, "config.json"),
    ],
)
def test_a_model_whose_download_was_cut_off_names_the_file(tmp_path: Path, files: dict[str, str], named: str) -> None:
    """The libraries say what they expected, and not where."""
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    with pytest.raises(RerankError, match=f"{named} is damaged"):
        OnnxCrossEncoderScorer(str(tmp_path), precision="fp32")("q", ["a"])
