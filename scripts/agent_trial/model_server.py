"""A model server on loopback that answers by a script and logs what it was asked.

- `ModelServer`: started with a function from request to answer; speaks every protocol of
  `protocols`, streaming and not, and answers what agents ask a provider besides
- `Logged`: one logged request
- `logged_in`: the requests of an earlier run
"""

from __future__ import annotations

import gzip
import json
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from . import protocols
from .conversation import Answer, Call, Request

MODEL = "trial-model"


@dataclass
class Logged:
    """A model request, when it came, and the label of the session that was running."""

    at: float
    label: str
    request: Request
    answer: Answer


class ModelServer:
    """Serves until `stop`. `label` names what is running now; requests are logged under it."""

    def __init__(self, script: Callable[[Request], Answer], log: Path) -> None:
        self.script = script
        self.requests: list[Logged] = []
        self.label = ""
        self.other: list[str] = []
        self.paths: list[str] = []
        self._log = log
        self._lock = threading.Lock()
        self._number = 0
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("")
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def of(self, label: str) -> list[Logged]:
        """The requests of a session."""
        with self._lock:
            return [logged for logged in self.requests if logged.label == label]

    def answer(self, request: Request, path: str, client: str = "") -> tuple[Answer, int]:
        with self._lock:
            self._number += 1
            number = self._number
        answer = self.script(request)
        with self._lock:
            self.requests.append(Logged(time.time(), self.label, request, answer))
            self.paths.append(path)
            calls = [{"name": call.name, "arguments": call.arguments, "text": call.text} for call in answer.calls]
            row = {"label": self.label, "path": path, "client": client, "request": request.raw, "answer": {"text": answer.text, "calls": calls, "error": answer.error}}
            with self._log.open("a", encoding="utf-8") as log:
                log.write(json.dumps(row) + "\n")
        return answer, number

    def note(self, line: str) -> None:
        """Logs a request that is no model request."""
        with self._lock:
            self.other.append(line)
            with self._log.open("a", encoding="utf-8") as log:
                log.write(json.dumps({"label": self.label, "other": line}) + "\n")


def logged_in(log: Path) -> list[Logged]:
    """The model requests of an earlier run, from its log."""
    found = []
    for line in log.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        path = row.get("path", "").split("?")[0]
        protocol = next((protocol for protocol in protocols.ALL if protocol.matches(path)), None)
        if protocol is None:
            continue
        told = row["answer"]
        calls = [Call(f"call{at}", call["name"], call["arguments"], call["text"]) for at, call in enumerate(told["calls"])]
        found.append(Logged(0.0, row["label"], protocol.decode(path, row["request"]), Answer(told["text"], calls, error=told.get("error"))))
    return found


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

        def do_GET(self) -> None:
            server.note(f"GET {self.path}")
            if self.path.split("?")[0].rstrip("/").endswith("/models"):
                entry = {"id": MODEL, "object": "model", "created": 1, "owned_by": "trial", "type": "model", "display_name": MODEL}
                self._json(200, {"object": "list", "data": [entry], "models": [], "has_more": False})
            else:
                self._json(404, {"error": {"message": "not served", "type": "not_found"}})

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            path = self.path.split("?")[0]
            body = self._body()
            protocol = next((protocol for protocol in protocols.ALL if protocol.matches(path)), None)
            if protocol is None:
                server.note(f"POST {self.path}")
                if path.endswith((":countTokens", "/count_tokens")):
                    self._json(200, {"totalTokens": 1_000, "input_tokens": 1_000})
                else:
                    self._json(404, {"error": {"message": "not served", "type": "not_found"}})
                return
            request = protocol.decode(path, body)
            answer, number = server.answer(request, self.path, self.headers.get("User-Agent", ""))
            if answer.error is not None:
                self._json(answer.error, protocol.error(answer.error))
            elif request.is_stream:
                self._stream("".join(protocol.events(answer, request, number)))
            else:
                self._json(200, protocol.whole(answer, request, number))

        def _body(self) -> dict[str, Any]:
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                data = b""
                while True:
                    size = int(self.rfile.readline().split(b";")[0], 16)
                    data += self.rfile.read(size)
                    self.rfile.readline()
                    if size == 0:
                        break
            else:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            encoding = self.headers.get("Content-Encoding", "")
            if encoding == "gzip":
                data = gzip.decompress(data)
            elif encoding == "deflate":
                data = zlib.decompress(data)
            try:
                value = json.loads(data or b"{}")
            except ValueError:
                return {}
            return value if isinstance(value, dict) else {}

        def _json(self, status: int, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self._write(data)

        def _stream(self, text: str) -> None:
            data = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-cache")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self._write(data)

        def _write(self, data: bytes) -> None:
            try:
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                # The agent gave up.
                pass

    return Handler
