"""Does `predict` tell which setting a model reads best, before it is asked?

Twelve settings that are named here beforehand (4 orders x top 5, 10, 20) are predicted from a profile of some questions
(--learned), and measured on others. Told are the correlation of predicted and measured accuracy, beside the
split-half correlation of the measured ones themselves (which no prediction can beat by much), and the regret: what
is lost by taking the setting that is predicted best instead of the one that is.

A record of `facts` has some 18 tokens. The passages of a file are cut to --words around the answer, so that 20 of them
take about 1,000 tokens. Answers are kept in --cache: the same command goes on where it was stopped, and more
--questions ask only what is new.

    nice -n 19 python benchmarks/predicting.py --questions 300 --cache .probe --threads 2
"""

import argparse
import asyncio
import random
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from edgeorder import predict
from edgeorder.cli.progress import progress
from edgeorder.probe import AnswerCache, Case, CaseChunk, compare, load_cases, probe
from edgeorder.probe.cases import holds
from edgeorder.probe.local import LocalModel

# A block of top 5 begins that of top 10 in some orders, which the model then need not read again: so lengths go last.
ORDERS = ("relevance", "bookend", "long_context_reorder", "reverse")
LENGTHS = (5, 10, 20)
SETTINGS: dict[str, Any] = {
    f"{order}, top {k}": {"k": k, "order": order, "reading": "off"} for order, k in product(ORDERS, LENGTHS)
}
DRAWS = 1000


def clipped(case: Case, words: int) -> Case | None:
    """Return a case whose passages have at most so many words; None if none of them hold an answer of the gold one."""
    body = case.gold.text.split()
    starts = range(0, max(len(body) - words, 0) + 1, max(words // 4, 1))
    windows = [CaseChunk(" ".join(body[start : start + words])) for start in (*starts, max(len(body) - words, 0))]
    gold = next((window for window in windows if holds(window, case.answers)), None)
    if gold is None:
        return None
    others = [CaseChunk(" ".join(one.text.split()[:words])) for one in case.distractors]
    return replace(case, gold=gold, distractors=tuple(others))


def correlation(ours: list[float], theirs: list[float]) -> float:
    """Return Pearson's correlation; 0 where one of them does not vary."""
    n = len(ours)
    mean, other = sum(ours) / n, sum(theirs) / n
    spread = (sum((a - mean) ** 2 for a in ours) * sum((b - other) ** 2 for b in theirs)) ** 0.5
    return sum((a - mean) * (b - other) for a, b in zip(ours, theirs, strict=True)) / spread if spread else 0.0


def shares(marks: dict[str, tuple[int, ...]], chosen: list[int]) -> list[float]:
    """Return the share of right answers of each setting among some of the questions."""
    return [sum(own[at] for at in chosen) / len(chosen) for own in marks.values()]


async def asked(given: argparse.Namespace) -> Any:
    """Return the predictions by name, and the comparison, after all questions were asked."""
    questions, seed = given.questions, given.seed
    made = given.cases == "facts"
    cases = load_cases(given.cases, 2 * questions if made else None, max(LENGTHS), seed)
    if not made:
        cases = [case for case in (clipped(case, given.words) for case in cases) if case is not None]
    # Every second one, so that more questions begin with the same ones, and their answers are on disk.
    learned, paired = cases[: 2 * questions : 2][: given.learned], cases[1 : 2 * questions : 2]
    if len(paired) < questions:
        raise SystemExit(f"{given.cases} holds {len(cases)} cases; {questions} questions and as many others need more")
    model = LocalModel(max_tokens=16, threads=given.threads)
    with AnswerCache(given.cache / "answers.sqlite") as cache:
        start = time.monotonic()
        with progress("Probing") as step:
            probed = await probe(
                model, learned, chunks=LENGTHS, depths=5, stop="fixed", cache=cache, progress=step, concurrency=1
            )
        told(start, probed.calls, len(learned), "probing")
        floor = probed.lengths[0].floor.value or 0.0
        predicted = {one.name: one for one in predict(probed.profile(), paired, SETTINGS, floor=floor, seed=seed)}
        start = time.monotonic()
        with progress("Comparing") as step:
            found = await compare(
                model,
                paired,
                placers=SETTINGS,
                used=False,
                chunks=(max(LENGTHS),),
                cache=cache,
                seed=seed,
                progress=step,
                concurrency=1,
            )
        told(start, found.calls, questions, "comparing")
    await model.aclose()
    return predicted, found, len(learned)


def told(start: float, calls: int, questions: int, what: str) -> None:
    """Print how long a part took."""
    seconds = time.monotonic() - start
    print(f"{what}: {seconds:.0f} s, {calls} calls that were not on disk, {seconds / questions:.1f} s a question")


async def main(given: argparse.Namespace) -> None:
    """Ask, and print the figures."""
    predicted, found, learned = await asked(given)
    marks = {arm.order: arm.right for arm in found.arms}
    n = len(found.arms[0].right)
    expected = [predicted[name].accuracy for name in marks]
    measured = shares(marks, list(range(n)))
    tokens = {arm.order: arm.tokens for arm in found.arms}
    for name, ours, theirs in sorted(zip(marks, expected, measured, strict=True), key=lambda row: -row[1]):
        print(f"  {name:<28} predicted {ours:6.1%}   measured {theirs:6.1%}   {tokens[name] or 0:5.0f} tokens")
    rng = random.Random(given.seed)
    halves, regrets = [], []
    best = expected.index(max(expected))
    for _ in range(DRAWS):
        order = rng.sample(range(n), n)
        halves.append(correlation(shares(marks, order[: n // 2]), shares(marks, order[n // 2 :])))
        drawn = shares(marks, [rng.randrange(n) for _ in range(n)])
        regrets.append(max(drawn) - drawn[best])
    regrets.sort()
    own = sum(halves) / DRAWS
    print(f"{n} paired questions, predicted from {learned} others")
    print(f"correlation {correlation(expected, measured):.3f}; of the measured halves {own:.3f}; reach {0.9 * own:.3f}")
    lost = max(measured) - measured[best]
    low, high = regrets[round(0.025 * DRAWS)], regrets[round(0.975 * DRAWS) - 1]
    print(f"regret {lost:.1%} (95 % bootstrap interval {low:.1%} to {high:.1%}; the best of twelve is partly luck)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=300, help="paired ones, in all settings")
    parser.add_argument("--learned", type=int, default=None, help="others that make the profile; without, as many")
    parser.add_argument("--cases", default="facts", help="facts, or a file of cases")
    parser.add_argument("--words", type=int, default=30, help="of each passage of a file; 30 are about 40 tokens")
    parser.add_argument("--cache", type=Path, default=Path(".probe"), help="the folder of the answers")
    parser.add_argument("--threads", type=int, default=None, help="of the model; without, half of the processors")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(given))
