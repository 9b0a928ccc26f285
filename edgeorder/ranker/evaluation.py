"""How good rankings are, against a golden set (extra `evaluate`)."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from edgeorder.checks import whole_number
from edgeorder.extras import optional
from edgeorder.ranker.ranking import Ranking
from edgeorder.ranker.record import RankingRecord, read_rankings
from edgeorder.ranker.session import Attempt

_LEVEL = 0.95
_RESAMPLES = 2000
_KINDS = (
    ("the model failed", r"the model failed"),
    ("cut off", r"was cut off"),
    ("no JSON", r"holds no JSON|cannot be read|levels deep|twice in one object|has no \"ranked"),
    ("unknown id", r"no id of a passage"),
    ("repeated id", r"is ranked twice|is ranked and unranked"),
    ("value out of range", r"must be a number from"),
    ("rationale", r"the rationale of"),
    ("empty ranking", r"the ranking is empty"),
)


@dataclass(frozen=True)
class RankingCase:
    """A question with a person's judgement of its passages.

    Args:
        query: The question, or its hash.
        ids: Of all passages, in input order.
        grades: By id, whole numbers: 0 is irrelevant, more is better; what is missing is irrelevant.
        texts: By id, where they are known.
    """

    query: str
    ids: tuple[str, ...]
    grades: Mapping[str, int]
    texts: Mapping[str, str]

    def __post_init__(self) -> None:
        unknown = sorted(set(self.grades) - set(self.ids))
        if unknown:
            raise ValueError(f"grades are of passages that the case has, not of {', '.join(unknown)}")
        for key, grade in self.grades.items():
            whole_number(f"the grade of {key}", grade, least=0)

    @property
    def relevance(self) -> list[int]:
        """The grade of each passage, in input order."""
        return [self.grades.get(key, 0) for key in self.ids]


class Measured(NamedTuple):
    """A mean over questions.

    Args:
        mean: It.
        low: Lower end of its interval, at 95 %, by resampling questions; None for fewer than two.
        high: Upper end.
    """

    mean: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        return f"{self.mean:.3f}" + ("" if self.low is None else f" ({self.low:.3f} to {self.high:.3f})")


@dataclass(frozen=True)
class Evaluation:
    """How good rankings are.

    Args:
        questions: How many were compared.
        k: Up to which rank nDCG counts.
        ndcg: nDCG@k (Järvelin and Kekäläinen, TOIS 2002).
        mrr: Mean reciprocal rank of the first relevant passage.
        tau: Kendall's tau-b between ranking and grades; None if no question has two grades.
        errors: How often what went wrong, by kind, in how many questions.
    """

    questions: int
    k: int
    ndcg: Measured
    mrr: Measured
    tau: Measured | None
    errors: Mapping[str, int]

    def __str__(self) -> str:
        lines = [f"{self.questions} questions", f"nDCG@{self.k}  {self.ndcg}", f"MRR  {self.mrr}"]
        lines.append(f"Kendall's tau  {self.tau if self.tau is not None else 'not defined'}")
        return "\n".join(lines + [f"{count:>4}  {kind}" for kind, count in self.errors.items()])


def ranking_cases(log: Any) -> list[RankingCase]:
    """Return a golden set: the rankings of a log that a person has corrected, see `RankingRecord.corrected`.

    Args:
        log: A JSONL file, or `RankingRecord`s or their dicts. A correction is grades by id, or the ids of what is
            relevant, best first.

    Raises:
        ValueError: For a correction that names passages which the ranking does not have, or a grade that is no whole
            number of at least 0.
    """
    cases: list[RankingCase] = []
    for record in read_rankings(log):
        if record.correction is None:
            continue
        texts = {one["id"]: one["text"] for one in record.passages if "text" in one}
        ids = tuple(one["id"] for one in record.passages)
        try:
            cases.append(RankingCase(record.query, ids, _grades(record.correction), texts))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"the correction of the ranking for {record.query!r:.60} is none: {error}") from error
    return cases


def _grades(given: Any) -> dict[str, int]:
    """Return grades by id; of ids, best first, the first has the highest."""
    if not isinstance(given, Mapping):
        return {key: len(given) - at for at, key in enumerate(given)}
    return {key: int(grade) if float(grade).is_integer() else grade for key, grade in given.items()}


def evaluate_ranking(golden: Sequence[RankingCase], rankings: Sequence[Any], *, k: int = 10) -> Evaluation:
    """Compare rankings with a golden set.

    Args:
        golden: The questions.
        rankings: Of each question, in the same order: a `Ranking`, a `RankingRecord`, or ids, best first.
        k: Up to which rank nDCG counts.

    Raises:
        ValueError: If they are not as many, are none, or a ranking does not fit its case.
        ImportError: If ir-measures or scipy is not installed.
    """
    k = whole_number("k", k, least=1)
    if len(golden) != len(rankings) or not golden:
        raise ValueError(f"{len(rankings)} rankings for {len(golden)} golden questions: one for each is needed")
    orders = [_order(case, ranking) for case, ranking in zip(golden, rankings, strict=True)]
    ndcg, mrr = _by_ir_measures(golden, orders, k)
    taus = [tau for case, order in zip(golden, orders, strict=True) if (tau := _tau(case, order)) is not None]
    errors: Counter[str] = Counter()
    for case, order, ranking in zip(golden, orders, rankings, strict=True):
        errors.update(_errors(case, order, ranking))
    return Evaluation(
        len(golden), k, _measured(ndcg), _measured(mrr), _measured(taus) if taus else None, dict(errors.most_common())
    )


def evaluate_command(golden: str | Path, rankings: str | Path, k: int = 10, *, as_json: bool = False) -> str:
    """Return what `edgeorder evaluate GOLDEN RANKINGS` prints.

    Args:
        golden: A JSONL log of rankings in which a person's corrections stand.
        rankings: A JSONL log of the rankings to compare, of the same questions by query and ids; the golden log itself
            for what it holds.
        k: Up to which rank nDCG counts.
        as_json: Whether it is one line of JSON.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If no ranking was corrected, or none of the others is of a golden question.
    """
    cases = ranking_cases(golden)
    if not cases:
        raise ValueError(f"{golden} holds no ranking that a person has corrected: see RankingRecord.corrected")
    found = {(one.query, tuple(sorted(p["id"] for p in one.passages))): one for one in read_rankings(rankings)}
    pairs = [(case, found[key]) for case in cases if (key := (case.query, tuple(sorted(case.ids)))) in found]
    if not pairs:
        raise ValueError(f"{rankings} holds no ranking of a question that {golden} does")
    evaluation = evaluate_ranking([case for case, _ in pairs], [one for _, one in pairs], k=k)
    missing = len(cases) - len(pairs)
    if as_json:
        return to_json(evaluation)
    return f"{evaluation}" + (f"\n{missing} golden questions have no ranking" if missing else "")


def _order(case: RankingCase, ranking: Any) -> list[int]:
    """Return the input indices of a ranking, best first, and of all passages."""
    n = len(case.ids)
    if isinstance(ranking, Ranking):
        order = list(ranking.indices)
    elif isinstance(ranking, RankingRecord):
        order = [*(one["index"] for one in ranking.ranked), *ranking.unranked]
    else:
        free = list(enumerate(case.ids))
        order = []
        for key in ranking:
            found = next((index for index, known in free if known == key), None)
            if found is None:
                raise ValueError(f"a ranking names each passage of its question once; {key!r:.40} is too many")
            order.append(found)
            free = [pair for pair in free if pair[0] != found]
        order += [index for index, _ in free]
    if sorted(order) != list(range(n)):
        raise ValueError(f"a ranking of {len(order)} passages for a question of {n}")
    return order


def _by_ir_measures(
    golden: Sequence[RankingCase], orders: Sequence[Sequence[int]], k: int
) -> tuple[list[float], list[float]]:
    """Return nDCG@k and the reciprocal rank of each question."""
    with optional("ir-measures", "evaluate"):
        import ir_measures
    qrels = {f"{at}": {f"{i}": grade for i, grade in enumerate(case.relevance)} for at, case in enumerate(golden)}
    run = {f"{at}": {f"{i}": -float(rank) for rank, i in enumerate(order)} for at, order in enumerate(orders)}
    ndcg, reciprocal = ir_measures.nDCG @ k, ir_measures.RR
    found = {(one.measure, one.query_id): one.value for one in ir_measures.iter_calc([ndcg, reciprocal], qrels, run)}
    numbers = [f"{at}" for at in range(len(golden))]
    return [found.get((ndcg, at), 0.0) for at in numbers], [found.get((reciprocal, at), 0.0) for at in numbers]


def _tau(case: RankingCase, order: Sequence[int]) -> float | None:
    """Return Kendall's tau-b between an order and the grades; None where all grades are the same."""
    grades = [case.relevance[index] for index in order]
    if len(set(grades)) < 2:
        return None
    with optional("scipy", "evaluate"):
        from scipy.stats import kendalltau
    return float(kendalltau(range(len(order), 0, -1), grades).statistic)


def _measured(values: Sequence[float]) -> Measured:
    mean = sum(values) / len(values)
    if len(values) < 2 or max(values) == min(values):
        return Measured(mean, None if len(values) < 2 else mean, None if len(values) < 2 else mean)
    with optional("scipy", "evaluate"):
        from scipy.stats import bootstrap
    interval = bootstrap(
        (values,), _mean, n_resamples=_RESAMPLES, confidence_level=_LEVEL, method="percentile", rng=0
    ).confidence_interval
    return Measured(mean, float(interval.low), float(interval.high))


def _mean(values: Any, axis: int = -1) -> Any:
    return values.mean(axis=axis)


def _errors(case: RankingCase, order: Sequence[int], ranking: Any) -> Iterable[str]:
    """Yield what went wrong with one question, each kind once."""
    grades = case.relevance
    if any(grades) and not grades[order[0]]:
        yield "an irrelevant passage is first"
    elif any(grades) and grades[order[0]] < max(grades):
        yield "another passage than the best is first"
    if isinstance(ranking, Ranking | RankingRecord):
        if any(grades[index] for index in ranking.unranked):
            yield "a relevant passage is not ranked"
        if ranking.status != "ok":
            yield f"status {ranking.status}"
        attempts = [one.errors if isinstance(one, Attempt) else one["errors"] for one in ranking.attempts]
        said = "\n".join(error for errors in attempts for error in errors)
        for kind, pattern in _KINDS:
            if re.search(pattern, said):
                yield f"reply: {kind}"


def to_json(evaluation: Evaluation) -> str:
    """Return an evaluation as one line of JSON."""
    measured = {
        name: None if (one := getattr(evaluation, name)) is None else one._asdict() for name in ("ndcg", "mrr", "tau")
    }
    return json.dumps(
        {"questions": evaluation.questions, "k": evaluation.k, **measured, "errors": dict(evaluation.errors)}
    )
