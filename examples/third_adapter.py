"""An adapter for a third framework in less than seventy lines: a pipeline component that places Haystack's documents.

Haystack is not needed here: `Document` below stands in for its class. With it, import `Document` and `component` from
`haystack`, and put `@component` on `EdgeOrder` and `@component.output_types(documents=list[Document])` on both runs.

The tests of edgeorder hold this adapter to the contract of its own two.

Run it: `pip install 'edgeorder[text]'`, then
`python examples/third_adapter.py`. Tokens are counted by tiktoken, which fetches its file once.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from handbook import search

from edgeorder import capture
from edgeorder.adapter import Adapter, ItemView
from edgeorder.settings import KeyField

QUESTION = "What may my hotel in Geneva cost per night if I stay for more than 14 nights, and who approves more?"


@dataclass
class Document:
    """Haystack's `Document`, as far as an adapter needs it."""

    id: str = ""
    content: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    score: float | None = None


class Documents(ItemView[Document]):
    """Documents as chunks: where their text, metadata, id and score are."""

    __slots__ = ()

    kind = Document
    name = "documents"

    def metadata(self, index: int) -> Mapping[str, Any]:
        return self.items[index].meta

    def text(self, index: int) -> str:
        return self.items[index].content or ""

    def id(self, index: int) -> str:
        return self.items[index].id

    def score(self, index: int) -> object:
        key = self.keys.score_key
        return self.items[index].score if key is None else self.read(index, key)


class DocumentPlacer(Adapter):
    """The settings, which are the keywords of `edgeorder.place`, and where Haystack's splitters keep things."""

    source_key: KeyField = ("source_id", "file_path")
    offset_key: KeyField = "split_id"
    title_key: KeyField = "title"
    date_key: KeyField = "date"
    page_key: KeyField = "page_number"

    def view(self, documents: Sequence[Document]) -> Documents:
        return Documents(documents, self)

    def copied(self, document: Document, body: str | None, added: Mapping[str, Any]) -> Document:
        content = document.content if body is None else body
        return replace(document, content=content, meta={**document.meta, **added})


class EdgeOrder:
    """Place documents: the last component before the prompt. It takes what `DocumentPlacer` takes."""

    def __init__(self, **settings: Any) -> None:
        self.placer = DocumentPlacer(**settings)

    def run(self, documents: list[Document], query: str | None = None) -> dict[str, list[Document]]:
        """Return the documents placed, as the output of a component."""
        return {"documents": self.placer.placed_items(documents, query)}

    async def run_async(self, documents: list[Document], query: str | None = None) -> dict[str, list[Document]]:
        """The same in an asynchronous pipeline."""
        return {"documents": await self.placer.aplaced_items(documents, query)}

    def to_dict(self) -> dict[str, Any]:
        """Return the component as a saved pipeline holds it."""
        name = f"{type(self).__module__}.{type(self).__qualname__}"
        return {"type": name, "init_parameters": self.placer.model_dump(mode="json")}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "EdgeOrder":
        """Return the component that was saved."""
        return cls(**data["init_parameters"])


def main() -> None:
    """Search, place, and show what the component sends on."""
    found = [
        Document(
            id=str(section),
            content=section.text,
            meta={"file_path": section.document, "split_id": section.number},
            score=score,
        )
        for section, score in search(QUESTION, 20)
    ]
    component = EdgeOrder(budget=2000, rank_by="score")
    with capture() as records:
        sent = component.run(found)["documents"]
        assert asyncio.run(component.run_async(found))["documents"] == sent
    assert EdgeOrder.from_dict(component.to_dict()).placer == component.placer

    record = records[0]
    print(f"{QUESTION}\n")
    print(f"Order {record.order} ({record.reason}); {record.tokens} tokens of {record.budget}\n")
    print("position  rank  document")
    for document, chunk in zip(sent, record.placed, strict=True):
        print(f"{chunk.position:8}  {chunk.rank:4}  {document.id}")
    print(f"\ndropped: {', '.join(f'{chunk.id} (rank {chunk.rank})' for chunk in record.dropped)}")


if __name__ == "__main__":
    main()
