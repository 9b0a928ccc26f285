"""A real model ranks real passages: Gemma 3 270M by llama.cpp, held to the form of the reply by a grammar.

It is far too small to rank well. What counts is that its reply is taken for what it is, and that the record says so.
"""

import json
from collections.abc import Callable

import pytest

pytest.importorskip("xllamacpp", reason="needs the extra 'local'")

import xllamacpp

from edgeorder.probe.local import model_file
from edgeorder.ranker.dimensions import DIMENSIONS
from edgeorder.ranker.prompt import schema_for
from edgeorder.rerank import EvidenceRanker, RankingRecord

QUERY = "What may a hotel in a listed city cost per night?"
PASSAGES = [
    ("trains", "Trains run daily between the two cities, and every hour in summer."),
    ("hotel", "A hotel in a listed city may cost up to 120 euros a night."),
]


@pytest.fixture(scope="module")
def model() -> Callable[[str, int], str]:
    """Return what continues a prompt, with JSON of the reply's form, by so many tokens."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.n_ctx = 2048
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_gpu_layers = 0
    params.warmup = False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    schema = schema_for(DIMENSIONS, ["p01", "p02"])
    for field, most in (("ranked_passages", 2), ("unranked_passages", 0), ("contradictions", 0)):
        schema["properties"][field]["maxItems"] = most
    grammar = xllamacpp.json_schema_to_grammar(json.dumps(schema))

    def model(prompt: str, most: int) -> str:
        asked = {"prompt": f"{prompt}\n", "max_tokens": most, "temperature": 0, "grammar": grammar}
        return str(server.handle_completions(asked)["choices"][0]["text"])

    return model


@pytest.mark.parametrize("most", [300, 24])
def test_a_real_reply_is_used_or_replaced(model: Callable[[str, int], str], most: int) -> None:
    """Whole, it is valid or it is not; cut off, the fallback orders the passages. The record says which."""
    records: list[RankingRecord] = []
    ranker = EvidenceRanker(lambda prompt: model(prompt, most), recorders=[records.append])
    ranking = ranker.rank(QUERY, PASSAGES)
    assert sorted(ranking.indices) == [0, 1]
    (record,) = records
    assert (record.status, record.fallback) == (ranking.status, ranking.fallback)
    if ranking.status == "fallback":
        assert ranking.fallback == "BM25"
        assert all(attempt.errors for attempt in ranking.attempts)
    else:
        assert all(1 <= value <= 10 for one in ranking.ranked for value in one.values.values())
        assert ranking.attempts[-1].errors == () or ranking.status == "partial"
    if most == 24:
        assert all(attempt.cut for attempt in ranking.attempts)
        assert ranking.decision == "review"
