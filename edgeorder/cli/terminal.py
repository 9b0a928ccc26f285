"""The terminal: whatever stdout and stderr are, what is printed ends no run."""

import codecs
import io
import os
import re
import sys
from contextlib import suppress
from typing import Any, TextIO

from edgeorder.cli.masking import shown

_WIDEST = 120  # columns that a table may need at the least
_ASCII = {"–": "-", "−": "-", "—": "-", "…": "...", "‘": "'", "’": "'", "“": '"', "”": '"'}

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x80-\x9f]")  # the same without the line end, and what JSON writes as it is


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for characters that an encoding lacks: a minus must stay one."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_ASCII.get(char) or char.encode("ascii", "backslashreplace").decode() for char in lacking), error.end


codecs.register_error("edgeorder-plain", _plain)


class Steady:
    """A text stream that goes silent when it breaks, and knows why: `broken`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.broken: Exception | None = None

    def write(self, text: str) -> int:
        """Write, if it still can."""
        if self.broken is None:
            try:
                self._stream.write(text)
            except (OSError, ValueError) as error:  # ValueError: it was closed
                self.broken = error
        return len(text)

    def flush(self) -> None:
        """Write what was kept back, if it still can."""
        if self.broken is None:
            try:
                self._stream.flush()
            except (OSError, ValueError) as error:
                self.broken = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def open_streams() -> None:
    """Make stdin, stdout and stderr usable: closed ones lead nowhere, and narrow encodings get the nearest ASCII.

    The number of a closed one would be given to the next file that is opened, such as the cache, and what any library
    prints would be written into that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    if not os.environ.get("COLUMNS", "").strip("0"):  # as in some containers; all that is laid out would be cut off
        os.environ.pop("COLUMNS", None)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="edgeorder-plain")


def settle_streams() -> None:
    """Print what was kept back. Where that fails, Python would try again at its end, and change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say(line: str) -> None:
    """Print one line on stderr, if it can be, without secrets and without codes that a terminal would obey."""
    stream = Steady(sys.stderr)
    stream.write(one_line(shown(line)) + "\n")
    stream.flush()


def one_line(text: str) -> str:
    """Return a text that somebody else wrote, such as an id, in one line without codes that a terminal would obey."""
    return " ".join(_CONTROLS.sub(" ", text).split())


def _print_table(console: Any, table: Any) -> None:
    """Print a table, as wide as it must be: squeezed into a narrow terminal it would lose letters and digits."""
    for column in getattr(table, "columns", ()):
        column.overflow = "fold"
    least = console.measure(table, options=console.options.update(max_width=_WIDEST)).minimum
    own, console.width = console.width, max(console.width, least)
    console.print(table, highlight=False, markup=False)
    console.width = own


def show(*parts: object, whole: bool = False) -> None:
    """Print tables and lines on stdout, lines without codes that a terminal would obey.

    Where that fails, a line on stderr says so, unless the reader has gone.

    Args:
        parts: What is printed.
        whole: Whether a line stays one on a terminal, too.
    """
    from rich.console import Console

    stream = Steady(sys.stdout)
    try:
        console = Console(file=stream)  # type: ignore[arg-type]  # it has what rich uses of a file
        for part in parts:
            if isinstance(part, str):  # a line in a pipe or a file stays one, a terminal's is broken between words
                one = whole or not stream.isatty()  # rich takes a pipe for a terminal where FORCE_COLOR is set
                console.print(_OBEYED.sub(" ", part), highlight=False, markup=False, soft_wrap=one)
            else:
                _print_table(console, part)
        stream.flush()
    except Exception as error:  # noqa: BLE001 - the run is done and kept: nothing that is printed undoes it
        stream.broken = error
    if stream.broken and not isinstance(stream.broken, BrokenPipeError):
        say(f"edgeorder: not everything could be printed: {stream.broken}")
