"""What edgeorder keeps of a conversation: in the graph's state, and on the tool messages that it wrote.

All of it is JSON. The state holds the register, and what models were sent besides the messages. Each tool message holds
its own part of the register, so that a conversation goes on with the same numbers where only messages were kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentState, ModelRequest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages, messages_from_dict

from edgeorder.alerts import warn
from edgeorder.citing import invented
from edgeorder.message_parts import as_json
from edgeorder.register import Register
from edgeorder.window import registered
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
    """The register; by middleware, what a model call had beyond the messages (tokens), which texts can be pointed at
    (digests), and what it retrieved."""


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
    """Return the register of a conversation: the state's, and what its messages know beyond that.

    In a `window` with a register it is that one, which learns what the state knows: agents that call agents share it.
    """
    talk = messages_of(state) if messages is None else messages
    known, around = _known(state, talk), registered()
    if around is None:
        return known
    around.adopt(known)
    return around


def _known(state: Any, messages: Iterable[BaseMessage]) -> Register:
    register = Register.from_dict(kept(state, "register"))
    for message in messages:
        if mark := mark_of(message):
            register.update(mark["register"])
    return register


def unseen(messages: Sequence[BaseMessage]) -> list[int]:
    """Return where the tool messages stand that no model call has seen: those after the last answer."""
    found: list[int] = []
    for at in range(len(messages) - 1, -1, -1):
        if isinstance(messages[at], AIMessage):
            break
        if isinstance(messages[at], ToolMessage):
            found.insert(0, at)
    return found


def as_kept(written: Iterable[ToolMessage], before: Sequence[BaseMessage]) -> list[ToolMessage]:
    """Return unseen messages as an update of the state: under its ids, which a middleware may have taken away."""
    standing = [before[at] for at in unseen(before)]
    ids = {message.id for message in standing}
    own = {message.tool_call_id: message.id for message in standing if isinstance(message, ToolMessage)}
    return [
        message if message.id in ids else message.model_copy(update={"id": own[message.tool_call_id]})
        for message in written
        if message.id in ids or message.tool_call_id in own
    ]


def around_call(state: Any, call: Mapping[str, Any]) -> tuple[list[BaseMessage], list[dict[str, Any]], int]:
    """Return the messages in which a tool call stands, the calls that were made at once with it, and which it is.

    A graph of one's own may keep its messages under another key.
    """
    parts = state if isinstance(state, Mapping) else getattr(state, "__dict__", {})
    for talk in (messages_of(state), *(part for part in parts.values() if isinstance(part, list))):
        for message in reversed(talk):
            calls = message.tool_calls if isinstance(message, AIMessage) else []
            # Some models give one id to several calls.
            same = [at for at, one in enumerate(calls) if one["id"] == call["id"]]
            exact = [at for at in same if calls[at]["name"] == call["name"] and calls[at]["args"] == call["args"]]
            if same:
                return talk, [dict(one) for one in calls], (exact or same)[0]
    return messages_of(state), [dict(call)], 0


def cited(result: Mapping[str, Any]) -> list[Document]:
    """Return the documents that the answer of an agent cites, in the order of its citations.

    Args:
        result: What the agent returned, or its state, also as the JSON of a server: with `messages`, and `context` if
            `ContextMiddleware` was used. The texts of a structured response cite too.

    Raises:
        ValueError: If there is no answer.

    A citation whose document left the conversation (its message was removed or cleared) is warned of, one that no
    passage has, and one that could mean several.
    """
    messages = [_message(one) for one in messages_of(result)]
    answer = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
    if answer is None:
        raise ValueError("cited() needs the messages of an agent, with an answer among them")
    documents: dict[int, Document] = {}
    for message in messages:
        if mark := mark_of(message):
            shown = as_documents(message.artifact) if isinstance(message, ToolMessage) else None
            documents |= dict(zip(mark["numbers"], _placed(shown or [], mark), strict=False))
    numbers = kept(result, "cited").get("context", [])
    documents |= dict(zip(numbers, as_documents(result.get("context")) or [], strict=False))
    register = _known(result, messages)
    register.update({f"shown {number}": {"number": number} for number in documents})
    structured = answer.tool_calls if result.get("structured_response") is not None else []
    text = "\n".join([answer.text, *(as_json(call["args"]) for call in structured)])
    asked = register.cited(text)
    known = [source.number for source in register.sources()]
    _tell(invented(text, known), bool(known))
    if lost := [number for number in asked if number not in documents]:
        warn(f"the documents of {lost} left the conversation: {[source[1:] for source in register.sources(lost)]}")
    parts = [kept(result, "register"), *(mark["register"] for mark in map(mark_of, messages) if mark)]
    if several := [number for number in asked if _meanings(parts, number) > 1]:
        warn(
            f"{several} stand for several documents each, since agents numbered side by side: let them share a "
            "register, with window(register=Register())"
        )
    return [documents[number] for number in asked if number in documents]


def _tell(unknown: Sequence[int], numbered: bool) -> None:
    """Warn of citations that lead to no passage."""
    if not unknown:
        return
    why = (
        "the answer invents it, or it was shown in a conversation that is not in these messages"
        if numbered
        else "none has a number at all; EdgeOrderMiddleware gives them, to documents that a tool returns as a list or "
        "as the artifact of response_format='content_and_artifact'"
    )
    warn(
        f"no passage of this conversation has the number {', '.join(map(str, unknown))}, which the answer cites: {why}"
    )


_LABEL = ("title", "source", "page")


def _meanings(registers: Iterable[Mapping[str, Mapping[str, Any]]], number: int) -> int:
    """Return how many documents a number stands for; a shortened one is no other."""
    sources = [source for register in registers for source in register.values() if source["number"] == number]
    return len({source.get("id") or tuple(source.get(name) for name in _LABEL) for source in sources})


def _message(message: Any) -> BaseMessage:
    """Return a message, also from the JSON that a server makes of it."""
    if isinstance(message, Mapping) and isinstance(message.get("type"), str):
        return messages_from_dict([{"type": message["type"], "data": message}])[0]
    return convert_to_messages([message])[0]


def _placed(documents: Sequence[Document], mark: Mapping[str, Any]) -> list[Document]:
    """Return the documents of a message in the order of its numbers."""
    placed = mark.get("placed")
    return list(documents) if placed is None else [documents[at] for at in placed]
