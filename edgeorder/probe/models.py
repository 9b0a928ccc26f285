"""Models: an OpenAI-compatible endpoint, a LangChain or LlamaIndex model, one of transformers, any callable, the local.

Each takes a prompt and gives a `Reply`. What fails for one prompt (429, 500, a timeout, a reply that cannot be read) is
tried again, and counted as an error in the end; what fails for all (a wrong key, an unknown model) stops the run at
once. Frameworks are known by their methods and never imported.
"""

import re
from collections.abc import Callable
from numbers import Real
from typing import Any

from pydantic import SecretStr

from edgeorder.chatting import as_messages, check_forgets
from edgeorder.checks import seconds, whole_number
from edgeorder.masking import is_key, revealed
from edgeorder.probe.called import CalledModel
from edgeorder.probe.hf import HFModel, is_hf
from edgeorder.probe.replies import Model

_MODEL_NAMES = ("model_name", "model", "model_id", "deployment_name")
_SECRET = re.compile(r"(key|token|secret|password)$", re.IGNORECASE)


def as_model(
    model: Any,
    tokenizer: Any = None,
    *,
    name: str | None = None,
    base_url: str | SecretStr | None = None,
    api_key: str | SecretStr | None = None,
    max_tokens: int | None = None,
    concurrency: int | None = None,
    timeout: float | None = None,
) -> Model:
    """Return something to ask.

    Args:
        model: `"local"`; `"hf:PATH"` for a folder of transformers or a GGUF file; the name of a model at an
            OpenAI-compatible endpoint; a LangChain model (`ainvoke`); a LlamaIndex LLM (`acomplete` or `achat`); a
            causal language model of transformers, with its tokenizer; a callable from prompt to answer, sync (run in a
            thread) or async; or a `Model`, returned as it is.
        tokenizer: Of a model of transformers.
        name: Under which its answers are reported and kept; None for its own. A lambda has none.
        base_url: Of the endpoint; None for OPENAI_BASE_URL, else OpenAI's. Credentials in it are used and never shown.
        api_key: Of the endpoint; None for OPENAI_API_KEY.
        max_tokens: The most tokens of an answer; None for 16 by the local model, and for 100 by an endpoint or a model
            of transformers, which are all asked greedily. Other models bring their own limit and temperature.
        concurrency: Prompts side by side; None for 4. The local model and those of transformers take one at a time,
            whatever is given.
        timeout: Seconds that a prompt may take, tries and pauses included; None for 240, and for 600 by the local
            model. Where there are several tries, one may take half of them.

    Raises:
        TypeError: If it is nothing that can be asked, or a timeout is no number.
        ValueError: For a number that cannot be, a base_url that is no address, or a setting that has no effect.
        ModelError: If there is no key, or one that cannot be sent.
        ImportError: If a package of the extra is not installed.
    """
    # No traceback that shows locals may show them.
    api_key = None if api_key is None else SecretStr(revealed(api_key))
    base_url = None if base_url is None else SecretStr(revealed(base_url))
    if max_tokens is not None:
        max_tokens = whole_number("max_tokens", max_tokens, least=1)
    if concurrency is not None:
        concurrency = whole_number("concurrency", concurrency, least=1)
    if timeout is not None:
        timeout = seconds("timeout", timeout)
    if model == "local" and base_url is None:
        from edgeorder.probe.local import LocalModel

        _of_no_effect(model, tokenizer=tokenizer, name=name, api_key=api_key)
        return LocalModel(max_tokens or 16, timeout=timeout or 600)
    if isinstance(model, str) and model.startswith("hf:") and base_url is None:
        from edgeorder.probe.checkpoint import Checkpoint

        _of_no_effect(model, tokenizer=tokenizer, api_key=api_key, timeout=timeout)
        return Checkpoint(model.removeprefix("hf:"), name, max_tokens or 100)
    if is_hf(model) or tokenizer is not None:
        _of_no_effect(type(model).__name__, base_url=base_url, api_key=api_key, timeout=timeout)
        return HFModel(model, tokenizer, name, max_tokens or 100)
    if isinstance(model, str):
        from edgeorder.probe.endpoint import EndpointModel

        return EndpointModel(model, name, base_url, api_key, max_tokens or 100, concurrency or 4, timeout or 240)
    _of_no_effect(type(model).__name__, base_url=base_url, api_key=api_key, max_tokens=max_tokens)
    if all(hasattr(model, part) for part in ("name", "settings", "concurrency", "ask", "aclose")):
        _of_no_effect(model.name, name=name, concurrency=concurrency, timeout=timeout)
        return model  # type: ignore[no-any-return]
    return CalledModel(
        _call(model), name or _name(model), _settings(model), concurrency or 4, timeout or 240, secrets=_secrets(model)
    )


def _of_no_effect(model: str, **settings: Any) -> None:
    for field, given in settings.items():
        if given is not None:
            raise ValueError(f"{field} has no effect on {model}; set it on the model itself")


def _call(model: Any) -> Callable[[str], Any]:
    """Return what takes a prompt: the async method of a framework's model, or the model itself."""
    call = getattr(model, "ainvoke", None) or getattr(model, "acomplete", None)
    if call is None and hasattr(model, "achat"):
        return _chat(model)
    if not callable(call or model):
        raise TypeError(
            f"model must be a name, a LangChain or LlamaIndex model, or a callable, not {type(model).__name__}"
        )
    return call or model  # type: ignore[no-any-return]


def _chat(model: Any) -> Callable[[str], Any]:
    """Return what sends a prompt as the only message of a LlamaIndex chat."""
    check_forgets(model)
    as_messages(model, "")  # checked

    async def ask(prompt: str) -> Any:
        return await model.achat(as_messages(model, prompt))

    return ask


def _secrets(model: Any) -> list[SecretStr]:
    """Return the keys that a framework's model holds, or the object whose method it is."""
    held = {**getattr(getattr(model, "__self__", None), "__dict__", {}), **getattr(model, "__dict__", {})}
    return [
        SecretStr(revealed(value))
        for field, value in held.items()
        if is_key(value) and (isinstance(value, SecretStr) or (isinstance(value, str) and _SECRET.search(field)))
    ]


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
    numbers = {field: value for field, value in said.items() if isinstance(value, Real)}
    plain = {field: value.item() if hasattr(value, "item") else value for field, value in numbers.items()}
    return {"type": type(model).__qualname__, **plain}
