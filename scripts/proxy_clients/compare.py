"""Compares requests, results of clients and raw answers, and says in words what differs.

Differences are what a provider or a client can see. Case and order of headers, the reason behind a status
and how a broken connection ended mean nothing to either; they are notes, and differences only where `strict` is asked for.
"""

from __future__ import annotations

import json
import re

from .replay import Reply
from .wire import Request

UNTOLD = {"date", "connection", "transfer-encoding", "keep-alive"}
"""Headers of answers that belong to a connection, or to the moment."""


class Findings:
    """What was found in one cell of the table: differences by kind, and notes."""

    def __init__(self, strict: bool = False):
        self.strict = strict
        self.differences: list[tuple[str, str]] = []
        self.notes: list[str] = []

    def differ(self, kind: str, words: str):
        self.differences.append((kind, words))

    def note(self, kind: str, words: str):
        if self.strict:
            self.differ(kind, words)
        else:
            self.notes.append(words)


def excerpt(one: bytes, other: bytes) -> str:
    """Where two byte strings part, with what stands there."""
    at = next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    return f"at byte {at} of {len(one)} and {len(other)}: {one[max(0, at - 12) : at + 28]!r}, not {other[max(0, at - 12) : at + 28]!r}"


def by_name(headers) -> list[tuple[str, str]]:
    """Headers by name in lower case; lines of one name stay in their order."""
    return sorted(((name.lower(), value) for name, value in headers), key=lambda header: header[0])


def compare_headers(found: Findings, kind: str, where: str, one, other, left_out=frozenset()):
    one = [(name, value) for name, value in one if name.lower() not in left_out]
    other = [(name, value) for name, value in other if name.lower() not in left_out]
    a, b = by_name(one), by_name(other)
    if a != b:
        lost = [header for header in a if header not in b]
        added = [header for header in b if header not in a]
        told = [f"without {name}: {value[:80]}" for name, value in lost] + [f"with {name}: {value[:80]}" for name, value in added]
        found.differ(kind, f"{where}: headers {'; '.join(told) or 'that repeat, in another order or number'}")
        return
    if sorted(name for name, _ in one) != sorted(name for name, _ in other):
        found.note(kind, f"{where}: names of headers in another case")
    if [name.lower() for name, _ in one] != [name.lower() for name, _ in other]:
        found.note(kind, f"{where}: headers in another order")


def unbound(request: Request):
    """Headers and body of a request, with a multipart boundary, which is drawn for each request, replaced by one word."""
    headers, body = request.head.end_to_end(), request.body
    found = re.search(r'multipart/.*boundary="?([^";]+)"?', request.head.get("content-type") or "")
    if found:
        boundary = found.group(1)
        headers = [(name, value.replace(boundary, "BOUNDARY")) for name, value in headers]
        body = body.replace(boundary.encode(), b"BOUNDARY")
    return headers, body


def compare_requests(found: Findings, where: str, one: list[Request], other: list[Request], left_out=frozenset()):
    """Compares the requests of two runs; their targets must be without the base path."""
    if len(one) != len(other):
        found.differ("q", f"{where}: {len(other)} requests instead of {len(one)}")
    for number, (a, b) in enumerate(zip(one, other), 1):
        place = f"{where} {number}"
        if a.method != b.method:
            found.differ("q", f"{place}: method {b.method}, not {a.method}")
        if a.target != b.target:
            found.differ("q", f"{place}: target {b.target}, not {a.target}")
        (a_headers, a_body), (b_headers, b_body) = unbound(a), unbound(b)
        compare_headers(found, "q", place, a_headers, b_headers, {"host", *left_out})
        if a_body != b_body:
            found.differ("q", f"{place}: body differs {excerpt(a_body, b_body)}")


def volatile(one: list[Request], other: list[Request]) -> set[str]:
    """Names of headers that differ between the requests of two direct runs."""
    names = set()
    for a, b in zip(one, other):
        a_lines, b_lines = by_name(unbound(a)[0]), by_name(unbound(b)[0])
        names |= {name for name, value in a_lines if (name, value) not in b_lines} | {name for name, value in b_lines if (name, value) not in a_lines}
    return names - {"host"}


def settled(value):
    """What a client returned, without what may differ: headers of the connection, and the case of headers' names."""
    if isinstance(value, dict):
        return {key: {name.lower(): text for name, text in inner.items() if name.lower() not in UNTOLD}
                if key == "headers" and isinstance(inner, dict) else settled(inner) for key, inner in value.items()}
    return [settled(inner) for inner in value] if isinstance(value, list) else value


def compare_results(found: Findings, one, other):
    def text(value, causes: bool) -> bytes:
        parts = [{**part, "cause": None} if not causes and isinstance(part, dict) and "cause" in part else part for part in settled(value)]
        return json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()

    if text(one, False) != text(other, False):
        found.differ("r", f"result differs {excerpt(text(one, True), text(other, True))}")
    elif text(one, True) != text(other, True):
        found.note("r", "another cause behind a client's error, such as a connection reset instead of ended")


def compare_replies(found: Findings, where: str, one: Reply, other: Reply):
    if one.status != other.status:
        found.differ("w", f"{where}: status {other.status}, not {one.status}")
    if one.reason != other.reason:
        found.note("w", f"{where}: another reason behind the status")
    if one.complete != other.complete:
        found.differ("w", f"{where}: the answer {'ends early' if one.complete else 'is ended as if it were whole'}")
    compare_headers(found, "w", where, one.headers, other.headers, UNTOLD)
    if one.body != other.body:
        found.differ("w", f"{where}: body differs {excerpt(one.body, other.body)}")


def held_back(one: Reply, other: Reply) -> bool:
    """Whether a stream that came in pieces directly came at once the other way."""
    return one.chunked and one.spread > 0.03 and other.spread < one.spread / 3
