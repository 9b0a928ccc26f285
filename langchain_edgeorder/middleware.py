"""`EdgeOrderMiddleware` for `create_agent`: what retrieval tools return is placed before a model gets to see it.

A step of an agent calls tools at once, each in a thread with its own copy of the state, so that none sees what another
leaves. Each result is placed within an equal share there, and all of them together once they stand in the state: in the
order of the calls, in one window, with one register of numbers. A message that a model has seen is not written again.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from edgeorder.errors import BudgetError
from edgeorder.extras import optional

with optional("langchain", "agents"):
    from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, ModelRequest, ModelResponse

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from typing_extensions import override

from edgeorder.alerts import warn
from edgeorder.budget import as_budget
from edgeorder.placed import by_rank
from edgeorder.register import Register
from edgeorder.window import FULL, Already, share, window
from langchain_edgeorder.asking import Ask, AskText, Steps, adrive, drive
from langchain_edgeorder.context import ContextMiddleware, without_question
from langchain_edgeorder.conversation import (
    KEY,
    ConversationState,
    calls_beside,
    cited,
    kept,
    knowing,
    messages_of,
    register_of,
    unseen,
)
from langchain_edgeorder.gauge import Gauge
from langchain_edgeorder.order import EdgeOrder, with_labels
from langchain_edgeorder.tool_messages import Writer, is_open, stub
from langchain_edgeorder.tool_results import as_documents, documents_in, watched, what_came

__all__ = ["ContextMiddleware", "EdgeOrderMiddleware", "cited"]


class Found(NamedTuple):
    """A tool message, and the documents that its tool returned, or its text if texts are cut."""

    message: ToolMessage
    documents: list[Document] | str


class EdgeOrderMiddleware(AgentMiddleware[ConversationState, Any, Any]):
    """Place what retrieval tools return, in one window and with one register of numbers for the whole conversation.

    Documents are a list or tuple of them as the artifact of a tool (`create_retriever_tool(..., response_format=
    "content_and_artifact")`) or as what it returns, or the text blocks of an MCP tool. The message gets the rendered
    block as its content and the placed documents as its artifact. A chunk has one number in all of the conversation;
    `cited(result)` gives the documents that an answer cites. Other messages pass as they are.

    Listed last, it sees what the model receives. What middlewares after it add belongs into the budget's reserve.

    Args:
        placer: How documents are placed; with layout `"numbered"` unless it says another. With `shadow=True` messages
            stay as they are, and what would be done is recorded. Its budget is for one tool
            result, or with `reserve_history` for all that the model receives.
        tools: The name of the tool that it is for, or a list of names; None for all.
        query_arg: The argument of the tool call that holds the query, for a scorer.
        reserve_history: Whether the budget is the model's whole window: messages with their tool calls and images,
            system prompt and tools share it. Where nothing is left, the message says so in a line, and the run goes on.
        already: What stands for a chunk that an earlier tool message holds word for word, see `window`.
        texts: Whether results that are plain texts are cut to what is left, too, see `place_text`; needs a budget.
        strict: Whether a full window raises `BudgetError`.

    Raises:
        ImportError: At import, if langchain is not installed.
        ValueError: For settings that cannot work together.
    """

    state_schema = ConversationState

    def __init__(
        self,
        placer: EdgeOrder | None = None,
        *,
        tools: str | Sequence[str] | None = None,
        query_arg: str = "query",
        reserve_history: bool = False,
        already: Already = "send",
        texts: bool = False,
        strict: bool = False,
    ) -> None:
        super().__init__()
        self.placer = without_question(with_labels(placer))
        self.query_arg = query_arg
        self.reserve_history = reserve_history
        self.already = already
        self.texts = texts
        self.strict = strict
        self._names = None if tools is None else frozenset([tools] if isinstance(tools, str) else tools)
        budget = as_budget(self.placer.budget)
        if reserve_history and budget is None:
            raise ValueError("reserve_history=True needs a budget to be taken from: EdgeOrder(budget=...)")
        if texts and budget is None:
            raise ValueError("texts=True cuts texts to a budget, and there is none: EdgeOrder(budget=...)")
        self._gauge = Gauge(budget) if reserve_history and budget is not None else None
        window(register=Register(), already=already)  # checked
        self._writer = Writer(self.placer, self.name, already, strict, self._gauge)

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
        request, returned = self._watching(request)
        result = handler(request)
        found = self._found(request, result, returned)
        return result if found is None else drive(self._first(request, found))

    @override
    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        request, returned = self._watching(request)
        result = await handler(request)
        found = self._found(request, result, returned)
        return result if found is None else await adrive(self._first(request, found))

    @override
    def before_model(self, state: ConversationState, runtime: Any) -> dict[str, Any] | None:
        return drive(self._settled(state))

    @override
    async def abefore_model(self, state: ConversationState, runtime: Any) -> dict[str, Any] | None:
        return await adrive(self._settled(state))

    @override
    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        request, update = drive(self._checked(request))
        response = handler(request)
        return ExtendedModelResponse(response, Command(update=update)) if update else response

    @override
    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        request, update = await adrive(self._checked(request))
        response = await handler(request)
        return ExtendedModelResponse(response, Command(update=update)) if update else response

    def _watching(self, request: ToolCallRequest) -> tuple[ToolCallRequest, list[Any]]:
        """Return the request with a tool that keeps what it returns, if the tool is ours."""
        self._check_names(request)
        if request.tool is None or not self._is_for(request) or request.tool.response_format != "content":
            return request, []
        tool, returned = watched(request.tool)
        return request.override(tool=tool), returned

    def _is_for(self, request: ToolCallRequest) -> bool:
        return self._names is None or request.tool_call["name"] in self._names

    def _check_names(self, request: ToolCallRequest) -> None:
        known = {tool.name for tool in getattr(request.runtime, "tools", None) or ()}
        if self._names is not None and known and (missing := sorted(self._names - known)):
            warn(f"tools={missing} of {type(self).__name__} are no tools of this agent, which has {sorted(known)}")

    def _found(self, request: ToolCallRequest, result: Any, returned: list[Any]) -> Found | None:
        """Return the documents of a result; None if it is none of ours."""
        if not self._is_for(request):
            return None
        named = self._names is not None
        if isinstance(result, ToolMessage) and result.status != "error":
            documents = documents_in(result, returned, blocks=1 if named else 2)
            if documents is not None:
                return Found(result, list(by_rank(documents))) if documents else None
            if self.texts and isinstance(result.content, str):
                return Found(result, result.content) if result.content else None
        if named and not (isinstance(result, ToolMessage) and result.status == "error"):
            warn(
                f"the tool {request.tool_call['name']!r} returned {what_came(result)}, which {self.name} does not "
                "understand and leaves as it is: documents come as a list of Document, as text blocks, or as the "
                "artifact of response_format='content_and_artifact'"
            )
        return None

    def _first(self, request: ToolCallRequest, found: Found) -> Steps[ToolMessage]:
        """Place one result within its share of what is left."""
        state, call, (message, documents) = request.state, request.tool_call, found
        if self.placer.shadow:
            if not isinstance(documents, str):
                yield Ask(self.placer, documents, self._query(request), window(register=Register()))
            return message
        messages = messages_of(state)
        beside, at = calls_beside(messages, call["id"] or "")
        n = max(1, len(beside))
        # The results of a step are placed together later, if there is a later: not in a bare node, nor at the end.
        ends = getattr(request.tool, "return_direct", False) or not (isinstance(state, Mapping) and KEY in state)
        left = self._left(state, [*messages, *map(stub, beside or [dict(call)])])
        if left is None and n > 1 and (around := share()) is not None:
            left = around.left
        room = None if left is None else max(0, left) // n
        register, shown = register_of(state, messages).branch(at, n), self._writer.shown(messages)
        if isinstance(documents, str):
            given = call["args"].get(self.query_arg)
            query, draft = given if isinstance(given, str) else None, n > 1 and not ends
            own = self._writer.window(room, register, shown, draft=draft)
            placed = yield AskText(self.placer, documents, query, own)
            return self._writer.text(message, documents, query, placed, draft=draft)
        keeps = message.artifact is not None and as_documents(message.artifact) is None
        query, draft = self._query(request), n > 1 and not ends and not keeps
        placed = yield Ask(self.placer, documents, query, self._writer.window(room, register, shown, draft=draft))
        write = self._writer.draft if draft else self._writer.final
        return write(message, documents, query, placed)

    def _settled(self, state: Any) -> Steps[dict[str, Any] | None]:
        """Place the results that no model call has seen, together."""
        messages = messages_of(state)
        drafts = [at for at in unseen(messages) if is_open(messages[at])]
        standing = [message for at, message in enumerate(messages) if at not in drafts]
        register = register_of(state, standing)
        own = [at for at in drafts if self._writer.wrote(messages[at])]
        update: dict[str, Any] = {}
        if own:
            lines = [m.model_copy(update={"content": FULL}) if at in own else m for at, m in enumerate(messages)]
            jobs = [self._writer.job(message) for at, message in enumerate(messages) if at in own]
            shown = self._writer.shown(standing)
            update["messages"] = yield from self._writer.all(jobs, shown, self._left(state, lines), register)
        if register != Register.from_dict(kept(state, "register")):
            update[KEY] = {"register": register.to_dict()}
        return update or None

    def _checked(self, request: ModelRequest[Any]) -> Steps[tuple[ModelRequest[Any], dict[str, Any]]]:
        """Count what the model is about to receive; write fresh messages again where less is left than was thought."""
        gauge, writer = self._gauge, self._writer
        messages, before = list(request.messages), messages_of(request.state)
        fresh = [at for at in unseen(messages) if writer.wrote(messages[at])]
        standing = [message for at, message in enumerate(messages) if at not in fresh]
        own: dict[str, Any] = {}
        left, over = None, 0
        if gauge is not None:
            total = gauge.request(request)
            over, beyond = total - gauge.limit, total - gauge.messages(before)
            left = sum(gauge.text(messages[at].text) - gauge.text(FULL) for at in fresh) - over
            if beyond != kept(request.state, "beyond").get(self.name):
                own["beyond"] = {self.name: beyond}
        # A pointer leads nowhere once another middleware cleared what it points at.
        leads = self.already == "send" or set(writer.shown(before)) <= set(writer.shown(messages))
        update: dict[str, Any] = {}
        if fresh and (over > 0 or not leads):
            register = register_of(request.state)
            jobs = [writer.job(messages[at]) for at in fresh]
            anew = yield from writer.all(jobs, writer.shown(standing), left, register)
            for at, message in zip(fresh, anew, strict=True):
                messages[at] = message
            update["messages"], own["register"] = anew, register.to_dict()
            request = knowing(request.override(messages=messages), {"register": own["register"]})
            over = 0 if gauge is None else gauge.request(request) - gauge.limit
        if gauge is not None and over > 0 and not self.placer.shadow:
            self._tell(gauge.limit, over)
        return request, {**update, KEY: own} if own else update

    def _tell(self, limit: int, over: int) -> None:
        """Say that the conversation alone exceeds the budget.

        Raises:
            BudgetError: If the middleware is strict.
        """
        text = (
            f"the model receives {limit + over} tokens, and the budget has {limit}: the conversation alone needs them. "
            "Shorten it, as SummarizationMiddleware does, or raise the budget"
        )
        if self.strict:
            raise BudgetError(text)
        warn(text)

    def _query(self, request: ToolCallRequest) -> str | None:
        query = request.tool_call["args"].get(self.query_arg)
        if self.placer.rerank is not None and not isinstance(query, str):
            raise ValueError(
                f"reranking needs the query, and the call of {request.tool_call['name']!r} has none under "
                f"{self.query_arg!r}: set query_arg to one of {sorted(request.tool_call['args'])}"
            )
        return query if isinstance(query, str) else None

    def _left(self, state: Any, messages: Sequence[BaseMessage]) -> int | None:
        """Return what messages leave of the whole window, with what the last model call had beyond them."""
        if self._gauge is None:
            return None
        beyond: int = kept(state, "beyond").get(self.name, 0)
        return self._gauge.limit - beyond - self._gauge.messages(messages)
