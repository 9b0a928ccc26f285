"""What a model is shown of a query and passages that are too long for it, by a reader whose tokens are words."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeorder import EdgeOrderWarning, RerankError
from edgeorder.scorers.windows import Reader, Spans, fitted

MARKS = 3


def spans(texts: Any) -> list[Spans]:
    """Return the words of each text, cut after eight letters: a word that is cut may need a token more or less."""
    return [[found.span() for found in re.finditer(r"\w{1,8}|[^\w\s]", text)] for text in texts]


def reader(window: int, *, offsets: bool = True) -> Reader:
    """Return a reader with that window; a slow one knows only how many tokens there are."""

    def counted(texts: Any) -> list[Spans]:
        return [[(0, 0)] * len(found) for found in spans(texts)]

    tokens = spans if offsets else counted
    return Reader(tokens, offsets, window, lambda query: MARKS + len(tokens([query])[0]))


def count(text: str) -> int:
    return len(spans([text])[0])


words = st.text("abé ,\U0001f600", min_size=0, max_size=80)


@given(words, st.lists(words, min_size=1, max_size=5), st.integers(MARKS + 2, 40), st.booleans(), st.booleans())
@pytest.mark.filterwarnings("ignore::edgeorder.EdgeOrderWarning")
def test_what_is_shown_fits(query: str, passages: list[str], window: int, offsets: bool, whole: bool) -> None:
    """Every pair fits the window; all share one query; pieces are beginnings, or windows that cover everything."""
    whole = whole and offsets
    shown, pieces, owners = fitted(reader(window, offsets=offsets), query, passages, "window" if whole else "warn")
    assert query.startswith(shown)
    assert all(MARKS + count(shown) + count(piece) <= window for piece in pieces)
    assert shown == query or count(query) + MARKS + max(1, window // 8) > window
    assert sorted(set(owners)) == list(range(len(passages)))
    for index, passage in enumerate(passages):
        own = [piece for piece, owner in zip(pieces, owners, strict=True) if owner == index]
        assert own == [passage] or MARKS + count(shown) + count(passage) > window
        assert all(piece in passage for piece in own)


@given(st.integers(1, 200), st.integers(MARKS + 2, 40))
def test_windows_cover_a_passage_from_end_to_end(length: int, window: int) -> None:
    """Each begins within the one before it, or right behind it; words are whole."""
    passage = " ".join(f"word{number}" for number in range(length))
    _, pieces, owners = fitted(reader(window), "q", [passage], "window")
    assert owners == [0] * len(pieces)
    places = [passage.index(piece) for piece in pieces]
    ends = [start + len(piece) for start, piece in zip(places, pieces, strict=True)]
    assert places[0] == 0
    assert ends[-1] == len(passage)
    assert all(start <= end + 1 for start, end in zip(places[1:], ends, strict=False))


def test_a_query_is_not_cut_while_a_passage_can_be() -> None:
    """The passage is cut to what the query leaves; a query beyond a third of the window is mentioned."""
    query, passages = "q " * 20, ["a b c d", "word " * 30, "x"]
    with pytest.warns(EdgeOrderWarning) as caught:
        shown, pieces, _ = fitted(reader(32), query, passages, "warn")
    assert shown == query
    assert pieces == ["a b c d", "word " * 8 + "word", "x"]
    assert [str(one.message) for one in caught] == [
        "1 of 3 passages are longer than the 32 tokens that the model reads with the query, of which the query takes "
        "20; the rest of them is not scored. long_passages='window' scores all of it."
    ]
    with pytest.warns(EdgeOrderWarning, match="reads with the query; the rest"):
        fitted(reader(32), "short query", passages, "warn")


@pytest.mark.parametrize("long_passages", ["warn", "window"])
def test_a_query_that_fills_the_window_is_cut_for_all_alike(long_passages: Any) -> None:
    """Each passage keeps an eighth of the window, and is judged by the same query."""
    with pytest.warns(EdgeOrderWarning, match="the query has 100 tokens, and the model reads 32: its end is cut off"):
        shown, pieces, owners = fitted(reader(32), "q " * 100, ["a " * 10, "b"], long_passages)
    assert count(shown) == 25
    assert max(map(count, pieces)) == 4
    assert owners.count(0) == (4 if long_passages == "window" else 1)


def test_windows_need_offsets() -> None:
    """A slow tokenizer cannot say where windows begin."""
    with pytest.raises(RerankError, match="needs a model with a fast tokenizer"):
        fitted(reader(32, offsets=False), "q", ["a " * 100], "window")


@pytest.mark.parametrize("window", range(1, MARKS + 2))
def test_a_window_without_room_is_refused(window: int) -> None:
    """The model's own marks leave nothing."""
    with pytest.raises(ValueError, match=f"max_length={window} leaves no room .* own marks take 3"):
        fitted(reader(window), "q", ["a"], "warn")


def test_what_surely_fits_is_not_read() -> None:
    """Short plain texts cost no tokenizing; the question whether others fit is asked once for each."""
    calls: list[int] = []
    whole = reader(64)

    def tokens(texts: Any) -> list[Spans]:
        calls.append(len(texts))
        return whole.tokens(texts)

    counting = Reader(tokens, True, 64, lambda query: MARKS)
    assert fitted(counting, "query", ["a passage", "b"], "warn") == ("query", ["a passage", "b"], [0, 1])
    assert calls == []
    fitted(counting, "query", ["é" * 50] * 9, "warn")
    assert calls == [1, 9]
