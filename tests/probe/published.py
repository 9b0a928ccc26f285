"""Published answers and curves of other people's models, which some tests and benchmarks are measured on.

They are no part of the project: what wants them is left out where they are not at hand. They are looked for beneath
$EDGEORDER_DATA, or in a folder `data` of any folder beside or above this one.
"""

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeorder.probe.curves import geometric
from edgeorder.probe.evidence import Floats

ANSWERS = {"position-answers.jsonl": "API", "position-answers-open.jsonl": "open"}
CURVES = "position-curves.jsonl"


@cache
def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file; none where it is not at hand."""
    named = os.environ.get("EDGEORDER_DATA")
    folders = [Path(named)] if named else [data for above in Path(__file__).parents for data in above.glob("*/data")]
    found = next((folder / name for folder in folders if (folder / name).exists()), None)
    return [json.loads(line) for line in found.read_text("utf-8").splitlines()] if found else []


@dataclass(frozen=True)
class Reader:
    """One model at one block length.

    Args:
        model: The model.
        group: "API" (of 2026), "open" (instruct) or "base".
        chunks: Slots in the block.
        positions: Where the gold chunk was put, 1-based.
        answers: 0/1 by question and position.
    """

    model: str
    group: str
    chunks: int
    positions: NDArray[np.int_]
    answers: NDArray[np.int_]

    @property
    def depths(self) -> Floats:
        """The positions as relative depths."""
        return (self.positions - 1) / (self.chunks - 1)

    def at(self, positions: tuple[int, ...]) -> "Reader":
        """Return the reader as it is seen at some of its positions alone."""
        kept = np.isin(self.positions, positions)
        return Reader(self.model, self.group, self.chunks, self.positions[kept], self.answers[:, kept])


def readers() -> list[Reader]:
    """Return the models whose single answers are known."""
    return [
        Reader(
            row["model"],
            "base" if "(base" in row["model"] else group,
            row["documents"],
            np.array(row["positions"]),
            np.array([list(map(int, answers)) for answers in row["right"]]),
        )
        for name, group in ANSWERS.items()
        for row in rows(name)
    ]


def readings(positions: NDArray[np.int_], accuracy: Floats, n: int) -> Floats:
    """Return accuracy at each of n slots in two readings of what lies between measured positions, shape (2, n).

    In one it changes evenly; in the other an edge's accuracy is that of the edge slot alone.
    """
    slots = np.arange(1, n + 1)
    even = np.interp(slots, positions, accuracy)
    narrow = np.interp(slots, positions[1:-1], accuracy[1:-1])
    narrow[[0, -1]] = accuracy[[0, -1]]
    return np.array([even, narrow])


def lost(curves: Floats, order: tuple[int, ...], p: float = 0.5) -> float:
    """Return the points of accuracy that an order loses to the best one, the mean over curves; gold geometric."""
    gold = geometric(len(order), p)
    return float(100 * (np.sort(curves) @ np.sort(gold) - curves @ gold[list(order)]).mean())
