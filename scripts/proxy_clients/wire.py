"""Reads and writes HTTP/1.1 on plain sockets, and keeps the bytes as they came.

Names of headers keep their case and their order; nothing is decoded but the framing of chunked bodies.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

LOOPBACK = "127.0.0.1"
LIMIT = 128 * 1024 * 1024
"""Longer bodies are refused: none of the scenarios comes near it."""

HOP_BY_HOP = {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
              "trailers", "transfer-encoding", "upgrade"}


class Broken(Exception):
    """The other side sent something that is not HTTP/1.1, or stopped in the middle."""


@dataclass
class Head:
    """The first line of a message, and its header lines in order."""

    first: str
    headers: list[tuple[str, str]] = field(default_factory=list)

    def get(self, name: str) -> str | None:
        """The value of the first header of that name."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    def tokens(self, name: str) -> set[str]:
        """The words of a list header, in lower case."""
        return {word.strip().lower() for key, value in self.headers if key.lower() == name for word in value.split(",")}

    def end_to_end(self) -> list[tuple[str, str]]:
        """The headers that a proxy must pass on."""
        dropped = HOP_BY_HOP | self.tokens("connection")
        return [(name, value) for name, value in self.headers if name.lower() not in dropped]

    def encode(self) -> bytes:
        lines = [self.first, *(f"{name}: {value}" for name, value in self.headers), "", ""]
        return "\r\n".join(lines).encode("latin-1")


@dataclass
class Request:
    """A request as it came: `body` is without the framing of chunks."""

    head: Head
    body: bytes

    @property
    def method(self) -> str:
        return self.head.first.split(" ")[0]

    @property
    def target(self) -> str:
        return self.head.first.split(" ")[1]


def read_head(stream) -> Head | None:
    """Reads a head; None where the other side closed before it sent a byte."""
    first = stream.readline(65537)
    if not first:
        return None
    head = Head(first.decode("latin-1").rstrip("\r\n"))
    while True:
        line = stream.readline(65537)
        if not line.endswith(b"\n"):
            raise Broken("the head ends in the middle of a line")
        line = line.rstrip(b"\r\n")
        if not line:
            return head
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon:
            raise Broken(f"a header line without a colon: {name[:40]}")
        head.headers.append((name, value.strip(" \t")))


def read_exactly(stream, length: int) -> bytes:
    if length > LIMIT:
        raise Broken(f"a body of {length} bytes")
    body = stream.read(length)
    if len(body) != length:
        raise Broken("the body ends early")
    return body


def chunks(stream):
    """Yields the chunks of a chunked body, without their framing."""
    while True:
        line = stream.readline(1024)
        try:
            size = int(line.split(b";")[0], 16)
        except ValueError:
            raise Broken("the body ends early" if not line else "a chunk without a size") from None
        if size == 0:
            while stream.readline(65537) not in (b"\r\n", b"\n", b""):
                pass
            return
        chunk = read_exactly(stream, size)
        if stream.readline(3) != b"\r\n":
            raise Broken("a chunk without an end")
        yield chunk


def read_request(stream, connection: socket.socket) -> Request | None:
    """Reads a request with its body; None where the connection has ended."""
    head = read_head(stream)
    if head is None:
        return None
    if len(head.first.split(" ")) != 3:
        raise Broken(f"a request line of another form: {head.first[:80]}")
    if "100-continue" in head.tokens("expect"):
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in head.tokens("transfer-encoding"):
        return Request(head, b"".join(chunks(stream)))
    length = head.get("content-length")
    return Request(head, read_exactly(stream, int(length)) if length else b"")


def connect(port: int) -> socket.socket:
    connection = socket.create_connection((LOOPBACK, port), timeout=30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def listen(port: int) -> socket.socket:
    """Listens on loopback only; port 0 takes a free one."""
    listener = socket.create_server((LOOPBACK, port), backlog=128)
    return listener


def serve_each(listener: socket.socket, serve: Callable[[socket.socket], None]) -> None:
    """Serves each connection in a thread of its own, until the listener is closed."""

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
