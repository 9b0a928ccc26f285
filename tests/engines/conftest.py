"""The engines' tests: each ends in time, whatever an engine does."""

import faulthandler
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT = 240  # seconds


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """End the whole process, with every thread's stack, if a test takes too long: an engine that hangs is no pass."""
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True, scope="session")
def workers_find_us() -> None:
    """Workers are processes of their own; they import what the tests import."""
    own = [str(ROOT), str(ROOT / "tests" / "batch")]
    os.environ["PYTHONPATH"] = os.pathsep.join([*own, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    sys.path[:0] = own
