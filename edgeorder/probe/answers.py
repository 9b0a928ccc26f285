"""Answers: what a model replied, and a cache on disk, so that a run that was killed goes on where it stopped."""

import asyncio
import hashlib
import json
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, get_args
from weakref import WeakValueDictionary

from edgeorder.errors import bad_choice

Finish = Literal["stop", "length", "error"]


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

    Raises:
        ValueError: For an unknown finish, or an error that is not told.
    """

    text: str
    finish: Finish = "stop"
    prompt_tokens: int | None = None
    computed_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None
    seconds: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.finish not in get_args(Finish):
            raise bad_choice("Reply.finish", self.finish, get_args(Finish))
        if (self.finish == "error") != (self.error is not None):
            raise ValueError(f"Reply.finish={self.finish!r} with error={self.error!r}: an error has both")

    @property
    def usable(self) -> bool:
        """Whether it can be graded: no error, and not all of its tokens gone before it said anything."""
        return self.finish != "error" and not (self.finish == "length" and not self.text.strip())


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


class AnswerCache:
    """Replies on disk, by model, settings and prompt: a SQLite file that a kill at any moment leaves whole.

    It holds the answers but no prompt, only its hash. Errors are not kept, so that another run asks again. Tasks,
    threads and processes may share the file.

    Args:
        path: The file; made if there is none. `":memory:"` keeps nothing.

    Raises:
        ValueError: If the file is something else.
        FileNotFoundError: If the folder does not exist.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path
        if str(path) != ":memory:" and not Path(path).parent.is_dir():
            raise FileNotFoundError(f"no folder {Path(path).parent} to keep {path} in; make it first")
        self._guard = threading.Lock()
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._database = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        try:
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, model TEXT, text TEXT, finish TEXT, "
                "prompt_tokens INTEGER, computed_tokens INTEGER, completion_tokens INTEGER, seconds REAL) WITHOUT ROWID"
            )
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise ValueError(f"{path} cannot be used as an answer cache ({error}); give another path") from error

    def __enter__(self) -> "AnswerCache":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self._guard:
            return int(self._database.execute("SELECT count(*) FROM answers").fetchone()[0])

    def get(self, model: Model, prompt: str) -> Reply | None:
        """Return the reply kept for a prompt; None if there is none."""
        with self._guard:
            row = self._database.execute(
                "SELECT text, finish, prompt_tokens, computed_tokens, completion_tokens FROM answers WHERE key = ?",
                (cache_key(model, prompt),),
            ).fetchone()
        return Reply(*row) if row else None

    def put(self, model: Model, prompt: str, reply: Reply) -> None:
        """Keep a reply, unless it is an error."""
        if reply.finish == "error":
            return
        text = reply.text.encode("utf-8", "replace").decode()  # SQLite takes no lone surrogates
        with self._guard:
            self._database.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    cache_key(model, prompt),
                    model.name,
                    text,
                    reply.finish,
                    reply.prompt_tokens,
                    reply.computed_tokens,
                    reply.completion_tokens,
                    # Its share of the time of those that were asked beside it.
                    None if reply.seconds is None else reply.seconds / model.concurrency,
                ),
            )

    def pace(self, model: str) -> float | None:
        """Return the mean seconds from one answer of a model to the next; None for fewer than three answers.

        Args:
            model: Its name, or the beginning of it.
        """
        with self._guard:
            (count, mean) = self._database.execute(
                "SELECT count(seconds), avg(seconds) FROM answers WHERE substr(model, 1, ?) = ?", (len(model), model)
            ).fetchone()
        return float(mean) if count > 2 else None

    def lock(self, model: Model, prompt: str) -> asyncio.Lock:
        """Return what a task holds while it asks for this prompt, so that another waits for its answer."""
        return self._asking.setdefault(cache_key(model, prompt), asyncio.Lock())

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            self._database.close()


def cache_key(model: Model, prompt: str) -> str:
    """Return the hash under which an answer is kept."""
    asked = json.dumps([model.name, dict(model.settings), prompt], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


async def ask_cached(model: Model, prompt: str, cache: AnswerCache | None) -> Reply:
    """Return the kept reply, or ask and keep it.

    Raises:
        ValueError: If there is a cache, and the model has no name by which another run knows it.
        ModelError: As `Model.ask`.
    """
    if cache is None:
        return await model.ask(prompt)
    if "<" in model.name:  # <lambda>, <locals>: the next run's may be another function
        raise ValueError(f"answers of {model.name} cannot be kept; name it: as_model(model, name='...')")
    async with cache.lock(model, prompt):
        kept = cache.get(model, prompt)
        if kept is None:
            kept = await model.ask(prompt)
            cache.put(model, prompt, kept)
        return kept
