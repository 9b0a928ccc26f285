"""A message as what is counted of it.

No framework is imported. A message is anything with a role and content: LangChain's messages (`type`, `content`),
LlamaIndex's `ChatMessage` (`role`, `blocks`), or a dict as chat endpoints take them.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeorder.chunk import TokenCounter

IMAGE_TOKENS = 1600
"""What an image counts unless another number is given: about the most that providers bill for a picture."""

_FRAMING = 3  # what chat formats put around a message, beside its role
_PAYLOAD = 1000  # characters without a blank from which on a text inside a block is binary data

_TEXT = {"text": "text", "input_text": "text", "output_text": "text", "text-plain": "text", "refusal": "refusal"}
_IMAGES = frozenset({"image", "image_url", "input_image", "image_file"})
_REASONING = frozenset({"reasoning", "thinking"})
_CALLS = frozenset({"tool_call", "tool_use", "function_call", "server_tool_call", "server_tool_use", "tool_call_chunk"})
_ARGUMENTS = ("args", "arguments", "tool_kwargs", "input")
_NESTED = frozenset({"citable", "citation", "tool_result", "search_result", "document"})
_MARKS = frozenset({"cache", "input_json_delta"})  # what tells a provider something and is no text


class Wordless(str):
    """A question without words, such as an image: chunks cannot be scored by it, and keep their order."""

    __slots__ = ()


WORDLESS = Wordless(" ")


def worded(query: str | None) -> str | None:
    """Return a query; `WORDLESS` for one that is blank, as models write them."""
    return query if query is None or query.strip() else WORDLESS


@dataclass(frozen=True, slots=True)
class MessageParts:
    """What of a message is counted: plain data, no object of a framework.

    Args:
        texts: Role, name, texts, tool calls with their arguments, reasoning.
        tokens: What needs no counter: the framing, and a token for each byte of binary data.
        images: How many images there are.
        notes: What was counted without being understood.
    """

    texts: tuple[str, ...]
    tokens: int = _FRAMING
    images: int = 0
    notes: tuple[str, ...] = ()

    def count(self, counter: TokenCounter, image_tokens: int = IMAGE_TOKENS) -> int:
        """Return the tokens of the message."""
        return self.tokens + self.images * image_tokens + sum(counter(text) for text in self.texts if text)


def is_message(value: object) -> bool:
    """Say whether something is a message of a chat."""
    if isinstance(value, Mapping):
        return "role" in value or ("type" in value and "content" in value)
    return (hasattr(value, "role") and hasattr(value, "blocks")) or (
        hasattr(value, "type") and hasattr(value, "content")
    )


def read_message(message: Any) -> MessageParts:
    """Return what of a message is counted; a text counts as a user's.

    Raises:
        TypeError: For anything that is no message.
    """
    if isinstance(message, MessageParts):
        return message
    if isinstance(message, str):
        return MessageParts(("user", message))
    if isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], str):
        message = {"role": message[0], "content": message[1]}
    if not is_message(message):
        raise TypeError(f"a message has a role and content; this is {message!r:.80}")
    reader = _Reader()
    reader.read(message)
    return MessageParts(tuple(reader.texts), reader.tokens, reader.images, tuple(reader.notes))


def as_json(value: Any) -> str:
    """Return the JSON of anything: models as their fields, binary data as base64, what else is no JSON as its text."""
    return json.dumps(_plain(value), ensure_ascii=False)


class _Reader:
    """Reads one message."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.tokens = _FRAMING
        self.images = 0
        self.notes: list[str] = []
        self._calls: set[str] = set()

    def read(self, message: Any) -> None:
        role = _get(message, "role") or _get(message, "type")
        extra = _get(message, "additional_kwargs") or {}
        self.texts.append(str(getattr(role, "value", role)))
        for key in ("name", "tool_call_id"):
            if value := _get(message, key) or extra.get(key):
                self.texts.append(str(value))
        for source in (message, extra):
            calls = [call for key in ("tool_calls", "invalid_tool_calls") for call in _get(source, key) or ()]
            for call in (*calls, _get(source, "function_call")):
                if call:
                    self.call(call)
        for key in ("reasoning_content", "reasoning", "refusal"):
            if value := extra.get(key):
                self.texts.append(value if isinstance(value, str) else as_json(value))
        blocks = _get(message, "blocks")
        self.content(_get(message, "content") if blocks is None else blocks)

    def call(self, call: Any) -> None:
        """Count a tool call, unless it was counted in another form."""
        function = _get(call, "function") or call
        name = str(_get(function, "name") or _get(call, "tool_name") or "")
        args = next((given for key in _ARGUMENTS if (given := _get(function, key)) is not None), "")
        written = args if isinstance(args, str) else as_json(args)
        # Some endpoints tell a call's own id from that of the item in which it came.
        own = str(_get(call, "call_id") or _get(call, "tool_call_id") or _get(call, "id") or "")
        seen = own or f"{name} {written}"
        if seen not in self._calls:
            self._calls.add(seen)
            self.texts += [name, written, own]

    def content(self, content: Any) -> None:
        """Count a text, a block, or a list of them."""
        if isinstance(content, str):
            self.texts.append(content)
        elif isinstance(content, Sequence):
            for part in content:
                self.content(part)
        elif content is not None:
            self.block(content)

    def block(self, block: Any) -> None:
        kind = str(_get(block, "type") or _get(block, "block_type") or type(block).__name__)
        mime = str(_get(block, "mime_type") or _get(_get(block, "source"), "media_type") or "")
        if kind in _TEXT:
            self.content(_get(block, _TEXT[kind]))
        elif kind in _IMAGES or mime.startswith("image/"):
            self.images += 1
        elif kind in _REASONING and (texts := _reasoning(block)):
            self.texts += texts
        elif kind in _CALLS:
            self.call(block)
        elif kind == "non_standard":
            self.content(_get(block, "value"))
        elif kind in _NESTED and (parts := _nested(block)):
            self.content(parts)
        elif kind not in _MARKS:
            self.unknown(kind, _plain(block))

    def unknown(self, kind: str, data: Any) -> None:
        binary = _take_payload(data)
        self.tokens += binary
        self.texts.append(as_json(data))
        size = f", its {binary} bytes of data as as many tokens" if binary else ""
        self.notes.append(f"a block of type {kind!r} in a message was counted by its JSON{size}")


def _get(holder: Any, key: str) -> Any:
    return holder.get(key) if isinstance(holder, Mapping) else getattr(holder, key, None)


def _reasoning(block: Any) -> list[str]:
    """Return the texts of a block of reasoning, if it holds any."""
    texts = [_get(block, key) for key in ("thinking", "reasoning", "content")]
    texts += [_get(part, "text") for part in _get(block, "summary") or ()]
    return [text for text in texts if isinstance(text, str) and text]


def _nested(block: Any) -> list[Any]:
    """Return what a block holds that has blocks inside, if it is known."""
    source = _get(block, "source")
    inner = [_get(block, "content"), _get(block, "cited_content"), _get(source, "content")]
    if _get(source, "type") == "text":
        inner.append(_get(source, "data"))
    found = [part for part in inner if part is not None]
    if not found:  # a file or an address
        return []
    named = [_get(block, key) for key in ("title", "context", "tool_use_id", "tool_call_id")]
    return [*(part for part in (*named, source) if isinstance(part, str)), *found]


def _plain(value: Any) -> Any:
    """Return a copy of a value that is nothing but JSON."""
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _take_payload(data: Any) -> int:
    """Take the binary data out of a block and return how many bytes it has: base64 needs four characters for three."""
    if not isinstance(data, dict | list):
        return 0
    taken = 0
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        if isinstance(value, str) and len(value) > _PAYLOAD and value.isascii() and " " not in value:
            taken += len(value) * 3 // 4
            data[key] = ""
        else:
            taken += _take_payload(value)
    return taken
