"""Files of cases: our own form, and that of the Lost-in-the-Middle files.

A distractor that holds an answer would be right at every position and hide the effect of position, so `read_cases`
leaves such passages out.
"""

import gzip
import json
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from edgeorder.alerts import warn
from edgeorder.files import replacing
from edgeorder.probe.cases import Case, CaseChunk, holds
from edgeorder.probe.grading import has_words
from edgeorder.probe.jsonl import read_json_lines

_PLACES = ("id", "source", "offset", "end", "score")  # of a chunk, where they are known
_NEEDS = "a line needs question, answers, and chunks with text and gold"


def read_cases(path: str | Path) -> list[Case]:
    """Read cases from a JSONL file, plain or gzip: our own form, or that of the Lost-in-the-Middle files.

    Ours has `question`, `answers`, `chunks[]` with `text` and `gold`, and may have `id`, and with each chunk `title`,
    `id`, `source`, `offset`, `end` and `score`. Chunks stand best first; `gold_rank` says where another rank than the
    gold chunk's place, or null that the order tells none. Theirs has `ctxs[]` with `isgold` or `hasanswer`. The best
    gold passage is the case's; other gold passages, and passages that hold an alias, are left out. A row without a gold
    passage, or whose answers have neither letter nor digit, is left out with a warning.

    Raises:
        ValueError: For a line that is no case, naming file and line.
        OSError: If the file cannot be read.
    """
    path = Path(path)
    cases: list[Case] = []
    rows = left_out = 0
    for number, row in read_json_lines(path):
        rows += 1
        try:
            case = _case(row, f"{number}")
        except (ValueError, TypeError, KeyError) as error:
            said = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"{path}:{number} is no case ({said}); {_NEEDS}") from error
        if case is None:
            left_out += 1
        else:
            cases.append(case)
    if not cases:
        raise ValueError(f"{path} holds no case: {rows} rows, none with a gold chunk and an answer; {_NEEDS}")
    if left_out:
        warn(
            f"{left_out} of {rows} rows of {path} mark no gold chunk, or no answer that can be recognised; they are "
            "left out"
        )
    return cases


def write_cases(path: str | Path, cases: Iterable[Case]) -> None:
    """Write cases as JSON lines in our own form, which `read_cases` reads; packed where the path ends in `.gz`.

    The file is written whole or not at all.
    """
    path = Path(path)
    text = "".join(json.dumps(_row(case), allow_nan=False) + "\n" for case in cases)
    with replacing(path) as part:
        part.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix.lower() == ".gz" else text.encode())


def _case(row: Any, id: str) -> Case | None:
    """Return the case of a row; None if no passage is gold, or no answer can be recognised."""
    if not isinstance(row, Mapping):
        raise TypeError(f"it is {row!r:.40}")
    name = "ctxs" if "ctxs" in row and "chunks" not in row else "chunks"
    passages = _objects(row, name)
    aliases = _aliases(row["answers"])
    golds = [place for place, passage in enumerate(passages) if _marked(passage, "gold") or _marked(passage, "isgold")]
    golds += [place for place, passage in enumerate(passages) if _marked(passage, "hasanswer")]
    recognised = tuple(alias for alias in aliases if has_words(alias))
    if not golds or (aliases and not recognised):
        return None
    # The files with gold at a chosen position tell nothing of its rank; those that score their passages are ranked.
    ranked = name == "chunks" or "score" in passages[golds[0]]
    chunks = [_chunk(passage, f"{name}[{place}]") for place, passage in enumerate(passages)]
    own_id = _typed(row, "id", (str, int), "text or a whole number")
    return Case(
        id=id if own_id is None else str(own_id),
        question=row["question"],
        answers=recognised,
        gold=chunks[golds[0]],
        distractors=tuple(
            chunk for place, chunk in enumerate(chunks) if place not in golds and not holds(chunk, recognised)
        ),
        gold_rank=row.get("gold_rank", golds[0] + 1 if ranked else None),
    )


def _objects(row: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = row[name]
    if not isinstance(found, list):
        raise TypeError(f"{name} must be a list, not {found!r:.40}")
    for place, passage in enumerate(found):
        if not isinstance(passage, Mapping):
            raise TypeError(f"{name}[{place}] must be an object with text, not {passage!r:.40}")
    return found


def _aliases(answers: Any) -> list[str]:
    """Return the answers as texts: a year may be written as a number."""
    if not isinstance(answers, list):
        raise TypeError(f"answers must be a list, not {answers!r:.60}")
    for alias in answers:
        plain = isinstance(alias, str | int | float) and not isinstance(alias, bool)
        if not plain or (isinstance(alias, float) and not isfinite(alias)):
            raise TypeError(f"answers must be texts, not {alias!r:.40}")
    return [str(alias) for alias in answers]


def _marked(passage: Mapping[str, Any], name: str) -> bool:
    return bool(_typed(passage, name, (bool,), "true or false"))


def _typed(of: Mapping[str, Any], name: str, kinds: tuple[type, ...], words: str) -> Any:
    """Return a field; None where it is missing or null.

    Raises:
        TypeError: If it is something else.
    """
    value = of.get(name)
    if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
        raise TypeError(f"{name} must be {words}, not {value!r:.40}")
    return value


def _chunk(passage: Mapping[str, Any], where: str) -> CaseChunk:
    known = {name: passage.get(name) for name in _PLACES}
    score = known["score"]
    try:
        if isinstance(score, str):  # as some of the published files write it
            known["score"] = float(score)
        return CaseChunk(passage["text"], passage.get("title") or "", **known)
    except KeyError as error:
        raise ValueError(f"{where} has no {error}") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error


def _row(case: Case) -> dict[str, Any]:
    chunks = [_written(chunk) for chunk in case.distractors]
    rank = case.gold_rank or 1
    gold = {**_written(case.gold), "gold": True}
    chunks.insert(rank - 1, gold)
    row = {"id": case.id, "question": case.question, "answers": list(case.answers), "chunks": chunks}
    return row if chunks.index(gold) + 1 == case.gold_rank else {**row, "gold_rank": case.gold_rank}


def _written(chunk: CaseChunk) -> dict[str, Any]:
    """Return what is known of a chunk."""
    known = {"title": chunk.title or None, **{name: getattr(chunk, name) for name in _PLACES}}
    return {"text": chunk.text, **{name: value for name, value in known.items() if value is not None}}
