"""Rendering: the block of text that a placement stands for, which is the text that the budget holds on."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edgeorder.errors import bad_choice

Style: TypeAlias = Literal["plain"]


@dataclass(frozen=True)
class Layout:
    """How the block is written.

    Args:
        style: `"plain"`: the rendered chunks, joined.
        separator: What stands between two chunks.

    Raises:
        ValueError: For an unknown style.
        TypeError: If the separator is not a string.
    """

    style: Style = "plain"
    separator: str = "\n\n"

    def __post_init__(self) -> None:
        if self.style != "plain":
            raise bad_choice("Layout.style", self.style, ("plain",))
        if not isinstance(self.separator, str):
            raise TypeError(f"Layout.separator must be a str, not {self.separator!r}")

    def join(self, texts: Iterable[str]) -> str:
        """Return the block made of rendered chunks, head first."""
        return self.separator.join(texts)


@dataclass(frozen=True)
class Block:
    """A rendered block.

    Args:
        text: What the model sees.
        tokens: Its length by the budget's counter; None without a budget.
    """

    text: str
    tokens: int | None = None

    def __str__(self) -> str:
        return self.text


PLAIN = Layout()


def as_layout(layout: "Layout | Style | None") -> Layout:
    """Return the layout that was asked for; a bare style name is `Layout(style)`.

    Raises:
        TypeError: For anything else.
    """
    if layout is None:
        return PLAIN
    if isinstance(layout, Layout):
        return layout
    if isinstance(layout, str):
        return Layout(layout)
    raise TypeError(f"layout must be a Layout or the name of a style, not {layout!r}")
