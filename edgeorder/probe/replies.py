"""Replies: what a model is, what it replied, and how that is read out of what servers and frameworks return.

A malformed count is no reason to lose an answer that was paid for: counts that cannot be are taken for not told.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from edgeorder.checks import whole_number
from edgeorder.errors import EdgeOrderError, bad_choice

Finish = Literal["stop", "length", "error"]

_CUT = ("length", "max_tokens", "MAX_TOKENS")  # what providers call an answer that was cut
_MOST = 2**31  # tokens; what is more is no count
_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL | re.IGNORECASE)


class ModelError(EdgeOrderError, RuntimeError):
    """A model that cannot be asked at all: a wrong key, an unknown name, an unreachable address, a damaged file."""


@dataclass(frozen=True)
class Reply:
    """What came of asking a model once.

    Args:
        text: What it said; "" after an error.
        finish: `"stop"` if it ended by itself or at a stop string, `"length"` if it was cut at the most tokens,
            `"error"` if there is no answer.
        prompt_tokens: Length of the prompt by the model's own count; None if it does not say.
        computed_tokens: The part of it that the server computed and did not take from its prefix cache; None if it
            does not say.
        completion_tokens: Length of the answer, thoughts included; None if it does not say.
        error: What went wrong.
        seconds: How long it took, tries and pauses included; None if unknown. No part of equality.
        unsent: Settings that were asked for and that the model refuses, so that it answered without them.

    Raises:
        TypeError: For a count that is no whole number.
        ValueError: For an unknown finish, a count that cannot be, or an error that is not told.
    """

    text: str
    finish: Finish = "stop"
    prompt_tokens: int | None = None
    computed_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None
    seconds: float | None = field(default=None, compare=False)
    unsent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"Reply.text must be a string, not {self.text!r:.80}")
        if self.finish not in get_args(Finish):
            raise bad_choice("Reply.finish", self.finish, get_args(Finish))
        if (self.finish == "error") != (self.error is not None):
            raise ValueError(f"Reply.finish={self.finish!r} with error={self.error!r}: an error has both")
        if self.seconds is not None:
            object.__setattr__(self, "seconds", float(self.seconds))
        for name in ("prompt_tokens", "computed_tokens", "completion_tokens"):
            value = getattr(self, name)
            if value is not None:
                value = whole_number(f"Reply.{name}", value, least=0)
                if value >= _MOST:
                    raise ValueError(f"Reply.{name}={value:.3g} cannot be a number of tokens")
                object.__setattr__(self, name, value)

    @property
    def usable(self) -> bool:
        """Whether it can be graded: no error, and not all of its tokens gone before it said anything."""
        return self.finish != "error" and not (self.finish == "length" and not without_thoughts(self.text))


class Model(Protocol):
    """What the probe asks. `edgeorder.probe.models.as_model` makes one of a name, a framework's model or a callable."""

    @property
    def name(self) -> str:
        """The name under which it is reported."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What else its answers depend on, ready for JSON; a part of the cache's key."""

    @property
    def concurrency(self) -> int:
        """How many prompts it works on side by side."""

    async def ask(self, prompt: str) -> Reply:
        """Ask once. A failed call ends as a reply with `finish="error"`.

        Raises:
            ModelError: For what no retry mends, such as a wrong key or an unknown model.
        """

    async def aclose(self) -> None:
        """Free what it holds."""


def without_thoughts(answer: str) -> str:
    """Return an answer without what stands in `<think>` tags."""
    return _THOUGHTS.sub("", answer).strip()


def read_completion(data: Any) -> Reply:
    """Return the reply in an OpenAI-style completion or chat completion.

    Raises:
        ValueError: If it is none.
    """
    choice = _first(_part(data, "choices"))
    message = _part(choice, "message")
    said = _text(_part(message, "content"))
    text = said or _part(message, "refusal") or _part(choice, "text") or ""
    reason, usage = _part(choice, "finish_reason"), _part(data, "usage")
    if not isinstance(choice, dict) or not isinstance(text, str):
        raise ValueError(f"malformed completion: {data!r:.200}")
    if reason == "content_filter":
        return Reply("", "error", error="the provider's content filter held the answer back")
    prompt_tokens = _count(_part(usage, "prompt_tokens"))
    computed = _count(_part(_part(data, "timings"), "prompt_n"))  # llama.cpp's server
    if computed is None:
        computed = _rest(prompt_tokens, _part(_part(usage, "prompt_tokens_details"), "cached_tokens"))
    return Reply(text, _finish(reason), prompt_tokens, computed, _count(_part(usage, "completion_tokens")))


def read_answer(found: Any) -> Reply:
    """Return the reply in what a callable returned: a string, a `Reply`, a LangChain or a LlamaIndex response.

    Raises:
        ValueError: If there is no text in it.
    """
    if isinstance(found, Reply):
        return found
    if isinstance(found, str):
        return Reply(found)
    content = getattr(found, "content", None)
    if content is None:  # LlamaIndex: a completion has its text, a chat its message
        content = getattr(found, "text", None)
    if content is None:
        content = getattr(getattr(found, "message", None), "content", None)
    text = _text(content)
    if not isinstance(text, str):
        raise ValueError(f"malformed answer, neither a string nor a message with text: {found!r:.200}")
    usage, more = getattr(found, "usage_metadata", None), getattr(found, "additional_kwargs", None)
    about = getattr(found, "response_metadata", None)
    reasons = [_part(about, key) for key in ("finish_reason", "stop_reason", "done_reason")]
    reasons.append(_part(_first(_part(getattr(found, "raw", None), "choices")), "finish_reason"))
    prompt_tokens = _count(_part(usage, "input_tokens"), _part(more, "prompt_tokens"))
    return Reply(
        text,
        next((finish for finish in map(_finish, reasons) if finish == "length"), "stop"),
        prompt_tokens,
        _rest(prompt_tokens, _part(_part(usage, "input_token_details"), "cache_read")),
        _count(_part(usage, "output_tokens"), _part(more, "completion_tokens")),
    )


def _part(of: Any, key: str) -> Any:
    """Return what a mapping or an object holds under a name; None if it holds nothing, or is neither."""
    return of.get(key) if isinstance(of, Mapping) else getattr(of, key, None)


def _first(choices: Any) -> Any:
    return choices[0] if isinstance(choices, list | tuple) and choices else None


def _text(content: Any) -> Any:
    """Return the text of a content, which may be a list of blocks."""
    if not isinstance(content, list):
        return content
    blocks = [block if isinstance(block, str) else _part(block, "text") for block in content]
    return "".join(block for block in blocks if isinstance(block, str))


def _finish(reason: Any) -> Finish:
    return "length" if reason in _CUT else "stop"


def _count(*values: Any) -> int | None:
    """Return the first of the values that can be a number of tokens; None if none can."""
    for value in values:
        try:
            count = whole_number("count", value, least=0)
        except (TypeError, ValueError):
            continue
        if count < _MOST:
            return count
    return None


def _rest(prompt_tokens: int | None, cached: Any) -> int | None:
    """Return how many tokens were not cached; None if it is not told, or cannot be."""
    known = _count(cached)
    return prompt_tokens - known if prompt_tokens is not None and known is not None and known <= prompt_tokens else None
