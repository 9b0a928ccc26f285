"""What both postprocessors are as components of LlamaIndex, whichever way it calls, copies or saves them."""

from collections.abc import Sequence
from inspect import getattr_static
from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ConfigDict, model_validator
from typing_extensions import override

from edgeorder.message_parts import WORDLESS
from llamaindex_edgeorder.events import dispatcher


class Component(BaseNodePostprocessor):
    """A postprocessor that is the same sync and async, refuses unknown fields, and stays whole when it is pickled.

    A subclass writes `_process` and `_aprocess`. They are not declared abstract, or LlamaIndex would open a span for
    each, inside that of `_postprocess_nodes`.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    def _process(self, nodes: Sequence[NodeWithScore], query: str | None) -> list[NodeWithScore]:
        """Return the nodes that go on to the LLM."""
        raise NotImplementedError

    async def _aprocess(self, nodes: Sequence[NodeWithScore], query: str | None) -> list[NodeWithScore]:
        """The same, never blocking the event loop."""
        raise NotImplementedError

    @override
    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._process(nodes, _query_of(query_bundle))

    @override
    @dispatcher.span  # the sync one gets its span from LlamaIndex
    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if getattr_static(type(self), "_postprocess_nodes") is not _OWN_HOOK:  # a subclass of the user's
            return await super()._apostprocess_nodes(nodes, query_bundle)
        return await self._aprocess(nodes, _query_of(query_bundle))

    @model_validator(mode="before")
    @classmethod
    def _without_class_name(cls, data: Any) -> Any:
        """Accept what `model_dump` wrote: LlamaIndex adds the class name to it."""
        if isinstance(data, dict) and data.get("class_name") == cls.class_name():
            return {name: value for name, value in data.items() if name != "class_name"}
        return data

    @override
    def __getstate__(self) -> dict[str, Any]:
        # LlamaIndex deletes what cannot be pickled, such as a callback manager's handlers, from the object itself.
        return super(Component, self.model_copy()).__getstate__()


_OWN_HOOK = getattr_static(Component, "_postprocess_nodes")


def _query_of(query_bundle: QueryBundle | None) -> str | None:
    """Return the text of a query, if there is one; `WORDLESS` for a question that is an image or an embedding."""
    if query_bundle is None or query_bundle.query_str:
        return None if query_bundle is None else query_bundle.query_str
    return WORDLESS if query_bundle.image_path or query_bundle.embedding else ""
