"""The log-probability of the right answer beside right and wrong answers, on the local model.

    python benchmarks/likelihood.py [CASES] [--questions 60] [--chunks 20] [--depths 7] [--cache FILE]

CASES is `facts` or a file of cases. The questions are asked once; then runs are drawn from them, in which an order is
settled by log-probability, and judged by the accuracy of the questions that the run did not ask.
"""

import argparse
import asyncio
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.extend(str(Path(__file__).parents[1] / "tests" / folder) for folder in ("", "probe"))
from published import lost, readings
from tables import table

from edgeorder.orders import ORDERS
from edgeorder.probe.answers import AnswerCache
from edgeorder.probe.likelihood import AT_LEAST, LikelihoodResult, likelihood_lines, quick
from edgeorder.probe.loading import load_cases
from edgeorder.probe.local import LocalModel

RUNS, LEFT = 60, 15  # runs, and questions that must be left to judge by


async def asked(options: argparse.Namespace) -> LikelihoodResult:
    """Return all questions with both outcomes."""
    model = LocalModel()
    cases = load_cases(options.cases, options.questions, options.chunks)
    cache = AnswerCache(options.cache) if options.cache else None
    try:
        return await quick(model, cases, chunks=options.chunks, depths=options.depths, fixed=True, cache=cache)
    finally:
        await model.aclose()
        if cache is not None:
            cache.close()


def judge(found: LikelihoodResult) -> list[list[object]]:
    """Return how many questions each outcome took, and what the order then loses, by rule."""
    rng = np.random.default_rng(17)
    right = np.array([question.right for question in found.questions])
    asked_of: dict[str, list[int]] = {}
    lost_by: dict[str, list[float]] = {}
    chosen: dict[str, Counter[str]] = {}

    def note(rule: str, run: LikelihoodResult, rest: np.ndarray, order: str, ranks: tuple[int, ...]) -> None:
        curves = readings(np.array(found.positions), rest.mean(0), found.chunks)
        asked_of.setdefault(rule, []).append(len(run.questions))
        lost_by.setdefault(rule, []).append(lost(curves, ranks))
        chosen.setdefault(rule, Counter())[order] += 1

    for _ in range(RUNS):
        order = rng.permutation(len(right))
        run = found
        for count in range(AT_LEAST, len(order) - LEFT + 1):
            run = replace(found, questions=tuple(found.questions[number] for number in order[:count]))
            if run.settled:
                break
        rest = right[order[len(run.questions) :]]
        note("by log-probability, settled", run, rest, run.order, tuple(ORDERS[run.order](found.chunks)))
        note("by the answers to the same questions", run, rest, run.decision.order, run.decision.ranks)
        for name in ("relevance", "bookend"):
            note(f"{name} always", run, rest, name, tuple(ORDERS[name](found.chunks)))
    return [
        [
            rule,
            f"{np.mean(asked_of[rule]):.0f}",
            f"{np.quantile(asked_of[rule], 0.9):.0f}",
            f"{np.mean(lost_by[rule]):.2f}",
            ", ".join(f"{name} {count}" for name, count in chosen[rule].most_common(3)),
        ]
        for rule in asked_of
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="?", default="facts")
    for name, number in (("questions", 60), ("chunks", 20), ("depths", 7)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--cache")
    options = parser.parse_args()
    if options.questions < AT_LEAST + LEFT:
        parser.error(f"--questions {options.questions}: a run asks {AT_LEAST} or more and leaves {LEFT} to judge by")
    found = asyncio.run(asked(options))
    if len(found.questions) < AT_LEAST + LEFT:
        sys.exit(f"{options.cases} holds {len(found.questions)} questions, and {AT_LEAST + LEFT} are needed")
    print("\n".join(likelihood_lines(found)))
    heads = ("rule", "questions, mean", "9 runs of 10", "points lost", f"orders in {RUNS} runs")
    table(f"{found.model}, {found.chunks} chunks, {len(found.questions)} questions", heads, judge(found))
