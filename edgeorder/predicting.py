"""Predicting: what a measured profile promises of every setting on the user's own lists, with no call to a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from edgeorder.alerts import told_once
from edgeorder.checks import share
from edgeorder.explaining import strong_positions
from edgeorder.profile import PositionProfile
from edgeorder.recording import expected_at
from edgeorder.systems import Placer, placing_chunks

if TYPE_CHECKING:
    from edgeorder.probe.cases import Case, CaseChunk


@dataclass(frozen=True)
class Prediction:
    """What is expected of one setting.

    Args:
        name: The setting.
        accuracy: Expected share (0..1) of right answers.
        low: Lower end of its 95 % interval over the questions; what the profile itself may be off is no part of it.
        high: Upper end.
        in_block: Share of the questions whose gold chunk is in the block, its answer not cut out of it.
        strong: Share of the questions whose gold chunk sits in a strong position.
        chunks: Chunks in the block on average.
        each: The expected accuracy of each question, in the order of the cases.
    """

    name: str
    accuracy: float
    low: float
    high: float
    in_block: float
    strong: float
    chunks: float
    each: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self)


def predict(
    profile: PositionProfile,
    cases: "Sequence[Case]",
    placers: Mapping[str, Placer],
    *,
    floor: float = 0.0,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> list[Prediction]:
    """Return the expected accuracy of every setting, the best first.

    The gold chunk of each case is put where the setting puts it, and counts as the profile measured that depth of a
    block of that length. What the profile does not know is not in it: what the other chunks say.

    Args:
        profile: What was measured of the model.
        cases: The user's own lists, see `cases_from`. A gold chunk without a rank gets one that is drawn.
        placers: Settings by name: dicts of the keywords of `place` and `k`, adapters, or names such as `"as_is"`.
        floor: The accuracy (0..1) without the gold chunk: `edgeorder probe` tells it as closed book.
        seed: For drawn ranks.
        progress: Gets (settings done, settings there are).

    Raises:
        ValueError: Without cases or placers, or for a floor outside 0..1.
    """
    if not cases or not placers:
        raise ValueError("to predict takes cases and placers, one at least of each")
    floor = share("floor", floor)
    lists = [_list(case, seed) for case in cases]
    curves: dict[int, tuple[float, ...]] = {}
    found: list[Prediction] = []
    for name, placer in placers.items():
        with told_once():
            found.append(_predicted(name, placer, cases, lists, profile, floor, curves))
        if progress:
            progress(len(found), len(placers))
    return sorted(found, key=lambda one: -one.accuracy)


def _predicted(
    name: str,
    placer: Placer,
    cases: "Sequence[Case]",
    lists: "Sequence[Sequence[CaseChunk]]",
    profile: PositionProfile,
    floor: float,
    curves: dict[int, tuple[float, ...]],
) -> Prediction:
    from edgeorder.probe.grading import contains
    from edgeorder.probe.trials import as_chunk

    place = placing_chunks(placer)
    each: list[float] = []
    inside = strong = chunks = 0
    for case, passages in zip(cases, lists, strict=True):
        placement = place([as_chunk(passage) for passage in passages], case.question)
        n = len(placement)
        chunks += n
        gold = next((at for at, passage in enumerate(passages) if passage is case.gold), None)
        at = placement.indices.index(gold) if gold in placement.indices else None
        text = placement.texts.get(gold) if gold is not None else None
        if at is None or (text is not None and not any(contains(text, alias) for alias in case.answers)):
            each.append(floor)
            continue
        if n not in curves:
            curves[n] = expected_at(profile, n)
        inside += 1
        strong += at in strong_positions(n, False, curves[n])
        each.append(curves[n][at])
    total = len(cases)
    mean = sum(each) / total
    spread = 1.96 * (sum((one - mean) ** 2 for one in each) / max(total - 1, 1) / total) ** 0.5
    return Prediction(
        name,
        mean,
        max(mean - spread, 0.0),
        min(mean + spread, 1.0),
        inside / total,
        strong / total,
        chunks / total,
        tuple(each),
    )


def _list(case: "Case", seed: int) -> "list[CaseChunk]":
    """Return the passages of a case by rank; the gold one is missing if its rank lies beyond them."""
    from edgeorder.probe.trials import gold_rank

    rank = gold_rank(case, len(case.distractors) + 1, seed)
    if rank > len(case.distractors) + 1:
        return list(case.distractors)
    return [*case.distractors[: rank - 1], case.gold, *case.distractors[rank - 1 :]]
