"""Parts for the tests of agents: a model that keeps what it receives, and tools that search."""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, create_retriever_tool
from pydantic import Field

from edgeorder.rendering import split_block


class Recording(GenericFakeChatModel):
    """Says its messages one after the other, and keeps what it was sent, and which tools were bound."""

    seen: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[Sequence[Any]] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "Recording":
        self.bound.append(tools)
        return self

    def _generate(self, messages, *args, **kwargs):
        self.seen.append(list(messages))
        return super()._generate(messages, *args, **kwargs)

    def _stream(self, messages, stop=None, run_manager=None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        """As real models do: calls too come piece by piece, and brackets are split."""
        message = self._generate(messages).generations[0].message
        chunks = [AIMessageChunk(part) for part in re.split(r"(?<=[\s\[\]])", message.text) if part]
        for at, call in enumerate(message.tool_calls):
            args = json.dumps(call["args"])
            head = {"name": call["name"], "args": args[:4], "id": call["id"], "index": at}
            tail = {"name": None, "args": args[4:], "id": None, "index": at}
            chunks += [AIMessageChunk("", tool_call_chunks=[part]) for part in (head, tail)]
        for chunk in chunks or [AIMessageChunk("")]:
            made = ChatGenerationChunk(message=chunk.model_copy(update={"id": message.id}))
            if run_manager is not None:
                run_manager.on_llm_new_token(chunk.text, chunk=made)
            yield made


def saying(*said: AIMessage | str) -> Recording:
    return Recording(messages=iter([AIMessage(one) if isinstance(one, str) else one for one in said]))


def calling(*queries: str, name: str = "search", **more: Any) -> AIMessage:
    """A message that calls a tool for each query, all at once."""
    calls = [
        {"name": name, "args": {"query": query, **more}, "id": f"{name}-{at}-{query}"}
        for at, query in enumerate(queries)
    ]
    return AIMessage("", tool_calls=calls)


def fact(name: str, words: int = 20) -> Document:
    """A document of so many words, with an id."""
    return Document(" ".join([f"Fact-{name}."] + ["and more of it"] * (words // 4)), id=name, metadata={"title": name})


def finding(found: Any, name: str = "search", **settings: Any) -> BaseTool:
    """A retrieval tool over a function from a query to documents."""
    settings = {"response_format": "content_and_artifact", **settings}
    return create_retriever_tool(RunnableLambda(found), name, "Searches.", **settings)


def letters(query: str, words: int = 20) -> list[Document]:
    """The documents named by the letters of a query."""
    return [fact(letter, words) for letter in query if letter.isalpha()]


def results(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]


def blocks(messages: Sequence[BaseMessage]) -> list[list[tuple[int, str]]]:
    """The numbered passages of each tool message that has any; pointers are passages without a text."""
    texts = (message.text for message in results(messages))
    return [split_block(text, "numbered") for text in texts if re.match(r"\[\d", text)]


def asked(agent: Any, way: str, messages: Any, config: Any = None) -> dict[str, Any]:
    """Run an agent sync, async, streamed by states or by tokens, or by events, and return its last state."""
    values = {"messages": messages} if isinstance(messages, list) else messages
    if way == "sync":
        return agent.invoke(values, config)
    if way == "async":
        return asyncio.run(agent.ainvoke(values, config))
    if way == "events":
        return asyncio.run(_last_event(agent, values, config))
    modes = ["messages", "values"] if way == "tokens" else ["values"]
    return [part for mode, part in agent.stream(values, config, stream_mode=modes) if mode == "values"][-1]


async def _last_event(agent: Any, values: Any, config: Any) -> dict[str, Any]:
    last: dict[str, Any] = {}
    async for event in agent.astream_events(values, config, version="v2"):
        if event["event"] == "on_chain_end" and not event["parent_ids"]:
            last = event["data"]["output"]
    return last
