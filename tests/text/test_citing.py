"""Citations: one grammar, for answers that are there and for answers that stream."""

import json
from random import Random

import pytest
from effort import in_proportion
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import Block, CitationFilter
from edgeorder.citing import cited, invented
from edgeorder.probe.grading import cites
from edgeorder.rendering import Passage

FIVE = range(1, 6)


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("[1, 2, and 3]", [1, 2, 3]),
        ("[1 and 2] [3 & 4] [1; 5]", [1, 2, 3, 4, 5]),
        ("[1, 2 und 3] [4、5]", [1, 2, 3, 4, 5]),
        ("[Source 1, Source 3]", [1, 3]),
        ("[Doc 2, p. 4; Source 5]", [2, 5]),
        ("[Source 1: Limits - travel.md (2026, p. 3), Source 3]", [1, 3]),
        ("[^2] [#3] [№ 4] [no. 5]", [2, 3, 4, 5]),
        ("[citation:2] [Source: 3] [ID:4] [ref 5] [cite: 1]", [2, 3, 4, 5, 1]),
        ("[doc_2] [source-3] [Passages 1–2]", [2, 3, 1]),
        ("[3 to 5]", [3, 4, 5]),
        ("[1—3] [1-2] [4‑5]", [1, 2, 3, 4, 5]),
        ("[Source 2 - Source 4]", [2, 3, 4]),
        ("[1-99999999999999999999]", [1, 2, 3, 4, 5]),
        ("【2†L1-L5】 ［3］ 〔4〕", [2, 3, 4]),
        ("[٢] [५]", [2, 5]),
        ("Paris[1][2].", [1, 2]),
        ("[[2]](http://x/3)", [2]),
        ("See document 3 and source 2.", [3, 2]),
        ("Documents 1 and 3 say so, sources 2, 4, and 5, too.", [1, 3, 2, 4, 5]),
        ("Passages 1-2 and 4; source 3, 5 of them", [1, 2, 4, 3]),
        ("(Doc 2) source no. 3, Source #4", [2, 3, 4]),
        ("[1]–[3] [4]--[5] [4] - [2]", [1, 2, 3, 4, 5]),
        ("[1 p. 3] [source_id: 2] [passage id 3]", [1, 2, 3]),
        ("[^1^][^2^] [1\u200b] [\u2060Source\u00a03\ufeff]", [1, 2, 3]),
        ("[来源1] [文档 2] 【出典3】 [Quelle 4] [Источник 5]", [1, 2, 3, 4, 5]),
        ("[١، ٢]", [1, 2]),
        ("[2 - Limits.md] [3 – p. 5] [4 §2] [id=5]", [2, 3, 4, 5]),
        ("<document index='2'>", [2]),
        ('as <document index="2"> says', [2]),
        ("[1, p. 3] [2: see section 4] [5 (2026)]", [1, 2, 5]),
        (r"\[2] but \\[3]", [3]),
        ("[0, 1] is an interval, [0] nothing", []),
        ("[1.5] [2a] [3 apples] [-2] [2026-05-01] [10:30] [see 4] (2) {2} x2", []),
        ("[1\n]", []),
        ("rows[1] in `rows[2]` and ``x[3]``", [1]),
        ("a lone ` is no code [2], nor\nis ` this [3]", [2, 3]),
        ("```py\nrows[1] = [2]\n```\nso [3]", [3]),
        ("~~~\n[1]\n~~~ [3]", [3]),
        ("```\n[1] never closed", []),
        (r"in \(v[1]\) and \[ w = [2, 3] \] as [4] says", [4]),
        ("$x \\in [1, 2]$ and $$[3]$$, see [4]; a $ [5]", [4, 5]),
        ("$$\n[1]\n$$ [2]\n\n$$ [3]\n\n[4]$$ x", [2, 3, 4]),
        ("from $5 [1] to $6 [2], US$7[3]/$8[4]; $HOME [5] x", [1, 2, 3, 4, 5]),
        ("<think>[1] or [2]?</think> It is [3].", [3]),
        ("Hm, [1] or [2]?</think>It is [3].", [3]),
        ("<think>[1]", []),
        ('{"answer": "It is so [2].", "sources": [1, 3]}', [2]),
        ('```json\n{"answer": "so [2] \\"[4]\\"", "ids": [[1], [3]]}\n``` and [5]', [2, 4, 5]),
        ('[{"text": "so [2]", "ids": [1]}] [3]', [2, 3]),
        ('Use {"ids": [1]} as [2] says', [2]),
    ],
)
def test_what_cites(answer: str, numbers: list[int]) -> None:
    """The ways to cite that are seen in answers, and what only looks like one: for `cited` and the probe alike."""
    assert cited(answer, FIVE) == tuple(numbers)
    assert [number for number in FIVE if cites(answer, number)] == sorted(numbers)
    assert not set(invented(answer, FIVE)) & {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("[1, 7] [9][7]", (7, 9)),
        ("[4-7]", (6, 7)),
        ("[2-90000]", (90000,)),
        ("document 7, chapter 9", ()),
        ("`x[9]` <think>[8]</think>", ()),
        ("[" + "1" * 4300 + "]", (int("1" * 600),)),
        ("[" + "9" * 100_000 + "]", (int("9" * 600),)),
    ],
)
def test_what_is_invented(answer: str, numbers: tuple[int, ...]) -> None:
    """Numbers in brackets that no passage has are listed, however long they are."""
    assert invented(answer, FIVE) == numbers
    assert json.loads(json.dumps(invented(answer, FIVE))) == list(numbers)


def test_a_block_knows_its_passages() -> None:
    """`cited` gives input indices; `invented` the numbers that stand for none."""
    block = Block("", passages=(Passage(6, 4, "A"), Passage(7, 0, "B")))
    assert block.cited("It is so [7], [6, 1] or [8].") == (0, 4)
    assert block.invented("It is so [7], [6, 1] or [8].") == (1, 8)


@pytest.mark.parametrize(
    ("answer", "dropped", "marked"),
    [
        ("It is so [7].", "It is so.", "It is so [7?]."),
        ("It is [1, 7] so", "It is [1] so", "It is [1, 7?] so"),
        ("[7, 8, 1]", "[1]", "[7?, 8?, 1]"),
        ("[1, 2, and 7]", "[1, 2]", "[1, 2, and 7?]"),
        ("[1, 7, p. 3]", "[1, p. 3]", "[1, 7?, p. 3]"),
        ("[3-9]", "[3-5]", "[3-9?]"),
        ("[5 to 9]", "[5]", "[5 to 9?]"),
        ("[Source 1: A, Source 9]", "[Source 1: A]", "[Source 1: A, Source 9?]"),
        ("[Source 9: A, Source 1]", "[Source 1]", "[Source 9?: A, Source 1]"),
        ("[9][1] `x[9]` [9]", "[1] `x[9]`", "[9?][1] `x[9]` [9?]"),
        ("[1] [Note] [see 9] x", "[1] [Note] [see 9] x", "[1] [Note] [see 9] x"),
    ],
)
def test_a_filter_takes_out_what_does_not_exist(answer: str, dropped: str, marked: str) -> None:
    """Whole or letter by letter, numbers that do not exist leave or get a mark; all else passes as it is."""
    for missing, expected in (("drop", dropped), ("mark", marked)):
        for size in (1, 2, 3, len(answer)):
            stream = CitationFilter(FIVE, missing)  # type: ignore[arg-type]
            pieces = [stream.feed(answer[at : at + size]) for at in range(0, len(answer), size)]
            assert "".join([*pieces, stream.close()]) == expected
            assert stream.invented == invented(answer, FIVE)


FRAGMENTS = st.sampled_from(
    [
        *'[]1976,; `~\n\\{}":.aé【】†$()',
        *(
            "and ",
            "```",
            "~~~",
            "<think>",
            "</think>",
            '{"',
            "Source ",
            "[1, 9]",
            " [7]",
            "[1",
            "json\n",
            "<th",
            "document 2",
        ),
    ]
)


@settings(max_examples=400, deadline=None)
@given(answer=st.lists(FRAGMENTS, max_size=30).map("".join), seed=st.integers(0, 99))
def test_a_stream_is_filtered_like_the_whole(answer: str, seed: int) -> None:
    """However it is cut into pieces, the same comes out, and of numbers that exist nothing is lost."""
    random = Random(seed)

    def streamed(numbers: range, longest: int) -> str:
        stream, out, at = CitationFilter(numbers), "", 0
        while at < len(answer):
            size = random.randint(1, longest)
            out, at = out + stream.feed(answer[at : at + size]), at + size
        return out + stream.close()

    assert streamed(FIVE, 1) == streamed(FIVE, 7) == streamed(FIVE, 10**6)
    assert streamed(range(1, 10**4), 3) == answer or "0" in answer


def test_text_is_shown_as_soon_as_it_can_be() -> None:
    """Only a bracket that numbers may stand in is waited for, not one with words."""
    stream = CitationFilter(FIVE)
    assert stream.feed("Plain text, ") == "Plain text,"
    assert stream.feed("more [") == " more"
    assert stream.feed("Note that this is a remark of many words, and it goes on for a while").startswith(" [Note")
    assert stream.feed(" and [1") == " and"
    assert stream.close() == " [1"


def test_a_filter_refuses_what_it_does_not_know() -> None:
    """The choices are named."""
    with pytest.raises(ValueError, match="missing='remove' is not one of: drop, mark"):
        CitationFilter(FIVE, "remove")  # type: ignore[arg-type]


N = 150_000
FEW = N // 3  # of what holds a citation each
SLOW = [
    *("[1," * N, "[" + "1" * N, "`" * N, "`a" * N, '{"' * N, "<think>" * N, "[1] " * FEW, "\\" * N, " " * N, "{ " * N),
    *("source 1 " * N, "[1-99999999]" * FEW, "~" * N, "```" * N, "[ " * N, "[source " * N, '"[1]' * FEW),
    *("document" * N, "[1]-" * FEW, "documents " + "1, " * N, "[1" + " " * N + "]", "$" * N, "$x" * N, "$x$" * N),
    *("\\(" * (N // 5), "\\[" * (N // 5)),
]


@pytest.mark.parametrize("answer", SLOW, ids=lambda answer: answer[:9])
def test_answers_made_to_be_slow(answer: str) -> None:
    """Whole or streamed, they are read in proportion to their length."""

    def streamed() -> None:
        stream = CitationFilter(FIVE)
        stream.feed(answer)
        stream.close()

    in_proportion(cited, answer, FIVE)
    in_proportion(streamed)
