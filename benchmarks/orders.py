"""What each fixed order costs, by published curves of accuracy by position: `python benchmarks/orders.py [--quick]`.

Points of accuracy below the best order for a curve, the mean over three distributions of the gold chunk's rank and two
readings of what lies between measured positions. Every model has one vote in its group, however many curves it has.
Base models, which follow no instruction, are shown apart. The limits: one gold passage, most questions from
NaturalQuestions, curves of a few positions.
"""

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.extend(str(Path(__file__).parents[1] / "tests" / folder) for folder in ("", "probe"))
from datafiles import rows
from published import CURVES, lost, readers, readings
from tables import table

from edgeorder.orders import ORDERS
from edgeorder.probe.evidence import Floats

GOLD = (0.8, 0.5, 0.2)  # the chance that the gold chunk has rank 1; it falls from rank to rank by what is left
GROUPS = ("API 2026", "API 2023", "open 2024+", "open to 2023", "base")
_API_2023 = ("Claude-1", "GPT-3.5", "gpt-3.5")
_OPEN_2023 = ("MPT", "Llama-2", "SOLAR", "Tulu-2", "Vicuna")


def group_of(model: str) -> str:
    """Return the group of a model that was read from an open repository or a paper."""
    if "(base" in model:
        return "base"
    if model.startswith(_API_2023):
        return "API 2023"
    return "open to 2023" if model.startswith(_OPEN_2023) else "open 2024+"


def costs() -> dict[str, dict[str, Floats]]:
    """Return by group and model what each order costs, in the order of `ORDERS`."""
    curves: dict[tuple[str, str], list[tuple[int, Floats]]] = defaultdict(list)
    known = readers()
    for reader in known:
        group = "API 2026" if reader.group == "API" else group_of(reader.model)
        accuracy = readings(reader.positions, reader.answers.mean(0), reader.chunks)
        curves[group, reader.model].append((reader.chunks, accuracy))
    answered = {(reader.model, reader.chunks) for reader in known}
    for row in rows(CURVES):
        model, n = row["model"], row["documents"]
        if (model, n) not in answered and row["question_place"] in ("after", "unknown"):
            accuracy = readings(np.array(row["positions"]), np.array(row["accuracy"]), n)
            curves[group_of(model), model].append((n, accuracy))
    found: dict[str, dict[str, Floats]] = {group: {} for group in GROUPS}
    for (group, model), lengths in curves.items():
        found[group][model] = np.array(
            [
                np.mean([lost(curve, tuple(order(n)), p) for n, curve in lengths for p in GOLD])
                for order in ORDERS.values()
            ]
        )
    return found


def summed(by_group: Floats) -> tuple[Floats, Floats]:
    """Return the mean cost over the groups but base, and the largest excess over a group's best order; orders last."""
    by_group = by_group[..., : GROUPS.index("base"), :]
    return by_group.mean(-2), (by_group - by_group.min(-1, keepdims=True)).max(-2)


def resampled(found: dict[str, dict[str, Floats]], times: int) -> Floats:
    """Return costs by group of models drawn with replacement, shape (times, groups, orders)."""
    rng = np.random.default_rng(16)
    draws = []
    for models in found.values():
        all_of = np.array(list(models.values()))
        draws.append(all_of[rng.integers(0, len(all_of), (times, len(all_of)))].mean(1))
    return np.stack(draws, axis=1)


if __name__ == "__main__":
    if not readers():
        print("The published answers are not at hand, see tests/probe/published.py.")
        sys.exit()
    found = costs()
    by_group = np.array([np.mean(list(models.values()), axis=0) for models in found.values()])
    drawn = resampled(found, 1000 if "--quick" in sys.argv[1:] else 10000)
    mean, excess = summed(by_group)
    drawn_mean, drawn_excess = summed(drawn)
    bookend = list(ORDERS).index("bookend")

    def between(draws: Floats, place: int) -> str:
        low, high = np.quantile(draws[:, place], [0.025, 0.975])
        return f"{low:.1f} to {high:.1f}"

    cells = [
        [
            name,
            *(f"{cost:.1f}" for cost in by_group[:, place]),
            f"{mean[place]:.1f} ({between(drawn_mean, place)})",
            f"{excess[place]:.1f} ({between(drawn_excess, place)})",
            "" if place == bookend else f"{100 * (drawn_mean[:, place] < drawn_mean[:, bookend]).mean():.0f} %",
            "" if place == bookend else f"{100 * (drawn_excess[:, place] < drawn_excess[:, bookend]).mean():.0f} %",
        ]
        for place, name in enumerate(ORDERS)
    ]
    heads = ["order", *(f"{group} ({len(models)})" for group, models in found.items())]
    heads += ["mean (95 % interval)", "largest excess", "mean below bookend's", "excess below bookend's"]
    table(
        "Points below the best order; models a group in brackets; intervals and shares by bootstrap over models",
        heads,
        cells,
    )
