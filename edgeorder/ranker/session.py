"""One question to a model: a prompt, a reply, and one retry that says what was wrong."""

import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from edgeorder.masking import message_of
from edgeorder.ranker.asking import Reply
from edgeorder.ranker.dimensions import Dimension
from edgeorder.ranker.parsing import RANKED, read_reply
from edgeorder.ranker.prompt import with_hint
from edgeorder.ranker.validation import Checked, check

Status: TypeAlias = Literal["ok", "retried", "none_relevant", "partial", "fallback"]
TRIES = 2


@dataclass(frozen=True)
class Attempt:
    """One try to get a ranking out of a model.

    Args:
        shown: Input indices of the passages, in the order of the prompt.
        errors: What was wrong with the reply; none if it was used.
        cut: Whether it was cut off.
        tokens: Of prompt and reply, where the model counts them.
        seconds: How long it took.
        reply: What the model said; only in records that were asked to hold texts.
    """

    shown: tuple[int, ...]
    errors: tuple[str, ...]
    cut: bool
    tokens: tuple[int, int] | None
    seconds: float
    reply: str | None = None


class Outcome(NamedTuple):
    """What came of a question.

    Args:
        shown: Input index by label, in the order of the prompt.
        checked: The reply that is used, by label; empty if there is none.
        status: How it came about; "fallback" if there is none.
        attempts: Every try.
    """

    shown: Mapping[str, int]
    checked: Checked
    status: Status
    attempts: tuple[Attempt, ...]


Session: TypeAlias = "Generator[str, Reply | Exception, Outcome]"


def session(prompt: str, shown: Mapping[str, int], dimensions: Sequence[Dimension], schema: Any = None) -> Session:
    """Yield what the model is to be asked, get its reply or what it raised, and return what came of it.

    Args:
        prompt: The first prompt.
        shown: Input index by label, in the order of the prompt.
        dimensions: What each passage is judged by.
        schema: A pydantic model that extends the reply.
    """
    labels, indices = list(shown), tuple(shown.values())
    attempts: list[Attempt] = []
    asked = prompt
    salvaged = Checked()
    for number in range(1, TRIES + 1):
        started = time.perf_counter()
        reply = yield asked
        seconds = time.perf_counter() - started
        if isinstance(reply, Exception):
            error = f"the model failed with {type(reply).__name__}: {message_of(reply)}"
            attempts.append(Attempt(indices, (error,), False, None, seconds))
            continue
        read = read_reply(reply.text)
        cut = read.cut or (reply.cut and read.data is None)
        checked = Checked(errors=(read.error,)) if read.data is None else check(read.data, labels, dimensions, schema)
        attempts.append(Attempt(indices, checked.errors, cut, reply.tokens, seconds, reply.text))
        if not checked.errors:
            status: Status = "none_relevant" if checked.none else "ok" if number == 1 else "retried"
            return Outcome(shown, checked, status, tuple(attempts))
        if cut and read.records:
            whole = check({RANKED: list(read.records)}, labels, dimensions)
            salvaged = salvaged if whole.errors else whole
        asked = with_hint(prompt, checked.errors, cut=cut)
    return Outcome(shown, salvaged, "partial" if salvaged.judged else "fallback", tuple(attempts))
