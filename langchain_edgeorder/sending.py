"""Whether the block of a system message reaches the model: a middleware further in may replace it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.runnables.config import ensure_config, merge_configs, var_child_runnable_config
from typing_extensions import override


class _Sent(BaseCallbackHandler):
    """Sees whether a block reaches a model."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.calls: list[bool] = []

    @override
    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        self.calls.append(any(self.text in message.text for batch in messages for message in batch))


@contextmanager
def sending(text: str) -> Iterator[None]:
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
