"""Models: an OpenAI-compatible endpoint, a LangChain or LlamaIndex model, any callable, or the local one.

Each takes a prompt and gives a `Reply`. What fails for one prompt (429, 500, a timeout, a reply that cannot be read) is
tried again, and counted as an error in the end; what fails for all (a wrong key, an unknown model) stops the run at
once. Frameworks are known by their methods and never imported.
"""

import asyncio
import inspect
import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from edgeorder.errors import EdgeOrderError, missing_extra
from edgeorder.probe.answers import Model, Reply

_TRIES = 3  # of a call that is not retried by its own client
_HOPELESS = {401: "the key is not accepted", 403: "the key may not use it", 404: "there is no such model or address"}
_CUT = ("length", "max_tokens", "MAX_TOKENS")  # what providers call an answer that was cut
_MODEL_NAMES = ("model_name", "model", "model_id", "deployment_name")


class ModelError(EdgeOrderError, RuntimeError):
    """A model that cannot be asked at all: a wrong key, an unknown name, an unreachable address, a damaged file."""


def as_model(
    model: Any,
    *,
    name: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    max_tokens: int | None = None,
    concurrency: int | None = None,
    timeout: float = 120,
) -> Model:
    """Return something to ask.

    Args:
        model: `"local"`; the name of a model at an OpenAI-compatible endpoint; a LangChain model (`ainvoke`); a
            LlamaIndex LLM (`acomplete`); a callable from prompt to answer, sync (run in a thread) or async; or a
            `Model`, returned as it is.
        name: Under which its answers are reported and kept; None for its own. A lambda has none.
        base_url: Of the endpoint; None for OPENAI_BASE_URL, else OpenAI's.
        api_key: Of the endpoint; None for OPENAI_API_KEY.
        max_tokens: The most tokens of an answer; None for 16 by the local model and 100 by an endpoint. Other models
            bring their own limit and temperature; name and endpoint are asked greedily.
        concurrency: Prompts side by side; None for 4. The local model takes one at a time, whatever is given.
        timeout: Seconds that one call may take.

    Raises:
        TypeError: If it is nothing that can be asked.
        ValueError: For a number below 1, or a setting that has no effect on this model.
        ModelError: If there is no key, or the local model's file is damaged.
        ImportError: If a package of the extra is not installed.
    """
    for field, value in (("max_tokens", max_tokens), ("concurrency", concurrency)):
        if value is not None and value < 1:
            raise ValueError(f"{field}={value} must be at least 1")
    if not isinstance(model, str):
        for field, given in (("base_url", base_url), ("api_key", api_key), ("max_tokens", max_tokens)):
            if given is not None:
                raise ValueError(f"{field} goes with the name of a model; set it on the {type(model).__name__} itself")
    elif model == "local" and base_url is None:
        from edgeorder.probe.local import LocalModel

        return LocalModel(max_tokens=max_tokens or 16)
    else:
        return EndpointModel(model, name, base_url, api_key, max_tokens or 100, concurrency or 4, timeout)
    if all(hasattr(model, part) for part in ("name", "settings", "concurrency", "ask", "aclose")):
        return model  # type: ignore[no-any-return]
    ask = getattr(model, "ainvoke", None) or getattr(model, "acomplete", None) or model
    if not callable(ask):
        raise TypeError(f"model must be a name, a LangChain or LlamaIndex model, or a callable, not {model!r:.80}")
    return CalledModel(ask, name or _name(model), _settings(model), concurrency or 4, timeout)


class CalledModel:
    """A model behind a callable: a function, or the async method of a framework's model.

    Args:
        call: From a prompt to an answer: a string, a `Reply`, a LangChain message or a LlamaIndex response.
        name: See `Model`.
        settings: See `Model`.
        concurrency: Calls side by side.
        timeout: Seconds that a call may take. A sync one cannot be stopped: it goes on unheard in its thread.
        pause: Seconds before the second try; twice as long before the third.
    """

    def __init__(
        self,
        call: Callable[[str], Any],
        name: str,
        settings: Mapping[str, Any] | None = None,
        concurrency: int = 4,
        timeout: float = 120,
        pause: float = 1,
    ) -> None:
        self.name = name
        self.settings = settings or {}
        self.concurrency = concurrency
        self._call = call
        self._timeout = timeout
        self._pause = pause
        self._gate = asyncio.Semaphore(concurrency)

    async def ask(self, prompt: str) -> Reply:
        """Ask, and ask again after a failure, `_TRIES` times in all.

        Raises:
            ModelError: For what no retry mends.
        """
        failure = ""
        async with self._gate:
            started = time.monotonic()
            for attempt in range(_TRIES):
                if attempt:
                    await asyncio.sleep(self._pause * 2 ** (attempt - 1) * random.uniform(0.8, 1.2))  # noqa: S311
                try:
                    async with asyncio.timeout(self._timeout):
                        reply = read_answer(await self._once(prompt))
                    return replace(reply, seconds=time.monotonic() - started)
                except ModelError:
                    raise
                except TimeoutError as error:
                    failure = str(error) or f"no answer within {self._timeout:g} s"
                except Exception as error:  # noqa: BLE001 - whatever a model raises, the run goes on
                    stop_if_hopeless(self.name, error)
                    failure = f"{type(error).__name__}: {error}"
        return Reply("", "error", error=failure)

    async def _once(self, prompt: str) -> Any:
        if inspect.iscoroutinefunction(self._call):
            return await self._call(prompt)
        found = await asyncio.to_thread(self._call, prompt)
        return await found if inspect.isawaitable(found) else found

    async def aclose(self) -> None:
        """Do nothing: what was given is the caller's to close."""


class EndpointModel(CalledModel):
    """A chat model at an OpenAI-compatible endpoint (extra `probe`). The prompt is one user message."""

    def __init__(
        self,
        model: str,
        name: str | None,
        base_url: str | None,
        api_key: str | None,
        max_tokens: int,
        concurrency: int,
        timeout: float,
        retries: int = 4,
    ) -> None:
        try:
            import openai
        except ImportError as error:
            raise missing_extra("openai", "probe") from error
        base_url = base_url or os.environ.get("OPENAI_BASE_URL")
        api_key = api_key or os.environ.get("OPENAI_API_KEY") or ("none" if base_url else None)  # servers of one's own
        if api_key is None:
            raise ModelError(f"no key for {model}; set OPENAI_API_KEY, give a base_url, or use model='local'")
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=retries, timeout=timeout)
        self._options: dict[str, Any] = {"temperature": 0, "max_tokens": max_tokens}
        self._model = model
        self._reached = False
        settings = {"base_url": str(self._client.base_url), **self._options}
        # The client minds timeout and retries itself; this bound only catches a server that trickles for ever. A server
        # may tell the client to wait a minute before each retry.
        super().__init__(self._chat, name or model, settings, concurrency, (timeout + 60) * (retries + 1))

    async def _chat(self, prompt: str) -> Any:
        import openai

        options = self._options
        try:
            raw = await self._client.chat.completions.with_raw_response.create(
                model=self._model, messages=[{"role": "user", "content": prompt}], **options
            )
        except openai.APITimeoutError as error:
            return Reply("", "error", error=f"timeout: {error}")
        except openai.APIConnectionError as error:
            if not self._reached:
                raise ModelError(f"{self._client.base_url} cannot be reached: {error.__cause__ or error}") from error
            return Reply("", "error", error=f"connection: {error.__cause__ or error}")
        except openai.APIStatusError as error:
            stop_if_hopeless(f"{self.name} at {self._client.base_url}", error)
            if self._adapt(options, error):
                return await self._chat(prompt)
            return Reply("", "error", error=f"{error.status_code}: {error.message:.300}")
        self._reached = True
        return read_completion(raw.http_response.json())

    def _adapt(self, used: dict[str, Any], error: Any) -> bool:
        """Leave out what a model refuses: reasoning models know `max_completion_tokens`, and no temperature."""
        text = str(error)
        if error.status_code == 400 and used is self._options:
            if "max_tokens" in used and "max_completion_tokens" in text:
                rest = {option: value for option, value in used.items() if option != "max_tokens"}
                self._options = {**rest, "max_completion_tokens": used["max_tokens"]}
            elif "temperature" in used and "temperature" in text:
                self._options = {option: value for option, value in used.items() if option != "temperature"}
        return used is not self._options

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


def stop_if_hopeless(who: str, error: Exception) -> None:
    """Raise what no retry mends, known by the HTTP status that clients' errors carry.

    Raises:
        ModelError: With one line on what is wrong.
    """
    status = getattr(error, "status_code", None)
    if status in _HOPELESS:
        raise ModelError(f"{who} refuses ({status}): {_HOPELESS[status]}: {error!s:.300}") from error
    if getattr(error, "code", None) == "insufficient_quota":
        raise ModelError(f"{who} refuses: the account has no quota left: {error!s:.300}") from error


def read_completion(data: Any) -> Reply:
    """Return the reply in an OpenAI-style completion or chat completion.

    Raises:
        ValueError: If it is none.
    """
    try:
        choice = data["choices"][0]
        message = choice.get("message") or {"content": choice.get("text")}
        text, reason = message.get("content") or message.get("refusal") or "", choice.get("finish_reason")
        usage = data.get("usage") or {}
        timings = data.get("timings") or {}  # llama.cpp's server
        prompt_tokens = usage.get("prompt_tokens")
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
        computed = prompt_tokens - cached if cached is not None and prompt_tokens is not None else None
        if not isinstance(text, str):
            raise TypeError(f"content {text!r:.60}")
        if reason == "content_filter":
            return Reply("", "error", error="the provider's content filter held the answer back")
        return Reply(
            text,
            "length" if reason in _CUT else "stop",
            prompt_tokens,
            timings.get("prompt_n", computed),
            usage.get("completion_tokens"),
        )
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"malformed completion ({error!r:.80}): {data!r:.200}") from error


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
    if isinstance(content, list):  # LangChain's content blocks
        blocks = [block if isinstance(block, str) else block.get("text", "") for block in content]
        content = "".join(block for block in blocks if isinstance(block, str))
    text = content if content is not None else getattr(found, "text", None)
    if not isinstance(text, str):
        raise ValueError(f"malformed answer, neither a string nor a message with text: {found!r:.200}")
    usage = getattr(found, "usage_metadata", None) or {}
    kwargs = getattr(found, "additional_kwargs", None) or {}
    about = getattr(found, "response_metadata", None) or {}
    cached = (usage.get("input_token_details") or {}).get("cache_read")
    prompt_tokens = usage.get("input_tokens", kwargs.get("prompt_tokens"))
    return Reply(
        text,
        "length" if any(about.get(key) in _CUT for key in ("finish_reason", "stop_reason", "done_reason")) else "stop",
        prompt_tokens,
        prompt_tokens - cached if cached is not None and prompt_tokens is not None else None,
        usage.get("output_tokens", kwargs.get("completion_tokens")),
    )


def _name(model: Any) -> str:
    """Return a model's own name; in angle brackets where it tells it from no other."""
    known = [getattr(model, field, None) for field in _MODEL_NAMES]
    known.append(getattr(getattr(model, "metadata", None), "model_name", None))
    own = next((str(value) for value in known if isinstance(value, str) and value), None)
    if own:
        return own
    qualname = getattr(model, "__qualname__", None)
    return f"{model.__module__}.{qualname}" if qualname else f"<{type(model).__qualname__}>"


def _settings(model: Any) -> dict[str, Any]:
    """Return what a framework's model says of how it answers."""
    fields = ("temperature", "max_tokens", "top_p", "seed")
    said = {field: getattr(model, field, None) for field in fields}
    return {"type": type(model).__qualname__, **{k: v for k, v in said.items() if isinstance(v, int | float)}}
