"""Serves a fake provider on loopback: it records each request byte for byte and gives the canned answer to it.

    python3 -m proxy_clients.upstream PORT      serves until it is stopped, and prints each request line

One port serves all protocols; `answers` says what is answered. Connections are kept alive, each has a thread.
"""

from __future__ import annotations

import socket
import sys
import threading
import time

from . import answers, wire

PAUSE = 0.015
"""Seconds between two pieces of a stream."""


class Upstream:
    """The fake provider. `take` gives the requests that came since it was last called."""

    def __init__(self, port: int = 0, told=None):
        self.told = told
        self.requests: list[wire.Request] = []
        self.lock = threading.Lock()
        self.listener = wire.listen(port)
        self.port = self.listener.getsockname()[1]
        wire.serve_each(self.listener, self.serve)

    def take(self) -> list[wire.Request]:
        with self.lock:
            taken, self.requests = self.requests, []
        return taken

    def close(self):
        self.listener.close()

    def serve(self, connection: socket.socket):
        with connection, connection.makefile("rb") as stream:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                while request := wire.read_request(stream, connection):
                    with self.lock:
                        self.requests.append(request)
                    if self.told:
                        self.told(request)
                    if not self.respond(connection, request):
                        return
            except (OSError, wire.Broken):
                return

    def respond(self, connection: socket.socket, request: wire.Request) -> bool:
        """Answers, and says whether the connection stays open."""
        answer = answers.answer(request)
        close = answer.cut or "close" in request.head.tokens("connection")
        headers = [*answer.headers, ("Connection", "close" if close else "keep-alive")]
        framing = ("Content-Length", str(len(answer.body))) if answer.pieces is None else ("Transfer-Encoding", "chunked")
        connection.sendall(wire.Head(f"HTTP/1.1 {answer.status}", [*headers, framing]).encode())
        if answer.pieces is None:
            connection.sendall(answer.body)
            return not close
        for piece in answer.pieces:
            time.sleep(PAUSE)
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        if answer.cut:
            time.sleep(PAUSE)
        else:
            connection.sendall(b"0\r\n\r\n")
        return not close


if __name__ == "__main__":
    served = Upstream(int(sys.argv[1]), lambda request: print(request.head.first, flush=True))
    print(f"fake provider on port {served.port}", flush=True)
    threading.Event().wait()
