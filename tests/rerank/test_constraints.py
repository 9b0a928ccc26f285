"""Constraints: kept in code whatever the model says, and usable with any scorer's scores."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replies import Reader, shown

from edgeorder.ranker.days import as_day
from edgeorder.rerank import (
    EvidenceRanker,
    Passage,
    constrained,
    diversity,
    max_ranked,
    not_before,
    prefer,
    recency,
    require,
)

PASSAGES: list[dict[str, Any]] = [
    {"text": "nine", "date": "2021-06-01", "source": "a", "authority": "blog"},
    {"text": "eight", "date": "2022-12-31", "source": "a", "authority": "peer-reviewed"},
    {"text": "seven", "date": date(2023, 1, 1), "source": "a", "authority": "blog"},
    {"text": "six", "date": 2024, "source": "b", "authority": "peer-reviewed"},
    {"text": "five", "source": "b"},
    {"text": "four", "date": "2024-06", "authority": "blog"},
    {"text": "three", "date": "last year", "authority": "peer-reviewed"},
]
JUDGE = {"nine": 9, "eight": 8, "seven": 7, "six": 6, "five": 5, "four": 4, "three": 3}


def ranked(*constraints: Any, passages: Any = None) -> tuple[list[int], Any, Reader]:
    """Rank by a model that cares for no constraint."""
    model = Reader(lambda shown: JUDGE.get(shown.split("\n")[-1]))
    ranking = EvidenceRanker(model, constraints=constraints).rank("which?", passages or PASSAGES)
    assert sorted(ranking.indices) == list(range(len(passages or PASSAGES)))
    return [one.index for one in ranking.ranked], ranking, model


def test_at_most_five() -> None:
    """The best five are ranked, whatever the model ranks."""
    order, ranking, model = ranked(max_ranked(5))
    assert order == [0, 1, 2, 3, 4]
    assert ranking.unranked == (5, 6)
    assert ranking.scores[5:] == [None, None]
    assert "- rank at most 5 passages" in model.prompts[0]
    assert "rank at most 5 passages: 2 of 7 ranked passages were taken out" in ranking.notes


def test_exclude_older_than_2023() -> None:
    """What is dated before is out; what has no date that can be read stays, and is noted."""
    order, ranking, _ = ranked(not_before(2023))
    assert order == [2, 3, 4, 5, 6]
    assert "leave out what is older than 2023: 2 of 7 ranked passages were taken out" in ranking.notes
    assert "leave out what is older than 2023: 2 of 7 passages have no date that can be read" in ranking.notes


def test_peer_reviewed_first() -> None:
    """With all its weight, a preference ranks all that have it before all that do not, else by score."""
    order, ranking, model = ranked(prefer(authority="peer-reviewed", weight=1))
    assert order == [1, 3, 6, 0, 2, 4, 5]
    assert [one.score for one in ranking.ranked[:2]] == [0.8, 0.6]  # what was judged is not changed
    assert "authority: peer-reviewed" in model.prompts[0]
    assert ranked(prefer(authority="peer-reviewed", weight=0))[0] == [0, 1, 2, 3, 4, 5, 6]
    assert ranked(prefer(authority="peer-reviewed", weight=0.3))[0][:3] == [1, 0, 3]


def test_at_most_two_a_source() -> None:
    """The best two of each; what has no source stands alone."""
    assert ranked(diversity(per_source=2))[0] == [0, 1, 3, 4, 5, 6]
    assert ranked(diversity(1))[0] == [0, 3, 5, 6]


def test_newer_counts_more() -> None:
    """What is one half-life older keeps half of its score; without a date it counts as one half-life old."""
    passages = [("a", "nine", {"date": "2023-01-01"}), ("b", "six", {"date": "2024-01-01"}), ("c", "seven", {})]
    assert ranked(recency(half_life=365), passages=passages)[0] == [1, 0, 2]
    assert ranked(recency(half_life=36500), passages=passages)[0] == [0, 1, 2]


def test_only_what_is_required() -> None:
    """What has another value or none is out; where that leaves nothing, retrieval is asked again."""
    assert ranked(require(authority="peer-reviewed"))[0] == [1, 3, 6]
    _, ranking, _ = ranked(require(authority="court"))
    assert (ranking.decision, ranking.reasons) == ("retrieve again", ("the constraints left nothing",))


def test_filters_come_before_weights_and_caps() -> None:
    """However they are listed: at most two are ranked of those that are left."""
    order, _, model = ranked("rather short ones", max_ranked(2), prefer(authority="blog", weight=1), not_before("2023"))
    assert order == [2, 5]
    assert "- rather short ones\n" in model.prompts[0]


def test_a_function_is_a_constraint() -> None:
    """One of the user's own gets passages and scores; a wrong number of scores is an error."""

    def no_sixes(passages: Any, scores: Any) -> list[float | None]:
        return [None if one.text == "six" else score for one, score in zip(passages, scores, strict=True)]

    order, ranking, _ = ranked(no_sixes)
    assert 3 not in order
    assert any(note.endswith("no_sixes: 1 of 7 ranked passages were taken out") for note in ranking.notes)
    with pytest.raises(ValueError, match="returned 0 scores for 7 passages"):
        ranked(lambda passages, scores: [])


def test_they_work_with_any_scorer() -> None:
    """Logits, negative and unbounded, are constrained as well."""
    passages = [Passage(text, metadata={"date": day}) for text, day in (("a", 2020), ("b", 2024), ("c", 2022))]
    logits = [3.0, -4.0, 1.0]
    assert constrained([recency(365)], passages, logits).order == [2, 0, 1]
    assert constrained([prefer(date=2024, weight=1), max_ranked(2)], passages, logits).order == [1, 0]
    assert constrained([not_before(2022)], passages, [3.0, None, 1.0]).order == [2]
    assert constrained([], passages, logits).order == [0, 2, 1]


scores = st.lists(st.floats(-1e6, 1e6) | st.none(), min_size=1, max_size=8)
some = st.lists(
    st.sampled_from(
        [max_ranked(2), not_before(2022), require(kind=1), prefer(kind=1), recency(100.0), diversity(1), lambda p, s: s]
    ),
    max_size=4,
)


@given(scores, some, st.data())
def test_constraints_only_take_out_and_reorder(
    scores: list[float | None], some: list[Any], data: st.DataObject
) -> None:
    """Nothing that was not ranked comes in, nothing is ranked twice, and what leaves is named."""
    values = st.fixed_dictionaries(
        {},
        optional={
            "date": st.integers(2019, 2025) | st.text(max_size=3),
            "source": st.integers(0, 2),
            "kind": st.integers(0, 1),
        },
    )
    passages = [Passage(str(index), metadata=data.draw(values)) for index in range(len(scores))]
    known = [index for index, score in enumerate(scores) if score is not None]
    order = data.draw(st.permutations(known))
    found = constrained(some, passages, scores, order)
    assert sorted([*found.order, *found.out]) == known
    if not some:
        assert found.order == list(order)


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2024-02-29", date(2024, 2, 29)),
        (datetime(2024, 2, 29, 0, 0), date(2024, 2, 29)),
        (datetime(2024, 2, 29, tzinfo=UTC), date(2024, 2, 29)),
        ("2024-02-29T00:00:00+00:00", date(2024, 2, 29)),
        (2024, date(2024, 1, 1)),
        (" 2024-03 ", date(2024, 3, 1)),
        ("2024-13", None),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
        (20240229, date(2024, 2, 29)),
        (10**30, None),
        (["2024"], None),
    ],
)
def test_dates_are_read_or_missing(value: Any, day: date | None) -> None:
    """Dates, ISO texts, months and years; whatever else is no date."""
    assert as_day(value) == (None if day is None else float(day.toordinal()))
    if value == 2024:
        assert as_day(value, end=True) == float(date(2024, 12, 31).toordinal())


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: max_ranked(0), ValueError),
        (lambda: max_ranked(True), TypeError),
        (lambda: not_before("soon"), ValueError),
        (lambda: require(), ValueError),
        (lambda: prefer(weight=1), ValueError),
        (lambda: prefer(a=1, weight=2), ValueError),
        (lambda: recency(0), ValueError),
        (lambda: recency(float("nan")), ValueError),
        (lambda: diversity(0), ValueError),
    ],
)
def test_impossible_constraints_are_refused(make: Any, error: type[Exception]) -> None:
    """At construction."""
    with pytest.raises(error):
        make()


@pytest.mark.parametrize(
    ("scores", "order", "said"),
    [
        ([0.5], [], "1 scores for 2 passages"),
        ([0.5, None], [0, 1], "must hold each index that has a score once"),
        ([0.5, 0.2], [1], "must hold each index that has a score once"),
    ],
)
def test_a_ranking_that_is_not_of_the_passages_is_refused(scores: Any, order: Any, said: str) -> None:
    """It would lose a passage, or rank one by another's score."""
    with pytest.raises(ValueError, match=said):
        constrained([max_ranked(1)], [Passage("a"), Passage("b")], scores, order)


def test_what_is_shown_is_in_the_prompt() -> None:
    """Metadata that a constraint is about stands with its passage, in one line."""
    _, _, model = ranked(require(kind="x"), passages=[("a", "nine", {"kind": "x\ny", "secret": "no"})])
    assert shown(model.prompts[0]) == {"p01": "(kind: x y)\nnine"}
