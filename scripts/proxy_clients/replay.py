"""Sends a recorded request again over a plain socket, directly or through a proxy, and keeps the answer's raw bytes."""

from __future__ import annotations

import time
from dataclasses import dataclass

from . import wire


@dataclass
class Reply:
    """An answer as it came: `body` is without the framing of chunks but still compressed; `spread` is how many seconds lay between
    the head and the body's last piece."""

    status: str
    reason: str
    headers: list[tuple[str, str]]
    body: bytes
    complete: bool
    chunked: bool
    spread: float


def send(port: int, request: wire.Request, target: str) -> Reply:
    """Sends the request's bytes to a port with another target and Host, all else as it was recorded."""
    framed = "chunked" in request.head.tokens("transfer-encoding")
    host = f"{wire.LOOPBACK}:{port}"
    headers = [(name, host if name.lower() == "host" else value) for name, value in request.head.headers]
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(request.body), request.body) if framed and request.body else b"0\r\n\r\n" if framed else request.body
    with wire.connect(port) as connection, connection.makefile("rb") as stream:
        connection.sendall(wire.Head(f"{request.method} {target} HTTP/1.1", headers).encode() + body)
        while True:
            head = wire.read_head(stream)
            if head is None:
                raise wire.Broken("no answer")
            _, status, *reason = head.first.split(" ", 2)
            if not status.startswith("1"):
                break
        began = last = time.monotonic()
        chunked, length = "chunked" in head.tokens("transfer-encoding"), head.get("content-length")
        pieces, complete = [], True
        try:
            if chunked:
                for piece in wire.chunks(stream):
                    last = time.monotonic()
                    pieces.append(piece)
            elif length is not None:
                pieces.append(wire.read_exactly(stream, int(length)))
            else:
                while piece := stream.read1(65536):
                    last = time.monotonic()
                    pieces.append(piece)
        except (OSError, wire.Broken):
            complete = False
        return Reply(status, "".join(reason), head.end_to_end(), b"".join(pieces), complete, chunked, last - began)
