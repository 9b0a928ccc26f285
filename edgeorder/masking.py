"""Secrets stay out of whatever is written, printed or raised."""

import json
import re
from collections.abc import Iterator
from typing import Any

MASK = "***"
_LONGEST = 500  # characters of a message: some hold a whole page of HTML, or everything that was sent
_SHORTEST = 7  # characters of a key; a shorter one is a placeholder, such as "none", "EMPTY" or "ollama"

# What looks like a secret wherever it stands: a bearer's token, the usual prefixes of keys, a password in an address.
_LIKELY = re.compile(
    r"""(?ix)
    (?P<keep> \b bearer \s+ (?= \S* [\d_-] )
            | (?: key | token | secret | passw(?:or)?d | signature | \b sig | credentials? )
              (?: = ["']? | ["'] \s* : \s* ["'] ) )
        [^\s"'\\,;&<>#]+
    | (?P<scheme> :// (?: [^\s/@:]* : )? ) [^\s/]+ (?=@)
    | \b (?: hf_ | sk- | pa- | jina_ | xai- | gsk_ ) [\w-]{8,}
    """
)


def masked(text: str, *secrets: Any) -> str:
    """Return a text without the secrets that are known, and without what looks like one: for messages and commands.

    Args:
        text: A message, most often of another library; an address; a command line.
        secrets: Keys and tokens that may stand in it, as strings or pydantic's `SecretStr`; None is none.

    >>> masked("401 for https://me:pass@host/v1, key abc-123", "abc-123")
    '401 for https://me:***@host/v1, key ***'
    """
    return _LIKELY.sub(lambda found: (found["keep"] or found["scheme"] or "") + MASK, without(text, *secrets))


def without(text: str, *secrets: Any) -> str:
    """Return a text without the secrets that are known, also as JSON writes them: for what a server answered."""
    written: set[str] = set()
    for secret in secrets:
        plain = revealed(secret).strip()
        written |= {plain, json.dumps(plain)[1:-1], plain.replace("/", "\\/")} - {""}
    for one in sorted(written, key=len, reverse=True):  # one may begin with another, and would leave its end behind
        text = text.replace(one, MASK)
    return text


def revealed(secret: Any) -> str:
    """Return the text of a string or a `SecretStr`; "" for None."""
    return str(getattr(secret, "get_secret_value", lambda: secret or "")())


def is_key(value: Any) -> bool:
    """Return whether a value is long enough to be a key, and no placeholder that would mask common words."""
    return len(revealed(value).strip()) >= _SHORTEST


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what led to it, the latest first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


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


def presentable(error: BaseException, *secrets: Any) -> BaseException | None:
    """Return an error that may be shown as a cause; None if it, or what led to it, holds a secret or cannot be told.

    >>> presentable(OSError("no route")), presentable(OSError("Bearer sk-123456789"))
    (OSError('no route'), None)
    """
    try:
        texts = [f"{one} {one!r}" for one in chain(error)]
    except Exception:  # noqa: BLE001 - whatever its class does
        return None
    return error if all(masked(text, *secrets) == text for text in texts) else None
