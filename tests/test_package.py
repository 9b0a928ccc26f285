"""The shape of the package: what imports what, what a wheel holds, and what runs without the frameworks."""

import ast
import email
import importlib
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import edgeorder

ROOT = Path(__file__).parent.parent
PACKAGES = ["edgeorder", "langchain_edgeorder", "llamaindex_edgeorder"]
HEAVY = [
    "pydantic",
    "torch",
    "tiktoken",
    "numpy",
    "regex",
    "scipy",
    "matplotlib",
    "langchain_core",
    "llama_index",
    "asyncio",
]


def python(code: str, executable: str = sys.executable) -> str:
    """Run code in a fresh interpreter, away from the checkout, and return what it printed."""
    run = subprocess.run([executable, "-c", code], capture_output=True, text=True, cwd="/", check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.case(2, 120)
@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("edgeorder", HEAVY),
        (
            "langchain_edgeorder",
            [
                *("langchain", "langchain_classic", "langchain_community", "langchain_text_splitters"),
                *("llama_index", "torch", "tiktoken", "numpy"),
            ],
        ),
        ("llamaindex_edgeorder", ["langchain_core", "torch", "sentence_transformers"]),
    ],
)
def test_importing_a_package_loads_nothing_heavy(package: str, forbidden: list[str]) -> None:
    """An import loads no framework but its own, and the core nothing at all."""
    code = f"import sys, {package}; print([m for m in {forbidden!r} if m in sys.modules])"
    assert python(code) == "[]"


def test_placing_without_a_budget_loads_no_tokenizer() -> None:
    """Reordering needs neither tiktoken nor the network."""
    code = (
        "import sys; from edgeorder import *; place([Chunk('x' * 2000)] * 9).block\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert python(code) == "[]"


@pytest.mark.parametrize("package", PACKAGES)
def test_all_is_complete_and_sorted(package: str) -> None:
    """Every public name is listed, exists, and is found by `dir`."""
    module = importlib.import_module(package)
    names = module.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert all(getattr(module, name) is not None for name in names)
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith(package)
    }
    assert public <= set(names)
    assert set(names) <= set(dir(module))


ELSEWHERE = {"_replace", "_fields", "_field_defaults", "_asdict", "_make", "_getframe", "_exit"}
"""Names of NamedTuple and of Python's own that are documented in spite of their underscore."""
OF_FRAMEWORKS = {
    # Engines have no public way to tell how they fill their prompt.
    "llamaindex_edgeorder/room.py": {
        *("_response_synthesizer", "_get_response_synthesizer", "_query_engine", "_memory", "_prompt_helper", "_llm"),
        *("_text_qa_template", "_refine_template", "_summary_template", "_get_available_chunk_size"),
        *("_metadatas", "_token_counter"),
    },
    # Nor do memories have one to tell how they count.
    "llamaindex_edgeorder/history.py": {"_estimate_token_count", "_token_count_for_messages"},
    # These are what a tool of LangChain is made of.
    "langchain_edgeorder/tool_results.py": {"_run", "_arun"},
}
"""Names of the frameworks, by the module that needs them."""


@pytest.mark.parametrize(
    "path", [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")], ids=lambda path: path.name
)
def test_no_module_reaches_into_another(path: Path) -> None:
    """A name with an underscore is used in the module that defines it, or by a class on itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    reached = [name.name for node in nodes if isinstance(node, ast.ImportFrom) for name in node.names]
    for node in nodes:
        if isinstance(node, ast.Attribute):
            itself = ast.unparse(node.value) in ("self", "cls", "super()")
            (own.add if itself else reached.append)(node.attr)
    private = {name for name in reached if name.startswith("_") and not name.startswith("__")}
    allowed = own | ELSEWHERE | OF_FRAMEWORKS.get(path.relative_to(ROOT).as_posix(), set())
    assert private <= allowed


def test_an_unknown_name_is_an_attribute_error() -> None:
    """The lazy exports do not swallow a misspelt name."""
    with pytest.raises(AttributeError, match="no attribute 'plaec'"):
        importlib.import_module("edgeorder").plaec  # noqa: B018


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "build", "--sdist", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as a user's pip would, from the source distribution."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(sdist)],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout: nothing tells which files there are")
def test_the_source_distribution_holds_every_file(sdist: Path) -> None:
    """So that whoever packages it again can run all tests, and read all that the README links to."""
    with tarfile.open(sdist) as packed:
        held = {name.partition("/")[2] for name in packed.getnames()}
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ours = {name for name in listed.splitlines() if (ROOT / name).is_file()}
    assert len(ours) > 100
    assert held == ours | {"PKG-INFO"}


def test_the_readme_leads_somewhere_on_the_index_too(wheel: Path) -> None:
    """A link within the repository becomes one to the file at GitHub, as it was in this version."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith("METADATA"))
        told = email.message_from_bytes(packed.read(name))
    shown = str(told.get_payload())
    assert told["Description-Content-Type"] == "text/markdown"
    readme = (ROOT / "README.md").read_text("utf-8")
    ours, theirs = (re.findall(r"\]\(([^)]+)\)", text) for text in (readme, shown))
    start = f"https://github.com/edgeorder/edgeorder/blob/v{told['Version']}/"
    assert theirs == [link if "://" in link else start + link for link in ours]
    assert any(link.startswith(start) for link in theirs)


def test_the_wheel_holds_three_typed_packages_and_nothing_else(wheel: Path) -> None:
    """The distribution installs the three packages, their type markers and its metadata."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == set(PACKAGES)
    assert all(f"{package}/py.typed" in names for package in PACKAGES)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "edgeorder/probe/report.html" in names
    parts = {name: (ROOT / name).exists() for name in names if ".dist-info" not in name}
    assert all(parts.values()), parts
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"edgeorder-{told}.dist-info/METADATA" in names


def test_the_version_is_that_of_the_distribution() -> None:
    """It is written in one place."""
    assert edgeorder.__version__ == metadata.version("edgeorder")
    assert (metadata.metadata("edgeorder")["License-Expression"]) == "MIT"


def test_what_llamahub_reads_is_true() -> None:
    """The module can be imported, has these components and no other, and there is an example."""
    from llama_index.core.schema import BaseComponent

    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["llamahub"]
    module = importlib.import_module(told["import_path"])
    public = {name: getattr(module, name) for name in module.__all__}
    components = {name for name, one in public.items() if isinstance(one, type) and issubclass(one, BaseComponent)}
    assert set(told["class_authors"]) == components
    assert told["contains_example"] == (ROOT / "examples" / "llamaindex.ipynb").exists()


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make an environment with the core, its own dependencies and the test tools; return its interpreter."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=True)
    executable = str(folder / "bin" / "python")
    subprocess.run(
        [executable, "-m", "pip", "install", "-q", str(wheel), "pytest", "pytest-asyncio", "hypothesis"],
        check=True,
        capture_output=True,
    )
    return executable


@pytest.mark.case(2)
def test_the_bare_core_passes_its_tests(bare: str) -> None:
    """With nothing but its own dependencies installed, the core passes every core test."""
    from edgeorder.tokens import _shipped_with_llama_index

    run = subprocess.run(
        [
            bare,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            str(ROOT / "pyproject.toml"),
            str(ROOT / "tests/core"),
        ],
        env={**os.environ, "TIKTOKEN_CACHE_DIR": str(_shipped_with_llama_index("o200k_base").parent)},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT / "tests",
    )
    assert run.returncode == 0, run.stdout[-3000:]
    assert "skipped" not in run.stdout


@pytest.mark.case(120)
@pytest.mark.parametrize(
    ("package", "line"),
    [
        ("langchain_edgeorder", "langchain-core is not installed; run: pip install 'edgeorder[langchain]'"),
        ("llamaindex_edgeorder", "llama-index-core is not installed; run: pip install 'edgeorder[llamaindex]'"),
    ],
)
def test_a_missing_extra_says_the_pip_line(bare: str, package: str, line: str) -> None:
    """Importing an adapter without its framework names the line that installs it."""
    code = f"try:\n    import {package}\nexcept ImportError as error: print(error)"
    assert python(code, bare) == line
