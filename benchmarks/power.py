"""How good the probe's statistics are, as the tables of the README: `python benchmarks/power.py [--quick]`.

Nothing here is a test; the tests make the same checks with fewer runs. `reach` is what the project set out for. The
published answers are looked for as `tests/probe/published.py` says.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.extend(str(Path(__file__).parents[1] / "tests" / folder) for folder in ("", "probe"))
from tables import table
from test_curves import AT, READERS, N, regrets, settle
from test_evidence import DEPTHS, NEIGHBOURS, U, flat, published, resampled
from test_likelihood import NULLS, noise

from edgeorder.probe.curves import geometric
from edgeorder.probe.evidence import CLAIM, e_values, ranks_within

QUESTIONS = 400


def false_alarms(runs: int) -> None:
    """Print how often flat runs are ever called an effect, with a look after every question."""
    nulls = ["independent", "exchangeable", *map(str, NEIGHBOURS), *(["rotated"] if published() else [])]
    made = {f"neighbours correlate {null}" if null[0].isdigit() else null: partial(flat, null=null) for null in nulls}
    rows = []
    for name, draw in {**made, **{f"ranks, {null}": partial(_ranks, null=null) for null in NULLS}}.items():
        # A few hundred runs at a time, for the sake of memory.
        rng, size = np.random.default_rng(11), 200
        alarms = sum(
            int((e_values(draw(rng, runs=size, questions=QUESTIONS), DEPTHS) >= CLAIM).any(axis=1).sum())
            for _ in range(runs // size)
        )
        rows.append((name, f"{100 * alarms / runs:.2f} %"))
    table(f"False alarms in {runs} flat runs of {QUESTIONS} questions; reach <= 5 %", ("answers", "alarms"), rows)


def _ranks(rng: np.random.Generator, null: str, runs: int, questions: int) -> NDArray[np.float64]:
    return ranks_within(noise(rng, null, runs, questions))


def power(runs: int) -> None:
    """Print how many questions a proof takes."""
    rng = np.random.default_rng(12)
    shape = (runs, QUESTIONS, len(DEPTHS))
    cases = {
        model: (depths, resampled(rng, answers, runs, QUESTIONS)) for model, (depths, answers) in published().items()
    }
    cases["U of .95 / .65 / .90"] = (DEPTHS, (rng.random(shape) < U).astype(int))
    reach = {"deepseek-chat": "median <= 90", "gpt-4.1": "median <= 162", "gemini-2.5-flash": ">= 57 % found"}
    rows = []
    for name, (depths, answers) in cases.items():
        proved = e_values(answers, depths) >= CLAIM
        at = np.where(proved.any(axis=1), proved.argmax(axis=1) + 1, np.inf)
        quarter, median, rest = np.quantile(at, [0.25, 0.5, 0.75], method="higher")
        found = f"{100 * np.isfinite(at).mean():.0f} %"
        rows.append((name, found, f"{median:.0f}", f"{quarter:.0f} to {rest:.0f}", reach.get(name, "")))
    heads = ("reader", f"proved within {QUESTIONS}", "median questions", "middle half", "reach")
    table(f"Power, {runs} runs", heads, rows)


def settling(runs: int) -> None:
    """Print how soon the order is settled on published answers, and what it then loses to the best order."""
    rng = np.random.default_rng(13)
    rows = []
    for model, (depths, answers) in published().items():
        asked, lost = np.array([settle(rng, depths, answers, QUESTIONS) for _ in range(runs)]).T
        calls = asked * len(depths)
        rows.append((model, f"{calls.mean():.0f}", f"{np.quantile(calls, 0.9):.0f}", f"{lost.mean():.2f}"))
    heads = ("model", "calls, mean", "calls, 9 runs of 10", "regret in points")
    table(f"Order settled, {runs} runs; reach: 165 calls on average, under 1 point", heads, rows)


def surprises(rng: np.random.Generator, count: int) -> dict[str, NDArray[np.float64]]:
    """Return readers that nothing was tuned on: two edges of random height and width over a random middle."""
    readers = {}
    for reader in range(count):
        (head, tail), (near, far) = rng.uniform(-0.2, 0.25, 2), rng.uniform(0.05, 0.6, 2)
        curve = rng.uniform(0.5, 0.8) + head * np.exp(-AT / near) + tail * np.exp((AT - 1) / far)
        readers[f"random {reader}"] = curve.clip(0.02, 0.98)
    return readers


def simulated_readers(runs: int) -> None:
    """Print what the learned order loses on simulated readers, in points of accuracy on fresh questions."""
    for p in (0.5, 0.2):
        rng, gold = np.random.default_rng(14), geometric(N, p)

        def losses(
            readers: dict[str, NDArray[np.float64]],
            runs: int,
            rng: np.random.Generator = rng,
            gold: NDArray[np.float64] = gold,
        ) -> NDArray[np.float64]:
            sizes = (10, 40, 160)
            return np.array([[regrets(rng, curve, size, gold, runs) for size in sizes] for curve in readers.values()])

        known, others = losses(READERS, runs), losses(surprises(rng, 60), max(runs // 10, 2))
        cells = dict(zip(READERS, known, strict=True))
        cells["60 random readers, mean"], cells["60 random readers, worst"] = others.mean(axis=0), others.max(axis=0)
        rows = [
            (name, *(f"{fixed:.2f}" for fixed, _ in cell), *(f"{order:.2f}" for _, order in cell))
            for name, cell in cells.items()
        ]
        heads = ["reader", *(f"{base}, n = {n}" for base in ("plain", "best") for n in (10, 40, 160))]
        title = f"Points below the better of relevance and bookend (plain) and the best order (best), {runs} repeats"
        table(f"{title}; gold geometric, p = {p}; reach: plain <= 1.5 at 10, best <= 1 at 40, 0.5 at 160", heads, rows)


if __name__ == "__main__":
    quick = "--quick" in sys.argv[1:]
    false_alarms(400 if quick else 2000)
    power(200 if quick else 1000)
    settling(30 if quick else 300)
    simulated_readers(50 if quick else 200)
