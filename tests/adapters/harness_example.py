"""The harness of the adapter that is an example."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import AsyncFace, Face, Harness, Items

from edgeorder.adapter import Adapter

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import third_adapter


class Example(Harness):
    """The placer of `examples/third_adapter.py`, and the component over it."""

    name = "third"
    placer = third_adapter.DocumentPlacer
    labels = ("title", "file_path", "date", "page_number")
    kind = "Document"

    def make(self, text: str, metadata: dict[str, Any], score: Any, id: str) -> third_adapter.Document:
        return third_adapter.Document(id=id, content=text, meta=metadata, score=score)

    def text(self, item: third_adapter.Document) -> str:
        return item.content or ""

    def id(self, item: third_adapter.Document) -> str:
        return item.id

    def metadata(self, item: third_adapter.Document) -> dict[str, Any]:
        return item.meta

    @staticmethod
    def component(placer: Adapter) -> third_adapter.EdgeOrder:
        component = third_adapter.EdgeOrder()
        component.placer = placer
        return component

    @property
    def faces(self) -> Mapping[str, Face]:
        return {"run": lambda placer, items, query: self.component(placer).run(items, query)["documents"]}

    @property
    def async_faces(self) -> Mapping[str, AsyncFace]:
        async def run(placer: Adapter, items: Items, query: str) -> Items:
            return (await self.component(placer).run_async(items, query))["documents"]

        return {"run_async": run}

    @property
    def dumps(self) -> Mapping[str, Any]:
        return {**super().dumps, "to_dict": lambda placer: self.component(placer).to_dict()}

    @property
    def round_trips(self) -> Mapping[str, Any]:
        def saved(placer: Adapter) -> Adapter:
            data = json.loads(json.dumps(self.component(placer).to_dict()))
            return third_adapter.EdgeOrder.from_dict(data).placer

        return {**super().round_trips, "to_dict": saved}
