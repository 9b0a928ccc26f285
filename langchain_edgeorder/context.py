"""`ContextMiddleware` for `create_agent`: two-step RAG, the block in the system message."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ChatMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import RetrieverLike
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.types import Command
from typing_extensions import override

from edgeorder.alerts import warn
from edgeorder.budget import as_budget
from edgeorder.chunk import check_items
from edgeorder.message_parts import worded
from edgeorder.placed import by_rank
from edgeorder.register import Register
from edgeorder.window import window
from langchain_edgeorder.asking import Ask, Steps, adrive, drive, scores_of, with_scores
from langchain_edgeorder.conversation import KEY, ConversationState, kept, knowing, messages_of, register_of
from langchain_edgeorder.gauge import Gauge
from langchain_edgeorder.order import EdgeOrder, with_labels, without_question
from langchain_edgeorder.retriever import checked_retriever, places
from langchain_edgeorder.sending import sending
from langchain_edgeorder.tool_results import as_documents

_HUMAN = ("user", "human")  # roles of a `ChatMessage`


class ContextState(ConversationState):
    """What `ContextMiddleware` adds to the state of an agent."""

    context: NotRequired[list[Document]]
    """The documents that the model got to see, in the order of the block; while it runs, all that were found."""
    context_text: NotRequired[str]
    """The block as it was rendered for the model."""


class ContextMiddleware(AgentMiddleware[ContextState, Any, Any]):
    """Retrieve for the last human message, place, and put the block into the system message.

    It does what a `dynamic_prompt` function does that searches and joins documents, once for each turn, sync and async.
    The result of the agent has the placed documents under `"context"`; `cited(result)` gives those that the answer
    cites. A chunk has one number over all turns. List it after middlewares that make the system message.

    With a budget it holds on all that the model receives of what stands before it: the conversation, tools, images and
    the system message. Where less is left, fewer documents are shown, then none, and the run goes on.

    Args:
        retriever: Any retriever, or any Runnable from a query to a list of documents.
        placer: How they are placed; with layout `"numbered"` unless it says another. With `shadow=True` all of them
            are shown as they were found, and what would be done is recorded.
        instruction: What stands before the block in the system message.
        query: A function or Runnable from the messages to the query, such as one that makes a follow-up question stand
            alone; without it the text of the last human message.
        name: What tells it from another one in the same agent; the retriever's name without it.
        strict: Whether a full window raises `BudgetError`.

    Raises:
        TypeError: For something else than a Runnable and an `EdgeOrder`.
        ValueError: If the prompt of the placer shows the question.
    """

    state_schema = ContextState

    def __init__(
        self,
        retriever: RetrieverLike,
        placer: EdgeOrder | None = None,
        *,
        instruction: str = "",
        query: Callable[[list[BaseMessage]], Any] | Runnable[list[BaseMessage], Any] | None = None,
        name: str | None = None,
        strict: bool = False,
    ) -> None:
        super().__init__()
        self.retriever = checked_retriever(retriever)
        placer = without_question(with_labels(placer))
        self.placer = placer.unchanged() if placer.shadow else placer
        self._shadow = placer if placer.shadow else None
        self.instruction = instruction
        self.strict = strict
        self._query = query if query is None or isinstance(query, Runnable) else RunnableLambda(query)
        self._name = retriever.get_name() if name is None else name
        budget = as_budget(self.placer.budget)
        self._gauge = None if budget is None else Gauge(budget)
        if places(retriever):
            warn(
                "the retriever places its documents already, so they would be placed twice. Give it without EdgeOrder: "
                "ContextMiddleware places them."
            )

    @property
    @override
    def name(self) -> str:
        """Differs by retriever, since an agent takes no two middlewares of one name."""
        return f"{type(self).__name__}({self._name})"

    @override
    def before_agent(self, state: ContextState, runtime: Any) -> dict[str, Any] | None:
        messages = messages_of(state)
        query = _text_of(_said(messages) if self._query is None else self._query.invoke(messages))
        found = self.retriever.invoke(query) if query.strip() else []
        return drive(self._begun(state, query, found))

    @override
    async def abefore_agent(self, state: ContextState, runtime: Any) -> dict[str, Any] | None:
        messages = messages_of(state)
        query = _text_of(_said(messages) if self._query is None else await self._query.ainvoke(messages))
        found = await self.retriever.ainvoke(query) if query.strip() else []
        return await adrive(self._begun(state, query, found), counting=self._gauge is not None)

    @override
    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        request, text, update = drive(self._shown(request))
        with sending(text):
            response = handler(request)
        return ExtendedModelResponse(response, Command(update=update)) if update else response

    @override
    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        request, text, update = await adrive(self._shown(request), counting=self._gauge is not None)
        with sending(text):
            response = await handler(request)
        return ExtendedModelResponse(response, Command(update=update)) if update else response

    @override
    def after_agent(self, state: ContextState, runtime: Any) -> dict[str, Any] | None:
        return self._published(state)

    @override
    async def aafter_agent(self, state: ContextState, runtime: Any) -> dict[str, Any] | None:
        return self._published(state)

    def _begun(self, state: Any, query: str, found: Sequence[Document]) -> Steps[dict[str, Any]]:
        """Keep what was found, ranked; with a budget it is placed when it is known what else the model receives."""
        if not query.strip():
            warn("there is no text to retrieve for, so no document was looked up")
        found = list(found) if isinstance(found, Iterator) else found
        check_items(found, Document, "documents")
        if self._shadow is not None and found:
            yield Ask(self._shadow, list(by_rank(found)), query, window(register=Register()))
        documents, register = list(found if self._shadow else by_rank(found)), register_of(state)
        before = _open(state)
        others = {} if self.name in before else before  # a turn that failed left them
        start = sum(other["n"] for other in others.values())
        entry: dict[str, Any] = {"open": True, "start": start, "n": len(documents), "query": query}
        if self._gauge is None:
            # In shadow mode it is what the model would get without us: nobody's record, and no window's matter.
            around = window(register=register, draft=self._shadow is not None)
            entry |= _placed((yield Ask(self.placer, documents, query, around)))
        elif self.placer.rerank is not None and documents:
            ranker = self.placer.model_copy(update={"budget": None})
            placement = yield Ask(ranker, documents, query, window(register=register.branch(), draft=True))
            entry["scores"] = scores_of(placement)
        left = {name: {**other, "open": False} for name, other in before.items() if name not in others}
        return {
            "context": [*_documents(state)[:start], *documents],
            "context_text": "\n\n".join(one["text"] for one in [*others.values(), entry] if one.get("text")),
            KEY: {"context": {**left, self.name: entry}, "register": register.to_dict()},
        }

    def _shown(self, request: ModelRequest[Any]) -> Steps[tuple[ModelRequest[Any], str, dict[str, Any]]]:
        """Return the request with the block that fits, the block, and what the state should know of it."""
        state: Any = request.state
        entry = _open(state).get(self.name)
        if entry is None:
            return request, "", {}
        informed = self._informed(request, entry.get("text", ""))
        if self._gauge is None or ("text" in entry and self._gauge.request(informed) <= self._gauge.limit):
            return informed, entry.get("text", ""), {}
        documents = _documents(state)[entry["start"] : entry["start"] + entry["n"]]
        placer, register = with_scores(self.placer, documents, entry.get("scores")), register_of(state)
        room = self._gauge.limit - self._gauge.request(self._informed(request, "\n\n"))
        while True:
            around = window(max(0, room), register=register, strict=self.strict)
            placement = yield Ask(placer, documents, worded(entry["query"]), around)
            text = placement.text if placement.indices else ""
            informed = self._informed(request, text)
            over = self._gauge.request(informed) - self._gauge.limit
            if over <= 0 or not text:
                break
            room = min(room, placement.tokens or room) - over  # joined to the system prompt it needs more
        update: dict[str, Any] = {"register": register.to_dict()}
        if "text" not in entry:  # what the turn began with is what the state keeps
            update["context"] = {self.name: {**entry, **_placed(placement)}}
        return knowing(informed, update), text, {KEY: update}

    def _informed(self, request: ModelRequest[Any], block: str) -> ModelRequest[Any]:
        """Return the request with a block in its system message."""
        if not block:
            return request
        text = "\n\n".join(part for part in (self.instruction, block) if part)
        own = request.system_message
        if own is None:
            return request.override(system_message=SystemMessage(text))
        content = (
            f"{own.text}\n\n{text}" if isinstance(own.content, str) else [*own.content, {"type": "text", "text": text}]
        )
        return request.override(system_message=own.model_copy(update={"content": content}))

    def _published(self, state: Any) -> dict[str, Any] | None:
        """Put the documents that were shown into the result: one of the middlewares does it for all of the turn."""
        entries, found = _open(state), _documents(state)
        if self.name not in entries:
            return None
        shown = [entry for entry in entries.values() if "placed" in entry]
        ended = {name: {**entry, "open": False} for name, entry in entries.items()}
        return {
            "context": [found[entry["start"] + at] for entry in shown for at in entry["placed"]],
            "context_text": "\n\n".join(entry["text"] for entry in shown if entry["text"]),
            KEY: {
                "context": ended,
                "cited": {"context": [number for entry in shown for number in entry["numbers"]]},
            },
        }


def _open(state: Any) -> dict[str, Any]:
    """Return what the middlewares of this turn keep, by name, in their order."""
    entries = [(name, entry) for name, entry in kept(state, "context").items() if entry.get("open")]
    return dict(sorted(entries, key=lambda pair: pair[1]["start"]))


def _documents(state: Any) -> list[Document]:
    """Return the documents that the state holds, as checkpoints give them back."""
    return as_documents(state.get("context") or []) or []


def _placed(placement: Any) -> dict[str, Any]:
    return {
        "placed": list(placement.indices),
        "numbers": [passage.number for passage in placement.block.passages],
        "text": placement.text if placement.indices else "",
    }


def _said(messages: Sequence[BaseMessage]) -> BaseMessage | str:
    """Return what a human said last; nothing if nobody did."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage) or (isinstance(message, ChatMessage) and message.role in _HUMAN):
            return message
    return ""


def _text_of(query: Any) -> str:
    """Return a query that a function made."""
    if isinstance(query, str):
        return query
    if isinstance(query, BaseMessage):
        return query.text
    raise TypeError(f"query= of ContextMiddleware must return a text, not {query!r:.80}")
