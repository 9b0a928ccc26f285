"""Faults: why replies could not be used, how often, and what mends it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

CUT = "cut before it said anything"
EMPTY = "empty reply"
UNGRADED = "no grade"

_REMEDIES = (  # by what the kind begins with
    (CUT, "raise --max-tokens: something before the answer, such as thoughts, uses all of them"),
    (EMPTY, "ask another way (--instruction, --style), or another model"),
    (UNGRADED, "take a judge that says yes or no"),
    ("the judge failed", "mend what it says, or take another judge"),
    ("status 429", "lower --concurrency: it is asked too fast"),
    ("status 4", "see what it refuses; a prompt that is too long for it needs fewer --chunks"),
    ("status 5", "the server fails: run it again later"),
    (
        ("timeout", "no answer within", "connection", "cannot be reached"),
        "lower --concurrency, or run it again when the server is well",
    ),
)
_LONGEST = 200  # characters of an example


@dataclass(frozen=True)
class Fault:
    """Replies that could not be used, all of one kind. Each cost its question.

    Args:
        kind: What went wrong, in a few words.
        count: Replies.
        example: What one of them said.
    """

    kind: str
    count: int
    example: str = ""

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return next((remedy for begin, remedy in _REMEDIES if self.kind.startswith(begin)), "mend what it says")


class Unusable(Exception):  # noqa: N818 - it ends a question, not the run
    """A reply that cannot be graded.

    Args:
        kind: What went wrong, in a few words.
        example: What it said.
    """

    def __init__(self, kind: str, example: str = "") -> None:
        super().__init__(kind)
        self.kind = kind
        self.example = example

    @classmethod
    def of_error(cls, error: str) -> "Unusable":
        """Return that of a reply's error: its kind is the HTTP status, or what stands before a colon or a bracket."""
        kind = re.split(r"[:(]", _plain(error))[0].strip()
        status = re.match(r"\d{3}\b", kind)
        return cls(f"status {status[0]}" if status else kind[:60] or "error", error)


def faults(unusable: Iterable[Unusable]) -> tuple[Fault, ...]:
    """Return the faults by kind, the most frequent first, each with the first of its examples."""
    counts: dict[str, int] = {}
    examples: dict[str, str] = {}
    for one in unusable:
        counts[one.kind] = counts.get(one.kind, 0) + 1
        examples.setdefault(one.kind, _plain(one.example))
    return tuple(Fault(kind, counts[kind], examples[kind]) for kind in sorted(counts, key=lambda kind: -counts[kind]))


def _plain(text: str) -> str:
    """Return a text as one line of printable characters: it goes to terminals."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
