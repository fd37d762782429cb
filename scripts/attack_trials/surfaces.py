"""Every face of the program with mutated and odd input: hooks, MCP, configuration, settings of agents, the port, terminals."""

from __future__ import annotations

import json
import os
import pty
import select
import socket
import subprocess
import time
from collections.abc import Iterator

from .input_files import mutated
from .place import Home, Place, Row

CONTROL = "\x1b]0;T\x07\u009b31m\u202e\u2066\u200b\U000e0041\u2028x"
EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "PreCompact", "SessionEnd")
CALLS = (("recall", "--all", "tide"), ("sessions", "--all"), ("memories", "--all"), ("notes", "--all"), ("projects",), ("stats",), ("brief",), ("topics",),
         ("op", "log"), ("conflicts",), ("sources",), ("doctor",), ("memories", "entities"), ("review", "--list"))


def filled(place: Place, name: str) -> Home:
    home = place.home(name)
    place.corpus(home, 4, 8)
    home.yore("ingest", "--no-embed")
    return home


def hooks(place: Place) -> Iterator[Row]:
    """Hooks with mutated input: exit 0, JSON or nothing, no file outside the data directory."""
    home = filled(place, "hooks")
    tried, broken, slow = 0, [], 0.0
    outside = {path for path in home.path.rglob("*") if home.data not in path.parents}
    for number in range(place.times(200)):
        event = EVENTS[number % len(EVENTS)]
        record = {"session_id": place.random.choice(["s", "../../x", "a" * 5000, CONTROL]), "cwd": "/home/ada/p1", "hook_event_name": event,
                  "prompt": f"{place.words(6)} {CONTROL}", "transcript_path": "/none", "tool_name": "Bash", "tool_input": {"command": "x", "file_path": "a.rs"},
                  "tool_response": {"stderr": "error: tide gauge"}, "error": "error: tide gauge"}
        data = json.dumps(record).encode()
        began = time.monotonic()
        result = home.yore("hook", "claude-code", event, given=mutated(place, data) if number % 3 else data)
        slow = max(slow, time.monotonic() - began)
        tried += 1
        if result.code != 0 or result.is_broken:
            broken.append(f"{event}: {result.code}")
    written = {path for path in home.path.rglob("*") if home.data not in path.parents} - outside
    yield Row("calls that fail", tried, len(broken), f"longest {slow * 1000:.0f} ms {'; '.join(broken[:3])}")
    yield Row("files written outside the data directory", tried, len(written), ", ".join(map(str, list(written)[:3])))


def mcp(place: Place) -> Iterator[Row]:
    """MCP over standard input with mutated messages: it goes on answering, and ends with its input."""
    home = filled(place, "mcp")
    begin = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
             {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    tools = ["recall", "show", "brief", "sessions", "notes", "remember", "forget", "status", "nonsense"]
    failed, tried = [], 0
    for _ in range(place.times(10)):
        given = "".join(json.dumps(message) + "\n" for message in begin).encode()
        for number in range(60):
            arguments = place.random.choice([{"query": place.words(3)}, {"query": CONTROL}, {"text": "x" * 100_000}, {"id": "../x"}, {"limit": -1}, {}, [], None, "x"])
            message = {"jsonrpc": "2.0", "id": number + 10, "method": "tools/call", "params": {"name": place.random.choice(tools), "arguments": arguments}}
            data = json.dumps(message).encode()
            given += (mutated(place, data).replace(b"\n", b" ") if number % 2 else data) + b"\n"
            tried += 1
        given += json.dumps({"jsonrpc": "2.0", "id": 9999, "method": "tools/list"}).encode() + b"\n"
        result = home.yore("mcp", given=given, seconds=60)
        if result.is_broken or b'"id":9999' not in result.out.replace(b" ", b""):
            failed.append(f"{result.code} {result.text[-60:]}")
    yield Row("servers that end or no longer answer", tried, len(failed), "; ".join(failed[:2]).replace("|", "/").replace("\n", " "))


def configuration(place: Place) -> Iterator[Row]:
    """Mutated configuration files: a clear error or their values, never a panic."""
    home = filled(place, "configuration")
    defaults = home.yore("config", "defaults").out
    path = home.yore("config", "path").out.decode().splitlines()
    file = next((line.split(maxsplit=1)[-1] for line in path if line.strip().endswith(".toml")), str(home.path / ".config/yore/config.toml"))
    os.makedirs(os.path.dirname(file), exist_ok=True)
    broken = []
    tries = place.times(80)
    for _ in range(tries):
        with open(file, "wb") as out:
            out.write(mutated(place, defaults))
        for call in (("config", "check"), ("recall", "--all", "tide")):
            if (result := home.yore(*call)).is_broken:
                broken.append(result.text[-80:])
    yield Row("files that break it", tries, len(broken), "; ".join(broken[:2]).replace("|", "/"))


def install(place: Place) -> Iterator[Row]:
    """`install` and `uninstall` with mutated settings of agents: every byte as before."""
    settings = b'{\n  // mine\n  "model": "opus",\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},\n}\n'
    changed, broken = [], []
    tries = place.times(40)
    for number in range(tries):
        home = place.home(f"settings-{number}")
        file = home.path / ".claude" / "settings.json"
        file.parent.mkdir()
        before = mutated(place, settings) if number % 4 else settings
        file.write_bytes(before)
        for call in (("install", "claude-code"), ("uninstall", "claude-code")):
            if home.yore(*call).is_broken:
                broken.append(call[0])
        if file.read_bytes() != before:
            changed.append(number)
    yield Row("files that differ afterwards", tries, len(changed), str(changed[:5]) if changed else "")
    yield Row("runs that break", tries * 2, len(broken))


def port(place: Place) -> Iterator[Row]:
    """The HTTP port: garbage, foreign hosts and origins, no token, many connections: refused, and served again."""
    home = filled(place, "port")
    home.yore("config", "set", "http.enabled", "true")
    home.start_daemon()
    url = home.yore("mcp", "url").out.decode()
    digits = [part.split("/")[0] for part in url.split(":") if part[:1].isdigit()]
    if not digits:
        yield Row("the port is not open", 1, 1, url[:80])
        return
    number = int("".join(c for c in digits[0] if c.isdigit()))
    got_in, tried = [], 0

    def ask(data: bytes, seconds: float = 3) -> bytes:
        with socket.create_connection(("127.0.0.1", number), timeout=seconds) as connection:
            connection.sendall(data)
            try:
                return connection.recv(400)
            except (TimeoutError, ConnectionError):
                return b""

    heads = ["Host: evil.example", f"Host: 127.0.0.1:{number}\r\nOrigin: http://evil.example", f"Host: 127.0.0.1:{number}",
             f"Host: 127.0.0.1:{number}\r\nAuthorization: Bearer x", f"Host: localhost:{number}\r\nTransfer-Encoding: chunked\r\nContent-Length: 5"]
    for head in heads:
        for method in ("GET", "POST", "DELETE", "OPTIONS"):
            tried += 1
            answer = ask(f"{method} /mcp HTTP/1.1\r\n{head}\r\nContent-Length: 2\r\n\r\n{{}}".encode())
            if b" 200 " in answer.split(b"\r\n")[0]:
                got_in.append(f"{method} {head[:30]}")
    for _ in range(place.times(500)):
        tried += 1
        try:
            if b" 200 " in ask(place.random.randbytes(place.random.randrange(1, 400)), 0.05).split(b"\r\n")[0]:
                got_in.append("garbage")
        except OSError:
            pass
    held = []
    for _ in range(200):
        try:
            held.append(socket.create_connection(("127.0.0.1", number), timeout=1))
        except OSError:
            break
    for connection in held:
        connection.close()
    began, served = time.monotonic(), False
    while time.monotonic() - began < 40 and not served:
        try:
            served = bool(ask(f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{number}\r\n\r\n".encode()))
        except OSError:
            time.sleep(0.5)
    yield Row("requests without the token that are served", tried, len(got_in), "; ".join(got_in[:3]))
    yield Row("not served again after 200 idle connections", 1, int(not served), f"after {time.monotonic() - began:.0f} s")


def terminal(place: Place) -> Iterator[Row]:
    """Control characters in every field: none reaches a terminal or a pipe."""
    home = place.home("terminal")
    place.transcript(home, [f"tide {CONTROL} gauge", f"From now on always use {CONTROL} `rg`."], cwd=f"/home/ada/a{CONTROL}b")
    home.yore("ingest", "--no-embed")
    home.yore("extract", "--all")
    home.yore("remember", f"note tide {CONTROL}", "--global")
    home.yore("remember", f"fact tide {CONTROL}", "--kind", "fact", "--global", "--entity", f"e{CONTROL}")
    failed = []
    bad = [b"\x1b]", b"\x07", "\u009b".encode(), "\u202e".encode(), "\u2066".encode(), "\U000e0041".encode(), "\u2028".encode()]
    for call in CALLS:
        if found := [mark for mark in bad if mark in home.yore(*call).out]:
            failed.append(f"{' '.join(call)} (pipe): {found[0]!r}")
        if found := [mark for mark in bad if mark in on_terminal(home, call)]:
            failed.append(f"{' '.join(call)} (terminal): {found[0]!r}")
    yield Row("outputs with control characters", len(CALLS) * 2, len(failed), "; ".join(failed[:4]))


def on_terminal(home: Home, call: tuple[str, ...]) -> bytes:
    """Output of a command on a terminal."""
    controller, terminal_side = pty.openpty()
    run = subprocess.Popen([home.place.yore, *call], env={**home.environment(), "TERM": "xterm"}, cwd=home.path, stdin=subprocess.DEVNULL,
                           stdout=terminal_side, stderr=terminal_side)
    os.close(terminal_side)
    out = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        ready, _, _ = select.select([controller], [], [], 0.2)
        if ready:
            try:
                data = os.read(controller, 65536)
            except OSError:
                break
            if not data:
                break
            out += data
        elif run.poll() is not None:
            break
    run.kill()
    run.wait()
    os.close(controller)
    return out


def owner_only(place: Place) -> Iterator[Row]:
    """With umask 000 every file of the data directory is for its owner alone."""
    home = place.home("umask")
    place.corpus(home, 2, 3)
    for call in (("ingest", "--no-embed"), ("remember", "tide", "--global"), ("backup",), ("recall", "--all", "tide"), ("reindex",)):
        subprocess.run([place.yore, *call], env=home.environment(), cwd=home.path, capture_output=True, check=False, umask=0)
    readable = [str(path.relative_to(home.data)) for path in home.data.rglob("*") if path.stat().st_mode & 0o077]
    yield Row("files that others may open", len(list(home.data.rglob("*"))), len(readable), ", ".join(readable[:4]))


ATTACKS = {"hooks": hooks, "mcp": mcp, "configuration": configuration, "install": install, "port": port, "terminal": terminal, "owner-only": owner_only}
