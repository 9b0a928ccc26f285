"""What all tests share: properties are not timed, as others may use the machine, and its environment is nobody's."""

import re
from collections.abc import Iterator
from os import environ

import pytest
from hypothesis import HealthCheck, settings

# A test that sets its own `suppress_health_check` names `too_slow` there, too.
settings.register_profile("edgeorder", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("edgeorder")

# What colours or widens output, leads requests elsewhere, or brings a key.
_OWN = re.compile(r"FORCE_COLOR|NO_COLOR|CLICOLOR\w*|TTY_\w+|COLUMNS|LINES|(OPENAI|LANGSMITH|LANGCHAIN)_\w+")


@pytest.fixture(autouse=True, scope="session")
def _plain_environment() -> Iterator[None]:
    """Run all tests, and the processes that they start, without the settings of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(_OWN.fullmatch, list(environ)):
            patch.delenv(name)
        for name in ("NO_PROXY", "no_proxy"):  # the servers of the tests are on this machine
            patch.setenv(name, ",".join(filter(None, ["127.0.0.1", "localhost", environ.get(name)])))
        yield
