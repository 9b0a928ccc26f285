"""What a profile decides after few questions, on published answers: `python benchmarks/deciding.py [--quick]`.

Each run learns from some questions of a reader and is judged on the others; each model has one vote in its group,
each group one in the mean.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.extend(str(Path(__file__).parents[1] / "tests" / folder) for folder in ("", "probe"))
from datafiles import rows
from published import CURVES, Reader, lost, readers, readings
from tables import table

from edgeorder.orders import ORDERS
from edgeorder.probe.curves import CurvePosterior
from edgeorder.probe.deciding import FIXED, MARGIN, decide
from edgeorder.probe.evidence import Floats, PositionEvidence
from edgeorder.probe.trials import spread
from edgeorder.profile import rival

COUNTS = (10, 25, 100)
GROUPS = ("API", "open", "base")
MARGINS = (0.0, 0.00125, 0.0025, 0.005, 0.01)
LEFT = 20  # questions that must be left to judge by


class Run(NamedTuple):
    """One reader, what was learned of it, and its curves on the questions that were kept apart."""

    reader: Reader
    asked: int
    evidence: PositionEvidence
    posterior: CurvePosterior
    curves: Floats


def learned_from(answers: NDArray[np.int_], depths: list[float]) -> tuple[PositionEvidence, CurvePosterior]:
    """Return what answers show."""
    evidence, posterior = PositionEvidence(depths), CurvePosterior(depths)
    posterior.update(answers)
    for row in answers:
        evidence.add(row)
    return evidence, posterior


def runs(known: Sequence[Reader], seeds: int, probed: tuple[int, ...] | None = None) -> Iterator[Run]:
    """Yield the runs; `probed` are the positions that are asked of readers of ten, all are judged."""
    for number, reader in enumerate(known):
        seen = reader if probed is None or reader.chunks != 10 or len(reader.positions) < 10 else reader.at(probed)
        for asked in COUNTS:
            if len(reader.answers) < asked + LEFT:
                continue
            for seed in range(seeds):
                order = np.random.default_rng([seed, number]).permutation(len(reader.answers))
                evidence, posterior = learned_from(seen.answers[order[:asked]], seen.depths.tolist())
                rest = reader.answers[order[asked:]].mean(0)
                yield Run(reader, asked, evidence, posterior, readings(reader.positions, rest, reader.chunks))


def decided(margin: float) -> str:
    """Return the name of the probe's rule with another margin."""
    return f"decided, margin {100 * margin:g}"


def rules() -> dict[str, Callable[[Run], tuple[int, ...]]]:
    """Return the rules that are compared: what order each gives."""

    def fixed(name: str) -> Callable[[Run], tuple[int, ...]]:
        return lambda run: tuple(ORDERS[name](run.reader.chunks))

    def learned(run: Run) -> tuple[int, ...]:
        return run.posterior.best_order(run.reader.chunks)

    return {
        **{f"{name} always": fixed(name) for name in FIXED},
        "learned once proved, else bookend": lambda run: (learned if run.evidence.proved else fixed("bookend"))(run),
        "learned at once": learned,
        **{
            decided(margin): lambda run, margin=margin: (
                decide(run.evidence, run.posterior, run.reader.chunks, margin=margin).ranks
            )
            for margin in MARGINS
        },
    }


Losses = dict[tuple[str, int, str, str], list[list[float]]]
"""Points lost by rule, questions asked, group and model: one list a block length, by seed."""


def losses(all_runs: Iterator[Run]) -> Losses:
    """Return what every rule loses."""
    found: dict[tuple[str, int, str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in all_runs:
        reader = run.reader
        for name, rule in rules().items():
            found[name, run.asked, reader.group, reader.model][reader.chunks].append(lost(run.curves, rule(run)))
    return {key: list(lengths.values()) for key, lengths in found.items()}


def by_model(found: Losses, rule: str, asked: int, group: str) -> dict[str, Floats]:
    """Return the loss by model and seed."""
    return {key[3]: np.mean(lengths, axis=0) for key, lengths in found.items() if key[:3] == (rule, asked, group)}


def told(found: Losses, rule: str, group: str) -> str:
    """Return the mean loss of a rule in a group after each count, and its standard errors over seeds and models."""
    cells = []
    for asked in COUNTS:
        groups = [by_model(found, rule, asked, one) for one in (GROUPS if group == "mean" else (group,))]
        seeds = np.mean([np.mean(list(models.values()), axis=0) for models in groups], axis=0)
        over_models = [np.std([loss.mean() for loss in m.values()], ddof=1) / np.sqrt(len(m)) for m in groups]
        spread_of = np.sqrt(np.sum(np.square(over_models))) / len(groups)
        cells.append(f"{seeds.mean():.2f} ± {seeds.std(ddof=1) / np.sqrt(len(seeds)):.2f} ({spread_of:.2f})")
    return " / ".join(cells)


def excess(found: Losses, rule: str, without: str = "") -> float:
    """Return the most that a rule loses beyond the better of bookend and the learned order, in any group and count."""

    def mean(name: str, asked: int, group: str) -> float:
        models = by_model(found, name, asked, group)
        return float(np.mean([loss.mean() for model, loss in models.items() if model != without]))

    return max(
        mean(rule, asked, group) - min(mean(name, asked, group) for name in ("bookend always", "learned at once"))
        for asked in COUNTS
        for group in GROUPS
    )


def left_out(found: Losses) -> tuple[dict[str, float], list[str]]:
    """Return the margin with the least `excess` over all other models, by model, and the mean loss by these margins."""
    chosen, lost_by = {}, {asked: defaultdict[str, list[float]](list) for asked in COUNTS}
    for group, model in sorted({key[2:] for key in found}):
        chosen[model] = min(MARGINS, key=lambda margin, model=model: excess(found, decided(margin), model))
        for asked in COUNTS:
            own = by_model(found, decided(chosen[model]), asked, group).get(model)
            if own is not None:
                lost_by[asked][group].append(float(own.mean()))
    return chosen, [f"{np.mean([np.mean(group) for group in lost_by[asked].values()]):.2f}" for asked in COUNTS]


def unprobed(seeds: int) -> list[list[str]]:
    """Return the mean absolute error, in points, of predicted accuracy at positions that were not probed."""
    found = []
    for reader in (reader for reader in readers() if len(reader.positions) == 10 == reader.chunks):
        seen = reader.at(spread(10, 5))
        others = ~np.isin(reader.positions, seen.positions)
        truth = reader.answers.mean(0)[others]
        row = [reader.model]
        for asked in (25, 100, 400, len(reader.answers)):
            errors = []
            for seed in range(seeds):
                order = np.random.default_rng([seed, 7]).permutation(len(reader.answers))[:asked]
                posterior = CurvePosterior(seen.depths.tolist())
                posterior.update(seen.answers[order])
                errors.append(np.abs(posterior.accuracy(reader.depths[others].tolist()) - truth).mean())
            row.append(f"{100 * np.mean(errors):.2f}")
        found.append(row)
    means = np.array([row[1:] for row in found], dtype=float).mean(axis=0)
    return [*found, ["mean", *(f"{mean:.2f}" for mean in means)]]


def simulated(rng: np.random.Generator, accuracy: Floats, questions: int) -> NDArray[np.int_]:
    """Return answers with that accuracy by position, of questions that differ as much as published ones do."""
    hard = np.linspace(-12, 12, 2001)  # log-odds by which a question is harder than another, normal with deviation 4
    share = np.exp(-((hard / 4) ** 2) / 2)
    levels = np.linspace(-25, 25, 1001)
    means = (1 / (1 + np.exp(-(levels[:, None] + hard)))) @ share / share.sum()
    log_odds = np.interp(accuracy, means, levels) + 4 * rng.standard_normal((questions, 1))
    return (rng.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds))).astype(int)


def covered(repeats: int) -> list[list[object]]:
    """Return how often the gain of readers simulated by published curves lies in its interval."""
    held: dict[int, list[bool]] = defaultdict(list)
    for number, row in enumerate(row for row in rows(CURVES) if len(row["positions"]) >= 5 and row["documents"] <= 30):
        rng, n = np.random.default_rng([15, number]), row["documents"]
        positions, accuracy = np.array(row["positions"]), np.array(row["accuracy"])
        curves = readings(positions, accuracy, n)
        for _ in range(repeats):
            answers = simulated(rng, accuracy, max(COUNTS))
            depths = ((positions - 1) / (n - 1)).tolist()
            for asked in COUNTS:
                evidence, posterior = learned_from(answers[:asked], depths)
                decision = decide(evidence, posterior, n)
                over = tuple(ORDERS[rival(decision.order)](n))
                gain = (lost(curves, over) - lost(curves, decision.ranks)) / 100
                held[asked].append(decision.low <= gain <= decision.high)
    return [[asked, f"{100 * np.mean(found):.0f} %", len(found)] for asked, found in held.items()]


if __name__ == "__main__":
    if not readers():
        print("The published answers are not at hand, see tests/probe/published.py.")
        sys.exit()
    quick = "--quick" in sys.argv[1:]
    seeds, known = 4 if quick else 20, readers()
    for title, probed in (("all measured positions probed", None), ("readers of ten probed at five", spread(10, 5))):
        found = losses(runs(known, seeds, probed))
        heads = ("rule", *GROUPS, "mean")
        table(
            f"Points lost after {', '.join(map(str, COUNTS))} questions, {seeds} seeds, {title}; ± standard error over "
            "seeds (over models); reach: mean 2.3 / 1.5 / .35",
            heads,
            ([rule, *(told(found, rule, group) for group in heads[1:])] for rule in rules()),
        )
        chosen, means = left_out(found)
        counts = {f"{100 * margin:g}": list(chosen.values()).count(margin) for margin in sorted(set(chosen.values()))}
        print(f"\nMargin chosen for each model on the others, in points: {counts}; mean then {' / '.join(means)}")
        print(
            f"The probe's margin is {100 * MARGIN:g}; it loses at most {excess(found, decided(MARGIN)):.2f} more than"
        )
        print("the better of bookend and the learned order, in any group")
    heads = ("reader", "25 questions", "100", "400", "all")
    title = "Mean absolute error, in points, of predicted accuracy at the 5 of 10 positions that were not probed"
    table(title, heads, unprobed(seeds))
    title = "Gain of readers simulated by published curves that lies in its 95 % interval"
    table(title, ("questions", "held", "runs"), covered(4 if quick else 12))
