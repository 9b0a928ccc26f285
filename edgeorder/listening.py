"""Who listens: recorders given to a call, and captures open in the current context."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, TypeAlias

from edgeorder.placement import Placement

if TYPE_CHECKING:
    from edgeorder.records import OrderRecord

Recorder: TypeAlias = Callable[["OrderRecord"], object]
"""Gets each record. If it has a true attribute `text`, its records hold the bodies too."""

_captures: ContextVar[tuple["capture", ...]] = ContextVar("edgeorder_captures", default=())


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
        self._tokens: list[Token[tuple[capture, ...]]] = []

    def __call__(self, record: "OrderRecord") -> None:
        self._records.append(record)

    def __enter__(self) -> "list[OrderRecord]":
        self._tokens.append(_captures.set((*_captures.get(), self)))
        return self._records

    def __exit__(self, *exception: object) -> None:
        _captures.reset(self._tokens.pop())


def check_recorders(recorders: object) -> None:
    """Raise TypeError unless `recorders` is a sequence of callables."""
    if not isinstance(recorders, Sequence):
        raise TypeError(f"recorders must be a list of callables that take an OrderRecord, not {recorders!r}")
    for recorder in recorders:
        if not callable(recorder):
            raise TypeError(f"recorders must be callables that take an OrderRecord, not {recorder!r}")


def deliver(placement: Placement, recorders: Sequence[Recorder]) -> None:
    """Hand the record to every recorder and capture. One that fails is logged; it never fails the query."""
    captures = _captures.get()
    if not recorders and not captures:
        return
    listeners: list[Recorder] = [*recorders, *captures]
    with_text: OrderRecord | None = None
    for recorder in listeners:
        try:
            if not getattr(recorder, "text", False):
                recorder(placement.record)
                continue
            if with_text is None:
                from edgeorder.records import build_record

                with_text = build_record(placement.call, placement.settled, text=True)
            recorder(with_text)
        except Exception:
            import logging

            logging.getLogger("edgeorder").warning("recorder %r failed", recorder, exc_info=True)
