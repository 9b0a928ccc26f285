"""A query that no text has a word of: the record says so."""

import pytest

from edgeorder import Budget, Chunk, place
from edgeorder.rerank import LexicalScorer
from edgeorder.scorers.lexical import NOTHING_SHARED

CHUNKS = [Chunk("Trains run daily. Nobody knows why."), Chunk("The limit is nine euros. It is low.")]


@pytest.mark.filterwarnings("ignore:.*same score:edgeorder.EdgeOrderWarning")
def test_the_record_says_that_nothing_is_shared() -> None:
    """Also in compression, whose parts nobody could tell apart; and not where a word is shared."""
    assert NOTHING_SHARED in place(CHUNKS, query="Zebra?", rerank=LexicalScorer()).record.notes
    assert NOTHING_SHARED not in place(CHUNKS, query="Which trains?", rerank=LexicalScorer()).record.notes
    squeezed = place(CHUNKS, query="Zebra?", budget=Budget(12, lambda text: len(text.split()), "compress"))
    assert any("no part of a chunk was judged better" in note for note in squeezed.record.notes)
