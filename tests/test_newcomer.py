"""The check of README's programs fails where a newcomer would: that it can is what makes it worth running."""

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
SNIPPET = "```python\nfrom langchain_edgeorder import EdgeOrder\n\nplacer = EdgeOrder()\n```\n"
WHOLE = "```python\nfrom langchain_edgeorder import EdgeOrder\n\nprint('A hotel in Geneva costs 210 euros.')\n```\n"


@pytest.fixture(scope="module")
def newcomer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("newcomer", ROOT / ".ci" / "newcomer.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_first_program_that_prints_is_taken(newcomer: ModuleType) -> None:
    assert newcomer.program(f"{SNIPPET}\nThen\n\n{WHOLE}", "langchain_edgeorder") == WHOLE[10:-4]
    assert newcomer.passages(WHOLE[10:-4]) == ["A hotel in Geneva costs 210 euros."]


@pytest.mark.parametrize("readme", ["", SNIPPET, WHOLE.replace("langchain_edgeorder", "llamaindex_edgeorder")])
def test_a_readme_without_a_program_fails(newcomer: ModuleType, readme: str) -> None:
    with pytest.raises(SystemExit, match="no complete Python program that imports langchain_edgeorder"):
        newcomer.program(readme, "langchain_edgeorder")


def test_both_programs_of_the_readme_are_found(newcomer: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for adapter in ("langchain_edgeorder", "llamaindex_edgeorder"):
        assert len(newcomer.passages(newcomer.program(readme, adapter))) >= 2


@pytest.mark.parametrize("asked", ["create_connection(('192.0.2.1', 80), 1)", "getaddrinfo('pypi.org', 443)"])
def test_a_program_has_no_network_no_files_and_no_settings(
    newcomer: ModuleType, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever this machine has: neither an environment variable nor a home nor a folder is handed on."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890")
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "sitecustomize.py").write_text(newcomer.NO_NETWORK)
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'packages')!r}); import sitecustomize\n" + (
        "import os, pathlib, socket\n"
        "print(sorted(os.listdir()), os.listdir(pathlib.Path.home()), "
        "{'TIKTOKEN_CACHE_DIR', 'OPENAI_API_KEY'} & set(os.environ))\n"
        f"try:\n    socket.{asked}\nexcept OSError as error:\n    print(error)\n"
    )
    (tmp_path / "run").mkdir()
    done = newcomer.pasted(code, Path(sys.executable), tmp_path / "run")
    assert done.returncode == 0, done.stderr
    files, refused = done.stdout.splitlines()
    assert files == "['program.py'] [] set()"
    assert refused.startswith("this program has no network") or os.name == "nt"
