"""What a tool returned, understood as documents: an artifact, the result itself, or the text blocks of an MCP tool."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool

M = TypeVar("M", bound=BaseMessage)
_WORDS = ("text", "json", "search_result")  # blocks of a tool's message that are what it found, in words


def watched(tool: BaseTool) -> tuple[BaseTool, list[Any]]:
    """Return a copy of a tool, and a list that gets what it returns before LangChain makes a text of it."""
    returned: list[Any] = []
    copy = tool.model_copy()

    def keep(result: Any) -> Any:
        returned[:] = [result]
        return result

    # Into the instance, where they stand before the class's own methods; their signatures are looked at.
    vars(copy)["_run"] = wraps(tool._run)(_watching(tool._run, keep))
    vars(copy)["_arun"] = wraps(tool._arun)(_awatching(tool._arun, keep))
    return copy, returned


def _watching(run: Callable[..., Any], keep: Callable[[Any], Any]) -> Callable[..., Any]:
    def watching(*args: Any, **kwargs: Any) -> Any:
        return keep(run(*args, **kwargs))

    return watching


def _awatching(run: Callable[..., Any], keep: Callable[[Any], Any]) -> Callable[..., Any]:
    async def watching(*args: Any, **kwargs: Any) -> Any:
        return keep(await run(*args, **kwargs))

    return watching


def documents_in(message: ToolMessage, returned: list[Any], *, blocks: int) -> list[Document] | None:
    """Return the documents in a tool's message; None if it is not understood as documents.

    Args:
        message: The message.
        returned: What the tool returned, if it was watched.
        blocks: From how many text blocks on a content of them counts as documents, as MCP tools return them.
    """
    for value in (message.artifact, *returned):
        if (documents := as_documents(value)) is not None:
            return documents
    content = message.content
    if isinstance(content, list) and len(content) >= blocks and all(_is_text(block) for block in content):
        return [Document(block["text"]) for block in content if isinstance(block, dict)]
    return None


def as_documents(value: Any) -> list[Document] | None:
    """Return a list or tuple of documents, also as checkpoints and servers give them back; None for anything else."""
    if not isinstance(value, list | tuple):
        return None
    if all(isinstance(item, Document) for item in value):
        return value if isinstance(value, list) else list(value)
    # Of a class of the user's own a strict checkpoint keeps the fields, item by item.
    documents = [_document(item) for item in value]
    return None if None in documents else [document for document in documents if document is not None]


def _document(item: Any) -> Document | None:
    if isinstance(item, dict) and item.get("type") == "Document" and "page_content" in item:
        return Document(**{name: part for name, part in item.items() if name != "type"})
    return item if isinstance(item, Document) else None


def text_of(message: ToolMessage) -> str:
    """Return the text of a tool message, each text block from a new line on; nothing if it holds other words."""
    content = message.content
    if isinstance(content, str):
        return content
    parts = [block for block in content if not is_media(block)]
    texts = [part["text"] for part in parts if isinstance(part, dict) and _is_text(part)]
    return "\n".join(texts) if len(texts) == len(parts) else ""


def with_text(message: M, text: str) -> M:
    """Return a message with another text; what is no text, such as an image, stays."""
    media = [] if isinstance(message.content, str) else [block for block in message.content if is_media(block)]
    return message.model_copy(update={"content": [{"type": "text", "text": text}, *media] if media else text})


def what_came(message: Any) -> str:
    """Return in words what a tool returned that is not understood."""
    if not isinstance(message, ToolMessage):
        return f"a {type(message).__name__}"
    if message.artifact is not None:
        return f"an artifact of type {type(message.artifact).__name__}"
    content = message.content
    if isinstance(content, str):
        return "a text" if content else "an empty text"
    kinds = sorted({block.get("type", "dict") if isinstance(block, dict) else "text" for block in content})
    return f"content blocks of type {', '.join(map(str, kinds))}"


def is_media(block: Any) -> bool:
    """Say whether a block of a message is no words: an image, a sound, a file."""
    if not isinstance(block, dict):
        return False
    source = block.get("source")
    words = isinstance(source, dict) and source.get("type") in ("text", "content")
    return block.get("type") not in _WORDS and not words


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
