"""Models at an OpenAI-compatible endpoint."""

import os
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from edgeorder.http import HttpError, address, apost
from edgeorder.masking import masked, revealed
from edgeorder.probe.called import Gate, answered, told
from edgeorder.probe.replies import ModelError, Reply, read_completion

_MOST = 2**22  # bytes of an answer
_HEADER = re.compile(r"[!-~]*")
_ASKED = {"temperature": {"temperature"}, "max_tokens": {"max_tokens", "max_completion_tokens"}}
_REFUSES = re.compile(
    r"unsupported|not supported|n.t support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|invalid param",
    re.IGNORECASE,
)


class EndpointModel:
    """A chat model at an OpenAI-compatible endpoint (extra `probe`). The prompt is one user message.

    Args:
        model: Its name there.
        name: Under which it is reported; None for the same.
        base_url: Of the endpoint; None for OPENAI_BASE_URL, else OpenAI's. Credentials in it are used and never shown.
        api_key: Of the endpoint; None for OPENAI_API_KEY.
        max_tokens: The most tokens of an answer.
        concurrency: Prompts side by side, in each event loop.
        timeout: Seconds that a prompt may take, tries and pauses included; one try may take half of them.
        tries: How many there are at most.
        pause: Seconds before the second try, where the endpoint does not say.

    Raises:
        ValueError: For a base_url that is no address.
        ModelError: If there is no key, or one that cannot be sent.
        ImportError: If the extra is not installed.
    """

    def __init__(
        self,
        model: str,
        name: str | None = None,
        base_url: str | SecretStr | None = None,
        api_key: str | SecretStr | None = None,
        max_tokens: int = 100,
        concurrency: int = 4,
        timeout: float = 240,
        tries: int = 5,
        pause: float = 0.5,
    ) -> None:
        api_key = SecretStr((revealed(api_key) or os.environ.get("OPENAI_API_KEY", "")).strip())
        base_url = SecretStr((revealed(base_url) or os.environ.get("OPENAI_BASE_URL", "")).strip())
        if not api_key and not base_url:
            raise ModelError(f"no key for {model}; set OPENAI_API_KEY, give a base_url, or use model='local'")
        if not _HEADER.fullmatch(revealed(api_key)):
            raise ModelError(
                f"the key for {model} holds a blank, a line break or a character that is not ASCII, which none does; "
                "copy it again"
            )
        url, self._headers = address(base_url or "https://api.openai.com/v1")
        path, mark, query = url.partition("?")
        self._url = f"{path.rstrip('/')}/chat/completions{mark}{query}"
        self._shown = masked(f"{path.rstrip('/')}/{mark}{query}")
        if not self._headers and api_key:  # servers of one's own often need none
            self._headers["Authorization"] = SecretStr(f"Bearer {revealed(api_key)}")
        for header, variable in (("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")):
            if os.environ.get(variable):
                self._headers[header] = SecretStr(os.environ[variable].strip())
        self.name = name or model
        self.concurrency = concurrency
        self._options: dict[str, Any] = {"temperature": 0, "max_tokens": max_tokens}
        self.settings: Mapping[str, Any] = {"base_url": self._shown, **self._options}
        self._model = model
        self._timeout = timeout
        self._tries = tries
        self._pause = pause
        self._gate = Gate(concurrency)
        self._reached = False

    async def ask(self, prompt: str) -> Reply:
        """Ask, and ask again after a failure that may pass.

        Raises:
            ModelError: For what no retry mends.
        """
        async with self._gate.here():
            started = time.monotonic()
            outcome = None
            while outcome is None:
                left = self._timeout - (time.monotonic() - started)
                outcome = await self._once(prompt, self._options, left)
        if isinstance(outcome, Reply):
            outcome = replace(outcome, seconds=time.monotonic() - started)
        return answered(outcome)

    async def _once(self, prompt: str, options: dict[str, Any], left: float) -> Reply | ModelError | None:
        """Return what came of it; None if another try with other options may do better."""
        asked = {"model": self._model, "messages": [{"role": "user", "content": prompt}], **options}
        try:
            reply = await apost(
                self._url,
                asked,
                read_completion,
                headers=self._headers,
                timeout=left,
                tries=self._tries,
                pause=self._pause,
                limit=_MOST,
            )
        except HttpError as error:
            if self._adapt(options, error):
                return None
            if not error.reached and not self._reached:
                return ModelError(f"{self._shown} {error}")
            self._reached = self._reached or error.reached
            return told(f"{self.name} at {self._shown}", error)
        self._reached = True
        return replace(reply, unsent=tuple(name for name in _ASKED if not _ASKED[name] & options.keys()))

    def _adapt(self, used: dict[str, Any], error: HttpError) -> bool:
        """Leave out what a model refuses: reasoning models know `max_completion_tokens`, and no temperature."""
        said = str(error)
        if error.status_code in (400, 422) and used is self._options and _REFUSES.search(said):
            named = [option for option in used if option in said]
            if "max_tokens" in named and "max_completion_tokens" in said:
                rest = {option: value for option, value in used.items() if option != "max_tokens"}
                self._options = {**rest, "max_completion_tokens": used["max_tokens"]}
            elif named:
                refused = min(named, key=said.index)
                self._options = {option: value for option, value in used.items() if option != refused}
        return used is not self._options

    async def aclose(self) -> None:
        """Do nothing: the process shares its connections."""
