"""Asking a model, whichever kind it is: LangChain's, LlamaIndex's, or a function from text to text."""

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from edgeorder.chatting import as_messages, check_forgets, only_chats
from edgeorder.ranker.parsing import text_of
from edgeorder.threads import in_thread, own_cancellation

_ACCEPTED = "a LangChain chat model or LLM, a LlamaIndex LLM, or a callable from the prompt to the reply"
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "incomplete"})


class Reply(NamedTuple):
    """What a model said.

    Args:
        text: Its words.
        cut: Whether it says itself that it was cut off.
        tokens: Of the prompt and of the reply, as far as they are known.
    """

    text: str
    cut: bool = False
    tokens: tuple[int, int] | None = None


def check_llm(llm: Any) -> None:
    """Raise TypeError unless it is something that can be asked, naming what can."""
    if only_chats(llm):
        check_forgets(llm)
        as_messages(llm, "")
    elif not (_is_llamaindex(llm) or _is_langchain(llm) or callable(llm)):
        raise TypeError(f"llm must be {_ACCEPTED}, not {llm!r:.80}")


def llm_name(llm: Any) -> str:
    """Return what a model is called in records."""
    for name in ("model_name", "model", "model_id", "__qualname__"):
        if isinstance(found := getattr(llm, name, None), str) and found:
            return found
    return type(llm).__qualname__


def is_async(llm: Any) -> bool:
    """Say whether a model can only be awaited."""
    if only_chats(llm):
        return not callable(getattr(llm, "chat", None))
    if _is_llamaindex(llm) or _is_langchain(llm):
        return False
    called = llm if inspect.isroutine(llm) else getattr(type(llm), "__call__", llm)  # noqa: B004 - to look at it
    return inspect.iscoroutinefunction(called)


def ask(llm: Any, prompt: str, schema: Mapping[str, Any]) -> Reply:
    """Return the reply of a model.

    Args:
        llm: The model.
        prompt: What it is asked.
        schema: The JSON schema of the reply, for a model that says that it keeps to one.

    Raises:
        TypeError: If the reply holds no text, or a function is async.
        RuntimeError: If the model's own work was cancelled.
    """
    with own_cancellation():
        if _is_llamaindex(llm):
            return _read(llm.complete(prompt))
        if _is_langchain(llm):
            return _read(_bound(llm, schema).invoke(prompt))
        if only_chats(llm):
            return _read(llm.chat(as_messages(llm, prompt)))
        reply = llm(prompt)
    if inspect.isawaitable(reply):
        getattr(reply, "close", lambda: None)()
        raise TypeError(f"llm {llm_name(llm)} is async: use the async methods")
    return _read(reply)


async def aask(llm: Any, prompt: str, schema: Mapping[str, Any]) -> Reply:
    """The same, never blocking the event loop."""
    with own_cancellation():
        if _is_llamaindex(llm):
            return _read(await llm.acomplete(prompt))
        if _is_langchain(llm):
            return _read(await _bound(llm, schema).ainvoke(prompt))
        if only_chats(llm):
            return _read(await llm.achat(as_messages(llm, prompt)))
        reply = llm(prompt) if is_async(llm) else await in_thread(llm, prompt)
        return _read(await reply if inspect.isawaitable(reply) else reply)


def _is_llamaindex(llm: Any) -> bool:
    return all(callable(getattr(llm, name, None)) for name in ("complete", "acomplete"))


def _is_langchain(llm: Any) -> bool:
    return all(callable(getattr(llm, name, None)) for name in ("invoke", "ainvoke"))


def _bound(llm: Any, schema: Mapping[str, Any]) -> Any:
    """Return a LangChain model that is bound to a schema, if its profile says that it can be."""
    profile = getattr(llm, "profile", None)
    if not (isinstance(profile, Mapping) and profile.get("structured_output")):
        return llm
    return llm.with_structured_output(dict(schema), include_raw=True)


def _read(reply: Any) -> Reply:
    if isinstance(reply, Mapping) and "raw" in reply and "parsed" in reply:  # a bound model of LangChain
        raw, parsed = reply["raw"], reply["parsed"]
        return Reply(text_of(raw) if parsed is None else text_of(parsed), _was_cut(raw), _tokens(raw))
    return Reply(text_of(reply), _was_cut(reply), _tokens(reply))


def _was_cut(reply: Any) -> bool:
    """Say whether a reply carries a mark of having been cut off."""
    said = [getattr(reply, name, None) for name in ("response_metadata", "additional_kwargs", "raw")]
    marks = [one.get(name) for one in said if isinstance(one, Mapping) for name in ("finish_reason", "stop_reason")]
    return any(isinstance(mark, str) and mark.lower() in _CUT for mark in marks)


def _tokens(reply: Any) -> tuple[int, int] | None:
    """Return the tokens that a reply counts, if it does so in a form that is known."""
    for name, asked, said in (
        ("usage_metadata", "input_tokens", "output_tokens"),
        ("additional_kwargs", "prompt_tokens", "completion_tokens"),
    ):
        usage = getattr(reply, name, None)
        if isinstance(usage, Mapping) and type(usage.get(asked)) is int and type(usage.get(said)) is int:
            return usage[asked], usage[said]
    return None
