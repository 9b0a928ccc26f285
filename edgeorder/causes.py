"""What an error of somebody else's code says, what led to it, and whether it may be shown."""

from collections.abc import Iterator

from edgeorder.masking import masked


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what led to it, the latest first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


_LONGEST = 500  # characters of a message: some hold a whole page of HTML, or everything that was sent


def message_of(error: BaseException) -> str:
    """Return the message of an error without secrets, its beginning if it is long, whatever its class makes of it.

    >>> message_of(ValueError("no key: Bearer sk-123456789"))
    'no key: Bearer ***'
    """
    try:
        said = masked(str(error))
    except Exception as broken:  # noqa: BLE001 - an error that cannot even be told
        return f"without a message ({type(broken).__name__})"
    return said if len(said) <= _LONGEST else said[:_LONGEST] + "…"


def presentable(error: BaseException) -> BaseException | None:
    """Return an error that may be shown as a cause; None if it, or what led to it, holds a secret or cannot be told.

    >>> presentable(OSError("no route")), presentable(OSError("Bearer sk-123456789"))
    (OSError('no route'), None)
    """
    try:
        texts = [f"{one} {one!r}" for one in chain(error)]
    except Exception:  # noqa: BLE001 - whatever its class does
        return None
    return error if all(masked(text) == text for text in texts) else None
