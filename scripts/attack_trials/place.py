"""A scratch computer for an attack: homes, data directories, transcripts, and runs of the program."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random

# A run that takes longer hangs.
LONGEST_SECONDS = 120
WORDS = ("tide gauge harbour ferry buoy anchor lantern sluice pier current depth chart rope winch mast keel rudder sail "
         "signal beacon crane dock berth pilot shoal reef").split()


@dataclass(frozen=True)
class Row:
    """A line of the report: what was tried, how often, and how often it failed."""

    what: str
    tried: int
    failed: int
    details: str = ""


@dataclass(frozen=True)
class Result:
    """The outcome of a run of the program."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return (self.out + self.err).decode(errors="replace")

    @property
    def is_broken(self) -> bool:
        """Whether the program panicked, was ended by a signal of its own fault, or hung."""
        return self.code in (101, 124) or self.code in (-6, -11) or b"panicked at" in self.err


class Home:
    """A home directory with a data directory of its own."""

    def __init__(self, place: Place, path: Path):
        self.place, self.path, self.data = place, path, path / "data"
        path.mkdir(parents=True, exist_ok=True)

    def environment(self, autostart: bool = False, **more: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.path), "YORE_HOME": str(self.data), "TZ": "UTC", "LANG": "C.UTF-8",
            "YORE_MODELS": str(self.path / "no-models"), "YORE_DAEMON__AUTOSTART": "true" if autostart else "false", **more,
        }

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL, cwd: Path | None = None, **more: str) -> subprocess.Popen:
        return subprocess.Popen([self.place.yore, *arguments], env=self.environment(**more), cwd=cwd or self.path,
                                stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def yore(self, *arguments: str, given: bytes = b"", cwd: Path | None = None, seconds: float = LONGEST_SECONDS, **more: str) -> Result:
        try:
            done = subprocess.run([self.place.yore, *arguments], env=self.environment(**more), cwd=cwd or self.path, input=given,
                                  capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired as error:
            return Result(124, error.stdout or b"", error.stderr or b"")
        return Result(done.returncode, done.stdout, done.stderr)

    def rows(self, sql: str) -> list[tuple]:
        """Rows of the database; none where there is no database or it cannot be read."""
        # Reading a database in WAL mode creates its files beside it.
        try:
            with sqlite3.connect(f"file:{self.data}/yore.db?mode=rw", uri=True, timeout=10) as db:
                return db.execute(sql).fetchall()
        except sqlite3.Error:
            return []

    def turns(self) -> list[tuple]:
        """All turns with their words, in a fixed order: the state that an attack may not change."""
        return self.rows("SELECT hex(turn.uid), role, hex(words) FROM turn JOIN turn_text ON turn_text.turn_id = turn.id ORDER BY 1")

    def sessions(self) -> list[str]:
        return [row[0] for row in self.rows("SELECT native_id FROM episode WHERE kind = 'session' ORDER BY native_id")]

    def start_daemon(self) -> Result:
        self.place.homes.append(self)
        return self.yore("daemon", "start")

    def daemon_pid(self) -> int | None:
        try:
            return int(json.loads((self.data / "daemon.json").read_text())["pid"])
        except (OSError, ValueError, KeyError):
            return None


class Place:
    """The scratch folder of an attack, with its seeded choices."""

    def __init__(self, yore: Path, scratch: Path, random: Random, scale: float):
        self.yore, self.scratch, self.random, self.scale = yore, scratch, random, scale
        self.homes: list[Home] = []

    def home(self, name: str) -> Home:
        return Home(self, self.scratch / name)

    def times(self, count: int) -> int:
        return max(1, round(count * self.scale))

    def stop(self) -> None:
        for home in self.homes:
            home.yore("daemon", "stop", seconds=20)

    def words(self, count: int) -> str:
        return " ".join(self.random.choice(WORDS) for _ in range(count))

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def transcript(self, home: Home, prompts: Iterable[str], session: str | None = None, cwd: str = "/home/ada/pond", day: int = 1) -> Path:
        """Writes a transcript of Claude Code in which each prompt is answered."""
        session = session or self.uuid()
        lines: list[dict] = []
        for prompt in prompts:
            lines.extend(self.exchange(session, cwd, prompt, len(lines), day))
        path = home.path / ".claude" / "projects" / cwd.replace("/", "-") / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def exchange(self, session: str, cwd: str, prompt: str, at: int = 0, day: int = 1) -> list[dict]:
        time = f"2026-10-{1 + day % 28:02}T{8 + at // 3600 % 12:02}:{at // 60 % 60:02}:{at % 60:02}.000Z"
        base = {"sessionId": session, "cwd": cwd, "timestamp": time, "version": "2.1.200"}
        answer, asked = self.uuid(), self.uuid()
        return [
            {**base, "type": "user", "uuid": asked, "message": {"role": "user", "content": prompt}},
            {**base, "type": "assistant", "uuid": answer, "parentUuid": asked, "message": {
                "id": f"msg_{answer[:8]}", "role": "assistant", "model": "m", "content": [{"type": "text", "text": self.words(12)}]}},
        ]

    def corpus(self, home: Home, files: int, exchanges: int) -> None:
        for number in range(files):
            self.transcript(home, [self.words(20) for _ in range(exchanges)], cwd=f"/home/ada/p{number % 4}", day=number)
