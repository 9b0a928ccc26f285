"""Scoring by words alone."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeorder import Chunk, place
from edgeorder.rerank import LexicalScorer


def test_words_in_common_score() -> None:
    """The passage that shares rarer words with the query scores higher; stems count; none shared is 0."""
    texts = ["Trains are booked by the office.", "Refunds take five days.", "The limit for refunding hotels is low."]
    scores = LexicalScorer()("refund of hotel", texts)
    assert scores[2] > scores[1] > scores[0] == 0.0
    assert LexicalScorer(language=None)("refund", texts) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("query", "texts"), [("", ["a"]), ("a", []), ("!!", ["a", "b"]), ("a", ["", " "]), ("zz", ["a"])]
)
def test_nothing_in_common_scores_zero(query: str, texts: list[str]) -> None:
    """No word in the query, in any text or in both is no reason to fail: all scores are 0."""
    assert LexicalScorer()(query, texts) == [0.0] * len(texts)


async def test_it_reranks_sync_and_async() -> None:
    """It is a scorer like any other, under its own name."""
    chunks = [Chunk("trains"), Chunk("hotels")]
    assert place(chunks, query="hotel", rerank=LexicalScorer(), order="relevance").indices == (1, 0)
    assert await LexicalScorer().acall("hotel", ["trains", "hotels"]) == LexicalScorer()("hotel", ["trains", "hotels"])
    assert place(chunks, query="hotel", rerank=LexicalScorer()).record.scorer == "LexicalScorer(english)"


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("酒店每晚的上限是多少？", ["机票由办公室预订。", "酒店每晚的上限是一百五十欧元。", "早餐包含在内。"]),
        (
            "一泊の上限はいくらですか？",
            ["航空券は予約済みです。", "ホテルの上限は一泊１５０ユーロです。", "朝食付きです。"],
        ),
        ("ลาพักร้อนได้กี่วัน", ["ตั๋วเครื่องบินจองโดยสำนักงาน", "พนักงานลาพักร้อนได้สิบห้าวัน", "รวมอาหารเช้าแล้ว"]),
        ("호텔의 한도는 얼마입니까?", ["항공권은 예약했습니다.", "호텔 한도는 150유로입니다.", "조식이 포함됩니다."]),
        ("होटल की सीमा क्या है?", ["टिकट कार्यालय बुक करता है।", "होटलों की सीमा 150 यूरो है।", "नाश्ता शामिल है।"]),
        ("ما هو الحد الأقصى للفندق؟", ["يحجز المكتب التذاكر.", "الحد الأقصى للفنادق 150 يورو.", "الإفطار مشمول."]),
        ("какой лимит на гостиницу?", ["Билеты бронирует офис.", "Лимиты на гостиницы 150 евро.", "Завтрак включён."]),
        ("iPhone15の価格", ["カメラが良い。", "iPhone15は高価格だ。", "色は青。"]),
    ],
)
def test_every_script_is_searched(query: str, texts: list[str]) -> None:
    """Query and texts are read by the same rule, with or without blanks between words: the right one scores best."""
    scores = LexicalScorer()(query, texts)
    assert scores.index(max(scores)) == 1
    assert max(scores) > 0


def test_function_words_of_a_question_do_not_decide() -> None:
    """Where they are rare, as among rows of a table, "what is the" weighs nothing; alone it is all there is."""
    rows = [f"| City{number} | {100 + number} |" for number in range(40)]
    texts = ["It is what it is, and the end of it is what the others say it is.", *rows]
    scores = LexicalScorer()("what is the limit for City7?", texts)
    assert scores.index(max(scores)) == 8
    assert LexicalScorer()("what is it", texts)[0] > 0


@settings(max_examples=60, deadline=None)
@given(query=st.text(max_size=20), texts=st.lists(st.text(max_size=30), max_size=5))
def test_any_text_is_scored(query: str, texts: list[str]) -> None:
    """One finite score of at least 0 for each text, whatever it is."""
    scores = LexicalScorer()(query, texts)
    assert len(scores) == len(texts)
    assert all(0 <= score < float("inf") for score in scores)


@pytest.mark.parametrize(("language", "error"), [("klingon", ValueError), ("English", ValueError), (5, TypeError)])
def test_a_language_that_is_none_is_named_with_those_that_are(language: Any, error: type[Exception]) -> None:
    """Where the scorer is made."""
    with pytest.raises(error, match=r"LexicalScorer\.language.*(english|None)"):
        LexicalScorer(language)
    assert LexicalScorer("german")("Zug", ["Züge fahren.", "Rückgabe"])[0] > 0
