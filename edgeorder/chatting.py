"""Models that take LlamaIndex's messages and no prompt. They are known by their methods; no framework is imported."""

import sys
from typing import Any


def only_chats(model: Any) -> bool:
    """Say whether a model takes messages (`achat`, and `chat` where it can be asked without waiting) and no prompt."""
    prompted = callable(model) or any(hasattr(model, name) for name in ("complete", "acomplete", "invoke", "ainvoke"))
    return not prompted and callable(getattr(model, "achat", None))


def as_messages(model: Any, prompt: str) -> list[Any]:
    """Return a prompt as the only message of a chat with a model.

    Raises:
        TypeError: If LlamaIndex, whose message it is, is not imported.
    """
    types = sys.modules.get("llama_index.core.base.llms.types")
    if types is None:
        raise TypeError(f"{type(model).__name__} has achat, but llama_index, whose messages it takes, is not imported")
    return [types.ChatMessage(role="user", content=prompt)]


def check_forgets(model: Any) -> None:
    """Raise TypeError for a chat engine, which would see every earlier prompt too."""
    if hasattr(type(model), "chat_history"):
        raise TypeError(f"{type(model).__name__} remembers what it was asked before; give its LLM")
