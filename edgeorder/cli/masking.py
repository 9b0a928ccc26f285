"""Masking: no credential in a command line that is stored, nor in a line that is printed."""

import os
import re

_NAMED = r"[\w.-]*(?:key|token|secret|passw(?:or)?d|pwd|auth|signature|sig|credentials?)"
_WITH_DIGIT = r"(?=[\w-]*\d)"  # or any long word would do
_PATTERNS = (
    (re.compile(r"(?<=://)[^\s/?#'\"]+@"), "***@"),  # user:password@host
    (re.compile(rf"(?i)([?&;#]{_NAMED}=)[^\s&;#'\"]+"), r"\1***"),  # ?api_key=...
    (re.compile(rf"(?i)(--{_NAMED}[= ])['\"]?[^\s'\"]+"), r"\1***"),  # an option that was guessed
    (re.compile(rf"(?i)\b(bearer\s+){_WITH_DIGIT}[\w.~+/=-]{{8,}}"), r"\1***"),
    (
        re.compile(
            rf"\b(?:sk|pk|rk|gsk|hf|gh[opsu]|github_pat|glpat|npm|xox[abprs]|r8|tvly|nvapi)[-_]{_WITH_DIGIT}[\w-]{{12,}}"
        ),
        "***",
    ),
    (re.compile(r"\b(?:AIza[\w-]{20,}|A[KS]IA[A-Z0-9]{12,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*)"), "***"),
)
_VARIABLES = re.compile(r"(?i)(key|token|secret|passw(or)?d|credential)")
_SHORTEST = 8  # characters of a variable of the environment that is masked: a shorter one may be any word


def masked(text: str) -> str:
    """Return a text with what looks like a credential as ***.

    That is: user and password in a URL, values named key, token, secret and the like, values with the beginnings that
    providers give their keys, and whatever the environment holds under such a name.

    >>> masked("--base-url https://me:pw@host/v1?api_key=abc --model m")
    '--base-url https://***@host/v1?api_key=*** --model m'
    """
    for name, value in os.environ.items():
        value = value.strip()
        if len(value) >= _SHORTEST and _VARIABLES.search(name):
            text = text.replace(value, "***")
    for pattern, by in _PATTERNS:
        text = pattern.sub(by, text)
    return text
