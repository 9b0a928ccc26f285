"""JSON over HTTP: whatever a server does, it ends in time, in one line, and the sync and the async face agree."""

import asyncio
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from faults.planted import KEY, whole_traceback
from faults.server import ENDLESS, FAULTS, RETRY_AFTER, FaultServer, body, refuse
from pydantic import SecretStr

from edgeorder.http import HttpError, address, apost, post

Face = Callable[..., Any]
SOON = 60  # seconds, far less than what would be waited in vain, and far more than a busy machine needs


def scores(data: Any) -> list[float]:
    found = [float(score) for score in data["scores"]]
    if not all(map(math.isfinite, found)):
        raise ValueError(f"no scores: {found}")
    return found


@pytest.fixture
def server() -> Iterator[FaultServer]:
    server = FaultServer(lambda request: {"scores": [len(text) for text in request["texts"]]})
    server.interval = 0.02
    with server.running():
        yield server


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest) -> Face:
    """Return what posts three texts and reads their scores."""

    def face(server: FaultServer, **options: Any) -> Any:
        given = (server.url, {"texts": ["a", "bb", "ccc"]}, scores)
        options = {"pause": 0.001, "timeout": 300, **options}
        return post(*given, **options) if request.param == "sync" else asyncio.run(apost(*given, **options))

    return face


def test_an_answer_is_read(server: FaultServer, face: Face) -> None:
    assert face(server, headers={"X-Key": "k"}) == [1, 2, 3]
    assert server.asked == [{"texts": ["a", "bb", "ccc"]}]
    assert server.headers[0]["X-Key"] == "k"


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_ends_in_time_and_in_one_line(server: FaultServer, face: Face, fault: str) -> None:
    server.always = FAULTS[fault]
    started = time.monotonic()
    headers = {"Authorization": SecretStr(f"Bearer {KEY}")}
    with pytest.raises(HttpError) as caught:
        face(server, timeout=0.2 if fault in ENDLESS else 300, limit=2**20, headers=headers)
    assert not [text for text in whole_traceback(caught.value) if KEY in text]
    assert time.monotonic() - started < SOON
    assert str(caught.value).isprintable()
    assert 3 < len(str(caught.value)) <= 300
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in ENDLESS])
def test_what_may_pass_is_tried_again_and_what_blames_the_request_is_not(server: FaultServer, fault: str) -> None:
    final = {"moved", "moved in a circle", "echo", "wait an hour", "400", "401", "403", "404", "413", "422"}
    server.script = [FAULTS[fault]]
    if fault in final:
        with pytest.raises(HttpError):
            post(server.url, {"texts": []}, scores, pause=0.01)
    else:
        assert post(server.url, {"texts": ["a"]}, scores, pause=0.01) == [1]
    assert len(server.asked) == (1 if fault in final else 2)


@pytest.mark.parametrize("asked", RETRY_AFTER)
def test_no_odd_wait_is_waited(server: FaultServer, asked: str) -> None:
    server.script = [refuse(429, f"Retry-After: {asked}")]
    started = time.monotonic()
    if asked.startswith("Fri, 31"):
        with pytest.raises(HttpError, match="it says"):
            post(server.url, {"texts": ["a"]}, scores, timeout=300)
    else:
        assert post(server.url, {"texts": ["a"]}, scores, pause=0.01, timeout=300) == [1]
    assert time.monotonic() - started < SOON


def test_a_wait_that_fits_is_kept(server: FaultServer) -> None:
    server.script = [refuse(429, "Retry-After: 0.3")]
    started = time.monotonic()
    assert post(server.url, {"texts": ["a"]}, scores, pause=0.01, timeout=300) == [1]
    assert time.monotonic() - started >= 0.3
    server.script = [refuse(503, "Retry-After: 600")]
    with pytest.raises(HttpError, match=r"503 \(wait 600 s, it says\)"):
        post(server.url, {"texts": ["a"]}, scores, timeout=300)


def test_no_cookie_is_sent_back(server: FaultServer, face: Face) -> None:
    server.script = [body(b'{"scores": [1]}', "Set-Cookie: session=me; Path=/")]
    assert [face(server), face(server)] == [[1], [1, 2, 3]]
    assert "Cookie" not in server.headers[1]


def test_where_nobody_listens(face: Face) -> None:
    server = FaultServer()
    server.server_close()
    with socket.socket() as taken:  # a port of its own, or another process might be given it meanwhile
        taken.bind(("127.0.0.1", 0))
        server.server_port = taken.getsockname()[1]
        with pytest.raises(HttpError, match="cannot be reached") as caught:
            face(server)
    assert not caught.value.reached


def test_many_threads_and_loops_share_it(server: FaultServer) -> None:
    """Two hundred calls at once, each from a loop or a thread of its own, and none waits for another."""
    server.pause = 0.01

    def ask(number: int) -> Any:
        given = (server.url, {"texts": ["x" * number]}, scores)
        return asyncio.run(apost(*given)) if number % 2 else post(*given)

    with ThreadPoolExecutor(200) as pool:
        assert list(pool.map(ask, range(200))) == [[number] for number in range(200)]


async def test_who_gives_up_waits_for_nothing(server: FaultServer) -> None:
    server.always = FAULTS["hang"]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await apost(server.url, {"texts": []}, scores, timeout=3600)
    server.always = None
    assert await apost(server.url, {"texts": ["a"]}, scores) == [1]


_FORK = """
import os, sys
from edgeorder.http import post
url = sys.argv[1]
first = post(url, {"texts": ["a"]}, lambda data: data["scores"])
if os.fork() == 0:
    os._exit(0 if post(url, {"texts": ["bb"]}, lambda data: data["scores"]) == [2] else 1)
_, status = os.wait()
assert first == [1] and os.waitstatus_to_exitcode(status) == 0
assert post(url, {"texts": ["ccc"]}, lambda data: data["scores"]) == [3]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_asks_too_and_all_end_in_silence(server: FaultServer) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", _FORK, server.url]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_an_address_is_told_from_its_credentials() -> None:
    url, headers = address("https://me:hush-hush@example.org:444/v1?a=b")
    assert url == "https://example.org:444/v1?a=b"
    assert headers["Authorization"].get_secret_value() == "Basic bWU6aHVzaC1odXNo"
    assert address(" http://localhost:1/v1 ") == ("http://localhost:1/v1", {})
    for bad in ("example.org", "ftp://x", "http://", "http://me:hush-hush@", "http://[::1", "http://x:y/hush-hush@z"):
        with pytest.raises(ValueError, match="is no address") as caught:
            address(bad)
        assert "hush" not in str(caught.value)
