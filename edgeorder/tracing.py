"""What joins the records of one request: a trace id, known to everything that is placed in its context."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import NamedTuple


class Circumstances(NamedTuple):
    """What surrounds a call and is no setting of it.

    Args:
        trace_id: What joins it to the other calls of a request.
        shadow: Whether the caller goes on with what came in, so that the placement is only recorded.
    """

    trace_id: str | None = None
    shadow: bool = False


_current: ContextVar[Circumstances] = ContextVar("edgeorder_circumstances", default=Circumstances())  # noqa: B039 - frozen


def circumstances() -> Circumstances:
    """Return those of this context."""
    return _current.get()


@contextmanager
def trace(id: object) -> Iterator[str]:
    """Give everything that is placed in this context one trace id, an own one or that of your tracing.

    It goes before the run ids that the adapters find, so that one id joins placement and answer.

    >>> from edgeorder import Chunk, place, trace
    >>> with trace("request-7"):
    ...     record = place([Chunk("A")]).record
    >>> record.trace_id
    'request-7'
    """
    name = str(id)
    token = _current.set(_current.get()._replace(trace_id=name))
    try:
        yield name
    finally:
        with suppress(ValueError):  # the block of a generator may end in another context than it began in
            _current.reset(token)


class within:  # noqa: N801 - a context manager, named as one; a class, since every call of an adapter enters it
    """Name the run that an adapter found itself in, unless the caller named a trace.

    Args:
        run: The framework's id of the run; None for none.
        shadow: Whether the placement is only recorded.
    """

    __slots__ = ("_run", "_shadow", "_token")

    def __init__(self, run: object, *, shadow: bool) -> None:
        self._run, self._shadow = run, shadow

    def __enter__(self) -> None:
        trace_id, run = _current.get().trace_id, self._run
        named = trace_id if trace_id is not None or run is None else str(run)
        self._token = _current.set(Circumstances(named, self._shadow))

    def __exit__(self, *exception: object) -> None:
        _current.reset(self._token)
