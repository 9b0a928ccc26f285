"""Rerank servers."""

import asyncio
import json
import os
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from random import uniform
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from edgeorder.checks import seconds
from edgeorder.errors import RerankError, bad_choice
from edgeorder.scorers.checks import check_whole
from edgeorder.scorers.dialects import DIALECTS, Dialect, candidates, endpoint, read_reply, request
from edgeorder.scores import Scored
from edgeorder.stopping import Stop, current
from edgeorder.unicode import clean

if TYPE_CHECKING:
    from edgeorder.http import HttpError

_MOST = 16_000_000  # bytes of a reply, and four times what was asked: some servers send the passages back
_FIRST_PAUSE = 0.25  # seconds
_NO_SUCH_PATH = frozenset({404, 405, 501})
_found: dict[str, Dialect] = {}  # what "auto" learned of an address


class Request(NamedTuple):
    """What is to be posted.

    Args:
        url: Where to.
        body: What.
        timeout: Seconds for the answer.
        limit: Bytes of it at most.
        pause: Seconds to wait before.
    """

    url: str
    body: Mapping[str, Any]
    timeout: float
    limit: int
    pause: float


Steps: TypeAlias = "Generator[Request, Any, Scored]"


@dataclass(frozen=True)
class HttpScorer:
    """Score passages by a rerank server (extra `http`).

    Args:
        base_url: The server's address, with or without its `/v1`, or the address of the endpoint itself.
        model: The model's name, where the server has several.
        dialect: Which kind of server it is, a name in `edgeorder.scorers.dialects.DIALECTS`; `"auto"` knows vendors by
            their address, and others by asking.
        api_key_env: The environment variable that holds the key. It is read at each call, and sent as a bearer's token.
        timeout: Seconds for a whole call: all batches and tries together.
        batch_size: Passages in a request at most; None for what such a server takes by default.
        retries: How often a request is tried again after a lost connection, a 429 or a 5xx.
        options: Further fields of each request, such as `{"truncate": True}` or `{"top_n": 20}`.

    Raises:
        ValueError: For an unknown name, an address that is none or holds credentials, or a number out of range.
        TypeError: For a number that is not whole where it must be, an address that is no text, or options that are no
            fields of JSON.
        RerankError: At a call, if there is no reply in time that gives each score a text of its own.
        ImportError: At a call, if httpx2 is not installed.

    Scores are the server's own, by the index that it names. Texts that a reply leaves out, as with `top_n`, have no
    score. Nothing but query, passages, model and options is sent; the key is in nothing that is recorded or raised.
    """

    base_url: str
    model: str | None = None
    dialect: str = "auto"
    api_key_env: str | None = None
    timeout: float = 30.0
    batch_size: int | None = None
    retries: int = 2
    options: Mapping[str, Any] = field(default_factory=dict)

    stops: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.base_url, str):
            raise TypeError(f"base_url must be text, not {self.base_url!r:.40}")
        object.__setattr__(self, "base_url", self.base_url.strip())  # a line end comes along from files of settings
        _check_address(self.base_url)
        if self.dialect != "auto" and self.dialect not in DIALECTS:
            raise bad_choice("dialect", self.dialect, ("auto", *DIALECTS))
        object.__setattr__(self, "timeout", seconds("timeout", self.timeout))
        check_whole(self, batch_size=1, retries=0)
        _check_options(self.options)
        if self.model is None and candidates(self.dialect, self.base_url)[0].model == "must":
            raise ValueError(f"{self.base_url} has several models: say which one, model=...")

    @property
    def name(self) -> str:
        """The name under which the scorer is recorded."""
        return f"HttpScorer({', '.join(filter(None, (self.base_url, self.model)))})"

    def __call__(self, query: str, texts: Sequence[str]) -> Scored:
        """Return one score for each text, in the order of the texts; larger is better, None for one left out."""
        from edgeorder.http import HttpError, post

        headers, steps = self._headers(), self._steps(query, texts)
        try:
            asked = next(steps)
            while True:
                time.sleep(asked.pause)
                try:
                    reply = post(asked.url, asked.body, _as_it_is, headers=headers, tries=1, **_bounds(asked))
                except HttpError as error:
                    reply = error
                asked = steps.send(reply)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def acall(self, query: str, texts: Sequence[str]) -> Scored:
        """The same, without a thread that waits."""
        from edgeorder.http import HttpError, apost

        headers, steps = self._headers(), self._steps(query, texts)
        try:
            asked = next(steps)
            while True:
                await asyncio.sleep(asked.pause)
                try:
                    reply = await apost(asked.url, asked.body, _as_it_is, headers=headers, tries=1, **_bounds(asked))
                except HttpError as error:
                    reply = error
                asked = steps.send(reply)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _headers(self) -> Mapping[str, Any]:
        """Return what carries the key, in a form that no traceback shows."""
        if self.api_key_env is None:
            return {}
        from pydantic import SecretStr

        key = SecretStr(os.environ.get(self.api_key_env, "").strip())
        if not key:
            raise RerankError(f"the environment variable {self.api_key_env} (api_key_env) holds no key")
        if not all("!" <= char <= "~" for char in key.get_secret_value()):
            raise RerankError(
                f"what {self.api_key_env} (api_key_env) holds is no key: it has blanks or odd letters in it"
            )
        return {"Authorization": SecretStr(f"Bearer {key.get_secret_value()}")}

    def _steps(self, query: str, texts: Sequence[str]) -> Steps:
        """Yield requests, get the reply or the error of each, and return the scores: what both faces share."""
        left = (current() or Stop()).left()
        until = time.monotonic() + (self.timeout if left is None else min(self.timeout, left))
        query, passages = clean(query), [clean(text) for text in texts]
        scores: list[float | None] = [None] * len(passages)
        start = 0
        while start < len(passages):
            found, asked = yield from self._batch(query, passages[start:], until)
            for index, score in found.items():
                scores[start + index] = score
            start += asked
        n, without = len(scores), scores.count(None)
        if without == n > 0:
            raise RerankError(f"{self.name}: the reply scores none of {n} texts")
        return Scored(scores, (), [f"{self.name} scored {n - without} of {n} texts"] if without else ())

    def _tried(self, url: str, body: Mapping[str, Any], limit: int, until: float) -> Generator[Request, Any, Any]:
        """Ask, and again after what may pass, and return the reply or the last error.

        One try may take all the time that there is: a server that is slow now would be slow again.
        """
        from edgeorder.http import HttpError, HttpLimitError
        from edgeorder.retries import may_pass

        pause, failures = 0.0, 0
        while True:
            reply = yield Request(url, body, max(until - time.monotonic() - pause, 0.001), limit, pause)
            if not isinstance(reply, HttpError) or isinstance(reply, HttpLimitError) or not may_pass(reply):
                return reply
            pause, failures = _pause(reply, failures), failures + 1
            if failures > self.retries or time.monotonic() + pause >= until:
                return reply

    def _batch(
        self, query: str, passages: Sequence[str], until: float
    ) -> Generator[Request, Any, tuple[dict[int, float], int]]:
        """Ask for as many as go into one request; return their scores by index, and how many they are."""
        from edgeorder.http import HttpError

        known = _found.get(self.base_url) if self.dialect == "auto" else None
        forms = (known,) if known else candidates(self.dialect, self.base_url)
        refusals: list[HttpError] = []
        for form in forms:
            batch = passages[: self.batch_size or form.at_once]
            body = {**request(form, self.model, query, batch), **self.options}
            limit = _MOST + 4 * sum(map(len, batch))
            reply = yield from self._tried(endpoint(self.base_url, form), body, limit, until)
            if not isinstance(reply, HttpError):
                try:
                    found = read_reply(form, reply, batch)
                except ValueError as error:
                    raise RerankError(f"{self.name}: {error}") from None
                if self.dialect == "auto":
                    _found[self.base_url] = form
                return found, len(batch)
            refusals.append(reply)
            if reply.status_code not in _NO_SUCH_PATH and len(refusals) == 1:
                break
        _found.pop(self.base_url, None)
        tried = " or ".join(form.path for form in forms[: len(refusals)])
        raise RerankError(f"{self.name}: asking {tried} failed: {refusals[0]}{_hint(refusals[0])}")


def _pause(error: "HttpError", attempt: int) -> float:
    """Return the seconds to wait before the next try: what the server asks for, or more with each attempt."""
    return uniform(0.8, 1.2) * _FIRST_PAUSE * 2**attempt if error.wait is None else error.wait  # noqa: S311 - jitter


def _check_address(base_url: str) -> None:
    address = urlsplit(base_url)
    if "@" in address.netloc:  # before anything could repeat it
        raise ValueError("base_url holds credentials, which would be recorded: name the variable of a key, api_key_env")
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ValueError(f"base_url={base_url!r} is no address of a server; it begins with https:// or http://")
    if address.query or address.fragment:
        raise ValueError("base_url ends before the question mark; fields of the request are given as options={...}")


def _check_options(options: Any) -> None:
    """Raise TypeError unless they can be sent: at the first call it would be late to find out."""
    try:
        if not all(isinstance(name, str) for name in dict(options)):
            raise TypeError("a field has a name")
        json.dumps(dict(options), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"options must be fields of a JSON request, not {options!r:.60}: {error}") from error


def _bounds(asked: Request) -> dict[str, Any]:
    return {"timeout": asked.timeout, "limit": asked.limit}


def _as_it_is(reply: Any) -> Any:
    return reply


def _hint(error: "HttpError") -> str:
    """Return what may help."""
    if error.status_code in (401, 403):
        return "; name the variable that holds the key, api_key_env"
    return "; perhaps it takes fewer texts at once, batch_size" if error.status_code in (413, 422) else ""
