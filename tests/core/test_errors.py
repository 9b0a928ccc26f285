"""What errors say, and what they keep to themselves."""

import importlib
from pathlib import Path

import pytest

from edgeorder.causes import presentable
from edgeorder.errors import missing_extra
from edgeorder.masking import masked


def install(folder: Path, package: str, code: str | None) -> None:
    """Put a distribution, and a module of that code if there is any, where Python looks for them."""
    info = folder / f"{package}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    if code is not None:
        (folder / f"{package}.py").write_text(code)


def imported(module: str, package: str) -> object:
    """Import a module as an optional part of edgeorder does."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing_extra(package, "rerank") from error


def what_is_said(module: str, package: str) -> tuple[str, BaseException | None]:
    """Return the text of the error that an import gives, and its cause."""
    with pytest.raises(ImportError) as caught:
        imported(module, package)
    return str(caught.value), caught.value.__cause__


def test_a_package_that_is_not_there_says_the_pip_line() -> None:
    """The line that installs it, as ever."""
    text, cause = what_is_said("nowhere_to_be_found", "nowhere-to-be-found")
    assert text == "nowhere-to-be-found is not installed; run: pip install 'edgeorder[rerank]'"
    assert isinstance(cause, ModuleNotFoundError)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "raise ImportError('libwhatever.so.3: cannot open shared object file')",
            "fickle 1.2 is installed but fails to import: libwhatever.so.3: cannot open shared object file; "
            "mend it with: pip install --force-reinstall fickle",
        ),
        ("from fickle import gone", "fickle 1.2 is installed but fails to import: cannot import name 'gone'"),
        ("import fickle.part", "fickle 1.2 is installed but fails to import: No module named 'fickle.part'"),
        ("import what_it_needs", "fickle is installed, but what_it_needs is not; run: pip install 'edgeorder[rerank]'"),
    ],
)
def test_a_broken_package_is_not_called_missing(
    code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there and fails to import is said to, with the reason; the cause is chained."""
    install(tmp_path, "fickle", code)
    monkeypatch.syspath_prepend(str(tmp_path))
    text, cause = what_is_said("fickle", "fickle")
    assert text.startswith(said)
    assert isinstance(cause, ImportError)


@pytest.mark.parametrize(
    ("text", "secrets", "safe"),
    [
        ("Illegal header value b'Bearer sk-abc12345\\n'", (), "Illegal header value b'Bearer ***\\n'"),
        ("no access with hf_abcDEF12345", (), "no access with ***"),
        ("GET http://me:pass@host:80/v1?key=abc&n=1 failed", (), "GET http://me:***@host:80/v1?key=***&n=1 failed"),
        ("{'api_key': 'abc', \"token\": \"def\"}", (), "{'api_key': '***', \"token\": \"***\"}"),
        ("the key plainly failed", ("plainly\n",), "the key *** failed"),
        ("Bearer authentication required", (None, " "), "Bearer authentication required"),
        (
            "max_tokens: 500, tokens: 7 at http://localhost:80/v1",
            (),
            "max_tokens: 500, tokens: 7 at http://localhost:80/v1",
        ),
    ],
)
def test_secrets_are_masked(text: str, secrets: tuple[str | None, ...], safe: str) -> None:
    """Known keys, and what looks like one; other text stays as it is."""
    assert masked(text, *secrets) == safe


def test_a_cause_that_holds_a_secret_is_not_shown() -> None:
    """Wherever it stands in the chain."""
    inner, outer, harmless = OSError("Bearer sk-abc12345"), ValueError("a wrapper"), ValueError("a wrapper")
    outer.__cause__ = inner
    inner.__context__ = outer  # chains that turn back end, too
    assert [presentable(error) for error in (inner, outer, harmless)] == [None, None, harmless]
