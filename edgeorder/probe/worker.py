"""A process that answers JSON with JSON, line by line, within a deadline: what kills or stalls it stays in it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from contextlib import suppress
from typing import Any


class WorkerError(Exception):
    """A process that ended or stalled; it has been killed."""


class Worker:
    """A running module of Python.

    Args:
        module: Its name. It answers each line of stdin by one line of stdout, and ends with stdin.
        arguments: Its arguments.
        timeout: Seconds that an answer may take, and the first line, which it gives by itself.

    Attributes:
        first: Its first line.

    Raises:
        WorkerError: If it does not begin.
    """

    def __init__(self, module: str, *arguments: object, timeout: float) -> None:
        self._timeout = timeout
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(  # noqa: S603 - this Python
            [sys.executable, "-m", module, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,  # Ctrl-C is for this process to handle
        )
        self.end = weakref.finalize(self, _end, self._process, self._said)
        self.first = self._line()

    def ask(self, request: Any) -> Any:
        """Return the answer to a request.

        Raises:
            WorkerError: If there is none.
        """
        assert self._process.stdin  # noqa: S101 - for mypy
        with suppress(OSError, ValueError):  # it has ended; why is told below
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        return self._line()

    def _line(self) -> Any:
        assert self._process.stdout  # noqa: S101
        late, process = threading.Event(), self._process

        def give_up() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._timeout, give_up)
        timer.daemon = True
        timer.start()
        try:
            line = self._process.stdout.readline()
        except ValueError:  # closed by `end`
            line = b""
        timer.cancel()
        if line.endswith(b"\n"):
            return json.loads(line)
        self._process.kill()
        status = self._process.wait()
        why = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"
        said = self._last_words()
        self.end()
        raise WorkerError(f"no answer within {self._timeout:g} s" if late.is_set() else f"it ended ({why}){said}")

    def _last_words(self) -> str:
        try:
            self._said.seek(0)
            lines = self._said.read().decode("utf-8", "replace").split("\n")
        except ValueError:
            return ""
        return next((f": {line.strip():.200}" for line in reversed(lines) if line.strip()), "")


def _end(process: "subprocess.Popen[bytes]", said: Any) -> None:
    process.kill()
    process.wait()
    for file in (process.stdin, process.stdout, said):
        with suppress(OSError):  # what was still to be sent to it
            file.close()  # type: ignore[union-attr]
