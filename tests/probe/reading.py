"""An endpoint that reads what it is sent, and a file of what it is asked: for tests of whole commands."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from endpoints import Endpoint, Handler, completion
from readers import answer, cases

from edgeorder.probe.case_files import write_cases


class PromptHandler(Handler):
    """Sends at once: a reply in two packets would wait 40 ms for the first to be acknowledged."""

    disable_nagle_algorithm = True


class ReadingEndpoint(Endpoint):
    """An endpoint that reads the tail of the block; what `says` returns instead of None it says."""

    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = PromptHandler
        self.says: Callable[[str], dict[str, Any] | int | None] = lambda prompt: None
        self.script = Script(self)


class Script(list[Any]):
    """A script without an end, read off the prompts."""

    def __init__(self, server: ReadingEndpoint) -> None:
        super().__init__()
        self._server = server

    def __bool__(self) -> bool:
        return True

    def pop(self, index: Any = -1) -> Any:
        prompt = self._server.asked[-1]["messages"][0]["content"]
        said = self._server.says(prompt)
        return completion(answer(prompt, lambda question, depth: depth > 0.6)) if said is None else said


@contextmanager
def reading() -> Iterator[ReadingEndpoint]:
    """Run an endpoint that reads until the block ends."""
    with ReadingEndpoint() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def case_file(path: Path, n: int, chunks: int) -> Path:
    """Write n cases of that many passages, the gold one of rank 1."""
    write_cases(path, cases(n, chunks, gold_rank=1))
    return path
