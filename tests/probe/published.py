"""Published answers and curves of other people's models, which some tests and benchmarks are measured on."""

from dataclasses import dataclass

import numpy as np
from datafiles import rows
from numpy.typing import NDArray

from edgeorder.probe.curves import geometric
from edgeorder.probe.evidence import Floats

ANSWERS = {"position-answers.jsonl": "API", "position-answers-open.jsonl": "open"}
CURVES = "position-curves.jsonl"


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
