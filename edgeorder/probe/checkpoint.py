"""A checkpoint on disk as a model (`hf:PATH`): a folder of transformers, or a GGUF file, loaded at the first call."""

import json
import os
import threading
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from edgeorder.checks import whole_number
from edgeorder.extras import require
from edgeorder.probe.called import in_own_thread
from edgeorder.probe.hf import HFModel
from edgeorder.probe.replies import ModelError, Reply

PREFIX = "hf:"


class Checkpoint:
    """The model in a folder or a GGUF file, on the accelerator where there is one. It is asked as `HFModel` asks.

    Args:
        path: The folder, with the model's weights, its config.json and its tokenizer; or the GGUF file.
        name: Under which its answers are reported and kept; None for `hf:PATH`.
        max_tokens: The most tokens of an answer.

    Raises:
        ImportError: If a package is not installed.
        TypeError, ValueError: For a number that cannot be.
        ModelError: If there is no such folder or file.

    The model is loaded at the first call: a run whose answers are all on disk needs none.
    """

    concurrency = 1

    def __init__(self, path: str | Path, name: str | None = None, max_tokens: int = 100) -> None:
        require("hf", "transformers", "torch")
        self._max_tokens = whole_number("max_tokens", max_tokens, least=1)
        self._path = Path(path).expanduser()
        if not (self._path.is_file() or (self._path / "config.json").is_file()):
            raise ModelError(
                f"{PREFIX}{path} is neither a folder with a config.json nor a GGUF file; download a model first, for "
                "example with: hf download NAME --local-dir FOLDER"
            )
        if self._path.is_file():
            require("gguf", "gguf", "accelerate")
        self.name = name or f"{PREFIX}{path}"
        self.settings: Mapping[str, Any] = {
            "max_tokens": self._max_tokens,
            "temperature": 0,
            "files": _version(self._path),
        }
        self._lock = threading.Lock()
        self._opened: HFModel | None = None

    async def ask(self, prompt: str) -> Reply:
        """Let the model answer.

        Raises:
            ModelError: If it cannot be loaded, or is of a kind that cannot be asked.
        """
        return await (await self._model()).ask(prompt)

    async def force(self, prompt: str, answer: str) -> Reply:
        """Return, as the text of a reply, the log-probability that an answer follows the prompt.

        Raises:
            ModelError: As `ask`.
        """
        return await (await self._model()).force(prompt, answer)

    async def aclose(self) -> None:
        """Free the model."""
        with self._lock:
            self._opened = None

    async def _model(self) -> HFModel:
        if self._opened is None:
            failed = await in_own_thread(self._open)
            if failed:
                raise failed
        assert self._opened  # noqa: S101 - it did not fail
        return self._opened

    def _open(self) -> ModelError | None:
        with self._lock:
            if self._opened is None:
                try:
                    self._opened = HFModel(*load(self._path), self.name, self._max_tokens)
                except Exception as error:  # noqa: BLE001 - whatever a library makes of a damaged file
                    said = " ".join(str(error).split())
                    return ModelError(f"{self.name} cannot be loaded: {type(error).__name__}: {said:.300}")
        return None


def load(path: str | Path) -> tuple[Any, Any]:
    """Return the model and the tokenizer of a folder or a GGUF file, on the accelerator where there is one.

    Torch gets half of the processors at most, in the whole process: its threads wait for each other by spinning, and
    where other work takes one of them its processor, all of them slow down.

    Args:
        path: The folder or the file. The weights of a GGUF file become float32.

    Raises:
        ModelError: If no tokenizer can be built from a GGUF file.
        OSError, ValueError: If transformers cannot load it.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(min(torch.get_num_threads(), max(1, (os.cpu_count() or 1) // 2)))
    path = Path(path)
    model: Any
    if path.is_file():
        from edgeorder.probe.gguf_tokenizer import gguf_tokenizer

        tokenizer = gguf_tokenizer(path)
        model = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, local_files_only=True)
        model.name_or_path = str(path)  # not what the file calls itself, which other files do, too
    else:
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(path, local_files_only=True)
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return (model.to(accelerator) if accelerator else model).eval(), tokenizer


def _version(path: Path) -> str:
    """Return what tells the files of a model from later ones under the same path: a hash of their sizes and times."""
    files = [path] if path.is_file() else sorted(file for file in path.iterdir() if file.is_file())
    known = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return sha256(json.dumps(known).encode()).hexdigest()[:16]
