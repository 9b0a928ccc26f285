"""A real rerank server: llama.cpp's, on loopback, with a small model that was never taught to rank.

So its scores mean nothing; what is tested is the wire, in both forms that it speaks.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("xllamacpp", reason="needs the extra 'local'")

from edgeorder import Chunk, place
from edgeorder.probe.local import model_file
from edgeorder.rerank import HttpScorer

TEXTS = ["the refund takes five days", "trains run daily", "a hotel costs 120 a night"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Return the address of the server."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK
    params.n_ctx = 2048
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_gpu_layers = 0
    params.warmup = False
    params.verbosity = 0
    server: Any = xllamacpp.Server(params)
    HttpScorer(server.listening_address)("q", ["a"])  # a server that is freed before its first request never ends
    yield server.listening_address
    del server


def test_its_scores_come_home(address: str) -> None:
    """Both faces, both forms, and the whole placement, agree on the scores, in the order of the texts."""
    scorer = HttpScorer(address)
    scores = scorer("refund", TEXTS).scores
    assert len(set(scores)) == 3
    close = pytest.approx(scores, abs=1e-3)
    assert asyncio.run(scorer.acall("refund", TEXTS[::-1])).scores == pytest.approx(scores[::-1], abs=1e-3)
    assert HttpScorer(f"{address}/rerank", dialect="tei")("refund", TEXTS).scores == close
    assert HttpScorer(f"{address}/v1", "any", dialect="llama.cpp", batch_size=2)("refund", TEXTS).scores == close
    record = place([Chunk(text) for text in TEXTS], query="refund", rerank=scorer).record
    assert [chunk.rerank_score for chunk in record.chunks] == close
    assert record.scorer == f"HttpScorer({address})"


def test_a_cut_reply_leaves_one_unscored(address: str) -> None:
    """`top_n` as the server understands it."""
    found = HttpScorer(address, dialect="llama.cpp", options={"top_n": 2})("refund", TEXTS)
    assert found.scores.count(None) == 1
    assert found.notes == [f"HttpScorer({address}) scored 2 of 3 texts"]
