"""Rankings against a golden set, and an audit of the ranker itself."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from replies import Model, Reader, reply, row, shown

from edgeorder import JsonlRecorder
from edgeorder.ranker.evaluation import evaluate_command, to_json
from edgeorder.rerank import (
    EvidenceRanker,
    Passage,
    RankingCase,
    RankingRecord,
    audit_ranker,
    evaluate_ranking,
    ranking_cases,
    read_rankings,
)

IDS = ("a", "b", "c", "d")


def case(**grades: int) -> RankingCase:
    return RankingCase("q", IDS, grades, {})


def test_measures_are_those_of_the_field() -> None:
    """nDCG, reciprocal rank and Kendall's tau, by hand."""
    found = evaluate_ranking([case(a=1)], [["b", "a", "c", "d"]])
    assert found.ndcg.mean == pytest.approx(0.63093, abs=1e-5)
    assert found.mrr.mean == 0.5
    assert found.tau is not None
    assert found.tau.mean == pytest.approx(0.23570, abs=1e-5)
    assert (found.ndcg.low, found.questions, found.k) == (None, 1, 10)
    assert found.errors == {"an irrelevant passage is first": 1}
    perfect = evaluate_ranking([case(a=3, b=2, c=1)] * 2, [list(IDS), list(IDS)])
    assert (perfect.ndcg, perfect.mrr.mean, perfect.tau) == ((1, 1, 1), 1, (1, 1, 1))
    assert perfect.errors == {}
    assert evaluate_ranking([case(a=3, b=2)], ["bacd"], k=1).ndcg.mean == pytest.approx(2 / 3)


def test_intervals_hold_the_mean_and_narrow_with_questions() -> None:
    """By resampling questions, the same for the same questions."""
    drawn = random.Random(3)
    golden = [case(a=2, b=1) for _ in range(40)]
    rankings = [drawn.sample(IDS, 4) for _ in golden]
    few, many = evaluate_ranking(golden[:10], rankings[:10]), evaluate_ranking(golden, rankings)
    for found in (few, many):
        for measured in (found.ndcg, found.mrr, found.tau):
            assert measured is not None
            assert measured.low is not None
            assert measured.high is not None
            assert measured.low <= measured.mean <= measured.high
    assert (many.ndcg.high or 0) - (many.ndcg.low or 0) < (few.ndcg.high or 0) - (few.ndcg.low or 0)
    assert evaluate_ranking(golden, rankings) == many
    assert json.loads(to_json(many))["ndcg"]["mean"] == many.ndcg.mean


def test_what_went_wrong_is_counted_by_kind() -> None:
    """Of the order, of the status and of the replies."""
    texts = ["trains", "the limit is 120", "hotels", "meals"]
    good = reply(row("p02", 9), row("p01", 3))
    replies = [good], [reply(row("p09", 9)), good], [good[:60], good], ["", ""], [reply(row("p03", 9))]
    rankings = [EvidenceRanker(Model(*said), fallback="input_order").rank("q", texts) for said in replies]
    golden = [RankingCase("q", IDS, {"b": 2, "a": 1}, {})] * 5
    found = evaluate_ranking(golden, rankings)
    assert found.errors == {
        "a relevant passage is not ranked": 2,
        "status retried": 2,
        "reply: unknown id": 1,
        "reply: cut off": 1,
        "another passage than the best is first": 1,
        "status fallback": 1,
        "reply: no JSON": 1,
        "an irrelevant passage is first": 1,
    }
    text = str(found)
    assert text.startswith("5 questions\nnDCG@10  0.8")
    assert "   2  status retried" in text


def test_a_log_with_corrections_is_a_golden_set(tmp_path: Path) -> None:
    """What a person says instead of a ranking is kept in its record, and read back as a case."""
    log, corrected = tmp_path / "log.jsonl", tmp_path / "corrected.jsonl"
    ranker = EvidenceRanker(Reader(lambda text: float(len(text))), recorders=[JsonlRecorder(log, text=True)])
    for query in ("one?", "two?", "three?"):
        ranker.rank(query, [("a", "xxxx"), ("b", "xx"), ("c", "xxx")])
    first, second, third = read_rankings(log)
    lines = [first.corrected({"c": 2, "b": 1}), second.corrected(["b", "a"]), third]
    corrected.write_text("".join(one.to_json() + "\n" for one in lines))
    cases = ranking_cases(corrected)
    assert [dict(one.grades) for one in cases] == [{"c": 2, "b": 1}, {"b": 2, "a": 1}]
    assert (cases[0].query, cases[0].ids, cases[0].texts["b"]) == ("one?", ("a", "b", "c"), "xx")
    assert ranking_cases(log) == []
    found = evaluate_ranking(cases, [first, second])
    assert found.errors["an irrelevant passage is first"] == 1
    with pytest.raises(ValueError, match="the record has no passage 'z'"):
        first.corrected(["z"])
    text = evaluate_command(corrected, log, k=3)
    assert text == str(evaluate_ranking(cases, [first, second], k=3))
    other = tmp_path / "other.jsonl"
    other.write_text(first.to_json() + "\n")
    assert evaluate_command(corrected, other).endswith("\n1 golden questions have no ranking")
    with pytest.raises(ValueError, match="holds no ranking that a person has corrected"):
        evaluate_command(log, log)
    other.write_text("")
    with pytest.raises(ValueError, match="holds no ranking of a question"):
        evaluate_command(corrected, other)


def test_equal_passages_have_one_id_and_are_compared_all_the_same() -> None:
    """Texts without ids that are equal share their hash."""
    model = Reader(lambda text: float(len(text)))
    kept: list[RankingRecord] = []
    EvidenceRanker(model, recorders=[kept.append]).rank("q", ["xx", "xx", "xxx"])
    record = kept[0].corrected({Passage("xx").key: 1})
    (golden,) = ranking_cases([record])
    assert golden.relevance == [1, 1, 0]
    assert evaluate_ranking([golden], [record]).mrr.mean == 0.5


@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ([], "0 rankings for 1 golden questions"),
        ([["a", "a"]], "'a' is too many"),
        ([["z"]], "'z' is too many"),
        (
            [EvidenceRanker(Model(reply()), fallback="input_order").rank("q", ["x"])],
            "a ranking of 1 passages for a question of 4",
        ),
    ],
)
def test_what_does_not_fit_is_refused(rankings: Any, message: str) -> None:
    """Naming what is too many or too few."""
    with pytest.raises(ValueError, match=message):
        evaluate_ranking([case(a=1)], rankings)


def test_impossible_grades_are_refused() -> None:
    """Whole numbers of passages that the case has."""
    with pytest.raises(ValueError, match="grades are of passages that the case has, not of z"):
        case(z=1)
    with pytest.raises(TypeError, match="the grade of a must be a whole number"):
        RankingCase("q", IDS, {"a": 0.5}, {})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="the grade of a=-1"):
        case(a=-1)


CASES = [(f"question {number}?", [f"text {number} {at}" for at in range(5)], number % 5) for number in range(30)]


def fair(prompt: str) -> str:
    """Rank the passage that is the best of its case, wherever it is and however long."""
    number = int(prompt.split("question ")[1].split("?")[0])
    best = f"text {number} {number % 5}"
    return reply(*(row(label, 9 if text.startswith(best) else 4) for label, text in shown(prompt).items()))


def test_a_fair_ranker_shows_no_effect() -> None:
    """Neither of place nor of length: both are excluded up to a small difference."""
    done: list[int] = []
    audit = audit_ranker(EvidenceRanker(fair), CASES, progress=lambda at, n: done.append(at))
    assert (audit.place.proved, audit.length.proved) == (False, False)
    assert audit.place.firsts == (1, 1, 1)
    assert audit.place.largest == audit.length.largest == 0
    assert audit.place.excluded < 0.15
    assert audit.place.verdict.startswith("no effect of place shown in 30 cases: differences above")
    assert done == list(range(1, 31))


def test_a_ranker_that_favours_the_head_is_found_out() -> None:
    """The first passage of the prompt wins: an effect of place is proved, and none of length."""

    def headstrong(prompt: str) -> str:
        return reply(*(row(label, 9 - at) for at, label in enumerate(shown(prompt))))

    audit = audit_ranker(EvidenceRanker(headstrong), CASES, places=5)
    assert audit.place.proved
    assert audit.place.firsts == (1, 0, 0, 0, 0)
    assert audit.place.scores[0] == 9
    assert "the ranking moves with place (proved at case" in str(audit)
    assert not audit.length.proved


def test_a_ranker_that_favours_length_is_found_out() -> None:
    """The longest passage wins: neutral text moves it up."""

    def longest(prompt: str) -> str:
        passages = shown(prompt)
        top = max(map(len, passages.values()))
        return reply(*(row(label, 9 if len(text) == top else 3) for label, text in passages.items()))

    cases = [(f"q{n}", [f"text {at} " + "x" * (20 if at else 15) for at in range(5)], 0) for n in range(30)]
    audit = audit_ranker(EvidenceRanker(longest), cases)
    assert audit.length.proved
    assert audit.length.firsts == (0, 1, 1)
    assert audit.length.largest == 6
    assert not audit.place.proved


def test_replies_that_cannot_be_used_make_an_audit_invalid() -> None:
    """Not a flat line."""
    audit = audit_ranker(EvidenceRanker(Model("no idea")), CASES[:4])
    assert audit.place.verdict == "invalid: 4 of 4 cases had no usable reply"
    assert audit.place.dropped == 4


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ([("q", ["a"], 0)], r"cases\[0\] needs two passages"),
        ([("q", ["a", "b"], 2)], "the index of one of them, not 2"),
        ([("q", ["a", "b"], "1")], "the index of one of them, not '1'"),
        ([("q", ["a", "b"])], r"cases\[0\] must be \(query, passages, best\)"),
        ([RankingCase("q", ("a", "b"), {"a": 1}, {})], "needs the text of every passage"),
        ([RankingCase("q", ("a", "b"), {}, {"a": "x", "b": "y"})], "one that is relevant"),
    ],
)
def test_cases_that_cannot_be_audited_are_refused(cases: Any, message: str) -> None:
    """Naming the case."""
    with pytest.raises(ValueError, match=message):
        audit_ranker(EvidenceRanker(fair), cases)


def test_a_golden_set_is_audited_as_well() -> None:
    """Its best passage is that of the highest grade."""
    golden = [
        RankingCase(query, tuple("abcde"), {"abcde"[best]: 2}, dict(zip("abcde", texts, strict=True)))
        for query, texts, best in CASES[:3]
    ]
    assert audit_ranker(EvidenceRanker(fair), golden).place.firsts == (1, 1, 1)
