"""The workflows run make targets and nothing else, so that whoever has a shell can run what CI runs."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def commands(path: Path) -> list[str]:
    """Return every line that a workflow runs in a shell."""
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.stem for path in WORKFLOWS])
def test_every_line_is_a_make_target(path: Path):
    lines = commands(path)
    assert lines
    for line in lines:
        make, target = line.split()
        assert make == "make"
        assert target in TARGETS


def test_ci_runs_what_one_machine_can():
    """All targets of the workflows are in `.ci/run` too, which needs no service."""
    run = (ROOT / ".ci" / "run").read_text("utf-8")
    ours = set(re.findall(r"^make .*?([a-z-]+)$", run, re.MULTILINE))
    asked = {line.split()[1] for path in WORKFLOWS for line in commands(path)}
    assert asked <= ours | {"test-light"}  # of which `make test` is the whole
