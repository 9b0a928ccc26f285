"""`overflow="compress"`: sentences of the weaker chunks leave so that more chunks fit, and it shows."""

import gzip
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import (
    Budget,
    BudgetError,
    Chunk,
    EdgeOrderWarning,
    Layout,
    Placement,
    Prompt,
    Rerank,
    RerankError,
    aplace,
    place,
    tiktoken_counter,
)
from edgeorder.compression import MARK, elided, sentence_spans
from edgeorder.rendering import split_block

NQ = next(
    (
        path
        for parent in Path(__file__).parents
        if (path := parent / "shared" / "data" / "nq-retrieved.jsonl.gz").is_file()
    ),
    None,
)


def words(text: str) -> int:
    """Count white-space separated words."""
    return len(text.split())


def crc(query: str, texts: Sequence[str]) -> list[float]:
    """Score by a checksum, below zero as the raw scores of cross-encoders often are."""
    return [-1.0 - crc32(text.strip().encode()) % 1000 for text in texts]


async def crc_later(query: str, texts: Sequence[str]) -> list[float]:
    """Score as `crc` does, async."""
    return crc(query, texts)


def by_query(query: str, texts: Sequence[str]) -> list[float]:
    """Score whole chunks in the order they have, and sentences by how often the query occurs, earlier ones first."""
    return [
        (-number if words(text) > 5 else 10.0 * text.count(query)) - number / 1000 for number, text in enumerate(texts)
    ]


def body(name: str, sentences: int = 8) -> str:
    """Return a body of sentences of four words each."""
    return " ".join(f"{name} says number{chr(97 + number)} here." for number in range(sentences))


def uniform(n: int) -> list[Chunk]:
    """Return chunks that differ in name only."""
    return [Chunk(body(f"Chunk{chr(97 + number)}")) for number in range(n)]


def kept_words(placement: Placement, chunks: Sequence[Chunk]) -> list[int]:
    """Return how many words of each chunk are left, by input index; 0 for a dropped one."""
    return [
        words(placement.texts.get(index, chunk.text).replace(MARK, "")) if index in placement.indices else 0
        for index, chunk in enumerate(chunks)
    ]


def test_compress_by_hand() -> None:
    """The best two stay whole; of the others the first and the best sentences stay, and marks stand in the gaps."""
    texts = [
        "One is red. Two is tan.",
        "Three is old. Four is new.",
        "Five is big. Six is dim. Seven is gold. Eight is raw.",
    ]
    placement = place(
        [Chunk(text) for text in texts],
        query="gold",
        rerank=by_query,
        budget=Budget(12 + 8, words, "compress"),
        order="relevance",
    )
    left = f"Five is big. {MARK} Seven is gold. {MARK}"
    assert placement.block.text == f"{texts[0]}\n\n{texts[1]}\n\n{left}"
    assert placement.texts == {2: left}
    assert placement.elisions == {2: [(13, 25), (40, 53)]}
    assert placement.tokens == 20
    assert [chunk.elided for chunk in placement.record.chunks] == [0, 0, 12 + 13]
    assert [chunk.tokens for chunk in placement.record.chunks] == [6, 6, 12]


@pytest.mark.parametrize(
    ("stay", "text", "gone"),
    [
        ([0, 1, 2, 3], "One. Two. Three. Four.", []),
        ([0], "One. […]", [(5, 22)]),
        ([3], "[…] Four.", [(0, 17)]),
        ([1, 3], "[…] Two. […] Four.", [(0, 5), (10, 17)]),
        ([0, 3], "One. […] Four.", [(5, 17)]),
    ],
)
def test_a_mark_stands_where_something_left(stay: list[int], text: str, gone: list[tuple[int, int]]) -> None:
    """Neighbouring sentences that leave share one mark; the spans are those of the body."""
    assert elided("One. Two. Three. Four.", [(0, 5), (5, 10), (10, 17), (17, 22)], stay) == (text, gone)


SENTENCES = st.sampled_from(
    [
        *("One two three. ", "He is Mr. Smith. ", "Is it? ", "No!\n\n", "[2] Official. ", "\n[3] Fake.\n"),
        *(
            "</document> ",
            "Question: why?\n",
            "\n\n",
            "   ",
            "\u2028x. ",
            "\ud800 y. ",
            "日本語。",
            "a b c d e f. ",
        ),
    ]
)
BODIES = st.lists(st.lists(SENTENCES, max_size=8).map("".join), max_size=7)


@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
@settings(max_examples=120, deadline=None)
@given(
    bodies=BODIES,
    tokens=st.integers(5, 150),
    style=st.sampled_from(["numbered", "xml"]),
    counter=st.sampled_from([words, len, None]),
    echo=st.integers(0, 2),
    prompt=st.sampled_from([None, Prompt("both", "weak_slots")]),
)
def test_compression_is_extractive_and_fits(
    bodies: list[str], tokens: int, style: Any, counter: Any, echo: int, prompt: Prompt | None
) -> None:
    """What stays is whole sentences of the body in its order; what left is recorded; the sent text fits."""
    chunks = [Chunk(text) for text in bodies]
    count = counter or tiktoken_counter("o200k_base")
    tokens = tokens * 4 if counter is len else tokens + 10
    try:
        placement = place(
            chunks,
            query="Why?",
            budget=Budget(tokens, counter, "compress"),
            rerank=Rerank(crc),
            layout=Layout(style, echo=echo),
            prompt=prompt,
            reading="off",
        )
    except BudgetError:
        assert prompt is not None
        assert count(prompt.around("", "Why?", ())) >= tokens
        return
    if placement.text:
        assert count(placement.text) <= tokens
    dropped = [drop.index for drop in placement.dropped]
    assert sorted([*placement.indices, *dropped]) == list(range(len(chunks)))
    assert placement.texts.keys() == placement.elisions.keys() <= set(placement.indices)
    best = {index for index, rank in zip(placement.indices, placement.ranks, strict=True) if rank <= 2}
    assert not best & placement.texts.keys()
    for index, text in placement.texts.items():
        whole, gone = bodies[index], placement.elisions[index]
        edges = {edge for span in sentence_spans(whole) for edge in span}
        assert {edge for span in gone for edge in span} <= edges
        stops = [0, *(stop for _, stop in gone)]
        starts = [*(start for start, _ in gone), len(whole)]
        left = [whole[stop:start] for stop, start in zip(stops, starts, strict=True)]
        assert " ".join(left).split() == text.replace(MARK, " ").split()
        assert " ".join(left).split()
        assert text.count(MARK) == len(gone) > 0
        record = placement.record.chunks[index]
        assert (record.shortened, record.elided) == (True, sum(stop - start for start, stop in gone))
    pairs = dict(split_block(placement.block.text, style))
    assert pairs == {placement.block.numbers[i]: placement.texts.get(i, bodies[i]) for i in placement.indices}


@given(text=st.lists(SENTENCES | st.text(max_size=5), max_size=10).map("".join))
@settings(max_examples=120, deadline=None)
def test_sentences_cover_the_body(text: str) -> None:
    """The spans are neighbours from the first character to the last."""
    spans = sentence_spans(text)
    assert [start for start, _ in spans] == [0, *(stop for _, stop in spans)][: len(spans)]
    assert (spans[-1][1] if spans else 0) == len(text)
    assert all(start < stop for start, stop in spans)


@pytest.mark.parametrize("tokens", range(70, 200, 7))
def test_weaker_ranks_shrink_more(tokens: int) -> None:
    """Among alike chunks none keeps fewer words than one that ranks below it, and the best two keep all."""
    chunks = uniform(6)
    placement = place(chunks, query="nothing", rerank=_flat, budget=Budget(tokens, words, "compress"), reading="off")
    left = kept_words(placement, chunks)
    assert left == sorted(left, reverse=True)
    assert left[:2] == [32, 32]
    assert sum(left) + placement.block.text.count(MARK) == words(placement.block.text) <= tokens


def _flat(query: str, texts: Sequence[str]) -> list[float]:
    return [-float(number) for number in range(len(texts))]


def test_more_chunks_stay_than_when_whole_ones_are_dropped() -> None:
    """Where `skip` keeps three of six, every chunk has something left."""
    chunks = uniform(6)
    by_skip = place(chunks, budget=Budget(110, words))
    placement = place(chunks, query="x", rerank=_flat, budget=Budget(110, words, "compress"))
    assert (len(by_skip), len(placement)) == (3, 6)


def test_what_fits_is_left_alone() -> None:
    """Nothing is scored or shortened when everything fits."""

    def never(query: str, texts: Sequence[str]) -> list[float]:
        assert len(texts) == 3, "sentences were scored"
        return [3.0, 2.0, 1.0]

    placement = place(uniform(3), query="x", rerank=never, budget=Budget(96, words, "compress"))
    assert (placement.texts, placement.elisions, placement.tokens) == ({}, {}, 96)


def test_the_scorer_decides_which_sentences_stay() -> None:
    """The sentence that scores best is the last to go; without a scorer, BM25 finds the words of the query."""
    chunks = [*uniform(2), Chunk(body("Weak", 6) + " The zebra is striped. " + body("Weaker", 6))]
    for scorer in (by_query, None):
        budget = Budget(64 + 14, words, "compress")
        placement = place(chunks, query="zebra", rerank=scorer, budget=budget, reading="off")
        assert placement.ranks == (1, 2, 3)
        assert "The zebra is striped." in placement.texts[2]
        assert "Weak says numbera here." in placement.texts[2]


def test_a_blank_beginning_is_no_sentence() -> None:
    """Blank lines before the first sentence have no score, and never stay alone for want of room for a sentence."""
    chunks = [*uniform(2), Chunk("\n\n  " + body("Third", 4))]
    settings_: dict[str, Any] = {"query": "x", "rerank": _flat, "reading": "off", "order": "relevance"}
    roomy = place(chunks, budget=Budget(64 + 6, words, "compress"), **settings_)
    assert roomy.texts[2].split() == ["Third", "says", "numbera", "here.", MARK]
    assert place(chunks, budget=Budget(64 + 3, words, "compress"), **settings_).indices == (0, 1)


@pytest.mark.parametrize("at", [0, 1])
def test_a_chunk_of_many_times_the_room_does_not_hide_the_others(at: int) -> None:
    """One of the best two that is far too long is dropped; the chunks below it still have their turn."""
    chunks = uniform(4)
    chunks[at] = Chunk(body("Giant", 26) * 20)
    placement = place(chunks, query="x", rerank=_flat, budget=Budget(80, words, "compress"), reading="off")
    assert set(placement.indices) == {0, 1, 2, 3} - {at}
    assert words(placement.block.text) <= 80


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_chunk_without_text_does_no_harm(text: str, at: int) -> None:
    """Empty chunks among those that shrink are kept or dropped like any other."""
    chunks = [*uniform(4)]
    chunks[at] = Chunk(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOrderWarning)
        placement = place(chunks, query="x", budget=Budget(70, words, "compress"), layout="numbered", reading="off")
    assert words(placement.block.text) <= 70
    assert len(placement) + len(placement.dropped) == 4


def test_an_echo_does_not_push_out_the_second_best() -> None:
    """The best two stand in the block as they are; an echo of the best has what room is left."""
    chunks = [Chunk("w " * 10), Chunk("v " * 12), Chunk("u " * 9)]
    budget = Budget(30, words, "compress")
    placement = place(chunks, query="v", rerank=_flat, budget=budget, layout=Layout(echo=1), order="relevance")
    assert set(placement.indices) >= {0, 1}


def test_the_tags_around_the_block_do_not_cost_a_chunk() -> None:
    """Where the parts fit and the outermost tags do not, the weakest chunk shrinks instead of leaving."""
    chunks = uniform(4)
    exact = place(chunks, budget=Budget(999, words), layout="xml").tokens
    assert exact is not None
    placement = place(chunks, query="x", rerank=_flat, budget=Budget(exact - 1, words, "compress"), layout="xml")
    assert len(placement) == 4
    assert set(placement.texts) == {3}


@pytest.mark.parametrize("scorer", [crc, crc_later])
async def test_async_compresses_the_same(scorer: Any) -> None:
    """A sync or async scorer scores sentences through `aplace` too, with the result of the sync call."""
    chunks = uniform(7)
    budget = Budget(140, words, "compress")
    expected = place(chunks, query="x", rerank=crc, budget=budget, layout="numbered", reading="off")
    found = await aplace(chunks, query="x", rerank=scorer, budget=budget, layout="numbered", reading="off")
    assert expected.texts
    assert (found.texts, found.elisions, found.block.text) == (
        expected.texts,
        expected.elisions,
        expected.block.text,
    )


async def test_bm25_async_is_bm25_sync() -> None:
    """Without a scorer both twins keep the same sentences."""
    chunks = uniform(7)
    budget = Budget(140, words, "compress")
    found = await aplace(chunks, query="numberc", budget=budget)
    assert found.texts == place(chunks, query="numberc", budget=budget).texts != {}


@pytest.mark.parametrize("query", [None, ""])
async def test_compression_needs_the_question(query: str | None) -> None:
    """Without a query there is nothing to judge sentences by, and the error says how to give it."""
    with pytest.raises(ValueError, match=r"overflow='compress' .*give query="):
        place(uniform(3), query=query, budget=Budget(40, words, "compress"))
    with pytest.raises(ValueError, match=r"overflow='compress' .*give query="):
        await aplace(uniform(3), query=query, budget=Budget(40, words, "compress"))


def _broken(query: str, texts: Sequence[str]) -> list[float]:
    if len(texts) == 5:
        return [5.0, 4.0, 3.0, 2.0, 1.0]
    raise OSError("no sentences today")


async def test_a_scorer_that_fails_keeps_the_first_sentences() -> None:
    """With `on_error="input_order"` a warning says so and the first sentences stay; otherwise it is an error."""
    settings_: dict[str, Any] = {"query": "x", "budget": Budget(90, words, "compress"), "order": "relevance"}
    lenient = Rerank(_broken, on_error="input_order")
    with pytest.warns(EdgeOrderWarning, match="no sentences today"):
        placement = place(uniform(5), rerank=lenient, **settings_)
    assert placement.texts
    for index, text in placement.texts.items():
        kept = text.removesuffix(f" {MARK}")
        assert text != kept
        assert uniform(5)[index].text.startswith(kept)
    with pytest.warns(EdgeOrderWarning, match="no sentences today"):
        assert (await aplace(uniform(5), rerank=lenient, **settings_)).texts == placement.texts
    with pytest.raises(RerankError, match="no sentences today"):
        place(uniform(5), rerank=_broken, **settings_)
    with pytest.raises(RerankError, match="no sentences today"):
        await aplace(uniform(5), rerank=_broken, **settings_)


def test_sentences_without_words_of_the_question_are_no_reason_to_warn() -> None:
    """Weak chunks often share no word with the question: all sentences score 0, and that is as it should be."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        placement = place(uniform(5), query="zebra", budget=Budget(90, words, "compress"))
    assert placement.texts


@pytest.mark.skipif(NQ is None, reason="the shared data is not here")
@pytest.mark.parametrize("tokens", [500, 1000, 1500])
@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
def test_the_answer_survives_at_least_as_often_as_when_whole_chunks_are_dropped(tokens: int) -> None:
    """On real questions with 20 retrieved chunks, the gold chunk still holds the answer in no fewer cases."""
    assert NQ is not None
    with gzip.open(NQ, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    by_skip, by_compress = (sum(_survives(row, tokens, how) for row in rows) for how in ("skip", "compress"))
    print(f"{tokens} tokens, {len(rows)} questions: the answer survives skip {by_skip}, compress {by_compress}")
    assert by_compress >= by_skip > 0


def _survives(row: dict[str, Any], tokens: int, overflow: Any) -> bool:
    chunks = [Chunk(chunk["text"], title=chunk["title"]) for chunk in row["chunks"]]
    gold = next(index for index, chunk in enumerate(row["chunks"]) if chunk["gold"])
    placement = place(
        chunks, query=row["question"], budget=Budget(tokens, overflow=overflow), layout="numbered", reading="off"
    )
    assert placement.tokens is not None
    assert placement.tokens <= tokens
    text = placement.texts.get(gold, chunks[gold].text) if gold in placement.indices else ""
    return any(answer.casefold() in text.casefold() for answer in row["answers"])
