"""Run the blocks of a page one after the other in one namespace; print what each printed, as JSON.

Nothing outside this machine is reached, and modules that the page does not name count as not installed.
"""

import contextlib
import io
import json
import linecache
import shlex
import socket
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Without:
    """A finder that finds what another one finds, except what must not be there."""

    def __init__(self, finder: Any, hidden: frozenset[str]) -> None:
        self.finder = finder
        self.hidden = hidden

    def find_spec(self, name: str, *where: Any) -> ModuleSpec | None:
        found: ModuleSpec | None = (
            None if name.partition(".")[0] in self.hidden else self.finder.find_spec(name, *where)
        )
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


def no_network(*_: Any, **__: Any) -> None:
    """Refuse to connect."""
    raise OSError("the documentation's blocks run without network")


def python(code: str, line: int, namespace: dict[str, Any]) -> None:
    """Run a block, so that a traceback shows its lines."""
    name = f"<block at line {line}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    exec(compile(code, name, "exec"), namespace)  # noqa: S102 - what a reader would run


def console(code: str) -> None:
    """Run the commands of edgeorder in a console block; what does not begin with `$ ` is their output."""
    from edgeorder.cli import main

    for command in (line.removeprefix("$ ") for line in code.splitlines() if line.startswith("$ ")):
        words = shlex.split(command, comments=True)
        assert words[0] == "edgeorder", f"only edgeorder's own commands are run, not {command!r}"
        sys.argv = words
        with contextlib.suppress(SystemExit):
            main()


if __name__ == "__main__":
    told = json.load(sys.stdin)
    sys.meta_path[:] = [Without(finder, frozenset(told["without"])) for finder in sys.meta_path]
    socket.socket.connect = no_network  # type: ignore[method-assign, assignment]
    socket.getaddrinfo = no_network  # type: ignore[assignment]
    # A module of its own, so that classes of a page can be pickled and looked up as those of a script.
    page = ModuleType("__main__")
    sys.modules["__main__"] = page
    printed = []
    for kind, code, line in told["blocks"]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            python(code, line, page.__dict__) if kind == "python" else console(code)
        printed.append(out.getvalue())
    print(json.dumps(printed))
