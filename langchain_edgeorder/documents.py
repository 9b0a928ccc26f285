"""Documents as chunks: a view that reads a document's fields when a stage asks for them."""

from collections.abc import Iterable, Mapping, Sequence

from langchain_core.documents import Document
from langchain_core.prompts import BasePromptTemplate, format_document

from edgeorder.chunk import ChunkView, Label, Locations, check_items
from edgeorder.metadata import Key, key_names, look_up, plain_name, read, read_locations
from edgeorder.ranking import as_score
from edgeorder.settings import PlacementSettings

_SLOT = "\ue000edgeorder\ue000"  # stands in for the body while the template around it is found out


class Documents(ChunkView):
    """The chunks of a list of documents.

    Args:
        documents: The documents; they are not copied.
        keys: Settings that say where score, source, section, offset and end live. `start_index` (a text splitter's
            `add_start_index`) is a character offset.
        document_prompt: What each document is rendered with; without it, the page content alone.

    Raises:
        TypeError: For an item that is no `Document`, naming its index and type.
    """

    __slots__ = ("_documents", "_keys", "_prompt")

    def __init__(
        self,
        documents: Sequence[Document],
        keys: PlacementSettings,
        document_prompt: BasePromptTemplate[str] | None = None,
    ) -> None:
        check_items(documents, Document, "documents")
        self._documents = documents
        self._keys = keys
        self._prompt = document_prompt

    def __len__(self) -> int:
        return len(self._documents)

    def item(self, index: int) -> Document:
        return self._documents[index]

    def text(self, index: int) -> str:
        return self._documents[index].page_content

    def affixes(self, index: int) -> tuple[str, str]:
        if self._prompt is None:
            return "", ""
        document = self._documents[index]
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
        return self._documents[index].id

    def score(self, index: int) -> object:
        return self._read(index, self._keys.score_key)

    def scores(self) -> Sequence[object]:
        if self._keys.score_key is None or callable(self._keys.score_key):
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
        if self._keys.score_key is None or callable(self._keys.score_key):
            return {}
        columns = {
            name: [look_up(document.metadata, name) for document in self._documents]
            for name in key_names(self._keys.score_key)
            if isinstance(name, str)
        }
        return {name: column for name, column in columns.items() if any(_known(column))}

    def source(self, index: int) -> object:
        return self.sources((index,))[0]

    def sources(self, indices: Sequence[int]) -> list[object]:
        documents = [self._documents[index] for index in indices]
        name = plain_name(self._keys.source_key)
        if name:
            return [document.metadata.get(name) for document in documents]
        return [read(document, document.metadata, self._keys.source_key) for document in documents]

    def label(self, index: int) -> Label:
        own = self._keys
        keys = (own.title_key, own.source_key, own.date_key, own.page_key)
        return Label(*(self._read(index, key) for key in keys))

    def locations(self, indices: Sequence[int]) -> Locations:
        own = self._keys
        documents = [self._documents[index] for index in indices]
        return read_locations(
            documents,
            [document.metadata for document in documents],
            lambda at: len(documents[at].page_content),
            offset_key=own.offset_key,
            end_key=own.end_key,
            page_key=own.page_key,
            section_key=own.section_key,
        )

    def _read(self, index: int, key: Key | None) -> object:
        document = self._documents[index]
        return read(document, document.metadata, key)


def _scored(columns: Mapping[str, Sequence[object]]) -> list[bool]:
    """Say of each document whether it has a score under any key."""
    return [any(_known(values)) for values in zip(*columns.values(), strict=True)]


def _known(values: Iterable[object]) -> list[bool]:
    return [as_score(value) is not None for value in values]


def with_body(document: Document, body: str | None) -> Document:
    """Return a copy with a metadata dict, and a page content if one is given, of its own; id and subclass stay."""
    update: dict[str, object] = {"metadata": dict(document.metadata)}
    return document.model_copy(update=update if body is None else {**update, "page_content": body})
