"""What a chat engine's memory will put into the prompt, without asking an LLM and without changing the memory."""

from collections.abc import Sequence

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import (
    BaseMemory,
    ChatMemoryBuffer,
    ChatSummaryMemoryBuffer,
    Memory,
    SimpleComposableMemory,
)
from llama_index.core.storage.chat_store import SimpleChatStore


def history_of(
    memory: BaseMemory, query: str, chat_history: Sequence[ChatMessage] | None
) -> tuple[list[ChatMessage], int]:
    """Return the messages that a memory gives for a message, and how many tokens more it may come to.

    Args:
        memory: The memory.
        query: The message that the engine is about to get.
        chat_history: What the memory is set to first, if anything.
    """
    if isinstance(memory, ChatSummaryMemoryBuffer):
        # Its `get` asks the LLM for a summary, and puts that into the place of the messages.
        messages = list(memory.get_all() if chat_history is None else chat_history)
        fits = sum(memory._token_count_for_messages([message]) for message in messages) <= memory.token_limit
        return (messages, 0) if fits else ([], memory.token_limit)
    if isinstance(memory, SimpleComposableMemory):
        messages, extra = history_of(memory.primary_memory, query, chat_history)
        for secondary in memory.secondary_memory_sources:
            more, further = history_of(secondary, query, chat_history)
            messages, extra = [*more, *messages], extra + further
        return messages, extra
    if isinstance(memory, Memory) and memory.memory_blocks and (chat_history is not None or _asks(memory)):
        messages = list(memory.get_all() if chat_history is None else chat_history)
        used = sum(memory._estimate_token_count(message) for message in messages)
        return messages, max(0, memory.token_limit - used)
    if chat_history is None:
        return list(memory.get(input=query)), 0
    if isinstance(memory, ChatMemoryBuffer):
        store = SimpleChatStore(store={memory.chat_store_key: list(chat_history)})
        return memory.model_copy(update={"chat_store": store}).get(input=query), 0
    return list(chat_history), 0


def _asks(memory: Memory) -> bool:
    """Say whether a block of a memory may call an LLM when it is read; LlamaIndex's own do not."""
    return any(not type(block).__module__.startswith("llama_index.core.memory") for block in memory.memory_blocks)
