"""What led to an error, and whether it may be shown."""

from collections.abc import Iterator

from edgeorder.masking import masked


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what led to it, the latest first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def presentable(error: BaseException) -> BaseException | None:
    """Return an error that may be shown as a cause; None if it, or what led to it, holds a secret.

    >>> presentable(OSError("no route")), presentable(OSError("Bearer sk-123456789"))
    (OSError('no route'), None)
    """
    texts = [f"{one} {one!r}" for one in chain(error)]
    return error if all(masked(text) == text for text in texts) else None
