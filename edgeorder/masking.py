"""Secrets stay out of whatever is written, printed or raised."""

import json
import re
from typing import Any

MASK = "***"
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
    for secret in secrets:
        plain = revealed(secret).strip()
        for written in {plain, json.dumps(plain)[1:-1], plain.replace("/", "\\/")} - {""}:
            text = text.replace(written, MASK)
    return text


def revealed(secret: Any) -> str:
    """Return the text of a string or a `SecretStr`; "" for None."""
    return str(getattr(secret, "get_secret_value", lambda: secret or "")())


def is_key(value: Any) -> bool:
    """Return whether a value is long enough to be a key, and no placeholder that would mask common words."""
    return len(revealed(value).strip()) >= _SHORTEST
