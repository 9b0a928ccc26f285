"""A real HTTP server that answers, fails and stalls as it is told."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Endpoint(ThreadingHTTPServer):
    """An OpenAI-compatible endpoint. `script` holds what comes next: a status, a body, or seconds to stall.

    Beyond the script it answers every prompt with its last word.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[int | float | str | dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.most_at_once = self.at_once = 0
        self.pause = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


def completion(text: str | None, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """Return a chat completion."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 40, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 30}}
    return {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage, **more}


class Handler(BaseHTTPRequestHandler):
    server: Endpoint
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms for the client's acknowledgement

    def do_POST(self) -> None:
        server = self.server
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.asked.append(request)
        step = server.script.pop(0) if server.script else completion(request["messages"][0]["content"].split()[-1])
        server.at_once += 1
        server.most_at_once = max(server.most_at_once, server.at_once)
        time.sleep(step if isinstance(step, float) else server.pause)
        server.at_once -= 1
        status, body = 200, step
        if isinstance(step, int | float):
            status, body = int(step) if isinstance(step, int) else 200, {"error": {"message": f"status {step}"}}
        elif isinstance(step, dict) and "status" in step:
            status, body = step["status"], {"error": step}
        sent = (body if isinstance(body, str) else json.dumps(body)).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.send_header("retry-after-ms", "20")
            self.end_headers()
            self.wfile.write(sent)
        except OSError:
            self.close_connection = True  # a client that did not wait

    def log_message(self, *args: Any) -> None:
        pass
