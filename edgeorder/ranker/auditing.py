"""An audit of the ranker itself: does its judgement of a passage move with its place in the prompt, or its length?"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from edgeorder.checks import whole_number
from edgeorder.probe.evidence import PositionEvidence
from edgeorder.ranker.dimensions import HIGHEST, LOWEST
from edgeorder.ranker.passages import Passage, as_passages, labels
from edgeorder.ranker.ranker import EvidenceRanker

_NEUTRAL = (
    "This page was last opened on a weekday. The layout of the page has not been changed since. "
    "Readers who print it should choose the usual paper. The following lines are kept for the archive. "
)
_LENGTHS = (0.0, 1.0, 3.0)  # neutral text, as a multiple of the passage's own length
_DROPPED = 0.2  # share of the cases without usable replies from which on an audit says nothing


@dataclass(frozen=True)
class Effect:
    """Whether the score of the best passage moves with something that should not matter.

    Args:
        what: "place" or "length".
        levels: Of it: relative places from 0, the head, to 1, the tail; or neutral text in lengths of the passage.
        scores: The mean score at each level, 1..10; a passage that is not ranked has the lowest.
        firsts: How often it was ranked first at each level, 0..1.
        cases: How many cases count; how many were left out for unusable replies is `dropped`.
        dropped: Those.
        proved: Whether an effect on being ranked first is proved, by the probe's e-process.
        excluded: The difference in being ranked first above which the cases rule out any, 0..1, at 95 %.
        verdict: The same in words.
    """

    what: str
    levels: tuple[float, ...]
    scores: tuple[float, ...]
    firsts: tuple[float, ...]
    cases: int
    dropped: int
    proved: bool
    excluded: float
    verdict: str

    @property
    def largest(self) -> float:
        """The largest difference between the mean scores of two levels."""
        return max(self.scores) - min(self.scores) if self.scores else 0.0


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Args:
        place: Of the passage in the prompt.
        length: Of the passage, padded with neutral text.
    """

    place: Effect
    length: Effect

    def __str__(self) -> str:
        return f"place: {self.place.verdict}\nlength: {self.length.verdict}"


def audit_ranker(
    ranker: EvidenceRanker,
    cases: Sequence[Any],
    *,
    places: int = 3,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Audit:
    """Ask a ranker about the same passages with the best one in different places, and padded to different lengths.

    A ranking of passages is load-bearing where the reader favours the head of a block: its own bias towards a place or
    a length then becomes the answer's. Each case costs `places` and 3 questions to the model, and their retries.

    Args:
        ranker: The ranker. Constraints and passes have no part in it.
        cases: (query, passages, best): the passages as `rank` takes them, two or more, and the input index of the best;
            or `RankingCase`s with texts, whose best is that of the highest grade.
        places: In how many places of the prompt the best passage is shown, evenly from head to tail; at least 3.
        seed: For the order of the others.
        progress: Gets the number of cases done, and of all.

    Raises:
        ValueError: For a case that cannot be used, naming it.
    """
    places = whole_number("places", places, least=3)
    read = [_case(case, number) for number, case in enumerate(cases)]
    at = [number / (places - 1) for number in range(places)]
    longest = max(_LENGTHS)
    by_place: list[list[tuple[float, bool]] | None] = []
    by_length: list[list[tuple[float, bool]] | None] = []
    for number, (query, passages, best) in enumerate(read):
        others = [index for index in range(len(passages)) if index != best]
        random.Random(f"{seed} {number}").shuffle(others)  # noqa: S311 - no secret
        by_place.append(_asked(ranker, query, best, [(passages, _placed(others, best, share)) for share in at]))
        middle = _placed(others, best, 0.5)
        padded = [(_padded(passages, best, times), middle) for times in _LENGTHS]
        by_length.append(_asked(ranker, query, best, padded))
        if progress is not None:
            progress(number + 1, len(read))
    levels = PositionEvidence(at), PositionEvidence([times / longest for times in _LENGTHS])
    return Audit(_effect("place", at, by_place, levels[0]), _effect("length", _LENGTHS, by_length, levels[1]))


def _case(case: Any, number: int) -> tuple[str, list[Passage], int]:
    """Return a case as query, passages and the index of the best.

    Raises:
        ValueError: If it cannot be used.
    """
    if hasattr(case, "grades"):
        if set(case.ids) - set(case.texts) or not any(case.grades.values()):
            raise ValueError(f"cases[{number}] needs the text of every passage, and one that is relevant")
        passages = as_passages([(key, case.texts[key]) for key in case.ids])
        best = max(range(len(passages)), key=case.relevance.__getitem__)
        query = case.query
    else:
        if not isinstance(case, tuple | list) or len(case) != 3:
            raise ValueError(f"cases[{number}] must be (query, passages, best), not {case!r:.80}")
        query, items, best = case
        passages = as_passages(items)
    if not (len(passages) > 1 and isinstance(best, Integral) and 0 <= best < len(passages)):
        raise ValueError(f"cases[{number}] needs two passages or more, and the index of one of them, not {best!r}")
    return query, passages, best


def _placed(others: Sequence[int], best: int, share: float) -> list[int]:
    """Return the order in which the best passage is that far down."""
    slot = round(share * len(others))
    return [*others[:slot], best, *others[slot:]]


def _padded(passages: Sequence[Passage], best: int, times: float) -> list[Passage]:
    """Return the passages, the best one followed by neutral text of that many times its length."""
    text = passages[best].text
    wanted = round(times * len(text))
    more = (_NEUTRAL * (wanted // len(_NEUTRAL) + 1))[:wanted]
    padded = Passage(f"{text}\n{more}" if more else text, passages[best].id, passages[best].metadata)
    return [padded if index == best else passage for index, passage in enumerate(passages)]


def _asked(
    ranker: EvidenceRanker, query: str, best: int, versions: Sequence[tuple[Sequence[Passage], Sequence[int]]]
) -> list[tuple[float, bool]] | None:
    """Return the score of the best passage in each version, and whether it was first; None if a reply was unusable."""
    found: list[tuple[float, bool]] = []
    for passages, order in versions:
        outcome = ranker.judge(query, passages, order)
        if outcome.status in ("fallback", "partial"):
            return None
        label = labels(len(passages))[best]
        judged = outcome.checked.judged
        total = judged[label].total if label in judged else LOWEST
        found.append((total, bool(judged) and next(iter(judged)) == label))
    return found


def _effect(
    what: str,
    levels: Sequence[float],
    rows: Sequence[list[tuple[float, bool]] | None],
    evidence: PositionEvidence,
) -> Effect:
    kept = [row for row in rows if row is not None]
    dropped = len(rows) - len(kept)
    for row in kept:
        evidence.add([int(first) for _, first in row])
    columns = list(zip(*kept, strict=True))
    scores = tuple(round(sum(score for score, _ in column) / len(column), 6) for column in columns)
    firsts = tuple(sum(first for _, first in column) / len(column) for column in columns)
    excluded = evidence.excluded()
    proved = evidence.proved and dropped <= _DROPPED * len(rows)
    text = _verdict(what, scores, firsts, evidence.proved_at if proved else None, excluded, dropped, len(rows))
    return Effect(what, tuple(levels), scores, firsts, len(kept), dropped, proved, excluded, text)


def _verdict(
    what: str,
    scores: Sequence[float],
    firsts: Sequence[float],
    proved_at: int | None,
    excluded: float,
    dropped: int,
    n: int,
) -> str:
    if dropped > _DROPPED * n:
        return f"invalid: {dropped} of {n} cases had no usable reply"
    if not scores:
        return "nothing was asked"
    moved = f"its mean score lies within {min(scores):.2f} to {max(scores):.2f} of {HIGHEST:g}"
    if proved_at is not None:
        shares = ", ".join(f"{share:.0%}" for share in firsts)
        return f"the ranking moves with {what} (proved at case {proved_at}): the best is first in {shares}; {moved}"
    return f"no effect of {what} shown in {n - dropped} cases: differences above {excluded:.0%} are excluded; {moved}"
