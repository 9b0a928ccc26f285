"""Loading: cases by the name of a generator or from a file, with as many passages as a prompt needs."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edgeorder.probe.case_files import read_cases
from edgeorder.probe.cases import Case, check_chunks, holds
from edgeorder.probe.generators import facts, key_values
from edgeorder.tokens import approximate_counter

_MADE = {"facts": facts, "kv": key_values}
_STEP = 16  # tokens to whose multiples a limit is rounded up, so that a longer answer more rarely changes it


def load_cases(source: str | Path, n: int | None = None, chunks: int = 20, seed: int = 0) -> list[Case]:
    """Return cases by the name of a generator or from a file.

    Args:
        source: `"facts"`, `"kv"`, or the path of a JSONL file, plain or gzip.
        n: At most this many cases; None for a file's all, or 100 made ones.
        chunks: Passages in a prompt, gold included. A case keeps its best `chunks - 1` distractors, or `chunks` where
            the gold passage ranks below them all; where a file gives fewer, gold passages of its other cases fill up.
        seed: Of the generators, and of what is filled up.

    Raises:
        ValueError: For fewer than 2 chunks or 1 case, a line that is no case, or a file that holds too little to fill
            up from.
        OSError: If the file cannot be read.
    """
    return load_with_limit(source, n, chunks, seed)[0]


def load_with_limit(
    source: str | Path, n: int | None, chunks: int, seed: int, least: int = 0
) -> tuple[list[Case], int]:
    """Return cases as `load_cases` does, and the tokens that an answer needs at most.

    The limit is that of all cases of the source, not of the first n: another n gets the same answers from the cache.

    Args:
        source: As for `load_cases`.
        n: As for `load_cases`.
        chunks: As for `load_cases`.
        seed: As for `load_cases`.
        least: Tokens that the limit is not below.
    """
    if n is not None and n < 1:
        raise ValueError(f"{n} questions: ask at least 1")
    check_chunks(chunks)
    if source in _MADE:
        made = _MADE[str(source)](100 if n is None else n, chunks, seed)
        return made, answer_limit(made[:1], least)
    if not Path(source).exists():
        raise FileNotFoundError(f"cases {str(source)!r}: there is no such file, and it is not one of: facts, kv")
    cases = read_cases(source)
    return [_filled(case, cases, chunks, seed) for case in cases[:n]], answer_limit(cases, least)


def answer_limit(cases: Sequence[Case], least: int = 0) -> int:
    """Return the tokens that the longest answer of any case needs at most, by any tokenizer, or `least` if more."""
    count = approximate_counter()
    longest = max((count(alias) for case in cases for alias in case.answers), default=0)
    return max(least, -(-longest // _STEP) * _STEP)


def _filled(case: Case, others: list[Case], chunks: int, seed: int) -> Case:
    """Return the case with as many distractors as a prompt of that many chunks needs."""
    needed = chunks if case.gold_rank and case.gold_rank > chunks else chunks - 1
    kept = list(case.distractors[:needed])
    seen = {(chunk.title, chunk.text) for chunk in (case.gold, *kept)}
    if len(kept) < needed:
        # Seeded by the case's id, so that two cases get different ones.
        for other in random.Random(f"{seed} {case.id}").sample(others, len(others)):  # noqa: S311
            passage = other.gold
            if (passage.title, passage.text) not in seen and not holds(passage, case.answers):
                kept.append(replace(passage, score=None))  # its score was for another question
                seen.add((passage.title, passage.text))
            if len(kept) == needed:
                break
        else:
            raise ValueError(
                f"case {case.id!r} has {len(case.distractors)} distractors, and the file's other cases make them "
                f"{len(kept)}; {chunks} chunks need {needed}. Lower chunks, or give it more passages"
            )
    return replace(case, distractors=tuple(kept))
