"""Runs every scenario of every client each way, compares, and prints the table.

- `Way`: how a client reaches the fake provider: directly, or by a base path
- `Trial`: learns from two direct runs what varies by itself, then compares another way with them
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from . import compare, drive, replay, wire
from .upstream import Upstream

TIMES = 3
"""How often a stream must seem held back before it is said: a busy computer delays a first piece too."""
FAILING = ("error-", "stream-cut")
"""Scenarios in which calls are to fail."""


@dataclass
class Way:
    """`seen` says whether the base path arrives at the provider: a proxy takes it off."""

    port: int
    path: str = ""
    seen: bool = False
    openai_path: str = "/v1"

    def base(self, protocol: str) -> str:
        return f"{self.path}/{protocol}" if self.path else ""

    def bases(self) -> dict[str, str]:
        bases = {name: f"http://{wire.LOOPBACK}:{self.port}{self.base(name)}" for name in ("openai", "anthropic", "gemini", "ollama")}
        return {**bases, "openai_path": self.openai_path}

    def target(self, protocol: str, target: str) -> str:
        """The target by which this way leads to a target of the provider."""
        if protocol == "openai":
            target = self.openai_path + target.removeprefix("/v1")
        return self.base(protocol) + target

    def stripped(self, protocol: str, requests: list[wire.Request]) -> list[wire.Request]:
        """Requests as the provider had them, without the base path if it arrives there."""
        if not self.seen:
            return requests
        stripped = []
        for request in requests:
            method, target, version = request.head.first.split(" ")
            head = wire.Head(f"{method} {target.removeprefix(self.base(protocol))} {version}", request.head.headers)
            stripped.append(wire.Request(head, request.body))
        return stripped


def proxied(address: str, openai_path: str) -> Way:
    parts = urlsplit(address)
    if parts.scheme != "http" or parts.hostname not in (wire.LOOPBACK, "localhost") or not parts.port:
        raise RuntimeError(f"{address} is not of the form http://127.0.0.1:PORT/TOKEN")
    return Way(parts.port, parts.path.rstrip("/"), False, openai_path)


@dataclass
class Cell:
    """What a client did in a scenario in a run, and what a plain socket had for the same requests."""

    told: list
    requests: list[wire.Request]
    again: list[replay.Reply] = field(default_factory=list)
    again_requests: list[wire.Request] = field(default_factory=list)


def protocol(client: str) -> str:
    return client.split("-")[1]


class Trial:
    def __init__(self, folder: Path, port: int = 0, clients: str = "", scenarios: str = "", strict: bool = False):
        self.folder, self.strict = folder, strict
        self.clients, self.scenarios = clients, [name for name in scenarios.split(",") if name]
        self.upstream = Upstream(port)
        self.direct = Way(self.upstream.port)
        self.versions: dict[str, str] = {}

    def run(self, way: Way) -> dict[tuple[str, str], Cell]:
        """Has each client run each scenario one way."""
        cells = {}
        for language in ("python", "javascript"):
            with drive.Program(self.folder, language, way.bases()) as program:
                self.versions |= program.versions
                for client, scenario in program.offers:
                    if not re.search(self.clients, client) or (self.scenarios and scenario not in self.scenarios):
                        continue
                    self.upstream.take()
                    told = program.run(client, scenario)
                    cells[client, scenario] = Cell(told, way.stripped(protocol(client), self.upstream.take()))
        return cells

    def learn(self):
        """Runs directly twice, notes what varies by itself, and sends each request again over a plain socket."""
        print("direct, twice ...", file=sys.stderr)
        self.first, second = self.run(self.direct), self.run(self.direct)
        if not self.first:
            raise RuntimeError("no client or no scenario of that name")
        self.left_out: dict[str, set[str]] = {}
        self.unsteady = {}
        for key, cell in self.first.items():
            names = compare.volatile(cell.requests, second[key].requests)
            self.left_out.setdefault(key[0], set()).update(names)
        for key, cell in self.first.items():
            found = compare.Findings(True)
            compare.compare_requests(found, "direct request", cell.requests, second[key].requests, self.left_out[key[0]])
            compare.compare_results(found, cell.told, second[key].told)
            failed = next((part for part in cell.told if isinstance(part, dict) and ("error" in part and "words" in part or "harness" in part)), None)
            if failed and not key[1].startswith(FAILING):
                found.differ("x", f"the direct call failed: {failed}")
            if not cell.requests or not cell.told:
                found.differ("x", "no request was sent, or nothing was returned")
            self.unsteady[key] = [("x", f"direct runs differ: {words}" if kind != "x" else words) for kind, words in found.differences]
        self.upstream.take()
        for (client, _), cell in self.first.items():
            cell.again = [self.again(self.direct, client, request) for request in cell.requests]
            cell.again_requests = self.upstream.take()

    def again(self, way: Way, client: str, request: wire.Request) -> replay.Reply:
        try:
            return replay.send(way.port, request, way.target(protocol(client), request.target))
        except (OSError, wire.Broken, ValueError) as error:
            return replay.Reply("none", str(error), [], b"", False, False, 0)

    def reach(self, way: Way):
        """Fails where nothing answers, so that no client waits for it some hundred times."""
        for client, cell in {protocol(client): (client, cell) for (client, _), cell in self.first.items() if cell.requests}.values():
            reply = self.again(way, client, cell.requests[0])
            if reply.status == "none":
                raise RuntimeError(f"nothing answers at http://{wire.LOOPBACK}:{way.port}{way.base(protocol(client))}: {reply.reason}")

    def compare(self, way: Way) -> dict[tuple[str, str], compare.Findings]:
        """Runs another way, and says for each cell what differs from the direct run."""
        self.reach(way)
        found = {}
        for key, other in self.run(way).items():
            client, cell = key[0], self.first[key]
            cells = found[key] = compare.Findings(self.strict)
            cells.differences += self.unsteady[key]
            compare.compare_requests(cells, "request", cell.requests, other.requests, self.left_out[client])
            compare.compare_results(cells, cell.told, other.told)
        for (client, scenario), cells in found.items():
            cell, arrived = self.first[client, scenario], []
            self.upstream.take()
            for number, (request, one) in enumerate(zip(cell.requests, cell.again), 1):
                other = self.again(way, client, request)
                arrived += self.upstream.take()
                compare.compare_replies(cells, f"raw answer {number}", one, other)
                for _ in range(TIMES - 1):
                    if not compare.held_back(one, other):
                        break
                    other = self.again(way, client, request)
                    self.upstream.take()
                if compare.held_back(one, other):
                    spread = f"{other.spread * 1000:.0f} ms from head to last piece, not {one.spread * 1000:.0f} ms"
                    cells.differ("b", f"raw answer {number}: the stream is held back: {spread}")
            # Nothing varies by itself where the same bytes are sent both ways, so nothing is left out.
            compare.compare_requests(cells, "raw request", cell.again_requests, way.stripped(protocol(client), arrived))
        return found


LEGEND = "= equal · q requests, r results of the client, w raw answers differ · b stream held back · x direct runs fail or differ · . not offered"


def table(found: dict[tuple[str, str], compare.Findings]) -> str:
    clients = list(dict.fromkeys(client for client, _ in found))
    scenarios = list(dict.fromkeys(scenario for _, scenario in found))
    width = max(len(client) for client in clients)
    lines = [" " * width + "  " + "  ".join(scenarios)]
    for client in clients:
        row = [client.ljust(width)]
        for scenario in scenarios:
            cell = found.get((client, scenario))
            letters = "." if cell is None else "".join(dict.fromkeys(kind for kind, _ in cell.differences)) or "="
            row.append(letters.ljust(len(scenario)))
        lines.append("  ".join(row).rstrip())
    return "\n".join(lines)


def report(trial: Trial, found: dict[tuple[str, str], compare.Findings], most: int = 60) -> bool:
    """Prints the table and what differs; says whether all is equal."""
    print(", ".join(f"{name} {version}" for name, version in sorted(trial.versions.items())))
    print(table(found))
    print(LEGEND)
    left_out = {client: names for client, names in trial.left_out.items() if names}
    for client, names in left_out.items():
        print(f"left out, as they vary by themselves: {client}: {', '.join(sorted(names))}")
    if not left_out:
        print("no header of a request varies by itself")
    notes = Counter(re.sub(r" \d+:", ":", note) for cell in found.values() for note in cell.notes)
    for note, count in sorted(notes.items()):
        print(f"note: {note} ({count} times)")
    differences = [(key, words) for key, cell in found.items() for _, words in cell.differences]
    for (client, scenario), words in differences[:most]:
        print(f"{client} {scenario}: {words}")
    if len(differences) > most:
        print(f"... and {len(differences) - most} more")
    requests = sum(len(trial.first[key].requests) for key in found)
    unequal = sum(1 for cell in found.values() if cell.differences)
    print(f"{len(found) - unequal} of {len(found)} cells are equal ({requests} requests by clients each way, {requests} by a plain socket)")
    return not differences
