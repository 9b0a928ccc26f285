"""An OpenAI-compatible endpoint on the fault server: beyond its script it answers every prompt with its last word."""

from typing import Any

from faults.server import FaultServer
from faults.server import Handler as Handler


class Endpoint(FaultServer):
    """An endpoint that answers a prompt with its last word."""

    def __init__(self) -> None:
        super().__init__(lambda request: completion(request["messages"][0]["content"].split()[-1]))


def completion(text: str | None, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """Return a chat completion."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 40, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 30}}
    return {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage, **more}
