"""Optional packages: one that is missing is told from one that is there and broken, and each error says what to do."""

import importlib
import re
from pathlib import Path

import pytest

from edgeorder.extras import optional, require

LINE = "run: pip install 'edgeorder[rerank]'"


def install(folder: Path, package: str, code: str | None) -> None:
    """Put a distribution, and a module of that code if there is any, where Python looks for them."""
    info = folder / f"{package}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    if code is not None:
        (folder / f"{package}.py").write_text(code)


def failed(module: str, package: str) -> ImportError:
    """Import a module as an optional part of edgeorder, and return the error."""
    with pytest.raises(ImportError) as caught, optional(package, "rerank"):
        importlib.import_module(module)
    return caught.value


def test_a_package_that_is_not_there_says_the_pip_line() -> None:
    error = failed("nowhere_to_be_found", "nowhere-to-be-found")
    assert str(error) == f"nowhere-to-be-found is not installed; {LINE}"
    assert isinstance(error.__cause__, ModuleNotFoundError)


def test_a_package_whose_module_was_deleted_says_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "emptied", None)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert str(failed("emptied", "emptied")) == f"emptied is not installed; {LINE}"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise ImportError('libx.so.3: cannot open shared object file')", "libx.so.3: cannot open shared object file"),
        ("raise OSError('[WinError 126] a module\\nwas not found')", "OSError: [WinError 126] a module was not found"),
        ("import re; re.gone", "AttributeError: module 're' has no attribute 'gone'"),
        ("from fickle import gone", "cannot import name 'gone' from partially initialized module 'fickle'"),
        ("import fickle.part", "No module named 'fickle.part'; 'fickle' is not a package"),
    ],
)
def test_a_broken_package_is_not_called_missing(
    code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it raises: what is there and fails to import is said to, with the reason, in one line."""
    install(tmp_path, "fickle", code)
    monkeypatch.syspath_prepend(str(tmp_path))
    error = failed("fickle", "fickle")
    begin, end = "fickle 1.2 is installed but fails to import: ", "; mend it with: pip install --force-reinstall fickle"
    assert re.fullmatch(f"{re.escape(begin + said)}.*{re.escape(end)}", str(error))
    assert error.__cause__ is not None


def test_what_a_package_needs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "fickle", "import what_it_needs")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert str(failed("fickle", "fickle")) == f"fickle is installed, but what_it_needs is not; {LINE}"


def test_a_stop_is_no_failure() -> None:
    with pytest.raises(KeyboardInterrupt), optional("numpy", "probe"):
        raise KeyboardInterrupt


def test_require_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "fickle", "raise OSError")
    monkeypatch.syspath_prepend(str(tmp_path))
    require("hf", "fickle")
    with pytest.raises(ImportError, match=r"nowhere-at-all is not installed; run: pip install 'edgeorder\[hf\]'"):
        require("hf", "fickle", "nowhere-at-all")
