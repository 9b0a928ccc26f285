"""Readers whose flaw is known, and the cases that they read: what the probe must tell apart."""

import random
import re
from collections.abc import Awaitable, Callable
from typing import Any

from edgeorder.probe.called import CalledModel
from edgeorder.probe.cases import Case, CaseChunk
from edgeorder.probe.comparison import Comparison
from edgeorder.probe.replies import Model
from edgeorder.probe.results import ProbeResult
from edgeorder.rendering import split_block

Reads = Callable[[str, float], bool]
"""(question, relative depth of the gold chunk) -> whether it is read."""
HARD = 4  # every fourth question is never answered


def cases(n: int, chunks: int = 20, words: int = 0, gold_rank: int | None = None) -> list[Case]:
    """Return n cases; each passage is filled up with that many more words."""
    filler = " of it" * (words // 2)
    return [
        Case(
            f"case-{number}",
            f"What is in box {number}?",
            (f"amber{number}",),
            CaseChunk(f"Found: box {number} holds amber{number}.{filler}"),
            tuple(CaseChunk(f"Shelf {shelf} beside box {number} is empty.{filler}") for shelf in range(1, chunks)),
            gold_rank,
        )
        for number in range(n)
    ]


def passages(prompt: str) -> list[str]:
    """Return the passages of a numbered prompt, head first."""
    found = re.search(r"^\[1\].*?(?=\n\nQuestion:|\nAnswer:)", prompt, re.DOTALL | re.MULTILINE)
    return [text for _, text in split_block(found[0], "numbered")] if found else []


def gold_position(prompt: str) -> int | None:
    """Return where the gold passage stands, 1-based; None where there is none."""
    return next((n for n, text in enumerate(passages(prompt), start=1) if text.startswith("Found:")), None)


def answer(prompt: str, reads: Reads) -> str:
    """Answer as a reader does who reads no more than `reads` lets it."""
    position, texts = gold_position(prompt), passages(prompt)
    if position is None:
        return "unknown"
    question = re.findall(r"Question: (.*)", prompt)[-1]
    depth = (position - 1) / max(len(texts) - 1, 1)
    if len(texts) > 1 and not reads(question, depth):
        return "unknown"
    return re.findall(r"amber\d+", texts[position - 1])[0]


def reader(reads: Reads, asked: list[str] | None = None) -> Callable[[str], Awaitable[str]]:
    """Return such a reader as an async callable; it notes what it was asked."""

    async def read(prompt: str) -> str:
        if asked is not None:
            asked.append(prompt)
        return answer(prompt, reads)

    return read


def box(question: str) -> int:
    """Return the number of the case that a question is from."""
    return int(re.findall(r"\d+", question)[0])


def model(reads: Reads, asked: list[str] | None = None, concurrency: int = 1, **settings: Any) -> Model:
    """Return a model that reads so; every fourth question it cannot answer at all."""
    return CalledModel(
        reader(lambda question, depth: box(question) % HARD > 0 and reads(question, depth), asked),
        "reader",
        concurrency=concurrency,
        **{"pause": 0.001, **settings},
    )


def noisy(question: str, depth: float) -> bool:
    """Read every other time, wherever the gold chunk stands."""
    return random.Random(f"{question} {depth:.2f}").random() < 0.5


def everywhere(question: str, depth: float) -> bool:
    return True


def at_the_tail(question: str, depth: float) -> bool:
    return depth > 0.8


def lasting(found: ProbeResult | Comparison) -> dict[str, Any]:
    """Return everything of a result that another run must give again."""
    data = {name: value for name, value in found.to_dict().items() if name not in ("date", "seconds", "calls")}
    for arm in data.get("arms", ()):
        del arm["seconds"]
    return data
