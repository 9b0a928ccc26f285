"""A real cross-encoder of MiniLM size: real weights and tokenizer under a seeded head, saved to disk and exported."""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from material import passage, save_cross_encoder

from edgeorder.rerank import clear_models


@pytest.fixture(scope="session")
def passages() -> list[str]:
    """Return fifty passages of 20 to 300 words."""
    return [passage(random.Random(seed).randint(20, 300), seed) for seed in range(50)]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a cross-encoder: MiniLM's weights, and a head that gives its scores some spread."""
    target = tmp_path_factory.mktemp("cross-encoder")
    save_cross_encoder(target)
    return target


@pytest.fixture(scope="session")
def exported(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that `edgeorder export-onnx MODEL DIR --int8` makes."""
    target = tmp_path_factory.mktemp("onnx") / "model"
    run = subprocess.run(
        [str(Path(sys.executable).parent / "edgeorder"), "export-onnx", str(folder), str(target), "--int8"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert [line.split("/")[-1].split()[0] for line in run.stdout.splitlines()] == ["model.onnx", "model_int8.onnx"]
    return target


@pytest.fixture(autouse=True)
def no_models_left() -> Iterator[None]:
    """Every test loads what it needs."""
    clear_models()
    yield
    clear_models()
