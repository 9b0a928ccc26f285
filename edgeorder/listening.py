"""Who listens: recorders given to a call, and captures open in the current context."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

from edgeorder.checks import check_made
from edgeorder.contexts import Opened
from edgeorder.placement import Placement

if TYPE_CHECKING:
    from edgeorder.records import OrderRecord

Recorder: TypeAlias = Callable[[Any], object]
"""Gets each `OrderRecord`, and each `AnswerRecord` of `record_answer`.

If it has a true attribute `text`, its records hold the texts too.
"""

_captures: "Opened[capture]" = Opened("edgeorder_captures")


class capture:  # noqa: N801 - a context manager, named as one
    """Collect the records of everything that is placed in this context.

    What starts in it inherits it: tasks, `asyncio.to_thread`, and the executors of LangChain and LlamaIndex. A plain
    thread does not; hand it the context, `Thread(target=contextvars.copy_context().run, args=(work,))`.

    Args:
        text: Whether the bodies are kept too.

    >>> from edgeorder import Chunk, capture, place
    >>> with capture() as records:
    ...     _ = place([Chunk("A"), Chunk("B")])
    >>> records[0].reason
    'short block: 2 chunks, at most 4'
    """

    def __init__(self, *, text: bool = False) -> None:
        self.text = text
        self._records: list[OrderRecord] = []

    def __call__(self, record: "OrderRecord") -> None:
        self._records.append(record)

    def __enter__(self) -> "list[OrderRecord]":
        _captures.enter(self)
        return self._records

    def __exit__(self, *exception: object) -> None:
        _captures.leave(self)


def check_recorders(recorders: object) -> None:
    """Raise TypeError unless `recorders` is a sequence of callables that are no classes."""
    if not isinstance(recorders, Sequence):
        raise TypeError(f"recorders must be a list of callables that take an OrderRecord, not {recorders!r}")
    for recorder in recorders:
        check_made("a recorder", recorder)
        if not callable(recorder):
            raise TypeError(f"recorders must be callables that take an OrderRecord, not {recorder!r}")


def deliver(placement: Placement, recorders: Sequence[Recorder]) -> None:
    """Hand the record to every recorder and capture. One that fails never fails the query."""
    if "opentelemetry.trace" in sys.modules:  # else nobody can have asked for spans
        from edgeorder.spans import send_span

        try:
            send_span(placement)
        except Exception as error:  # noqa: BLE001 - whatever processes spans, the answer goes out
            lost(send_span, error)
    captures = _captures.all()
    if not recorders and not captures:
        return
    with_text: OrderRecord | None = None
    listeners: list[Recorder] = [*recorders, *captures]
    for recorder in listeners:
        try:
            if not getattr(recorder, "text", False):
                recorder(placement.record)
                continue
            if with_text is None:
                from edgeorder.recording import build_record

                with_text = build_record(placement.call, placement.settled, text=True)
            recorder(with_text)
        except Exception as error:  # noqa: BLE001 - whatever a recorder does, the answer goes out
            lost(recorder, error)


def record_answer(
    trace_id: object, answer: str, correct: bool | None = None, *, recorders: Sequence[Recorder] = ()
) -> None:
    """Record what was answered, so that a log joins it to its placements.

    Args:
        trace_id: That of the placements, see `trace`.
        answer: The text; recorders that hold no texts do not get it.
        correct: Whether it was right, if somebody knows.
        recorders: Where to, beside the captures of this context: those that the placer has.

    Raises:
        TypeError: For recorders that are none, or a verdict in words: "no" would count as right.
    """
    from edgeorder.recorders import answer_now

    if isinstance(correct, str | bytes):
        raise TypeError(f"correct must be true or false, not {correct!r:.40}")
    check_recorders(recorders)
    listeners: list[Recorder] = [*recorders, *_captures.all()]
    for recorder in listeners:
        try:
            recorder(answer_now(trace_id, answer if getattr(recorder, "text", False) else None, correct))
        except Exception as error:  # noqa: BLE001 - as above
            lost(recorder, error)


_losses: Counter[str] = Counter()
_counting = threading.Lock()


def lost_records() -> dict[str, int]:
    """Return how many records each recorder of this process lost, by its name; only the first loss is warned of."""
    with _counting:
        return dict(_losses)


def lost(recorder: Recorder, error: Exception) -> None:
    """Count a record that a recorder lost, and warn of its first."""
    import logging

    name = _name(recorder)
    with _counting:
        _losses[name] += 1
        first = _losses[name] == 1
    if first:
        logging.getLogger("edgeorder").warning(
            "recorder %s failed and lost a record; more of its losses are only counted, see lost_records()",
            name,
            exc_info=error,
        )


def _name(recorder: Any) -> str:
    """Return what a recorder is counted by: its file, or its code.

    Not its address, nor what it was made with: one that is made anew for every request is one, and is counted as one.
    """
    while isinstance(recorder, partial):
        recorder = recorder.func
    try:
        if isinstance(getattr(recorder, "path", None), str | PathLike):
            return repr(recorder)
    except Exception:  # noqa: BLE001, S110 - then it has another name
        pass
    code = recorder if hasattr(recorder, "__qualname__") else type(recorder)
    return f"{code.__module__}.{code.__qualname__}"
