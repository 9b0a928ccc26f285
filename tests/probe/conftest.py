"""What the tests of the probe share."""

import threading
from collections.abc import Iterator

import pytest
from endpoints import Endpoint


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """Return a running endpoint."""
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
