"""Middleware for `create_agent`: documents are placed at the moment in which a model gets to see them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NotRequired

from edgeorder.errors import missing_extra

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
except ImportError as error:
    raise missing_extra("langchain", "agents") from error

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.retrievers import RetrieverLike
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from typing_extensions import override

from edgeorder.placement import Placement
from langchain_edgeorder.order import EdgeOrder, with_labels

_NOTHING = "No document fits the token budget."  # some providers refuse an empty tool message


class EdgeOrderMiddleware(AgentMiddleware[Any, Any, Any]):
    """Order and re-render what a retrieval tool returns.

    A tool message whose artifact is a list of documents (`create_retriever_tool(..., response_format=
    "content_and_artifact")`) gets the rendered block as its content and the placed documents as its artifact: number
    `[n]` of the block is the n-th document. Other messages pass as they are.

    Args:
        placer: How documents are placed; with layout `"numbered"` unless it says another. Its budget is for one tool
            result.
        tools: Names of the tools that it is for; None for all.
        query_arg: The argument of the tool call that holds the query, for a scorer.
        reserve_history: Whether the texts of the messages so far share the budget's window.

    Raises:
        ImportError: At import, if langchain is not installed.
    """

    def __init__(
        self,
        placer: EdgeOrder | None = None,
        *,
        tools: Sequence[str] | None = None,
        query_arg: str = "query",
        reserve_history: bool = False,
    ) -> None:
        super().__init__()
        self.placer = with_labels(placer)
        self.query_arg = query_arg
        self.reserve_history = reserve_history
        self._names = None if tools is None else frozenset(tools)
        if reserve_history and self.placer.budget is None:
            raise ValueError("reserve_history=True needs a budget to be taken from: EdgeOrder(budget=...)")

    @property
    @override
    def name(self) -> str:
        """Differs by tools, since an agent takes no two middlewares of one name."""
        own = type(self).__name__
        return own if self._names is None else f"{own}({', '.join(sorted(self._names))})"

    @override
    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        result = handler(request)
        if not (isinstance(result, ToolMessage) and self._concerns(request, result)):
            return result
        query, reserve = self._asked(request)
        return self._placed(result, self.placer.place(result.artifact, query, reserve=reserve))

    @override
    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        result = await handler(request)
        if not (isinstance(result, ToolMessage) and self._concerns(request, result)):
            return result
        query, reserve = self._asked(request)
        return self._placed(result, await self.placer.aplace(result.artifact, query, reserve=reserve))

    def _concerns(self, request: ToolCallRequest, message: ToolMessage) -> bool:
        documents = message.artifact
        return (
            (self._names is None or request.tool_call["name"] in self._names)
            and isinstance(documents, list)
            and bool(documents)
            and all(isinstance(item, Document) for item in documents)
        )

    def _asked(self, request: ToolCallRequest) -> tuple[str | None, list[str] | None]:
        """Return the query of a tool call, and what of the conversation shares the window."""
        query = request.tool_call["args"].get(self.query_arg)
        if self.placer.rerank is not None and not isinstance(query, str):
            raise ValueError(
                f"reranking needs the query, and the call of {request.tool_call['name']!r} has none under "
                f"{self.query_arg!r}: set query_arg to one of {sorted(request.tool_call['args'])}"
            )
        reserve = _texts(request.state["messages"]) if self.reserve_history else None
        return query if isinstance(query, str) else None, reserve

    def _placed(self, message: ToolMessage, placement: Placement) -> ToolMessage:
        documents = self.placer.placed(message.artifact, placement)
        return message.model_copy(update={"content": placement.text or _NOTHING, "artifact": documents})


class ContextState(AgentState[Any]):
    """What `ContextMiddleware` adds to the state of an agent."""

    context: NotRequired[list[Document]]
    """The documents that the model gets to see, in the order of their numbers."""
    context_text: NotRequired[str]
    """The block as it is rendered for the model."""


class ContextMiddleware(AgentMiddleware[ContextState, Any, Any]):
    """Two-step RAG: retrieve for the last human message, place, and put the block into the system message.

    It does what a `dynamic_prompt` function does that searches and joins documents, once for each turn, sync and async.
    The result of the agent has the placed documents under `"context"`: number `[n]` of the block is the n-th of them.

    Args:
        retriever: Any retriever, or any Runnable from a query to a list of documents.
        placer: How they are placed; with layout `"numbered"` unless it says another. The messages that the turn begins
            with share its budget; what the agent's own system prompt needs belongs into its reserve.
        instruction: What stands before the block in the system message.
    """

    state_schema = ContextState

    def __init__(self, retriever: RetrieverLike, placer: EdgeOrder | None = None, *, instruction: str = "") -> None:
        super().__init__()
        self.retriever = retriever
        self.placer = with_labels(placer)
        self.instruction = instruction

    @override
    def before_agent(self, state: ContextState, runtime: Any) -> dict[str, Any] | None:
        query, reserve = self._asked(state)
        documents = self.retriever.invoke(query)
        return self._update(documents, self.placer.place(documents, query, reserve=reserve))

    @override
    async def abefore_agent(self, state: ContextState, runtime: Any) -> dict[str, Any] | None:
        query, reserve = self._asked(state)
        documents = await self.retriever.ainvoke(query)
        return self._update(documents, await self.placer.aplace(documents, query, reserve=reserve))

    @override
    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        return handler(self._informed(request))

    @override
    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        return await handler(self._informed(request))

    def _asked(self, state: ContextState) -> tuple[str, list[str] | None]:
        """Return the last thing that a human said, and what else of the conversation shares the window."""
        messages: Sequence[BaseMessage] = state["messages"]
        asked = [message.text for message in messages if isinstance(message, HumanMessage)]
        if not asked:
            raise ValueError("ContextMiddleware retrieves for the last human message, and there is none")
        if self.placer.budget is None:
            return asked[-1], None
        return asked[-1], ["\n\n", f"{self.instruction}\n\n" if self.instruction else "", *_texts(messages)]

    def _update(self, documents: list[Document], placement: Placement) -> dict[str, Any]:
        return {"context": self.placer.placed(documents, placement), "context_text": placement.text}

    def _informed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        state: Any = request.state
        text = "\n\n".join(part for part in (self.instruction, state.get("context_text")) if part)
        if not text:
            return request
        own = request.system_message
        if own is None:
            return request.override(system_message=SystemMessage(text))
        content = (
            f"{own.text}\n\n{text}" if isinstance(own.content, str) else [*own.content, {"type": "text", "text": text}]
        )
        return request.override(system_message=own.model_copy(update={"content": content}))


def _texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]
