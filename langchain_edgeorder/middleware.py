"""`EdgeOrderMiddleware` for `create_agent`: what retrieval tools return is placed before a model gets to see it.

A step of an agent calls tools at once, each in a thread with its own copy of the state, so that none sees what another
leaves. Each result is placed within an equal share there, and all of them together once they stand in the state: in the
order of the calls, in one window, with one register of numbers. A message that a model has seen is not written again.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from edgeorder.errors import BudgetError
from edgeorder.extras import optional

with optional("langchain", "agents"):
    from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, ModelRequest, ModelResponse

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command
from typing_extensions import override

from edgeorder.alerts import warn
from edgeorder.budget import as_budget
from edgeorder.register import Register
from edgeorder.window import FULL, Already, registered, share, window
from langchain_edgeorder.asking import Ask, AskText, Steps, adrive, drive
from langchain_edgeorder.context import ContextMiddleware
from langchain_edgeorder.conversation import (
    KEY,
    ConversationState,
    around_call,
    as_kept,
    cited,
    kept,
    knowing,
    messages_of,
    register_of,
    unseen,
)
from langchain_edgeorder.finder import Finder, Found, query_of
from langchain_edgeorder.gauge import Gauge
from langchain_edgeorder.order import EdgeOrder, with_labels, without_question
from langchain_edgeorder.tool_messages import Writer, digest, is_open, points, stub
from langchain_edgeorder.tool_results import as_documents, with_text

__all__ = ["ContextMiddleware", "EdgeOrderMiddleware", "cited"]


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
        TypeError: For something else than an `EdgeOrder`.
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
        self._finder = Finder(tools, texts=texts, owner=type(self).__name__)
        budget = as_budget(self.placer.budget)
        if reserve_history and budget is None:
            raise ValueError("reserve_history=True needs a budget to be taken from: EdgeOrder(budget=...)")
        if texts and budget is None:
            raise ValueError("texts=True cuts texts to a budget, and there is none: EdgeOrder(budget=...)")
        shared = reserve_history and not self.placer.shadow
        self._gauge = Gauge(budget) if shared and budget is not None else None
        window(register=Register(), already=already)  # checked
        self._writer = Writer(self.placer, self.name, already, strict, self._gauge)

    @property
    @override
    def name(self) -> str:
        """Differs by tools, since an agent takes no two middlewares of one name."""
        return self._finder.owner_name

    @override
    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        request, returned = self._finder.watching(request)
        result = handler(request)
        found = self._finder.found(request, result, returned)
        return result if found is None else drive(self._first(request, found))

    @override
    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        request, returned = self._finder.watching(request)
        result = await handler(request)
        found = self._finder.found(request, result, returned)
        return result if found is None else await adrive(self._first(request, found), counting=self._gauge is not None)

    @override
    def before_model(self, state: ConversationState, runtime: Any) -> dict[str, Any] | None:
        return drive(self._settled(state))

    @override
    async def abefore_model(self, state: ConversationState, runtime: Any) -> dict[str, Any] | None:
        return await adrive(self._settled(state), counting=self._gauge is not None)

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
        request, update = await adrive(self._checked(request), counting=self._gauge is not None)
        response = await handler(request)
        return ExtendedModelResponse(response, Command(update=update)) if update else response

    def _first(self, request: ToolCallRequest, found: Found) -> Steps[ToolMessage]:
        """Place one result within its share of what is left."""
        message, documents = found
        if self.placer.shadow:
            if not isinstance(documents, str):
                query = query_of(request, self.query_arg, None)
                yield Ask(self.placer, documents, query, window(register=Register()))
            return message
        state = request.state
        messages, beside, at = around_call(state, request.tool_call)
        n = len(beside)
        # The results of a step are placed together later, if there is a later: not in a bare node, nor at the end.
        ends = getattr(request.tool, "return_direct", False) or not (isinstance(state, Mapping) and KEY in state)
        keeps = message.artifact is not None and as_documents(message.artifact) is None
        # So is one result that may point at what is trimmed before the model is called.
        waits = n > 1 if isinstance(documents, str) else (n > 1 or self.already != "send") and not keeps
        draft = waits and not ends
        register = register_of(state, messages)
        if draft or registered() is None:  # else the others of the step give numbers of the same register
            register = register.branch(at, n)
        own = self._writer.window(
            self._share(state, messages, beside, message), register, self._writer.shown(messages), draft=draft
        )
        query = query_of(request, self.query_arg, None if isinstance(documents, str) else self.placer)
        if isinstance(documents, str):
            placed = yield AskText(self.placer, documents, query, own)
            return self._writer.text(message, documents, query, placed, draft=draft)
        placed = yield Ask(self.placer, documents, query, own)
        write = self._writer.draft if draft else self._writer.final
        return write(message, documents, query, placed)

    def _share(
        self, state: Any, messages: Sequence[BaseMessage], beside: Sequence[Mapping[str, Any]], message: ToolMessage
    ) -> int | None:
        """Return the tokens for the text of one result of a step; None for no limit."""
        left = self._left(state, [*messages, *map(stub, beside)])
        if self._gauge is None or left is None:
            around = share() if len(beside) > 1 else None
            return None if around is None or around.left is None else around.left // len(beside)
        if not messages:
            warn(f"the state of the graph has no messages, so {self.name} takes nothing off for reserve_history=True")
        bare = [ToolMessage(FULL, tool_call_id=message.tool_call_id, name=message.name)]
        images = self._gauge.messages([with_text(message, FULL)]) - self._gauge.messages(bare)
        return max(0, left // len(beside) - images)

    def _settled(self, state: Any) -> Steps[dict[str, Any] | None]:
        """Place the results that no model call has seen, together."""
        messages = messages_of(state)
        drafts = [at for at in unseen(messages) if is_open(messages[at])]
        standing = [message for at, message in enumerate(messages) if at not in drafts]
        register = register_of(state, standing)
        own = [at for at in drafts if self._writer.wrote(messages[at])]
        update: dict[str, Any] = {}
        if own:
            lines = [with_text(m, FULL) if at in own else m for at, m in enumerate(messages)]
            jobs = [self._writer.job(message) for at, message in enumerate(messages) if at in own]
            shown = self._writer.shown(standing)
            update["messages"] = yield from self._writer.all(jobs, shown, self._left(state, lines), register)
        kept_now: dict[str, Any] = {}
        if register != Register.from_dict(kept(state, "register")):
            kept_now["register"] = register.to_dict()
        if self.already != "send":  # what a middleware after this one removes is pointed at no more
            anew = {message.id: message for message in update.get("messages", ())}
            shown = self._writer.shown([anew.get(message.id, message) for message in messages])
            kept_now["shown"] = {self.name: sorted(set(map(digest, shown)))}
        return {**update, KEY: kept_now} if kept_now else update or None

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
        # A pointer leads nowhere once another middleware cleared or removed what it points at.
        known = set(kept(request.state, "shown").get(self.name, ()))
        astray = not known <= set(map(digest, writer.shown(messages))) and any(points(messages[at]) for at in fresh)
        if astray and self.already == "drop":
            warn(
                "documents were left out since they stood above, and a middleware has taken that away since: list "
                f"{self.name} after it"
            )
        update: dict[str, Any] = {}
        if fresh and (over > 0 or astray):
            register = register_of(request.state)
            jobs = [writer.job(messages[at]) for at in fresh]
            anew = yield from writer.all(jobs, writer.shown(standing), left, register)
            for at, message in zip(fresh, anew, strict=True):
                messages[at] = message
            update["messages"], own["register"] = as_kept(anew, before), register.to_dict()
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

    def _left(self, state: Any, messages: Sequence[BaseMessage]) -> int | None:
        """Return what messages leave of the whole window, with what the last model call had beyond them."""
        if self._gauge is None:
            return None
        beyond: int = kept(state, "beyond").get(self.name, 0)
        return self._gauge.limit - beyond - self._gauge.messages(messages)
