"""The fault server: a real HTTP server that answers JSON, fails, stalls and lies as it is told.

For models and scorers alike:

    with FaultServer(lambda request: {"scores": [0.0] * len(request["texts"])}).running() as server:
        server.script = [429, FAULTS["drop"]]  # the next two; what comes after is answered
        server.always = FAULTS["trickle"]      # or this, whenever the script is at its end
        ask(server.url)
        server.asked, server.headers           # what was received

`FAULTS` holds every fault by name, for `pytest.mark.parametrize("fault", FAULTS)`; `ENDLESS` names those that only a
deadline or a size limit ends, `RETRY_AFTER` odd values of that header, for `refuse(429, "Retry-After: ...")`.
"""

import gzip
import json
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Fault: TypeAlias = Callable[["Handler"], None]
Step: TypeAlias = int | float | str | bytes | dict[str, Any] | list[Any] | Fault
"""A status, seconds to stall before the answer, a body as it stands, JSON, `{"status": 400, ...}`, or a fault."""


class FaultServer(ThreadingHTTPServer):
    """Answers each POST by `answer(request)`, unless `script` or `always` says otherwise.

    Args:
        answer: From the JSON of a request to what is answered with status 200.

    Attributes:
        script: The next steps, in order.
        always: The step that follows the script, every time; None for the answer.
        asked: The JSON bodies that were received, in order.
        headers: Their headers.
        pause: Seconds before each answer.
        interval: Seconds between two bytes of a trickle.
        most_at_once: How many requests were in work side by side.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, answer: Callable[[Any], Any] = lambda request: {}) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.script: list[Step] = []
        self.always: Step | None = None
        self.asked: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.most_at_once = self.at_once = 0
        self.pause = 0.0
        self.interval = 1.0
        self.over = threading.Event()  # ends what hangs
        self._counting = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @contextmanager
    def running(self) -> Iterator["FaultServer"]:
        """Serve from a thread until the block ends."""
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            self.shutdown()
            thread.join()
            self.server_close()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a request as in work."""
        with self._counting:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            yield
        finally:
            with self._counting:
                self.at_once -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: FaultServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms for the client's acknowledgement

    def do_POST(self) -> None:
        server = self.server
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.headers.append(dict(self.headers))
        server.asked.append(request)
        step = server.script.pop(0) if server.script else server.always
        with server.counted():
            server.over.wait(step if isinstance(step, float) else server.pause)
        if step is None or isinstance(step, float):
            step = server.answer(request)
        try:
            if callable(step):
                self.close_connection = True
                step(self)
            else:
                self.answer(*_status_and_body(step))
        except OSError:
            self.close_connection = True  # a client that did not wait

    def answer(self, status: int, body: bytes, *headers: str) -> None:
        """Send an answer that is well-formed, if its headers are."""
        self.raw(f"HTTP/1.1 {status} Said\r\n", *(f"{header}\r\n" for header in (*_PLAIN, *headers)))
        self.raw(f"Content-Length: {len(body)}\r\n\r\n", body)

    def raw(self, *parts: str | bytes) -> None:
        """Send bytes as they stand."""
        self.wfile.write(b"".join(part if isinstance(part, bytes) else part.encode("latin-1") for part in parts))

    def log_message(self, *args: Any) -> None:
        pass


_PLAIN = ("Content-Type: application/json", "retry-after-ms: 20")


def _status_and_body(step: Any) -> tuple[int, bytes]:
    if isinstance(step, int):
        return step, json.dumps({"error": {"message": f"status {step}"}}).encode()
    if isinstance(step, dict) and "status" in step:
        return step["status"], json.dumps({"error": step}).encode()
    if isinstance(step, bytes):
        return 200, step
    return 200, (step if isinstance(step, str) else json.dumps(step)).encode()


def refuse(status: int, *headers: str) -> Fault:
    """Return an answer with that status and these headers."""
    body = json.dumps({"error": {"message": f"status {status}"}}).encode()
    return lambda handler: handler.raw(
        f"HTTP/1.1 {status} Said\r\n",
        *(f"{line}\r\n" for line in headers),
        f"Content-Length: {len(body)}\r\n\r\n",
        body,
    )


def body(sent: bytes, *headers: str) -> Fault:
    """Return an answer with status 200, this body and these headers."""
    return lambda handler: handler.answer(200, sent, *headers)


def _hang(handler: Handler) -> None:
    handler.server.over.wait()


def _hang_in_body(handler: Handler) -> None:
    handler.raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
    handler.server.over.wait()


def _trickle(handler: Handler) -> None:
    handler.raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not handler.server.over.wait(handler.server.interval):
        handler.raw(" ")


def _trickle_headers(handler: Handler) -> None:
    handler.raw("HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.server.over.wait(handler.server.interval):
        handler.raw("a")


def _interim(handler: Handler) -> None:
    while not handler.server.over.wait(0.001):
        handler.raw("HTTP/1.1 100 Continue\r\n\r\n")


def _drop(handler: Handler) -> None:
    pass


def _drop_in_body(handler: Handler) -> None:
    handler.raw('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"choices": [')


def _reset(handler: Handler) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def _huge(handler: Handler) -> None:
    handler.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not handler.server.over.is_set():
        handler.raw("10000\r\n", b" " * 0x10000, "\r\n")


def _huge_length(handler: Handler) -> None:
    handler.raw("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n")
    while not handler.server.over.is_set():
        handler.raw(b" " * 0x10000)


def _huge_header(handler: Handler) -> None:
    handler.raw("HTTP/1.1 200 OK\r\nX-Huge: ")
    with suppress(OSError):
        while not handler.server.over.is_set():
            handler.raw(b"a" * 0x10000)


def _gzip_bomb(handler: Handler) -> None:
    """Send 64 GiB of blanks in 64 MB: a block that was packed once, over and over."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(b" " * 2**20) + packer.flush(zlib.Z_FULL_FLUSH)
    handler.raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
    handler.raw(f"{len(head):x}\r\n", head, "\r\n")
    for _ in range(2**16):
        if handler.server.over.is_set():
            return
        handler.raw(f"{len(block):x}\r\n", block, "\r\n")


def _echo(handler: Handler) -> None:
    """Refuse the key and repeat it, with all that was sent."""
    said = f"Incorrect key: {dict(handler.headers)}"
    handler.answer(401, json.dumps({"error": {"message": said}}).encode())


def _echo_plain(handler: Handler) -> None:
    handler.answer(500, f"Traceback: {dict(handler.headers)}".encode(), "Content-Type: text/plain")


_HTML = b"<!doctype html><html><head><title>Log in</title></head><body>Welcome to the hotel</body></html>"

ENDLESS: dict[str, Fault] = {
    "hang": _hang,
    "hang in body": _hang_in_body,
    "trickle": _trickle,
    "trickle headers": _trickle_headers,
    "interim answers": _interim,
    "huge": _huge,
    "huge length": _huge_length,
    "huge header": _huge_header,
    "gzip bomb": _gzip_bomb,
}

FAULTS: dict[str, Fault] = {
    **ENDLESS,
    "drop": _drop,
    "drop in body": _drop_in_body,
    "reset": _reset,
    "no HTTP": lambda handler: handler.raw("SSH-2.0-OpenSSH_9.6\r\n"),
    "odd status": lambda handler: handler.raw("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"),
    "html": body(_HTML, "Content-Type: text/html"),
    "html error": lambda handler: handler.answer(502, _HTML, "Content-Type: text/html"),
    "empty": body(b""),
    "no content": refuse(204),
    "bad UTF-8": body(b'{"choices": [{"message": {"content": "\xff\xfe\xfa"}}], "scores": ["\xff"]}'),
    "bad gzip": body(b'{"choices": []}', "Content-Encoding: gzip"),
    "cut gzip": body(
        gzip.compress(b'{"choices": [], "pad": "%s"}' % bytes(range(97, 123)))[:-12], "Content-Encoding: gzip"
    ),
    "unknown encoding": body(b"\x8b\x02\x80{}\x03", "Content-Encoding: br"),
    "null": body(b"null"),
    "list": body(b"[]"),
    "number": body(b"7"),
    "string": body(b'"choices"'),
    "no object": body(b"{}"),
    "wrong types": body(b'{"choices": {"0": 1}, "scores": "all", "results": 3, "data": {"x": []}, "usage": [1]}'),
    "wrong elements": body(b'{"choices": [7], "scores": [{}], "results": [null], "data": ["x"]}'),
    "deep": body(b"[" * 100_000),
    "long number": body(b'{"choices": ' + b"9" * 5000 + b', "scores": [' + b"9" * 5000 + b"]}"),
    "not a number": body(b'{"choices": NaN, "scores": [NaN], "results": [{"index": Infinity}]}'),
    "moved": refuse(307, "Location: http://127.0.0.1:9/elsewhere"),
    "moved in a circle": refuse(308, "Location: /v1"),
    "wait an hour": refuse(429, "Retry-After: 3600"),
    "echo": _echo,
    "echo plain": _echo_plain,
    **{str(status): refuse(status) for status in (400, 401, 403, 404, 408, 413, 422, 429, 500, 503, 529)},
}

RETRY_AFTER = [
    "",
    "0",
    "-1",
    "soon",
    "1e400",
    "nan",
    "inf",
    "1 s",
    "9" * 5000,
    "\xb2",
    "Wed, 21 Oct 2015 07:28:00 GMT",
    "Fri, 31 Dec 9999 23:59:59 GMT",
    "Fri, 99 Dec 99999 99:99:99 +9999",
    "Mon, 01 Jan 0001 00:00:00 -1200",
]
