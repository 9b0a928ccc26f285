"""Answers kept on disk, so that a run that was stopped goes on where it stood and nothing is paid for twice."""

import asyncio
import hashlib
import json
import os
import sqlite3
import tempfile
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, closing, suppress
from glob import escape
from pathlib import Path
from typing import Any
from weakref import WeakSet

from edgeorder.alerts import warn
from edgeorder.probe.answerfile import AnswerFile
from edgeorder.probe.replies import Model, Reply

_REST = ".rest"  # ends the name of a file that holds what a cache could not


class AnswerCache:
    """Replies on disk, by model, settings and prompt: a SQLite file that a kill at any moment leaves whole.

    It holds the answers but no prompt, only its hash. Errors are not kept, so that another run asks again. Tasks, event
    loops, threads and processes may share the file, and all but processes the object.

    A file that fails in the middle of a run, such as on a disk that is full, loses no answer: from there on they go to
    a file beside it, or in the folder for temporary files, which the warning names and `trouble` tells. A cache takes
    up such files (`answers.sqlite.*.rest`) when it is opened, where they lie beside its own.

    Args:
        path: The file; made if there is none. `":memory:"` keeps nothing.

    Raises:
        ValueError: If the file cannot be read and written, is something else or damaged.
        FileNotFoundError: If the folder does not exist.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.trouble: str | None = None
        if str(path) != ":memory:" and not Path(path).parent.is_dir():
            raise FileNotFoundError(f"no folder {Path(path).parent} to keep {path} in; make it first")
        self._guard = threading.Lock()
        self._asking: dict[str, Future[None]] = {}
        try:
            self._file = AnswerFile(path)
        except (sqlite3.Error, ValueError) as error:
            raise ValueError(f"{path} cannot be used as an answer cache ({error}); give another path") from error
        self._target: AnswerFile | None = self._file  # where answers are written; None for nowhere
        self._spare: AnswerFile | None = None
        self._unsaved: dict[str, tuple[Any, ...]] = {}
        _opened.add(self)
        self._take_up()

    def __enter__(self) -> "AnswerCache":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._unsaved) + sum(int(count) for (count,) in self._read("SELECT count(*) FROM answers"))

    def get(self, model: Model, prompt: str) -> Reply | None:
        """Return the reply kept for a prompt; None if there is none."""
        key, said = cache_key(model, prompt), None
        with self._guard:
            row = self._unsaved.get(key)
            try:
                row = row or (self._spare.row(key) if self._spare else None) or self._file.row(key)
            except sqlite3.Error as error:
                if self._target is self._file:
                    said = self._move_on(error)
        reply = _reply(row) if row else None
        if row and not reply:
            said = f"{self.path} holds a damaged answer, which is asked for again"
        self._tell(said)
        return reply

    def put(self, model: Model, prompt: str, reply: Reply) -> None:
        """Keep a reply, unless it is an error.

        Warns with `EdgeOrderWarning` if it cannot be kept where it should.
        """
        if reply.finish == "error":
            return
        row = (
            cache_key(model, prompt),
            _plain(model.name),
            _plain(reply.text),
            reply.finish,
            reply.prompt_tokens,
            reply.computed_tokens,
            reply.completion_tokens,
            # Its share of the time of those that were asked beside it.
            None if reply.seconds is None else reply.seconds / model.concurrency,
            json.dumps(reply.unsent) if reply.unsent else None,
        )
        said = None
        with self._guard:
            while self._target:
                try:
                    self._target.add([row])
                    break
                except sqlite3.Error as error:
                    said = self._move_on(error)
            else:
                self._unsaved[row[0]] = row
        self._tell(said)

    def pace(self, model: str) -> float | None:
        """Return the mean seconds from one answer of a model to the next; None for fewer than three answers.

        Args:
            model: Its name, or the beginning of it.
        """
        statement = "SELECT count(seconds), avg(seconds) FROM answers WHERE substr(model, 1, ?) = ?"
        (count, mean), *_ = self._read(statement, len(model), model)
        return float(mean) if count > 2 else None

    @asynccontextmanager
    async def alone(self, key: str) -> AsyncIterator[None]:
        """Hold a key while its answer is asked for, so that other tasks, in any loop and thread, wait for it."""
        mine: Future[None] = Future()
        mine.set_running_or_notify_cancel()  # who no longer waits ends nothing
        while True:
            with self._guard:
                other = self._asking.setdefault(key, mine)
            if other is mine:
                break
            await asyncio.wrap_future(other)
        try:
            yield
        finally:
            with self._guard:
                self._asking.pop(key, None)
            mine.set_result(None)

    def close(self) -> None:
        """Close the file; what it could not hold goes into it now, if it can."""
        with self._guard:
            if self._target is not self._file:
                with suppress(sqlite3.Error):
                    self._file.add([*(self._spare.rows() if self._spare else ()), *self._unsaved.values()])
                    self._unsaved, self.trouble = {}, None
                    if self._spare:
                        self._spare.remove()
            self._file.close()
            if self._spare:
                self._spare.close()

    def _read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return what the files, its own first, answer together.

        Raises:
            ValueError: If they cannot be read.
        """
        with self._guard:
            try:
                return [row for file in (self._file, self._spare) if file for row in file.run(statement, values)]
            except sqlite3.Error as error:
                raise ValueError(f"{self.path} cannot be read ({error})") from error

    def _move_on(self, error: sqlite3.Error) -> str:
        """Turn to another file for what is to be written, to none if there is none; return how to say that."""
        path = Path(self.path).absolute()
        folders = [path.parent, Path(tempfile.gettempdir())] if self._target is self._file else []
        self._target = None
        for folder in folders:
            with suppress(OSError, sqlite3.Error, ValueError):
                self._spare = self._target = _spare(folder, path.name)
                takes = "" if folder == path.parent else f"move it to {path.parent} and "
                self.trouble = (
                    f"{path} failed ({error}); further answers are kept in {self._spare.path}. If it is still there "
                    f"after this run, {takes}the next run takes it up"
                )
                return self.trouble
        self.trouble = (
            f"{path} failed ({error}), and there is no room for another file; further answers are kept in memory, and "
            "written when this run ends, if that is possible then"
        )
        return self.trouble

    def _take_up(self) -> None:
        """Take up what earlier runs had to keep elsewhere, unless one of them still runs."""
        path = Path(self.path)
        for file in sorted(path.parent.glob(f"{escape(path.name)}.*{_REST}")):
            try:
                with closing(AnswerFile(file, alone=True)) as rest:
                    self._file.add(rest.rows(), replace=False)
                    rest.remove()
            except (OSError, sqlite3.Error, ValueError) as error:
                if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                    self._tell(f"{file} holds answers that cannot be taken up ({error})")

    def _tell(self, said: str | None) -> None:
        if said:
            warn(said)


def _spare(folder: Path, name: str) -> AnswerFile:
    """Return a new file in a folder, which nobody else opens or reads."""
    handle, path = tempfile.mkstemp(_REST, f"{name}.", folder)
    os.close(handle)
    try:
        return AnswerFile(path, alone=True)
    except BaseException:
        Path(path).unlink()
        raise


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # SQLite takes no lone surrogates


def _reply(row: tuple[Any, ...]) -> Reply | None:
    """Return the reply in a row; None if it holds none."""
    _, _, text, finish, prompt, computed, completion, _, unsent = row
    try:
        return Reply(text, finish, prompt, computed, completion, unsent=tuple(json.loads(unsent or "[]")))
    except (TypeError, ValueError):
        return None


def cache_key(model: Model, prompt: str) -> str:
    """Return the hash under which an answer is kept."""
    asked = json.dumps([model.name, dict(model.settings), prompt], sort_keys=True, default=lambda value: value.item())
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
    async with cache.alone(cache_key(model, prompt)):
        kept = cache.get(model, prompt)
        if kept is None:
            kept = await model.ask(prompt)
            cache.put(model, prompt, kept)
        return kept


_opened: WeakSet[AnswerCache] = WeakSet()


def _begin_anew() -> None:
    """Drop, in a process that was forked, the locks that other threads may have held."""
    for cache in _opened:
        cache._guard, cache._asking = threading.Lock(), {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
