"""Counting messages: the tokens of a conversation, whichever framework's messages it is made of."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from edgeorder.chunk import TokenCounter
from edgeorder.message_parts import IMAGE_TOKENS, MessageParts, as_json, is_message, read_message


@dataclass(frozen=True, slots=True)
class MessageCounter:
    """Counts messages, see `edgeorder.message_counter`."""

    counter: TokenCounter
    image_tokens: int = IMAGE_TOKENS

    def __call__(self, messages: Any, tools: Iterable[Any] = ()) -> int:
        """Return the tokens of messages, and of the JSON of the tools that are bound with them.

        Args:
            messages: A list of messages, or one.
            tools: Tools of either framework, or their JSON as dicts.
        """
        counted = sum(parts.count(self.counter, self.image_tokens) for parts in map(read_message, _listed(messages)))
        return counted + sum(self.counter(tool_json(tool)) for tool in tools)

    def notes(self, messages: Any) -> tuple[str, ...]:
        """Return what was counted without being understood, each said once."""
        return tuple(dict.fromkeys(note for message in _listed(messages) for note in read_message(message).notes))


def tool_json(tool: Any) -> str:
    """Return the JSON that tells a model about a tool.

    Args:
        tool: That JSON as a dict; LangChain's tools (`tool_call_schema`), LlamaIndex's (`metadata.to_openai_tool`).

    Raises:
        TypeError: For anything else.
    """
    if isinstance(tool, Mapping):
        return as_json(tool)
    to_openai = getattr(getattr(tool, "metadata", None), "to_openai_tool", None)
    if to_openai is not None:
        return as_json(to_openai(skip_length_check=True))
    schema = getattr(tool, "tool_call_schema", None)
    if schema is None:
        raise TypeError(f"a tool is a dict of its JSON, or a tool of LangChain or LlamaIndex, not {tool!r:.80}")
    parameters = schema if isinstance(schema, Mapping) else schema.model_json_schema()
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return as_json({"type": "function", "function": function})


def _listed(messages: Any) -> Iterator[Any]:
    return iter([messages] if isinstance(messages, str | MessageParts) or is_message(messages) else messages)
