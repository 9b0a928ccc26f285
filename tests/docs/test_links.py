"""Links in what is read on the repository's page: README, documentation and the standard files."""

import inspect
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from blocks import PAGES, ROOT, blocks_of
from typer.main import get_command

from edgeorder.cli.app import app
from langchain_edgeorder import EdgeOrder
from llamaindex_edgeorder import EdgeOrderPostprocessor

FILES = [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")), *PAGES]
COMMANDS: dict[str, Any] = vars(get_command(app))["commands"]
_LINK = re.compile(r"(?<!!)\[(?:[^\][]|\[[^\]]*\])*\]\(([^)\s]+)\)")


def prose(path: Path) -> str:
    """Return a page without its code."""
    return re.sub(r"^ *```.*?^ *```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page, as the repository's page and the site both make them of headings."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(ROOT)) for path in FILES])
def test_links_lead_somewhere(path: Path) -> None:
    """Every link to a file finds it, and its anchor in it; the site's own llms.txt aside, nothing else is guessed."""
    for link in _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(path))):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_readme_is_short() -> None:
    """At most 900 words outside its code."""
    assert len(prose(ROOT / "README.md").split()) <= 900


def test_files_that_the_pages_name_are_there() -> None:
    """Examples and benchmarks are named by paths that exist."""
    for path in FILES:
        for name in re.findall(r"\b((?:examples|benchmarks|tests)/[\w/]+\.(?:py|ipynb))", path.read_text("utf-8")):
            assert (ROOT / name).exists(), f"{path.name} names {name}"


def test_every_extra_is_told_of() -> None:
    """The table of extras has each that can be installed, and no other."""
    table = prose(ROOT / "docs" / "index.md").partition("## Extras")[2].partition("\n## ")[0]
    rows = [row for row in table.splitlines() if row.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([a-z]+)`", row)}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert named == set(declared["optional-dependencies"])


def test_commands_that_are_shown_exist_with_their_options() -> None:
    """Also those that no test runs, since they ask a model: in console blocks, and in the text."""
    known = {name: {opt for one in command.params for opt in one.opts} for name, command in COMMANDS.items()}
    seen = 0
    for path in FILES:
        lines = [line for block in blocks_of(path) if block.kind == "console" for line in block.code.splitlines()]
        lines += [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose(path))]
        for name, given in re.findall(r"^ *(?:\$ )?edgeorder ([a-z][a-z-]*)(.*)", "\n".join(lines), re.MULTILINE):
            seen += 1
            assert name in known, f"{path.name}: edgeorder {name}"
            options = set(re.findall(r" (--[\w-]+)", given))
            assert options <= {*known[name], "--help"}, f"{path.name}: edgeorder {name}"
        named = {line.split()[0] for line in lines if line.startswith("--")}
        assert named <= set().union(*known.values()), path.name
    assert seen > 20


@pytest.mark.parametrize("adapter", [EdgeOrder, EdgeOrderPostprocessor])
def test_where_keys_are_looked_for_stands_in_the_reference(adapter: type[Any]) -> None:
    """Each name that is tried where a key is not set is told with the key: the pages point there."""
    told = dict(re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", inspect.getdoc(adapter) or "", re.MULTILINE))
    for key, field in adapter.model_fields.items():
        if key.endswith("_key"):
            names = (field.default,) if isinstance(field.default, str) else field.default or ()
            assert "Default:" in told[key], key
            assert [name for name in names if f'"{name}"' not in told[key] and name not in BETWEEN] == [], key


BETWEEN = [f"Header {level}" for level in range(2, 6)]
"""Told as "Header 1" to "Header 6"."""


def test_the_map_of_the_house_has_every_room() -> None:
    """CONTRIBUTING names each module and package of the core, and none that is not there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| (`[^|]+`) \|", text.partition("| room |")[2], re.MULTILINE)
    named = [name.rstrip("/") for row in table for name in re.findall(r"`([\w/]+)`", row)]
    there = {
        path.stem for path in (ROOT / "edgeorder").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert sorted(named) == sorted(there - {"__init__"})
