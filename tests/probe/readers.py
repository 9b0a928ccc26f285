"""Readers whose flaw is known, and the cases that they read: what the probe must tell apart."""

import re
from collections.abc import Awaitable, Callable

from edgeorder.probe.cases import Case, CaseChunk
from edgeorder.rendering import split_block

Reads = Callable[[str, float], bool]
"""(question, relative depth of the gold chunk) -> whether it is read."""


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
