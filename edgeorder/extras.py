"""Optional packages: what an import that fails says. One that is missing is told from one that is there and broken."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def optional(package: str, extra: str) -> Iterator[None]:
    """Import an optional package within; whatever goes wrong then is an `ImportError` with the line that helps.

    Args:
        package: The distribution, as pip knows it.
        extra: The extra of edgeorder that installs it.

    Raises:
        ImportError: If it is not installed, something that it needs is not, or it fails: a library that cannot be
            loaded and versions that do not fit together raise all kinds of errors.
    """
    try:
        yield
    except Exception as error:
        raise ImportError(_said(package, extra, error)) from error


def require(extra: str, *packages: str) -> None:
    """Raise `ImportError` if one of these packages is not installed, without importing it.

    Args:
        extra: The extra of edgeorder that installs them.
        packages: The distributions, whose modules are called the same.
    """
    from importlib.util import find_spec

    for package in packages:
        if find_spec(_module(package)) is None:
            raise ImportError(f"{package} is not installed; {_line(extra)}")


def _said(package: str, extra: str, error: Exception) -> str:
    from importlib.metadata import PackageNotFoundError, version

    # Only a whole package that is not found, never a part of one, is mended by installing something more.
    absent = error.name if isinstance(error, ModuleNotFoundError) and "." not in (error.name or ".") else None
    try:
        installed = version(package)
    except PackageNotFoundError:
        if absent or isinstance(error, ModuleNotFoundError):
            return f"{package} is not installed; {_line(extra)}"
        installed = "of no known version"
    if absent == _module(package):
        return f"{package} is not installed; {_line(extra)}"
    if absent:
        return f"{package} is installed, but {absent} is not; {_line(extra)}"
    said = " ".join(str(error).split())
    told = said if isinstance(error, ImportError) else f"{type(error).__name__}: {said}"
    return (
        f"{package} {installed} is installed but fails to import: {told}; "
        f"mend it with: pip install --force-reinstall {package}"
    )


def _module(package: str) -> str:
    return package.replace("-", "_")


def _line(extra: str) -> str:
    return f"run: pip install 'edgeorder[{extra}]'"
