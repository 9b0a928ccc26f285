"""What edgeorder keeps of a conversation: in the graph's state, and on the tool messages that it wrote.

All of it is JSON. The state holds the register, and what models were sent besides the messages. Each tool message holds
its own part of the register, so that a conversation goes on with the same numbers where only messages were kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentState, ModelRequest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from edgeorder.alerts import warn
from edgeorder.register import Register
from langchain_edgeorder.tool_results import as_documents

KEY = "edgeorder"
"""The key in the state, and in the `response_metadata` of tool messages."""


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return what several middlewares keep, together; a chunk has the number that it got first."""
    return {
        part: {**new.get(part, {}), **old.get(part, {})}
        if part == "register"
        else {**old.get(part, {}), **new.get(part, {})}
        for part in {**old, **new}
    }


class ConversationState(AgentState[Any]):
    """What the middlewares add to the state of an agent."""

    edgeorder: NotRequired[Annotated[dict[str, Any], merged]]
    """The register; by middleware, what a model call had beyond the messages (tokens), and what it retrieved."""


def knowing(request: ModelRequest[Any], own: Mapping[str, Any]) -> ModelRequest[Any]:
    """Return a request whose state knows what a middleware found out, for those further in: the graph's is late."""
    before: Any = request.state
    state: Any = {**before, KEY: merged(before.get(KEY) or {}, own)}
    return request.override(state=state)


def messages_of(state: Any) -> list[BaseMessage]:
    """Return the messages of a graph's state, whatever it is made of."""
    if isinstance(state, Mapping):
        return list(state.get("messages") or ())
    return list(state if isinstance(state, list) else getattr(state, "messages", ()))


def kept(state: Any, part: str) -> dict[str, Any]:
    """Return a part of what the state holds for edgeorder."""
    own = state.get(KEY) if isinstance(state, Mapping) else getattr(state, KEY, None)
    found: dict[str, Any] = (own or {}).get(part) or {}
    return found


def mark_of(message: BaseMessage) -> dict[str, Any] | None:
    """Return what edgeorder wrote on a tool message; None for any other message."""
    mark = message.response_metadata.get(KEY) if isinstance(message, ToolMessage) else None
    return mark if isinstance(mark, dict) else None


def register_of(state: Any, messages: Iterable[BaseMessage] | None = None) -> Register:
    """Return the register of a conversation: the state's, and what its messages know beyond that."""
    register = Register.from_dict(kept(state, "register"))
    for message in messages_of(state) if messages is None else messages:
        if mark := mark_of(message):
            register.update(mark["register"])
    return register


def unseen(messages: Sequence[BaseMessage]) -> range:
    """Return where the tool messages stand that no model call has seen: those after the last answer, at the end."""
    start = len(messages)
    while start and isinstance(messages[start - 1], ToolMessage):
        start -= 1
    return range(start, len(messages))


def calls_beside(messages: Sequence[BaseMessage], tool_call_id: str) -> tuple[list[dict[str, Any]], int]:
    """Return the calls that were made at once with a tool call, and which of them it is."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            ids = [call["id"] for call in message.tool_calls]
            if tool_call_id in ids:
                return [dict(call) for call in message.tool_calls], ids.index(tool_call_id)
    return [], 0


def cited(result: Mapping[str, Any]) -> list[Document]:
    """Return the documents that the answer of an agent cites, in the order of its citations.

    Args:
        result: What the agent returned, or its state: with `messages`, and `context` if `ContextMiddleware` was used.

    Raises:
        ValueError: If there is no answer.

    A citation whose document left the conversation (its message was removed or cleared) is warned of.
    """
    messages = messages_of(result)
    answer = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
    if answer is None:
        raise ValueError("cited() needs the messages of an agent, with an answer among them")
    documents: dict[int, Document] = {}
    for message in messages:
        if mark := mark_of(message):
            shown = as_documents(message.artifact) if isinstance(message, ToolMessage) else None
            documents |= dict(zip(mark["numbers"], _placed(shown or [], mark), strict=False))
    numbers = kept(result, "cited").get("context", [])
    documents |= dict(zip(numbers, result.get("context") or [], strict=False))
    register = register_of(result)
    register.update({f"shown {number}": {"number": number} for number in documents})
    asked = register.cited(answer.text)
    if lost := [number for number in asked if number not in documents]:
        warn(f"the documents of {lost} left the conversation: {[source[1:] for source in register.sources(lost)]}")
    return [documents[number] for number in asked if number in documents]


def _placed(documents: Sequence[Document], mark: Mapping[str, Any]) -> list[Document]:
    """Return the documents of a message in the order of its numbers."""
    placed = mark.get("placed")
    return list(documents) if placed is None else [documents[at] for at in placed]
