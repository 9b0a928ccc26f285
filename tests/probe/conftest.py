"""What the tests of the probe share."""

from collections.abc import Iterator

import pytest
from endpoints import Endpoint


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """Return a running endpoint."""
    server = Endpoint()
    with server.running():
        yield server
