"""The example of the ranker runs as a user runs it."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "evidence_ranker.py"


def test_it_retrieves_again_once_with_a_larger_k(tmp_path: Path) -> None:
    """Two sections are not good enough; among twenty is one that is, and it leads the block."""
    run = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE)], capture_output=True, encoding="utf-8", cwd=tmp_path, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    first, second = run.stdout.split("k=20:")
    assert first.startswith("k=2: ok, retrieve again no passage is of tier high or better")
    assert second.startswith(" ok, proceed\n  1  1.00  high          flights §5")
    assert "The block, from head to tail: flights §5, " in second
    assert "rank at most 4 passages" in second
