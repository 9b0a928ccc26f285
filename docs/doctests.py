"""For the reference: an example in a docstring is shown as code, which it is, and not as a paragraph."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?m)^>>> .*(?:\n(?!\n).+)*")


class Doctests(griffe.Extension):
    """Puts fences around the examples of docstrings."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite a docstring before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
