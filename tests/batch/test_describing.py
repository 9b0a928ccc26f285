"""What a run that goes on knows of its settings: the same in another process, other where a value would be."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edgeorder import Budget, Layout
from edgeorder.batch import PlaceBatch, place_table
from edgeorder.batch.describing import described


class Weighted:
    """A scorer without a `repr`, which counts its calls and keeps what it saw."""

    def __init__(self, weight: float = 1.0, model: str = "small") -> None:
        self.weight, self.model = weight, model
        self.calls, self.seen = 0, list[str]()

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        self.calls += 1
        self.seen.append(query)
        return [self.weight * len(text) for text in texts]


def scaled(query: str, texts: list[str], by: float = 1.0) -> list[float]:
    """Prefer long texts."""
    return [by * len(text) for text in texts]


def made(by: float, calls: list[str]) -> Callable[[str, list[str]], list[float]]:
    """Return a scorer that is a closure."""

    def scorer(query: str, texts: list[str]) -> list[float]:
        calls.append(query)
        return [by * len(text) for text in texts]

    return scorer


@dataclass
class Keyed:
    """A scorer with a key that its `repr` shows."""

    api_key: str

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        return [float(len(text)) for text in texts]


def words(text: str) -> int:
    """Count words."""
    return len(text.split())


def told(**keywords: Any) -> str:
    """Return the settings of a `PlaceBatch` in words."""
    place_batch = PlaceBatch(**keywords)
    return described(repr(place_batch), place_batch.settings)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"top_n": 3}, {"top_n": 4}),
        ({"rerank": Weighted(1.0)}, {"rerank": Weighted(2.0)}),
        ({"rerank": Weighted(model="small")}, {"rerank": Weighted(model="large")}),
        ({"rerank": made(1.0, [])}, {"rerank": made(2.0, [])}),
        ({"rerank": partial(scaled, by=1.0)}, {"rerank": partial(scaled, by=2.0)}),
        ({"order": lambda n: list(range(n))}, {"order": lambda n: list(range(n))[::-1]}),
        ({"rank_by": lambda chunk: chunk.page}, {"rank_by": lambda chunk: chunk.score}),
        ({"budget": Budget(9, counter=words)}, {"budget": Budget(9, counter=len)}),
        (
            {"budget": Budget(9, counter=lambda text: len(text))},
            {"budget": Budget(9, counter=lambda text: 2 * len(text))},
        ),
        ({"layout": Layout("plain", separator="|")}, {"layout": Layout("plain", separator="/")}),
    ],
)
def test_other_settings_are_told_apart(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Also where their names are the same: the code of a function, an attribute, what a closure holds."""
    assert told(**one) != told(**other)
    assert told(**one) == told(**one)


def test_a_scorer_that_worked_is_the_same_scorer() -> None:
    """Its counts and what it saw are no settings."""
    calls: list[str] = []
    for scorer in (Weighted(), made(1.0, calls)):
        before = told(rerank=scorer)
        scorer("a question", ["a text"])
        assert told(rerank=scorer) == before


def test_another_process_says_the_same() -> None:
    """Addresses and the seeds of hashes differ there."""
    code = (
        "from test_describing import *; "
        "print(told(rerank=Weighted(), order=lambda n: [at for at in range(n) if at in {'a', 'b', 3} or 1]))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout != ""


def test_no_secret_is_written(tmp_path: Path) -> None:
    """What a run keeps of its settings lies beside the parts; another key is another setting all the same."""
    keyed = told(rerank=Keyed("sk-12345678901234567890"))
    assert "1234" not in keyed
    assert "Keyed(api_key='***')" in keyed
    assert keyed != told(rerank=Keyed("sk-09876543210987654321"))
    pq.write_table(pa.table({"chunks": [["A"]], "query": ["q"]}), tmp_path / "in.parquet")
    place_table(tmp_path / "in.parquet", tmp_path / "out", PlaceBatch(rerank=Keyed("sk-12345678901234567890")))
    assert "1234" not in (tmp_path / "out" / "_edgeorder.json").read_text()
