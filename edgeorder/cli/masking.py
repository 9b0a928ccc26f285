"""What a command stores or prints holds no secret of its environment."""

import os
import re

from edgeorder.masking import masked

_SECRET = re.compile(r"(?i)(key|token|secret|passw(or)?d|credential)")


def shown(text: str) -> str:
    """Return a text without what looks like a secret, and without the values of variables that are named as one."""
    return masked(text, *(value for name, value in os.environ.items() if _SECRET.search(name)))
