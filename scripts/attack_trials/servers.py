"""Servers of language models that lie, hang, repeat keys or never end, and addresses that point inwards."""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .place import LONGEST_SECONDS, Home, Place, Row

KEY = "sk-" + "proj-" + "Zq7Lr2Vn9Xw4Kd8Tb3Hs6Jm1" * 2


class Server:
    """A server on this computer that counts its calls and answers with `answer`."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler, dict], None]):
        owner = self
        self.calls, self.bytes = 0, 0

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:  # noqa: N802
                owner.calls += 1
                answer(self, {})

            def do_POST(self) -> None:  # noqa: N802
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                owner.calls += 1
                owner.bytes += len(body)
                try:
                    answer(self, json.loads(body))
                except (BrokenPipeError, ConnectionError, ValueError):
                    pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.http.server_port}"

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


def reply(handler: BaseHTTPRequestHandler, content: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(content)


def chat(text: str, reason: str = "stop", usage: dict | None = None) -> bytes:
    message = {"role": "assistant", "content": text}
    usage = usage if usage is not None else {"prompt_tokens": 900, "completion_tokens": 40}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}).encode()


def extract(place: Place, home: Home, server: Server, tokens: int = 1_000_000, **more: str) -> dict:
    result = home.yore(
        "extract", "--all", "--extractor", "model", "--json", YORE_LLM__PROVIDER="openai-compatible", YORE_LLM__MODEL="m", YORE_LLM__ADDRESS=f"{server.address}/v1",
        YORE_LLM__DAILY_TOKENS=str(tokens), YORE_LLM__DAILY_DOLLARS="100", YORE_LLM__KEY_VARIABLE="TRIAL_KEY", TRIAL_KEY=KEY, YORE_LLM__TIMEOUT_SECONDS="5",
        seconds=LONGEST_SECONDS, **more)
    try:
        found = json.loads(result.out)
    except ValueError:
        found = {}
    return {**found, "text": result.text, "is_broken": result.is_broken}


def sessions_of(place: Place, name: str, count: int) -> Home:
    home = place.home(name)
    for number in range(count):
        place.transcript(home, [f"We decided to keep the leases of pier {number} in SQLite because it needs no server. {place.words(60)}" for _ in range(3)], day=number)
    home.yore("ingest", "--no-embed")
    return home


def usage(place: Place) -> Iterator[Row]:
    """A server that reports no tokens, or too few: the limit of the day still ends the calls."""
    empty = json.dumps({"items": [], "relations": [], "topic": None})
    for name, told in (("none", {"prompt_tokens": 0, "completion_tokens": 0}), ("too few", {"prompt_tokens": 1, "completion_tokens": 1}),
                       ("negative", {"prompt_tokens": -5, "completion_tokens": -5}), ("huge", {"prompt_tokens": 1 << 62, "completion_tokens": 0})):
        home = sessions_of(place, f"usage-{name}", 20)
        server = Server(lambda handler, _, told=told: reply(handler, chat(empty, usage=told)))
        extract(place, home, server, tokens=12_000)
        # A token is four bytes at the least of what English takes.
        spent = server.bytes // 4
        yield Row(f"usage {name}: more than a quarter over the limit was sent", server.calls, int(spent > 15_000), f"about {spent} tokens of 12,000")
        server.close()


def reasoning(place: Place) -> Iterator[Row]:
    """Answers that reasoning ate: asked in another way, a few times at the most, and not counted as read."""
    home = sessions_of(place, "reasoning", 3)
    asked: list[str] = []

    def eaten(handler: BaseHTTPRequestHandler, body: dict) -> None:
        asked.append(json.dumps(body, sort_keys=True))
        reply(handler, chat("", "length", {"prompt_tokens": 900, "completion_tokens": 8000}))

    server = Server(eaten)
    extract(place, home, server)
    again = server.calls
    report = extract(place, home, server)
    server.close()
    # Asked, asked with more room, and each half.
    yield Row("calls beyond four a session", again, max(0, again - 12), f"{again} calls for 3 sessions")
    yield Row("the same request again", again, again - len(set(asked[:again])))
    yield Row("sessions that count as read", 3, int(report.get("unchanged", 0) or 0))


def keys(place: Place) -> Iterator[Row]:
    """A server that repeats the key, also escaped and with characters of no width: it is neither stored nor printed."""
    failed = []
    forms = {"plain": KEY, "escaped": "".join(f"\\u{ord(c):04x}" for c in KEY), "with U+200B": "\u200b".join([KEY[:20], KEY[20:]])}
    for name, form in forms.items():
        home = sessions_of(place, f"key-{name}", 1)
        item = {"kind": "fact", "statement": f"The server's word is {form} for the lease.", "line": 1, "quote": "keep the leases", "ref": None,
                "entities": [], "confidence": 0.9, "closed": None}
        answer = json.dumps({"items": [item], "relations": [], "topic": None}, ensure_ascii=False)
        if name == "escaped":
            answer = answer.replace("\\\\u", "\\u")
        for status, content in ((200, chat(answer)), (401, f'{{"error": {{"message": "bad key {form}"}}}}'.encode())):
            server = Server(lambda handler, _, status=status, content=content: reply(handler, content, status))
            report = extract(place, home, server)
            server.close()
            shown = (report["text"] + home.yore("memories", "--all").text).replace("\u200b", "")
            stored = b"".join(path.read_bytes() for path in home.data.glob("yore.db*")).replace("\u200b".encode(), b"")
            if KEY in shown or KEY.encode() in stored:
                failed.append(f"{name} {status}")
    yield Row("answers with the key that were kept or shown", len(forms) * 2, len(failed), ", ".join(failed))


def answers(place: Place) -> Iterator[Row]:
    """Endless, slow, huge, packed, nested and redirecting answers: a clear end in time, no key sent on."""
    elsewhere = Server(lambda handler, _: reply(handler, chat("{}")))

    def endless(handler: BaseHTTPRequestHandler, _: dict) -> None:
        handler.send_response(200)
        handler.end_headers()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            handler.wfile.write(b" " * 65536)

    def slow(handler: BaseHTTPRequestHandler, _: dict) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(60):
            handler.wfile.write(b" ")
            time.sleep(1)

    packed = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packed.compress(b" " * 1_000_000) for _ in range(1000)) + packed.flush()
    cases: dict[str, Callable[[BaseHTTPRequestHandler, dict], None]] = {
        "endless": endless, "slow": slow, "gzip": lambda handler, _: reply(handler, bomb, Content_Encoding="gzip"),
        "nested": lambda handler, _: reply(handler, b"[" * 500_000), "empty": lambda handler, _: reply(handler, b""),
        "redirect": lambda handler, _: reply(handler, b"", 307, Location=f"{elsewhere.address}/v1/chat/completions"),
        "not JSON": lambda handler, _: reply(handler, b"<html>"), "no choices": lambda handler, _: reply(handler, b"{}"),
        "wrong types": lambda handler, _: reply(handler, chat('{"items": "x", "relations": 5}')),
    }
    broken = []
    for name, answer in cases.items():
        home = sessions_of(place, f"answer-{name}", 1)
        server = Server(answer)
        report = extract(place, home, server)
        if report["is_broken"]:
            broken.append(f"{name}: {report['text'][-60:]}")
        server.close()
    yield Row("answers that break it or hold it up", len(cases), len(broken), "; ".join(broken).replace("|", "/").replace("\n", " "))
    yield Row("requests sent on to another address", 1, elsewhere.calls)
    elsewhere.close()


def addresses(place: Place) -> Iterator[Row]:
    """Addresses of pages that point to this computer in many spellings: never connected to."""
    server = Server(lambda handler, _: reply(handler, b"<p>inside</p>", Content_Type="text/html"))
    port = server.http.server_port
    hosts = ["127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]",
             "user@127.0.0.1", "127.0.0.1.", "\uff11\uff12\uff17.0.0.1", "127.000.000.001", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"]
    home = place.home("addresses")
    for host in hosts:
        home.yore("ingest", f"http://{host}:{port}/x", seconds=20)
    for other in ("file:///etc/hostname", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x"):
        home.yore("ingest", other, seconds=20)
    yield Row("connections", len(hosts) + 3, server.calls)
    server.close()


ATTACKS = {"model-usage": usage, "model-reasoning": reasoning, "model-keys": keys, "model-answers": answers, "addresses": addresses}
