"""`ContextMiddleware` for `create_agent`: two-step RAG, the block in the system message."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.retrievers import RetrieverLike
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.config import ensure_config, merge_configs, var_child_runnable_config
from langgraph.types import Command
from typing_extensions import override

from edgeorder.alerts import warn
from edgeorder.budget import as_budget
from edgeorder.placed import by_rank
from edgeorder.prompting import as_prompt
from edgeorder.register import Register
from edgeorder.window import window
from langchain_edgeorder.asking import Ask, Steps, adrive, drive, scores_of, with_scores
from langchain_edgeorder.conversation import KEY, ConversationState, kept, knowing, messages_of, register_of
from langchain_edgeorder.gauge import Gauge
from langchain_edgeorder.order import EdgeOrder, with_labels
from langchain_edgeorder.retriever import places


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
        self.retriever = retriever
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
        query = _text_of(_last_human(messages) if self._query is None else self._query.invoke(messages))
        found = self.retriever.invoke(query) if query.strip() else []
        return drive(self._begun(state, query, found))

    @override
    async def abefore_agent(self, state: ContextState, runtime: Any) -> dict[str, Any] | None:
        messages = messages_of(state)
        query = _text_of(_last_human(messages) if self._query is None else await self._query.ainvoke(messages))
        found = await self.retriever.ainvoke(query) if query.strip() else []
        return await adrive(self._begun(state, query, found))

    @override
    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        request, text, update = drive(self._shown(request))
        with _sending(text):
            response = handler(request)
        return ExtendedModelResponse(response, Command(update=update)) if update else response

    @override
    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        request, text, update = await adrive(self._shown(request))
        with _sending(text):
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
        if self._shadow is not None and found:
            yield Ask(self._shadow, list(by_rank(found)), query, window(register=Register()))
        documents, register = list(found if self._shadow else by_rank(found)), register_of(state)
        others = list(_contexts(state, _turn(state)).values())
        start = sum(other["n"] for other in others)
        entry: dict[str, Any] = {"turn": _turn(state), "start": start, "n": len(documents), "query": query}
        if self._gauge is None:
            placement = yield Ask(self.placer, documents, query, window(register=register))
            entry |= _placed(placement)
        elif self.placer.rerank is not None and documents:
            ranker = self.placer.model_copy(update={"budget": None})
            placement = yield Ask(ranker, documents, query, window(register=register.branch(), draft=True))
            entry["scores"] = scores_of(placement)
        return {
            "context": [*(state.get("context") or [])[:start], *documents],
            "context_text": "\n\n".join(one["text"] for one in [*others, entry] if one.get("text")),
            KEY: {"context": {self.name: entry}, "register": register.to_dict()},
        }

    def _shown(self, request: ModelRequest[Any]) -> Steps[tuple[ModelRequest[Any], str, dict[str, Any]]]:
        """Return the request with the block that fits, the block, and what the state should know of it."""
        state: Any = request.state
        entry = kept(state, "context").get(self.name)
        if entry is None:
            return request, "", {}
        informed = self._informed(request, entry.get("text", ""))
        if self._gauge is None or ("text" in entry and self._gauge.request(informed) <= self._gauge.limit):
            return informed, entry.get("text", ""), {}
        documents = state["context"][entry["start"] : entry["start"] + entry["n"]]
        placer, register = with_scores(self.placer, documents, entry.get("scores")), register_of(state)
        room = self._gauge.limit - self._gauge.request(self._informed(request, "\n\n"))
        while True:
            around = window(max(0, room), register=register, strict=self.strict)
            placement = yield Ask(placer, documents, entry["query"], around)
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
        own = kept(state, "context").get(self.name)
        if own is None or own["start"] > 0:
            return None
        shown = [entry for entry in _contexts(state, own["turn"]).values() if "placed" in entry]
        documents = [state["context"][entry["start"] + at] for entry in shown for at in entry["placed"]]
        numbers = [number for entry in shown for number in entry["numbers"]]
        return {
            "context": documents,
            "context_text": "\n\n".join(entry["text"] for entry in shown if entry["text"]),
            KEY: {"cited": {"context": numbers}},
        }


def without_question(placer: EdgeOrder) -> EdgeOrder:
    """Return the placer.

    Raises:
        ValueError: If its prompt shows the question, which the conversation holds already.
    """
    prompt = as_prompt(placer.prompt)
    if prompt is not None and prompt.question != "none":
        raise ValueError(
            f"prompt={placer.prompt!r} would show the question a second time: in an agent it is a message already. Use "
            "prompt=Prompt('none', instruction)"
        )
    return placer


class _Sent(BaseCallbackHandler):
    """Sees whether a block reaches a model."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.calls: list[bool] = []

    @override
    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        self.calls.append(any(self.text in message.text for batch in messages for message in batch))


@contextmanager
def _sending(text: str) -> Iterator[None]:
    """Check that a block reaches the model that is called inside.

    Raises:
        ValueError: If a middleware further in replaced the system message.
    """
    if not text:
        yield
        return
    sent = _Sent(text)
    token = var_child_runnable_config.set(merge_configs(ensure_config(), {"callbacks": [sent]}))
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
    if sent.calls and not any(sent.calls):
        raise ValueError(
            "a middleware after ContextMiddleware replaced the system message, as dynamic_prompt does, and the model "
            "never got the documents in it: list ContextMiddleware after it"
        )


def _contexts(state: Any, turn: str) -> dict[str, Any]:
    """Return what the middlewares of a turn keep, in their order."""
    return {name: entry for name, entry in kept(state, "context").items() if entry["turn"] == turn}


def _turn(state: Any) -> str:
    """Return what tells a turn from others."""
    messages = messages_of(state)
    return next((message.id for message in reversed(messages) if message.id), None) or str(len(messages))


def _placed(placement: Any) -> dict[str, Any]:
    return {
        "placed": list(placement.indices),
        "numbers": [passage.number for passage in placement.block.passages],
        "text": placement.text if placement.indices else "",
    }


def _last_human(messages: Sequence[BaseMessage]) -> HumanMessage:
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return message
    raise ValueError("ContextMiddleware retrieves for the last human message, and there is none")


def _text_of(query: Any) -> str:
    """Return a query that a function made."""
    if isinstance(query, str):
        return query
    if isinstance(query, BaseMessage):
        return query.text
    raise TypeError(f"query= of ContextMiddleware must return a text, not {query!r:.80}")
