"""Cases: a question, its answers, the gold passage that holds one, and distractors that hold none.

A distractor that holds an answer would be right at every position and hide the effect of position, so `read_cases`
leaves such passages out.
"""

import gzip
import json
import random
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgeorder.errors import EdgeOrderWarning
from edgeorder.probe.grading import contains, has_words


@dataclass(frozen=True)
class CaseChunk:
    """A text that may stand in a prompt.

    Args:
        text: Its body.
        title: What it is headed by; "" for none.
    """

    text: str
    title: str = ""


@dataclass(frozen=True)
class Case:
    """A question whose gold passage is moved through the prompt.

    Args:
        id: Tells it from the other cases.
        question: What is asked.
        answers: Aliases of the answer; one of them is enough.
        gold: The passage that holds the answer.
        distractors: Passages that do not, best first.
        gold_rank: The rank (1 = best) that the retriever gave the gold passage; None if no retriever did.

    Raises:
        ValueError: If there is no question, no answer, or an alias without a letter or digit.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    gold: CaseChunk
    distractors: tuple[CaseChunk, ...] = ()
    gold_rank: int | None = None

    def __post_init__(self) -> None:
        if not self.question.strip():
            raise ValueError(f"case {self.id!r} asks nothing; give it a question")
        if not self.answers:
            raise ValueError(f"case {self.id!r} has no answers; give it one alias or more")
        for alias in self.answers:
            if not has_words(alias):
                raise ValueError(f"case {self.id!r}: no answer can be recognised by {alias!r}; give letters or digits")


def load_cases(source: str | Path, n: int | None = None, chunks: int = 20, seed: int = 0) -> list[Case]:
    """Return cases by the name of a generator or from a file.

    Args:
        source: `"facts"`, `"kv"`, or the path of a JSONL file, plain or `.gz`.
        n: At most this many cases; None for a file's all, or 100 made ones.
        chunks: Passages in a prompt, gold included. A case keeps its best `chunks - 1` distractors, or `chunks` where
            the gold passage ranks below them all; where a file gives fewer, gold passages of its other cases fill up.
        seed: Of the generators, and of what is filled up.

    Raises:
        ValueError: For fewer than 2 chunks, a line that is no case, or a file that holds too little to fill up from.
        OSError: If the file cannot be read.
    """
    if source in ("facts", "kv"):
        from edgeorder.probe.generators import facts, key_values

        return (facts if source == "facts" else key_values)(100 if n is None else n, chunks, seed)
    check_chunks(chunks)
    cases = read_cases(source)
    return [_filled(case, cases, chunks, seed) for case in cases[:n]]


def read_cases(path: str | Path) -> list[Case]:
    """Read cases from a JSONL file, plain or `.gz`: our own form, or that of the Lost-in-the-Middle files.

    Ours has `question`, `answers`, `chunks[]` with `text` and `gold`, and may have `id`, and `title` with each chunk;
    chunks stand best first. Theirs has `ctxs[]` with `isgold` or `hasanswer`. The best gold passage is the case's;
    other gold passages, and passages that hold an alias, are left out. A row without a gold passage, or whose answers
    have neither letter nor digit, is left out with a warning.

    Raises:
        ValueError: For a line that is no case, naming file and line.
        OSError: If the file cannot be read.
    """
    path = Path(path)
    cases: list[Case] = []
    rows = left_out = 0
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            rows += 1
            try:
                case = _case(json.loads(line), f"{number}")
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise ValueError(
                    f"{path}:{number} is no case ({type(error).__name__}: {error}); a line needs question, answers, "
                    "and chunks with text and gold"
                ) from error
            if case is None:
                left_out += 1
            else:
                cases.append(case)
    if not cases:
        raise ValueError(f"{path} holds no case: {rows} rows, none with a gold chunk and an answer")
    if left_out:
        warnings.warn(
            f"{left_out} of {rows} rows of {path} mark no gold chunk, or no answer that can be recognised; they are "
            "left out",
            EdgeOrderWarning,
            2,
        )
    return cases


def _case(row: Mapping[str, Any], id: str) -> Case | None:
    """Return the case of a row; None if no passage is gold, or no answer can be recognised."""
    own = "chunks" in row
    passages = row["chunks"] if own else row["ctxs"]
    answers = row["answers"]
    if not isinstance(answers, list):
        raise TypeError(f"answers must be a list, not {answers!r:.60}")
    gold = next(_golds(passages), None)
    aliases = tuple(alias for alias in map(str, answers) if has_words(alias))
    if gold is None or (answers and not aliases):
        return None
    # The files with gold at a chosen position tell nothing of its rank; those that score their passages are ranked.
    ranked = own or "score" in passages[gold]
    distractors = tuple(
        _passage(other)
        for other in passages
        if not (other.get("gold") or other.get("isgold") or other.get("hasanswer")) and not _holds(other, aliases)
    )
    return Case(
        id=str(row.get("id", id)),
        question=str(row["question"]),
        answers=aliases,
        gold=_passage(passages[gold]),
        distractors=distractors,
        gold_rank=gold + 1 if ranked else None,
    )


def _golds(passages: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    """Yield the places of gold passages: the marked ones, then those that merely hold an answer."""
    passages = list(passages)
    yield from (place for place, passage in enumerate(passages) if passage.get("gold") or passage.get("isgold"))
    yield from (place for place, passage in enumerate(passages) if passage.get("hasanswer"))


def _passage(passage: Mapping[str, Any]) -> CaseChunk:
    return CaseChunk(str(passage["text"]), str(passage.get("title") or ""))


def _holds(passage: Mapping[str, Any], answers: Iterable[str]) -> bool:
    text = f"{passage.get('title') or ''}\n{passage['text']}"
    return any(contains(text, alias) for alias in answers)


def _filled(case: Case, others: list[Case], chunks: int, seed: int) -> Case:
    """Return the case with as many distractors as a prompt of that many chunks needs."""
    needed = chunks if case.gold_rank and case.gold_rank > chunks else chunks - 1
    kept = list(case.distractors[:needed])
    seen = {case.gold, *kept}
    if len(kept) < needed:
        # Seeded by the case's id, so that two cases get different ones.
        for other in random.Random(f"{seed} {case.id}").sample(others, len(others)):  # noqa: S311
            passage = other.gold
            if passage not in seen and not _holds({"text": passage.text, "title": passage.title}, case.answers):
                kept.append(passage)
                seen.add(passage)
            if len(kept) == needed:
                break
        else:
            raise ValueError(
                f"case {case.id!r} has {len(case.distractors)} distractors, and the file's other cases make them "
                f"{len(kept)}; {chunks} chunks need {needed}. Lower chunks, or give it more passages"
            )
    return replace(case, distractors=tuple(kept))


def check_chunks(chunks: int) -> None:
    """Raise ValueError for a block too short for a gold passage and a distractor."""
    if chunks < 2:
        raise ValueError(f"chunks={chunks}: a prompt needs at least 2, the gold one and a distractor")
