"""Does `predict` tell which setting a model reads best, before it is asked?

Twelve settings that are named here beforehand (4 orders x top 5, 10, 20) are predicted from a profile of one half of
the questions, and measured on the other half. Told are the correlation of predicted and measured accuracy, beside the
split-half correlation of the measured ones themselves (which no prediction can beat by much), and the regret: what
is lost by taking the setting that is predicted best instead of the one that is. Answers are kept in --cache, so a run
that is stopped goes on.

    nice -n 19 python benchmarks/predicting.py --questions 300 --cache .probe
"""

import argparse
import asyncio
import random
from itertools import product
from pathlib import Path
from typing import Any

from edgeorder import predict
from edgeorder.probe import AnswerCache, as_model, compare, load_cases, probe

ORDERS = ("relevance", "bookend", "long_context_reorder", "reverse")
LENGTHS = (5, 10, 20)


def correlation(ours: list[float], theirs: list[float]) -> float:
    """Return Pearson's correlation; 0 where one of them does not vary."""
    n = len(ours)
    mean, other = sum(ours) / n, sum(theirs) / n
    spread = (sum((a - mean) ** 2 for a in ours) * sum((b - other) ** 2 for b in theirs)) ** 0.5
    return sum((a - mean) * (b - other) for a, b in zip(ours, theirs, strict=True)) / spread if spread else 0.0


def shares(marks: dict[str, tuple[int, ...]], chosen: list[int]) -> list[float]:
    return [sum(own[at] for at in chosen) / len(chosen) for own in marks.values()]


async def main(questions: int, folder: Path | None, seed: int) -> None:
    cases = load_cases("facts", 2 * questions, max(LENGTHS), seed)
    learned, paired = cases[:questions], cases[questions:]
    model = as_model("local", max_tokens=16)
    cache = AnswerCache(folder / "answers.sqlite") if folder else None
    placers: dict[str, Any] = {
        f"{order}, top {k}": {"k": k, "order": order, "reading": "off"} for k, order in product(LENGTHS, ORDERS)
    }
    probed = await probe(model, learned, chunks=LENGTHS, depths=5, stop="fixed", cache=cache)
    floor = probed.lengths[0].floor.value or 0.0
    predicted = {one.name: one for one in predict(probed.profile(), paired, placers, floor=floor, seed=seed)}
    found = await compare(model, paired, placers=placers, used=False, chunks=(max(LENGTHS),), cache=cache, seed=seed)
    await model.aclose()
    marks = {arm.order: arm.right for arm in found.arms}
    n = len(found.arms[0].right)
    expected = [predicted[name].accuracy for name in marks]
    measured = shares(marks, list(range(n)))
    for name, ours, theirs in sorted(zip(marks, expected, measured, strict=True), key=lambda row: -row[1]):
        print(f"  {name:<28} predicted {ours:6.1%}   measured {theirs:6.1%}")
    rng = random.Random(seed)
    halves, regrets = [], []
    best = expected.index(max(expected))
    for _ in range(1000):
        order = rng.sample(range(n), n)
        halves.append(correlation(shares(marks, order[: n // 2]), shares(marks, order[n // 2 :])))
        drawn = shares(marks, [rng.randrange(n) for _ in range(n)])
        regrets.append(max(drawn) - drawn[best])
    regrets.sort()
    own = sum(halves) / len(halves)
    print(f"{n} paired questions, predicted from {questions} others")
    print(f"correlation {correlation(expected, measured):.3f}; of the measured halves {own:.3f}; reach {0.9 * own:.3f}")
    lost = max(measured) - measured[best]
    print(f"regret {lost:.1%} (95 % bootstrap interval {regrets[25]:.1%} to {regrets[974]:.1%})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--cache", type=Path, default=None)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    asyncio.run(main(given.questions, given.cache, given.seed))
