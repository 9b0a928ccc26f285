"""Results as a run would give them, made from curves with a fixed seed."""

from collections.abc import Sequence

import numpy as np

from edgeorder.probe.comparison import Arm, Comparison
from edgeorder.probe.results import Asked, LengthResult, ProbeResult

HOSTILE = "<script>alert(1)</script> & \"quoted\" 'model' $\\frac [bold]x|y"
DIP, FLAT = (0.95, 0.6, 0.85), (0.8, 0.8, 0.8)
SETUP = {
    "cases": "examples/questions.jsonl",
    "question_place": "after",
    "style": "numbered",
    "instruction": "Answer from the passages.",
    "seed": 7,
}


def length_result(
    chunks: int = 20, questions: int = 60, curve: Sequence[float] = DIP, *, dropped: int = 0, seed: int = 1
) -> LengthResult:
    """Return one length: the curve is accuracy at head, middle and tail; questions differ in how hard they are."""
    positions = tuple(dict.fromkeys(np.linspace(1, chunks, 7).round().astype(int).tolist()))
    chances = np.interp(np.linspace(0, 1, len(positions)), np.linspace(0, 1, len(curve)), curve)
    rng = np.random.default_rng(seed)
    asked = []
    for number in range(questions):
        # One draw for the whole question: its answers depend on each other, as answers to one question do.
        hard, noise = rng.random(), rng.random(len(positions))
        right = (0.7 * hard + 0.3 * noise) < chances
        first = right & (rng.random(len(positions)) < 0.9)
        asked.append(
            Asked(
                f"case-{number}",
                tuple(right.astype(int).tolist()),
                tuple(first.astype(int).tolist()),
                bool(rng.random() < 0.08),
                bool(rng.random() < 0.97),
            )
        )
    tokens = 9 * questions * chunks * 150
    return LengthResult(chunks, positions, tuple(asked), dropped, "settled", tokens, int(0.31 * tokens))


def probe_result(*lengths: LengthResult, model: str = "acme/reader-8b-instruct") -> ProbeResult:
    """Return a run of the probe; of two lengths if none are given."""
    lengths = lengths or (length_result(20), length_result(5, 40, FLAT, dropped=2, seed=2))
    command = "edgeorder probe --model acme/reader-8b-instruct --chunks 5,20 --depths 5 --seed 7"
    return ProbeResult(model, SETUP, lengths, "2026-11-30T07:00:00Z", 1234.5, 870, command)


def comparison(
    model: str = "acme/reader-8b-instruct", *, questions: int = 150, names: Sequence[str] = (), seed: int = 3
) -> Comparison:
    """Return a comparison of the named orders, or of `names`, at 20 chunks with the question before and after."""
    rng = np.random.default_rng(seed)
    worth = {"relevance": 0.8, "bookend": 0.84, "bookend_tail": 0.72, "reverse": 0.66, "long_context_reorder": 0.72}
    hard = rng.random(questions)
    arms = []
    for question, shift in (("after", 0.0), ("before", -0.07)):
        for name in names or worth:
            noise = rng.random(questions)
            right = (0.75 * hard + 0.25 * noise) < worth.get(name, 0.8) + shift
            arms.append(Arm(name, question, 20, tuple(right.astype(int).tolist())))
    command = "edgeorder compare --model acme/reader-8b-instruct --chunks 20 --question before,after"
    return Comparison(model, SETUP, tuple(arms), 1, "2026-11-30T08:00:00Z", 2345.6, 1490, command)
