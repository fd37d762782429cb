"""A scratch home with two projects, and yore in it.

- `Place`: the home, its environment, and how programs are run in it
- `Yore`: yore's commands in that home
- `tree`: what the files of a folder hold, to compare before and after
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A source of the daemon's is looked at within this many seconds.
READ_WITHIN = 20

BUILD = """echo "   Compiling otter v0.1.0"
echo 'error[E0432]: unresolved import `tide::gauge`' >&2
echo '  --> src/main.rs:3:5' >&2
# Some agents lose the output of what ends at once.
sleep 0.3
exit 101
"""
MEND = """echo "   Compiling otter v0.1.0"
echo "    Finished"
sleep 0.3
"""


@dataclass
class Done:
    """How a program ended and what it said."""

    status: int | None
    out: str
    seconds: float

    def ok(self) -> bool:
        return self.status == 0


class Place:
    """A scratch home. Nothing of this computer's environment but the search path reaches it."""

    def __init__(self, root: Path, node: Path | None) -> None:
        self.root = root
        self.home = root / "home"
        self.logs = root / "logs"
        self.otter = self.home / "dev" / "otter"
        self.tidewatch = self.home / "dev" / "tidewatch"
        paths = [str(node.parent)] if node else []
        paths.append(os.environ.get("PATH", os.defpath))
        self.environment = {
            "PATH": os.pathsep.join(paths),
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            # Agents refuse some of what the trial asks when root runs them outside a sandbox.
            "IS_SANDBOX": "1",
            "NO_UPDATE_NOTIFIER": "1",
            "DO_NOT_TRACK": "1",
        }
        self.logs.mkdir(parents=True, exist_ok=True)
        self._project(self.otter, {"notes.txt": "notes of the otter\n", "lamps.txt": "quay lamps\n", "gauges.txt": "gauge seven\n", "build.sh": BUILD, "mend.sh": MEND}, "otter")
        self._project(self.tidewatch, {"alarm.txt": "alarm\n"}, "tidewatch")

    def _project(self, folder: Path, files: dict[str, str], name: str) -> None:
        folder.mkdir(parents=True)
        for file, text in files.items():
            (folder / file).write_text(text)
        git = ["git", "-c", "user.name=Trial", "-c", "user.email=trial@example.org", "-c", "init.defaultBranch=main"]
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"], ["remote", "add", "origin", f"https://git.example.org/trial/{name}.git"]):
            subprocess.run([*git, *arguments], cwd=folder, env=self.environment, check=True, capture_output=True)

    def run(self, command: list[str], *, name: str, folder: Path | None = None, timeout: float = 120, more: dict[str, str] | None = None) -> Done:
        """Runs a program to its end and keeps what it said in a log."""
        began = time.monotonic()
        log = self.logs / f"{name}.txt"
        environment = {**self.environment, **(more or {})}
        try:
            done = subprocess.run(
                command,
                cwd=folder or self.otter,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout,
                check=False,
            )
            status, out = done.returncode, done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            status, out = None, (late.stdout or b"").decode(errors="replace") + f"\n[not ended after {timeout:.0f} s]"
        except OSError as error:
            status, out = None, f"[cannot be run: {error}]"
        seconds = time.monotonic() - began
        with log.open("a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(command)}\n{out}\n[{status}, {seconds:.1f} s]\n")
        return Done(status, out, seconds)


class Yore:
    """yore's commands in a place."""

    def __init__(self, program: Path, place: Place) -> None:
        self.program = program
        self.place = place
        self.data = place.home / ".local" / "share" / "yore"

    def run(self, *arguments: str, folder: Path | None = None) -> Done:
        return self.place.run([str(self.program), *arguments], name="yore", folder=folder)

    def json(self, *arguments: str, folder: Path | None = None) -> Any:
        """What a command prints with `--json`; `None` where it prints none."""
        out = self.run(*arguments, "--json", folder=folder).out
        start = min((at for at in (out.find("{"), out.find("[")) if at >= 0), default=-1)
        try:
            return json.JSONDecoder().raw_decode(out[start:])[0] if start >= 0 else None
        except ValueError:
            return None

    def sessions(self) -> list[dict[str, Any]]:
        found = self.json("sessions", "--all", "--subagents", "-n", "1000")
        return found.get("sessions", []) if isinstance(found, dict) else found or []

    def turns(self, session: str) -> list[dict[str, Any]]:
        shown = self.json("show", session)
        return shown.get("turns", []) if isinstance(shown, dict) else []

    def settle(self) -> None:
        """Waits until nothing new is to be read."""
        for _ in range(READ_WITHIN):
            out = self.run("ingest").out
            if "read, " not in out or " 0 read" in out:
                return
            time.sleep(1)

    def ledgers(self) -> dict[str, list[dict[str, Any]]]:
        """What each session was given, by its id."""
        found = {}
        for file in sorted((self.data / "given").glob("*.jsonl")):
            rows = []
            for line in file.read_text(errors="replace").splitlines():
                try:
                    rows.append(json.loads(line))
                except ValueError:
                    continue
            found[file.stem] = rows
        return found

    def open_proxy(self, server: str) -> bool:
        """Starts the daemon with its proxy before a model server; whether the proxy is open."""
        upstreams = [f"{name}={server}" for name in ("openai", "anthropic", "gemini", "ollama")]
        # The program may be a debug build on a busy computer: what is asked is what it adds, not how soon.
        self.place.environment.update(YORE_PROXY__ENABLED="true", YORE_PROXY__UPSTREAMS=json.dumps(upstreams), YORE_PROXY__PATIENCE_MS="5000")
        # The daemon starts where a memory is; `up` makes none of an empty home.
        self.run("ingest")
        self.run("daemon", "start")
        for _ in range(READ_WITHIN):
            if self.run("proxy").ok():
                return True
            time.sleep(1)
        return False

    def proxied(self, provider: str, is_with_memory: bool, agent: str = "", folder: Path | None = None) -> str:
        """The address of a provider through the proxy, as the address of a server is: without the version of its interface.

        `agent`, `folder`: named in the address, for agents whose requests do not tell who they are and where they work.
        """
        options = [*(["--memory"] if is_with_memory else []), *(["--here"] if folder else [])]
        lines = self.json("proxy", "env", provider, *options, folder=folder)
        if not lines:
            raise RuntimeError(f"`yore proxy env {provider}` names no address")
        address = lines[0]["value"].removesuffix("/v1")
        if folder is None:
            # The trial works in two projects: a directory in the address would be wrong in one of them.
            address = re.sub("/in/[^/]+", "", address)
        return re.sub("(://[^/]+/[^/]+(?:/in/[^/]+)?)", rf"\1/as/{agent}", address) if agent else address

    def stop(self) -> None:
        # The last command may have started a daemon that is not to be reached yet.
        for _ in range(3):
            self.run("daemon", "stop")
            time.sleep(0.5)


def tree(folder: Path, leave_out: tuple[str, ...] = ()) -> dict[str, str]:
    """Every file below a folder, and a digest of what it holds."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if any(name == out or name.startswith(out + "/") for out in leave_out):
            continue
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_file():
            try:
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
            except OSError:
                continue
    return found
