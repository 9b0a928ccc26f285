"""A pytest plugin: the audit of a set of questions as a test, with thresholds that fail it.

def test_placement(edgeorder_audit):
    edgeorder_audit(retriever, EdgeOrder(budget=6000), questions)

pytest --edgeorder-max-not-retrieved 0.05 --edgeorder-max-weak 0.1
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

from edgeorder.checks import share

if TYPE_CHECKING:
    from edgeorder.auditing import Audit

_LIMITS = {
    "not_retrieved": ("not_retrieved",),
    "dropped": ("duplicate", "cut"),
    "shortened_away": ("shortened_away",),
    "weak": ("weak_position",),
    "lost": ("not_retrieved", "duplicate", "cut", "shortened_away"),
}
"""What each threshold counts."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the thresholds."""
    group = parser.getgroup("edgeorder", "audit of retrieved chunks")
    for name, kinds in _LIMITS.items():
        group.addoption(
            _option(name),
            type=float,
            default=None,
            metavar="SHARE",
            help=f"largest share (0..1) of questions whose gold chunk is: {', '.join(kinds)}",
        )


def _option(name: str) -> str:
    return f"--edgeorder-max-{name.replace('_', '-')}"


@pytest.fixture
def edgeorder_audit(request: pytest.FixtureRequest) -> "Callable[..., Audit]":
    """Return `audit(retriever, placer, cases, max_weak=..., ...)`, which fails the test beyond a threshold.

    A threshold given to the call goes before that of the command line; one outside 0..1, such as 10 for 10 %, raises
    `ValueError`: nothing would ever miss it.
    """

    def run(retriever: Any, placer: Any, cases: Iterable[Any], *, profile: Any = None, **limits: float) -> "Audit":
        from edgeorder.auditing import audit

        unknown = limits.keys() - {f"max_{name}" for name in _LIMITS}
        if unknown:
            raise TypeError(
                f"no threshold {sorted(unknown)}; there are: {', '.join(f'max_{name}' for name in _LIMITS)}"
            )
        given = {name: limits.get(f"max_{name}", request.config.getoption(_option(name))) for name in _LIMITS}
        allowed = {name: share(f"max_{name}", most) for name, most in given.items() if most is not None}
        found = audit(retriever, placer, cases, profile=profile)
        missed = []
        for name, most in allowed.items():
            kinds = _LIMITS[name]
            if found.share(*kinds) > most:
                low, high = found.interval(*kinds)
                missed.append(f"{name}: {found.share(*kinds):.1%} (95 % {low:.1%} to {high:.1%}), at most {most:.1%}")
        if missed:
            worst = "\n".join(f"  {row.question!r:.80}: {row.finding.sentence}" for row in found.worst())
            pytest.fail("the audit misses its thresholds: " + "; ".join(missed) + "\n" + worst, pytrace=False)
        return found

    return run
