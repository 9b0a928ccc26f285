"""Reading a rendered block back into its passages."""

import re
from itertools import pairwise

from edgeorder.errors import bad_choice
from edgeorder.layout import Layout, StyleName, as_layout
from edgeorder.neutral import TAGS, restored

_LABEL_LINE = r"^\[(\d{1,9})\][^\n]*(?:\n|\Z)"  # a pointer has no line below
_FIELDS = "|".join(name for name in TAGS if not name.startswith("document"))
_ELEMENT = (
    rf'<document index="(\d{{1,9}})">\n(?:<(?:{_FIELDS})>[^\n]*\n)*+<document_content>\n'
    # No passage holds such a tag of ours: what is no block is read once, too. What may stand behind a name is ASCII:
    # of other signs neutralising asks what they look like, and `<document` before one may be the beginning of a word.
    r"((?:[^<]|<(?!/?document(?:s|_content)?[ \t\n\r>/]))*+)(?<=\n)</document_content>\n</document>"
)


def split_block(text: str, style: Layout | StyleName) -> list[tuple[int, str]]:
    r"""Parse a rendered block back into its passages.

    Args:
        text: The text of a block.
        style: `"numbered"` or `"xml"`, or the `Layout` that it was written with if that has another separator.

    Returns:
        (number, passage) pairs, head first, exactly as they were put in: neutralised text is restored.

    Raises:
        ValueError: For a text that is no such block, or a style that cannot be parsed.

    >>> split_block("[1] Rules\nA\n\n[2]\nB", "numbered")
    [(1, 'A'), (2, 'B')]
    """
    layout = as_layout(style)
    if layout.style not in ("numbered", "xml"):
        raise bad_choice("style", layout.style, ("numbered", "xml"))
    if not text:
        return []
    inner = text
    if layout.style == "xml":
        opening, closing = "<documents>\n", "\n</documents>"
        if not (text.startswith(opening) and text.endswith(closing)):
            raise ValueError(f"this is no xml block: {text!r:.80}")
        inner = text[len(opening) : -len(closing)]
        found = list(re.finditer(_ELEMENT, inner, re.DOTALL))
        pairs = [(int(element[1]), element[2][:-1]) for element in found]
        between = [inner[one.end() : two.start()] for one, two in pairwise(found)]
        whole = bool(found) and found[0].start() == 0 and found[-1].end() == len(inner)
    else:
        found = list(re.finditer(_LABEL_LINE, inner, re.MULTILINE))
        ends = [label.start() for label in found[1:]]
        cut = len(layout.separator)
        between = [inner[end - cut : end] for end in ends]
        pairs = [
            (int(label[1]), inner[label.end() : stop])
            for label, stop in zip(found, [*(end - cut for end in ends), len(inner)], strict=False)
        ]
        whole = bool(found) and found[0].start() == 0
    if not whole or any(gap != layout.separator for gap in between):
        raise ValueError(f"this is no {layout.style} block with the separator {layout.separator!r}: {text!r:.80}")
    return [(number, restored(passage, *layout.imitated)) for number, passage in pairs]
