"""A retriever and a scripted, recording LLM for tests of agents and chats."""

import re
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from edgeorder.rendering import split_block

PLAIN: dict[str, Any] = {"order": "relevance", "reading": "off"}


def words(text: str) -> int:
    return len(text.split())


class Letters(BaseRetriever):
    """Finds the nodes that are named by the letters of a query."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(text=f"Fact-{name}. " + "and more " * 9, id_=name, metadata={"title": name}), score=0.5
            )
            for name in str(query_bundle).replace("?", "")
            if name.isupper()
        ]


class Scripted(MockFunctionCallingLLM):
    """Says what it is told, one after the other, and keeps what it was sent."""

    def __init__(self, *said: Any, **settings: Any) -> None:
        seen: list[list[ChatMessage]] = []
        steps = iter(said)

        def answer(messages: Any, **kwargs: Any) -> ChatMessage:
            seen.append([message.model_copy(deep=True) for message in messages])
            return next(steps)

        super().__init__(response_generator=answer, is_chat_model=True, **settings)
        self._seen = seen

    _seen: Any = None

    @property
    def seen(self) -> list[list[ChatMessage]]:
        """The messages of each call."""
        return self._seen


def calling(*queries: str, name: str = "search") -> ChatMessage:
    """A message that calls a tool for each query at once."""
    blocks = [
        ToolCallBlock(tool_call_id=f"{at}-{query}", tool_name=name, tool_kwargs={"query": query})
        for at, query in enumerate(queries)
    ]
    return ChatMessage(role="assistant", blocks=blocks)


def saying(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def results(messages: list[ChatMessage]) -> list[str]:
    return [message.content or "" for message in messages if message.role == "tool"]


def numbers(messages: list[ChatMessage]) -> list[list[int]]:
    return [[n for n, _ in split_block(text, "numbered")] for text in results(messages) if re.match(r"\[\d", text)]
