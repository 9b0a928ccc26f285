"""The workflows run make targets and nothing else, so that whoever has a shell can run what CI runs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

import edgeorder

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
    ours = set(re.findall(r"^ *make (?:\w+=\S+ )*([a-z-]+)\b", run, re.MULTILINE))
    asked = {line.split()[1] for path in WORKFLOWS for line in commands(path)}
    assert asked - ours == {"tagged"}  # which needs a tag


def test_actions_are_pinned_to_commits():
    """A tag can be moved to other code; the version that a commit is of stands beside it."""
    used = [action for path in WORKFLOWS for action in re.findall(r"uses:(.*)", path.read_text("utf-8"))]
    assert used
    for action in used:
        assert re.fullmatch(r" [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        (f"v{edgeorder.__version__}", ""),
        ("v9.9.9", "pyproject.toml has another version than v9.9.9\n"),
        (f"v{edgeorder.__version__}1", f"pyproject.toml has another version than v{edgeorder.__version__}1\n"),
    ],
)
def test_a_tag_is_that_of_the_version(tag: str, said: str):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # of `make test`
    command = [str(shutil.which("make")), "tagged"]
    done = subprocess.run(command, cwd=ROOT, env={**clean, "TAG": tag}, capture_output=True, text=True)
    assert (done.returncode == 0) == (said == "")
    assert done.stdout == said
