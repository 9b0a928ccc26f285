"""The example for whole tables, on few rows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.engines


def test_the_example_loses_no_row_and_keeps_the_budget() -> None:
    """Its own figures say so; every thousandth row is bad."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parents[2] / "examples" / "whole_table.py"), "2000"],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^2000 rows placed in [\d.]+ s", done.stdout, re.MULTILINE)
    longest = re.search(r"^longest block: (\d+) tokens of (\d+)$", done.stdout, re.MULTILINE)
    assert longest
    assert int(longest[1]) <= int(longest[2])
    assert "bad rows: 2, the first is 999: ValueError: the chunks are missing" in done.stdout
