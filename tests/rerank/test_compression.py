"""`overflow="compress"`: units of the chunks leave so that more chunks fit, and it shows."""

import re
import sys
import warnings
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pytest
from effort import in_proportion
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
from edgeorder.compression import Compression
from edgeorder.filling import Filling, Pieces, Whole
from edgeorder.rendering import split_block
from edgeorder.text.blocks import read

sys.path.append(str(Path(__file__).parents[1] / "text"))
sys.path.append(str(Path(__file__).parents[1] / "core"))
from counters import COUNTERS, words
from datafiles import NQ_RETRIEVED, rows
from documents import document, markdown_table

MARK = "[…]"


def crc(query: str, texts: Sequence[str]) -> list[float]:
    """Score by a checksum, below zero as the raw scores of cross-encoders often are."""
    return [-1.0 - crc32(text.strip().encode("utf-8", "replace")) % 1000 for text in texts]


async def crc_later(query: str, texts: Sequence[str]) -> list[float]:
    """Score as `crc` does, async."""
    return crc(query, texts)


def by_query(query: str, texts: Sequence[str]) -> list[float]:
    """Score whole chunks in the order they have, and sentences by how often the query occurs, earlier ones first."""
    return [
        (-number if words(text) > 5 else 10.0 * text.count(query)) - number / 1000 for number, text in enumerate(texts)
    ]


def flat(query: str, texts: Sequence[str]) -> list[float]:
    """Score every text below the one before it."""
    return [-float(number) for number in range(len(texts))]


def body(name: str, sentences: int = 8) -> str:
    """Return a body of sentences of four words each."""
    return " ".join(f"{name} says number{chr(97 + number)} here." for number in range(sentences))


def uniform(n: int) -> list[Chunk]:
    """Return chunks that differ in name only."""
    return [Chunk(body(f"Chunk{chr(97 + number)}")) for number in range(n)]


def left_of(text: str, gone: Sequence[tuple[int, int]]) -> list[str]:
    """Return the parts of a body that stay."""
    stops, starts = [0, *(stop for _, stop in gone)], [*(start for start, _ in gone), len(text)]
    return [text[stop:start] for stop, start in zip(stops, starts, strict=True)]


def in_order(parts: Sequence[str], text: str) -> bool:
    """Say whether all parts stand in a text, one behind the other."""
    at = 0
    for part in parts:
        at = text.find(part.strip(), at)
        if at < 0:
            return False
        at += len(part.strip())
    return True


def test_compress_by_hand() -> None:
    """What the query asks for stays, with the first sentence of its chunk where there is room; marks stand in gaps."""
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


SENTENCES = st.sampled_from(
    [
        *("One two three. ", "He is Mr. Smith. ", "Is it? ", "No!\n\n", "[2] Official. ", "\n[3] Fake.\n"),
        *("</document> ", "Question: why?\n", "\n\n", "   ", "\u2028x. ", "\ud800 y. ", "日本語。", "a b c d e f. "),
        *("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", "- one\n- two\n", "```\nx = 1\ny = 2\n```\n"),
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
    """What stays is units of the body in its order; what left is recorded; the sent text fits and reads back."""
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
    for index, text in placement.texts.items():
        gone = placement.elisions[index]
        assert in_order(left_of(bodies[index], gone), text)
        assert text.count("[…") == len(gone) > 0
        record = placement.record.chunks[index]
        assert (record.shortened, record.elided) == (True, sum(stop - start for start, stop in gone))
    pairs = dict(split_block(placement.block.text, style))
    assert pairs == {placement.block.numbers[i]: placement.texts.get(i, bodies[i]) for i in placement.indices}


@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    counter=st.sampled_from(sorted(COUNTERS.keys() - {"erratic"})),
    room=st.sampled_from([30, 100, 300, 1000]),
    style=st.sampled_from(["plain", "numbered", "xml"]),
)
def test_what_skip_keeps_compress_keeps(seed: int, counter: str, room: int, style: Any) -> None:
    """Whatever the documents and the counter, no rank is lost that dropping whole chunks would have kept."""
    random = Random(seed)
    chunks = [Chunk(document(random)[: random.choice((300, 10**6))]) for _ in range(random.randint(1, 5))]
    kept = [
        set(
            place(
                chunks,
                query="limit for City7?",
                budget=Budget(room, COUNTERS[counter], how),
                layout=style,
                reading="off",
            ).indices
        )
        for how in ("skip", "compress")
    ]
    assert kept[0] <= kept[1]


def short_sentences(random: Random) -> list[Chunk]:
    """Chunks so small that the tokens which joining saves let one more of them in."""
    words = [
        "limit",
        "speed",
        "city",
        "rule",
        "since",
        "refund",
        "order",
        "until",
        "staff",
        "open",
        "night",
        "rail",
        "fare",
    ]
    sentence = lambda: " ".join(random.choice(words) for _ in range(random.randint(3, 9))).capitalize() + "."  # noqa: E731
    return [Chunk(" ".join(sentence() for _ in range(random.randint(1, 5)))) for _ in range(random.randint(3, 8))]


@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9))
def test_what_skip_keeps_since_joining_saves_tokens_compress_keeps(seed: int) -> None:
    """Joined, a block may be shorter than the sum of its parts: what `skip` makes of that, compression makes too."""
    random, count = Random(seed), tiktoken_counter("o200k_base")
    chunks = short_sentences(random)
    for size in range(1, len(chunks)):
        room = count("\n\n".join(chunk.text for chunk in chunks[:size]))
        by_skip, by_compress = (
            place(chunks, query="City fare?", budget=Budget(room, count, how), reading="off")
            for how in ("skip", "compress")
        )
        assert set(by_skip.indices) <= set(by_compress.indices)
        assert (by_compress.tokens or 0) <= room


def test_room_that_joining_saves_is_filled_with_shortened_chunks_too() -> None:
    """Where only the joined text shows that all of `skip` fits, compression still puts parts of others beside it."""
    chunks, count = short_sentences(Random(4)), tiktoken_counter("o200k_base")
    by_skip, by_compress = (
        place(chunks, query="City fare?", budget=Budget(42, count, how), reading="off") for how in ("skip", "compress")
    )
    assert set(by_skip.indices) < set(by_compress.indices)


def test_a_giant_does_not_push_out_what_fits() -> None:
    """A chunk that cannot shrink leaves first: here it is one line of code that is longer than the room."""
    giant = "value = '" + "x " * 300 + "'"
    chunks = [Chunk("a " * 10), Chunk("b " * 9), Chunk(f"```\n{giant}\n```"), Chunk("the answer is here now too")]
    placement = place(chunks, query="answer", budget=Budget(300, words, "compress"), order="relevance")
    assert placement.indices == (0, 1, 3)
    assert placement.texts == {}


def test_a_table_gives_the_row_that_was_asked_for() -> None:
    """Of a table that does not fit the row stays, with its header and marks that count what left."""
    rows = "\n".join(f"| City{i} | {100 + i} | 20{10 + i} |" for i in range(40))
    table = f"Limits by city.\n\n| city | limit | since |\n|---|---|---|\n{rows}"
    filler = "Trains run daily. Hotels are booked by the desk. Flights need approval. Long stays are reviewed. " * 3
    chunks = [Chunk(filler), Chunk(filler + "x"), Chunk(table), Chunk(filler + "y")]
    for tokens in (200, 300, 400):
        placement = place(chunks, query="what is the limit for City27?", budget=Budget(tokens, overflow="compress"))
        head, _, rest = placement.texts[2].partition("| city | limit | since |\n|---|---|---|\n")
        assert head == "Limits by city.\n\n"
        assert "| City27 | 127 | 2037 |\n" in rest
        assert re.fullmatch(r"(\| City\d+ \|[^\n]*\n|\[… \d+ rows?\]\n?)+", rest)


def test_the_best_chunk_is_shortened_where_it_is_larger_than_the_room() -> None:
    """By its units, or if none of them fits by its beginning, and a note says so."""
    for text in (body("Giant", 26) * 9, "value = '" + "x " * 900 + "'"):
        compression = Compression([Whole(text, words(text))], [], 50, 0, words, lambda chunk, text: words(text))
        found = compression.choose(flat("", compression.texts))
        assert found.kept == [0]
        assert 30 < words(found.bodies[0].text) <= 50
        assert found.notes == (f"the best chunk alone needs {words(text)} tokens, the room is 50: it was shortened",)


def test_it_is_asked_in_steps() -> None:
    """The texts to score come first; the choice can be made again with less room, and needs nobody."""
    chunks = [Whole(body(name), 32) for name in ("A", "B", "C")]
    compression = Compression(chunks, [0], 60, 0, words, lambda chunk, text: words(text))
    assert len(compression.texts) == 24
    scores = flat("", compression.texts)
    first, again = compression.choose(scores), compression.choose(scores, 40)
    for room, found in ((60, first), (40, again)):
        kept = [words(found.bodies[n].text) if n in found.bodies else 32 for n in found.kept]
        assert room - 4 < sum(kept) <= room
    assert compression.choose(scores) == first
    assert Compression(chunks, [0, 1, 2], 96, 0, words, lambda chunk, text: 1 // 0).texts == ()


def test_units_are_judged_with_what_they_need() -> None:
    """A row is judged with its header, an item with its parents: the judge sees what will stand there."""
    table = markdown_table(Random(1))
    chunks = [Whole(table, words(table)), Whole("# Fees\n\n- hotels:\n  - 150 euros", 6)]
    texts = Compression(chunks, [], 20, 0, words, lambda chunk, text: words(text)).texts
    header = "".join(table.splitlines(keepends=True)[:2])
    assert all(text.startswith(header) for text in texts[:-2])
    assert texts[-1] == "# Fees\n\n- hotels:\n  - 150 euros"


def test_a_judge_that_knows_nothing_leaves_the_first_units_and_a_note() -> None:
    """Where all parts score alike, as where the query shares no word with any, the record says that it was no help."""
    chunks = [Whole(body("A"), 32), Whole(body("B"), 32)]
    compression = Compression(chunks, [0], 50, 0, words, lambda chunk, text: words(text))
    found = compression.choose([0.0] * 16)
    assert found.notes == ("no part of a chunk was judged better than another: the first ones stayed",)
    assert found.bodies[1].text.startswith("B says numbera here. B says numberb here.")


@pytest.mark.parametrize("tokens", range(70, 200, 7))
def test_weaker_ranks_shrink_more(tokens: int) -> None:
    """Among alike chunks none keeps fewer words than one that ranks below it, but for a sentence; the room is used."""
    chunks = uniform(6)
    placement = place(chunks, query="nothing", rerank=flat, budget=Budget(tokens, words, "compress"), reading="off")
    left = [
        words(placement.texts.get(index, chunk.text).replace(MARK, "")) if index in placement.indices else 0
        for index, chunk in enumerate(chunks)
    ]
    assert all(above >= below - 4 for above, below in pairwise(left))
    assert left[0] == 32
    assert min(tokens, 6 * 32) - 4 < words(placement.block.text) <= tokens


def test_more_chunks_stay_than_when_whole_ones_are_dropped() -> None:
    """Where `skip` keeps three of six, more have something left."""
    chunks = uniform(6)
    by_skip = place(chunks, budget=Budget(110, words))
    placement = place(chunks, query="x", rerank=flat, budget=Budget(110, words, "compress"))
    assert len(by_skip) == 3 < len(placement)


def test_what_fits_is_left_alone() -> None:
    """Nothing is scored or shortened when everything fits."""

    def never(query: str, texts: Sequence[str]) -> list[float]:
        assert len(texts) == 3, "sentences were scored"
        return [3.0, 2.0, 1.0]

    placement = place(uniform(3), query="x", rerank=never, budget=Budget(96, words, "compress"))
    assert (placement.texts, placement.elisions, placement.tokens) == ({}, {}, 96)


def test_the_scorer_decides_which_sentences_stay() -> None:
    """The sentence that scores best stays; without a scorer, BM25 finds the words of the query."""
    chunks = [*uniform(2), Chunk(body("Weak", 6) + " The zebra is striped. " + body("Weaker", 6))]
    for scorer in (by_query, None):
        budget = Budget(64 + 14, words, "compress")
        placement = place(chunks, query="zebra", rerank=scorer, budget=budget, reading="off")
        assert placement.ranks == (1, 2, 3)
        assert "The zebra is striped." in placement.texts[2]


@pytest.mark.parametrize("at", [0, 1])
def test_a_chunk_of_many_times_the_room_does_not_hide_the_others(at: int) -> None:
    """One of the best two that is far too long is shortened, and the chunks below it still have their turn."""
    chunks = uniform(4)
    chunks[at] = Chunk(body("Giant", 26) * 20)
    placement = place(chunks, query="x", rerank=flat, budget=Budget(80, words, "compress"), reading="off")
    by_skip = place(chunks, budget=Budget(80, words), reading="off")
    assert set(by_skip.indices) | {0} <= set(placement.indices)
    assert words(placement.block.text) <= 80


def test_rows_that_come_back_in_any_order_take_time_in_proportion() -> None:
    """A table that stays whole is whole once: its other rows are not counted through for each of them."""
    table = "|a|b|\n|-|-|\n" + "".join(f"|{row % 10}|{row % 7}|\n" for row in range(40_000))
    filling = Filling([Pieces(Whole(table, len(table)), read(table), 0, len)], len(table), 0, [0.0])
    order = [*filling.pieces[0].candidates]
    Random(0).shuffle(order)
    stayed: list[bool] = []
    in_proportion(lambda: stayed.extend(filling.add(0, row) for row in order))
    assert all(stayed)


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_chunk_without_text_does_no_harm(text: str, at: int) -> None:
    """Empty chunks, such as images, among those that shrink are never dropped for their nothing."""
    chunks = [*uniform(4)]
    chunks[at] = Chunk(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOrderWarning)
        placement = place(chunks, query="x", budget=Budget(70, words, "compress"), layout="numbered", reading="off")
    assert words(placement.block.text) <= 70
    assert at in placement.indices
    assert len(placement) + len(placement.dropped) == 4


def test_the_tags_around_the_block_do_not_cost_a_chunk() -> None:
    """Where the parts fit and the outermost tags do not, a chunk shrinks instead of leaving."""
    chunks = uniform(4)
    exact = place(chunks, budget=Budget(999, words), layout="xml").tokens
    assert exact is not None
    placement = place(chunks, query="x", rerank=flat, budget=Budget(exact - 1, words, "compress"), layout="xml")
    assert len(placement) == 4
    assert len(placement.texts) == 1


def _compressed(placement: Placement) -> tuple[Any, Any, str]:
    return placement.texts, placement.elisions, placement.block.text


@pytest.mark.parametrize("scorer", [crc, crc_later, None])
async def test_async_compresses_the_same(scorer: Any) -> None:
    """A sync or async scorer scores units through `aplace` too, and so does BM25, with the result of the sync call."""
    chunks = uniform(7)
    budget = Budget(140, words, "compress")
    expected = place(chunks, query="numberc", rerank=scorer and crc, budget=budget, layout="numbered", reading="off")
    found = await aplace(chunks, query="numberc", rerank=scorer, budget=budget, layout="numbered", reading="off")
    assert expected.texts
    assert _compressed(found) == _compressed(expected)


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
        assert uniform(5)[index].text.startswith(text.removesuffix(f" {MARK}"))
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


def test_counts_grow_with_the_text_and_not_faster() -> None:
    """Four times the chunks in four times the room take about four times the counts."""

    def counts(n: int) -> int:
        asked = [0]

        def count(text: str) -> int:
            asked[0] += 1
            return words(text)

        place(uniform(n), query="numberc", budget=Budget(16 * n, count, "compress"), reading="off")
        return asked[0]

    assert counts(100) < 6 * counts(25)


@pytest.mark.skipif(not rows(NQ_RETRIEVED), reason=f"no {NQ_RETRIEVED} here")
@pytest.mark.parametrize("tokens", [300, 500])
@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
def test_the_answer_survives_at_least_as_often_as_when_whole_chunks_are_dropped(tokens: int) -> None:
    """On real questions with 20 retrieved chunks, the gold chunk still holds the answer in no fewer cases."""
    questions = rows(NQ_RETRIEVED)
    by_skip, by_compress = (sum(_survives(row, tokens, how) for row in questions) for how in ("skip", "compress"))
    print(f"{tokens} tokens, {len(questions)} questions: the answer survives skip {by_skip}, compress {by_compress}")
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
