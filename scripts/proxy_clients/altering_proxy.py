"""Passes requests on as the proxy under test would, but alters something, to show that the comparison finds it.

`MODES` names the alterations, with the letter of the table that must show each; "faithful" alters nothing.
"""

from __future__ import annotations

import socket

from . import wire

MODES = {
    "faithful": "",
    "request header changed": "q",
    "request header added": "q",
    "request header lost": "q",
    "request target changed": "q",
    "request body altered by a byte": "q",
    "answer header changed": "w",
    "answer header of a repeated name lost": "w",
    "answer body altered by a byte": "w",
    "answer altered for clients": "r",
    "stream held back": "b",
    "broken stream ended as if it were whole": "w",
}


class AlteringProxy:
    """Listens on a free port of loopback, takes the base path `/TOKEN/UPSTREAM` off, and closes each connection after an answer."""

    def __init__(self, upstream_port: int, base: str, mode: str):
        self.upstream_port, self.base, self.mode = upstream_port, base, mode
        self.listener = wire.listen(0)
        self.port = self.listener.getsockname()[1]
        wire.serve_each(self.listener, self.serve)

    def close(self):
        self.listener.close()

    def serve(self, connection: socket.socket):
        try:
            with connection, connection.makefile("rb") as stream:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                request = wire.read_request(stream, connection)
                if request:
                    with wire.connect(self.upstream_port) as above:
                        above.sendall(self.altered(request))
                        self.relay(above, connection)
        except (OSError, wire.Broken):
            return

    def altered(self, request: wire.Request) -> bytes:
        target = "/" + request.target.removeprefix(self.base + "/").partition("/")[2]
        headers, body = [header for header in request.head.end_to_end() if header[0].lower() != "host"], request.body
        headers = [("Host", f"{wire.LOOPBACK}:{self.upstream_port}"), *headers, ("Connection", "close")]
        if "chunked" in request.head.tokens("transfer-encoding"):
            headers.append(("Transfer-Encoding", "chunked"))
        if self.mode == "request header changed":
            headers = [(name, value + " altered" if name.lower() == "user-agent" else value) for name, value in headers]
        elif self.mode == "request header added":
            headers.append(("Via", "1.1 altered"))
        elif self.mode == "request header lost":
            headers = [header for header in headers if header[0].lower() != "accept"]
        elif self.mode == "request target changed":
            target += "&" if "?" in target else "?"
        elif self.mode == "request body altered by a byte":
            body = body.replace(b"Please", b"please")
        if "chunked" in request.head.tokens("transfer-encoding"):
            body = (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
        return wire.Head(f"{request.method} {target} HTTP/1.1", headers).encode() + body

    def relay(self, above: socket.socket, connection: socket.socket):
        if self.mode == "stream held back":
            stream = above.makefile("rb")
            whole = stream.read()
            connection.sendall(whole)
            return
        chunked, end = False, b""
        while piece := above.recv(65536):
            chunked, end = chunked or b"Transfer-Encoding: chunked" in piece, (end + piece)[-5:]
            if self.mode == "answer header changed":
                piece = piece.replace(b"kept; as=it is", b"kept; as=it IS")
            elif self.mode == "answer header of a repeated name lost":
                piece = piece.replace(b"Set-Cookie: first=1; Path=/\r\n", b"")
            elif self.mode == "answer body altered by a byte":
                piece = piece.replace(b"tide", b"tidE")
            elif self.mode == "answer altered for clients":
                piece = piece.replace(b"six", b"siX")
            connection.sendall(piece)
        if self.mode == "broken stream ended as if it were whole" and chunked and end != b"0\r\n\r\n":
            connection.sendall(b"0\r\n\r\n")
