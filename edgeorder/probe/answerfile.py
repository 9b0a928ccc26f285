"""The SQLite file that answers are kept in: made, checked and brought up to date when it is opened."""

import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

COLUMNS = {  # of an answer, in order; a file of an earlier version lacks the last
    "key": "TEXT PRIMARY KEY",
    "model": "TEXT",
    "text": "TEXT",
    "finish": "TEXT",
    "prompt_tokens": "INTEGER",
    "computed_tokens": "INTEGER",
    "completion_tokens": "INTEGER",
    "seconds": "REAL",
    "unsent": "TEXT",
}
_NAMES, _MARKS = ", ".join(COLUMNS), ", ".join("?" * len(COLUMNS))
_SELECT = f"SELECT {_NAMES} FROM answers"  # noqa: S608 - they are the names above
_INSERT = f"INSERT OR %s INTO answers ({_NAMES}) VALUES ({_MARKS})"  # noqa: S608
_inherited: list[sqlite3.Connection] = []  # what a fork brought along: closing it may harm the parent's file


class AnswerFile:
    """A file of answers. Who uses it minds the threads.

    Args:
        path: The file; made if there is none.
        alone: Whether no other process may open it as long as this one has it open.

    Raises:
        sqlite3.Error: If it cannot be read and written.
        ValueError: If it holds something else, or is damaged.
    """

    def __init__(self, path: str | Path, *, alone: bool = False) -> None:
        self.path = path
        self._alone = alone
        self._connect()
        try:
            if alone:
                self.run("PRAGMA locking_mode = EXCLUSIVE")
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        """Open the file."""
        wait = 1 if self._alone else 60  # seconds for another process's write to end
        self._database = sqlite3.connect(self.path, timeout=wait, isolation_level=None, check_same_thread=False)
        self._database.text_factory = lambda read: read.decode("utf-8", "replace")
        self._process = os.getpid()

    def _prepare(self) -> None:
        self.run("BEGIN IMMEDIATE")  # of the processes that open an old file at the same moment, one changes it
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        self.run(f"CREATE TABLE IF NOT EXISTS answers ({columns}) WITHOUT ROWID")
        there = [name for _, name, *_ in self.run("PRAGMA table_info(answers)")]
        if not {*COLUMNS} - {"unsent"} <= {*there}:
            raise ValueError(f"its columns are others: {', '.join(there)}")
        if "unsent" not in there:
            self.run("ALTER TABLE answers ADD COLUMN unsent TEXT")
        self.run("PRAGMA user_version = 1")  # a write, whether needed or not: a full disk is known before it matters
        self.run("COMMIT")
        [(found,)] = self.run("PRAGMA quick_check(1)")
        if found != "ok":
            raise ValueError(f"it is damaged: {found}")

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows that a statement gives."""
        if self._process != os.getpid():  # SQLite's files must not be used across a fork
            _inherited.append(self._database)
            self._connect()
        return self._database.execute(statement, values).fetchall()

    def add(self, rows: Iterable[Sequence[Any]], *, replace: bool = True) -> None:
        """Write answers, all or none.

        Args:
            rows: Their columns.
            replace: Whether they take the place of what is there.
        """
        self.run("BEGIN IMMEDIATE")
        try:
            for row in rows:
                self.run(_INSERT % ("REPLACE" if replace else "IGNORE"), row)
            self.run("COMMIT")
        finally:
            if self._database.in_transaction:
                self.run("ROLLBACK")

    def row(self, key: str) -> tuple[Any, ...] | None:
        """Return the columns of an answer; None if there is none."""
        return next(iter(self.run(f"{_SELECT} WHERE key = ?", (key,))), None)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the columns of every answer."""
        return self.run(_SELECT)

    def remove(self) -> None:
        """Close the file and delete it."""
        self.close()
        Path(self.path).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file."""
        self._database.close()
