"""The layout: how the block is written, which is the text that the budget holds on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from edgeorder.checks import check_made, whole_number
from edgeorder.chunk import ChunkView
from edgeorder.errors import bad_choice
from edgeorder.neutral import Imitated, neutral
from edgeorder.sortable import as_text, is_missing
from edgeorder.text.numerals import page_number


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as it stands in the block.

    Args:
        number: Its citation number: 1 for the first passage of the block.
        index: Its input index, 0-based.
        text: Its rendered text, item template included.
        title: What the label calls it; None when unknown. These four are one line each.
        source: Where it was cut from.
        date: When that was written.
        page: The page that it starts on.
    """

    number: int
    index: int
    text: str = field(repr=False)
    title: str | None = None
    source: str | None = None
    date: str | None = None
    page: str | None = None


StyleName: TypeAlias = Literal["plain", "numbered", "xml"]
Style: TypeAlias = StyleName | Callable[[Passage], str]
_STYLES = ("plain", "numbered", "xml")
_IMITATED: Mapping[str, tuple[Imitated, ...]] = {"numbered": ("labels", "questions"), "xml": ("tags", "questions")}
_ALL: tuple[Imitated, ...] = ("labels", "tags", "questions")


@dataclass(frozen=True)
class Layout:
    """How the block is written.

    Args:
        style: `"plain"`: the rendered chunks as they are, joined. `"numbered"`: each under a line
            `[1] title - source (date, p. page)`. `"xml"`: indexed `<document>` elements. Or a callable from a `Passage`
            to its text. Numbers follow the positions. In all but `"plain"`, a passage that imitates a label, a tag or
            the question line is neutralised.
        separator: What stands between two passages.
        echo: Repeat this many of the best chunks at the far end of the block, under the numbers that they have. One
            that sits at that edge already is not repeated, and none is where the budget has no room for it. An echo
            takes the room of weaker chunks.

    Raises:
        ValueError: For an unknown style, or a separator or echo that the style cannot have.
        TypeError: For a value of the wrong type.
    """

    style: Style = "plain"
    separator: str = "\n\n"
    echo: int = 0

    def __post_init__(self) -> None:
        if not callable(self.style) and self.style not in _STYLES:
            raise bad_choice("Layout.style", self.style, (*_STYLES, "a callable from a Passage to its text"))
        if not isinstance(self.separator, str):
            raise TypeError(f"Layout.separator must be a str, not {self.separator!r}")
        echo = whole_number("Layout.echo", self.echo, what="a whole number of chunks")
        if echo < 0:
            raise ValueError(f"Layout.echo={echo} must not be negative")
        object.__setattr__(self, "echo", echo)
        if self.style == "numbered" and not (self.separator.startswith("\n") and self.separator.endswith("\n")):
            raise ValueError(f"numbered labels start a line: separator {self.separator!r} must start and end with \\n")
        if neutral(self.separator, *self.imitated) != self.separator:
            raise ValueError(f"separator {self.separator!r} looks like a label, a tag or a question of the block")

    @property
    def imitated(self) -> tuple[Imitated, ...]:
        """What is neutralised in passages."""
        return () if self.style == "plain" else _ALL if callable(self.style) else _IMITATED[self.style]

    @property
    def verbatim(self) -> bool:
        """Whether the block is nothing but the rendered chunks and the separator, so that a framework can join it."""
        return self.style == "plain" and not self.echo

    def part(self, view: ChunkView, index: int, body: str | None, number: int) -> str:
        """Return a chunk as it stands in the block, with `body` in place of its own text if given."""
        if self.style == "plain":
            return view.rendered(index, body)
        if index in view.above:
            return self.pointer(number)
        passage = passage_of(view, index, body, number, self.imitated)
        if self.style == "numbered":
            return f"{_label(passage)}\n{passage.text}"
        if self.style == "xml":
            return _element(passage)
        text = self.style(passage)
        if not isinstance(text, str):
            raise TypeError(f"Layout.style must return the text of a passage, not {text!r:.80}")
        return text

    def pointer(self, number: int) -> str:
        """Return what stands in the block for a passage that the conversation holds already, under its number."""
        return _element(Passage(number, 0, "above")) if self.style == "xml" else f"[{number}] above"

    def join(self, parts: Iterable[str]) -> str:
        """Return the block made of parts, head first."""
        text = self.separator.join(parts)
        return f"<documents>\n{text}\n</documents>" if self.style == "xml" and text else text

    def write(
        self,
        view: ChunkView,
        indices: Sequence[int],
        texts: Mapping[int, str],
        echoes: Sequence[int] = (),
        first: int = 1,
    ) -> str:
        """Return the block.

        Args:
            view: The chunks.
            indices: Input indices, head first.
            texts: Shortened bodies by input index.
            echoes: Input indices that are repeated at the end far from the first of them, best first.
            first: The first number that is free.
        """
        if not echoes and self.style == "plain":
            return self.join(view.rendered(index, texts.get(index)) for index in indices)
        numbers = dict(zip(indices, view.numbers(indices, first), strict=True))
        sequence = with_echoes(indices, echoes)
        return self.join(self.part(view, index, texts.get(index), numbers[index]) for index in sequence)


def with_echoes(indices: Sequence[int], echoes: Sequence[int]) -> Sequence[int]:
    """Return the indices with the echoes at the end that the best of them does not sit at, the best outermost."""
    if not echoes:
        return indices
    at_tail = _far_end(indices, echoes)
    echoes = repeated(indices, echoes)
    return [*indices, *reversed(echoes)] if at_tail else [*echoes, *indices]


def repeated(indices: Sequence[int], echoes: Sequence[int]) -> list[int]:
    """Return the echoes but for the one that sits at that end already."""
    edge = indices[-1 if _far_end(indices, echoes) else 0] if echoes else None
    return [index for index in echoes if index != edge]


def _far_end(indices: Sequence[int], echoes: Sequence[int]) -> bool:
    return indices.index(echoes[0]) < len(indices) / 2


def passage_of(
    view: ChunkView, index: int, body: str | None, number: int, imitated: Sequence[Imitated] = ()
) -> Passage:
    """Return a chunk as a passage, with `body` in place of its own text if given."""
    text, label = view.rendered(index, body), view.label(index)
    fields = [
        None if value is None or is_missing(value) else neutral(" ".join(as_text(value).split()), *imitated)
        for value in label._replace(page=page_number(label.page))
    ]
    return Passage(number, index, neutral(text, *imitated), *(value or None for value in fields))


def _label(passage: Passage) -> str:
    name = " - ".join(dict.fromkeys(part for part in (passage.title, passage.source) if part))
    details = ", ".join(part for part in (passage.date, passage.page and _page(passage.page)) if part)
    return f"[{passage.number}]{name and ' ' + name}{details and f' ({details})'}"


def _page(page: str) -> str:
    return page if page.casefold().startswith(("p. ", "pp. ", "page ", "pages ")) else f"p. {page}"


def _element(passage: Passage) -> str:
    fields = {"title": passage.title, "source": passage.source, "date": passage.date, "page": passage.page}
    lines = [f"<{name}>{value}</{name}>" for name, value in fields.items() if value]
    content = f"<document_content>\n{passage.text}\n</document_content>"
    return "\n".join([f'<document index="{passage.number}">', *lines, content, "</document>"])


PLAIN = Layout()


def as_layout(layout: "Layout | Style | None") -> Layout:
    """Return the layout that was asked for; a bare style is `Layout(style)`.

    Raises:
        TypeError: For anything else.
    """
    if layout is None:
        return PLAIN
    if isinstance(layout, Layout):
        return layout
    if isinstance(layout, type) and issubclass(layout, Layout):
        check_made("layout", layout)
    if isinstance(layout, str) or callable(layout):
        return Layout(layout)
    raise TypeError(f"layout must be a Layout or a style, not {layout!r}")
