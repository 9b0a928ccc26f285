"""Documents as chunks: a view that reads a document's fields when a stage asks for them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.prompts import BasePromptTemplate, format_document

from edgeorder.adapter import ItemView
from edgeorder.metadata import key_names, look_up, plain_name
from edgeorder.ranking import as_score
from edgeorder.settings import PlacementSettings

_SLOT = "\ue000edgeorder\ue000"  # stands in for the body while the template around it is found out


class Documents(ItemView[Document]):
    """The chunks of a list of documents.

    Args:
        items: The documents; they are not copied.
        keys: Settings that say where score, source, section, offset and end live. `start_index` (a text splitter's
            `add_start_index`) is a character offset.
        document_prompt: What each document is rendered with; without it, the page content alone.

    Raises:
        TypeError: For an item that is no `Document`, naming its index and type.
    """

    __slots__ = ("_prompt",)

    kind = Document
    name = "documents"

    def __init__(
        self,
        items: Sequence[Document],
        keys: PlacementSettings,
        document_prompt: BasePromptTemplate[str] | None = None,
    ) -> None:
        super().__init__(items, keys)
        self._prompt = document_prompt

    def metadata(self, index: int) -> Mapping[str, Any]:
        return self.items[index].metadata

    def text(self, index: int) -> str:
        return self.items[index].page_content

    def affixes(self, index: int) -> tuple[str, str]:
        if self._prompt is None:
            return "", ""
        document = self.items[index]
        head, slot, tail = format_document(
            Document(page_content=_SLOT, metadata=document.metadata), self._prompt
        ).partition(_SLOT)
        if not slot or head + document.page_content + tail != format_document(document, self._prompt):
            raise ValueError(
                "document_prompt must show {page_content} exactly once and as it is; it renders "
                f"documents[{index}] as {head + slot + tail!r:.200}"
            )
        return head, tail

    def id(self, index: int) -> str | None:
        return self.items[index].id

    def scores(self) -> Sequence[object]:
        if self.keys.score_key is None or callable(self.keys.score_key):
            return super().scores()
        columns = self._score_columns()
        scored = _scored(columns)
        # The first key under which every document has a score that has one at all.
        for column in columns.values():
            if _known(column) == scored:
                return column
        return [None] * len(self)

    def why_unscored(self) -> str:
        columns = self._score_columns()
        if not columns:
            return ""
        unscored = [index for index, known in enumerate(_scored(columns)) if not known]
        return (
            f"The scores live under different keys ({', '.join(columns)}), so they cannot be compared"
            f"{f'; documents {unscored} have none' if unscored else ''}. Set score_key to one key, or to a callable."
        )

    def _score_columns(self) -> dict[str, list[object]]:
        """Return the scores under each key that any document has."""
        if self.keys.score_key is None or callable(self.keys.score_key):
            return {}
        columns = {
            name: [look_up(document.metadata, name) for document in self.items]
            for name in key_names(self.keys.score_key)
            if isinstance(name, str)
        }
        return {name: column for name, column in columns.items() if any(_known(column))}

    def sources(self, indices: Sequence[int]) -> list[object]:
        name = plain_name(self.keys.source_key)
        return [self.items[index].metadata.get(name) for index in indices] if name else super().sources(indices)


def _scored(columns: Mapping[str, Sequence[object]]) -> list[bool]:
    """Say of each document whether it has a score under any key."""
    return [any(_known(values)) for values in zip(*columns.values(), strict=True)]


def _known(values: Iterable[object]) -> list[bool]:
    return [as_score(value) is not None for value in values]


def with_body(document: Document, body: str | None) -> Document:
    """Return a copy with a metadata dict, and a page content if one is given, of its own; id and subclass stay."""
    update: dict[str, object] = {"metadata": dict(document.metadata)}
    return document.model_copy(update=update if body is None else {**update, "page_content": body})
