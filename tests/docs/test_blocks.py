"""What the documentation shows is run as it stands: the README's blocks each alone, a page's one after the other."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from blocks import DOCS, PAGES, ROOT, Block, blocks_of, needs, run, with_inner

README = ROOT / "README.md"
RUN = [page for page in PAGES if any(block.kind == "python" for block in blocks_of(page))]


def runs(block: Block) -> bool:
    """Say whether a block is run: Python, and console blocks of edgeorder's own commands."""
    return block.why_not is None and (
        block.kind == "python" or (block.kind == "console" and block.code.startswith("$ edgeorder "))
    )


@pytest.fixture
def tiktoken_file() -> str:
    """A machine that tiktoken has been used on: its files are there, in the folder that llama-index-core ships."""
    spec = find_spec("llama_index.core")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent / "_static" / "tiktoken_cache")


def expected_after(blocks: list[Block], at: int) -> Iterator[str]:
    """Yield what a block must print: the rest of a console block, or the `text` block right behind it."""
    block = blocks[at]
    if block.kind == "console":
        yield "".join(line for line in block.code.splitlines(keepends=True) if not line.startswith("$ "))
    elif at + 1 < len(blocks) and blocks[at + 1].kind == "text":
        yield blocks[at + 1].code


@pytest.mark.parametrize("page", RUN, ids=[str(page.relative_to(DOCS)) for page in RUN])
def test_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path, tiktoken_file: str) -> None:
    """With exactly the extras that the page names, without network, and what it says is printed is printed."""
    extras = needs(page.read_text(encoding="utf-8"))
    assert extras is not None, "a page with Python says what it needs, in a line 'Needs `edgeorder[...]`'"
    blocks = blocks_of(page)
    at = [number for number, block in enumerate(blocks) if runs(block)]
    printed = run([blocks[number] for number in at], tmp_path, extras, TIKTOKEN_CACHE_DIR=tiktoken_file)
    for number, out in zip(at, printed, strict=True):
        for expected in expected_after(blocks, number):
            assert tidy(out) == tidy(expected), f"line {blocks[number].line}"


PROGRAMS = [block for block in blocks_of(README) if block.kind == "python"]


@pytest.mark.parametrize("block", PROGRAMS, ids=[f"line {block.line}" for block in PROGRAMS])
def test_each_block_of_the_readme_runs_alone_in_an_empty_folder(block: Block, tmp_path: Path) -> None:
    """With the extra of its framework alone, no file at hand, no network: what a newcomer pastes prints a block."""
    assert block.why_not is None
    extra = re.findall(r"from (langchain|llamaindex)_edgeorder", block.code)
    (out,) = run([block], tmp_path, with_inner(set(extra)))
    assert out.strip()
    assert not [*tmp_path.iterdir()]


def test_what_is_not_run_is_said_in_the_page_too() -> None:
    """A block that is not run has a reason, and they are few."""
    skipped = [
        block for page in [README, *PAGES] for block in blocks_of(page) if block.kind == "python" and not runs(block)
    ]
    assert len(skipped) <= 8


def tidy(text: str) -> str:
    """Return text without blanks at the ends of lines and of itself, and with one time for all."""
    lines = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "2026-12-01T12:00:00", lines)
