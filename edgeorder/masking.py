"""Secrets stay out of whatever is written, printed or raised."""

import re
from collections.abc import Iterator

MASK = "***"

# What looks like a secret wherever it stands: a bearer's token, the usual prefixes of keys, a password in an address.
_LIKELY = re.compile(
    r"""(?ix)
    (?P<keep> \b bearer \s+ (?= \S* [\d_-] )
            | (?: key | token | password | secret ) (?: = ["']? | ["'] \s* : \s* ["'] ) )
        [^\s"'\\,;&<>]+
    | (?P<scheme> :// [^\s/@:]* : ) [^\s/@]+ (?=@)
    | \b (?: hf_ | sk- | pa- | jina_ | xai- | gsk_ ) [\w-]{8,}
    """
)


def masked(text: str, *secrets: str | None) -> str:
    """Return a text without the secrets that are known, and without what looks like one.

    Args:
        text: A message, most often of another library.
        secrets: Keys and tokens that may stand in it.

    >>> masked("401 for https://me:pass@host/v1, key abc-123", "abc-123")
    '401 for https://me:***@host/v1, key ***'
    """
    for secret in secrets:
        if secret and secret.strip():
            text = text.replace(secret, MASK).replace(secret.strip(), MASK)
    return _LIKELY.sub(lambda found: (found["keep"] or found["scheme"] or "") + MASK, text)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what led to it, the latest first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def presentable(error: BaseException, *secrets: str | None) -> BaseException | None:
    """Return an error that may be shown as a cause; None if it, or what led to it, holds a secret.

    >>> presentable(OSError("no route")), presentable(OSError("Bearer sk-123456789"))
    (OSError('no route'), None)
    """
    texts = [f"{one} {one!r}" for one in chain(error)]
    return error if all(masked(text, *secrets) == text for text in texts) else None
