"""What can go wrong, as types.

EdgeOrderError
├── BudgetError      a budget that cannot be met (also a ValueError)
├── CounterError     a token counter that cannot be loaded or gave no count (also a RuntimeError)
├── RerankError      a scorer that failed or gave unusable scores (also a RuntimeError)
└── ReviewNeeded     a ranking that a person should see before anything is sent

Wrong arguments raise plain `ValueError` and `TypeError`. `EdgeOrderWarning` is the category of every
warning, so that `warnings.simplefilter("error", EdgeOrderWarning)` turns them all into errors.
"""

import sys
from collections.abc import Iterable
from typing import Any


class EdgeOrderError(Exception):
    """Base of the errors that edgeorder defines itself."""


class BudgetError(EdgeOrderError, ValueError):
    """The token budget leaves no room, or `overflow="error"` met a chunk that does not fit."""


class CounterError(EdgeOrderError, RuntimeError):
    """A token counter could not be loaded, failed, or returned something that is no count."""


class RerankError(EdgeOrderError, RuntimeError):
    """A scorer failed, or returned something other than one score for each text."""


class ReviewNeeded(EdgeOrderError):  # noqa: N818 - it is no fault
    """A ranking that a person should see before anything is sent.

    Attributes:
        ranking: The `Ranking`.
    """

    def __init__(self, ranking: Any) -> None:
        super().__init__(f"this ranking needs a review: {'; '.join(ranking.reasons)}")
        self.ranking = ranking

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.ranking,)


class EdgeOrderWarning(UserWarning):
    """Something the caller should know, although a result could be given."""


def bad_choice(field: str, value: object, choices: Iterable[str]) -> ValueError:
    """Return the error for a value outside a fixed set, naming the value and the choices."""
    return ValueError(f"{field}={value!r} is not one of: {', '.join(choices)}")


def missing_extra(package: str, extra: str) -> ImportError:
    """Return the error for an optional dependency that cannot be imported, naming the line that helps.

    Call it where the import failed: a package that is there but fails to import is told from one that is not.

    Args:
        package: The distribution, as pip knows it.
        extra: The extra of edgeorder that installs it.
    """
    from importlib.metadata import PackageNotFoundError, version

    error = sys.exception()
    line = f"run: pip install 'edgeorder[{extra}]'"
    try:
        installed: str | None = version(package)
    except PackageNotFoundError:
        installed = None
    # Only a whole package that is not found, never a part of one, is mended by installing something more.
    absent = error.name if isinstance(error, ModuleNotFoundError) and "." not in (error.name or ".") else None
    if not isinstance(error, ImportError) or installed is None or absent == package.replace("-", "_"):
        return ImportError(f"{package} is not installed; {line}")
    if absent:
        return ImportError(f"{package} is installed, but {absent} is not; {line}")
    return ImportError(
        f"{package} {installed} is installed but fails to import: {error}; "
        f"mend it with: pip install --force-reinstall {package}"
    )
