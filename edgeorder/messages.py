"""Counting messages: the tokens of a conversation, whichever framework's messages it is made of."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from edgeorder.checks import whole_number
from edgeorder.chunk import TokenCounter
from edgeorder.message_parts import IMAGE_TOKENS, MessageParts, as_json, is_message, read_message


@dataclass(frozen=True, slots=True)
class MessageCounter:
    """Counts messages, see `message_counter`."""

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


def message_counter(counter: TokenCounter | str | None = None, *, image_tokens: int = IMAGE_TOKENS) -> MessageCounter:
    """Return a counter of messages: what a chat model receives, as far as it can be known without its provider.

    A message counts 3 tokens for its framing, and the tokens of its role, name, texts, tool calls with their arguments
    and ids, tool results, and reasoning that is sent back. An image counts `image_tokens`, whatever its size. A block
    of an unknown kind (audio, files) counts its JSON, and a token for each byte of binary data; a note names it. Tool
    calls that a message holds twice, parsed and raw, count once. A list counts the sum of its messages.

    Args:
        counter: What counts texts: None for tiktoken's o200k_base, the name of an encoding or model, or a callable.
        image_tokens: What each image counts.

    Raises:
        TypeError, ValueError: For a number of tokens that is none.
        CounterError: For a name that tiktoken does not know, or later, if a text cannot be counted.

    >>> count = message_counter(lambda text: len(text.split()))
    >>> count([{"role": "user", "content": "Which wells are dry?"}])
    8
    """
    from edgeorder.tokens import checked_counter

    return MessageCounter(checked_counter(counter), whole_number("image_tokens", image_tokens, least=0))


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
