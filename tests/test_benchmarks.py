"""The benchmarks import what they name; what they measure is run by hand (`make bench`)."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_every_benchmark_can_be_imported():
    names = [path.stem for path in BENCHMARKS.glob("*.py")]
    program = f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); import {', '.join(names)}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr
