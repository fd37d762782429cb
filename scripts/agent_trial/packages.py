"""The agents' packages: which, of which version, and how they come here.

- `PACKAGES`: all of them, pinned
- `fetch`: brings one into a directory, or says why it cannot
- `ABSENT`: agents that cannot be had as packages, and why
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Package:
    """A package of one version, and the program in it."""

    registry: str
    name: str
    version: str
    program: str

    def spec(self) -> str:
        return f"{self.name}{'@' if self.registry == 'npm' else '=='}{self.version}"


PACKAGES = {
    "node": Package("npm", "node", "22.23.3", "node"),
    "claude-code": Package("npm", "@anthropic-ai/claude-code", "2.1.330", "claude"),
    "claude-code-older": Package("npm", "@anthropic-ai/claude-code", "2.1.197", "claude"),
    "codex": Package("npm", "@openai/codex", "0.169.0", "codex"),
    "gemini": Package("npm", "@google/gemini-cli", "0.61.0", "gemini"),
    "opencode": Package("npm", "opencode-ai", "1.18.33", "opencode"),
    "copilot-cli": Package("npm", "@github/copilot", "1.0.102", "copilot"),
    "cline": Package("npm", "cline", "3.0.65", "cline"),
    "continue": Package("npm", "@continuedev/cli", "1.5.47", "cn"),
    # The newest version whose programs for this platform are in the registry.
    "kilo": Package("npm", "@kilocode/cli", "7.7.7", "kilo"),
    "qwen": Package("npm", "@qwen-code/qwen-code", "0.24.4", "qwen"),
    "aider": Package("pip", "aider-chat", "0.86.2", "aider"),
}

ABSENT = {
    "Cursor, Windsurf, Zed, VS Code (Copilot Chat, Roo Code)": "no package in a registry",
    "goose": "the registries hold only its terminal client, without the agent",
    "Crush": "its npm package downloads the program from elsewhere when it is installed",
    "Amp": "starts only after its own server has let an account in",
}


class CannotFetch(Exception):
    """A package that a registry does not give."""


def fetch(name: str, to: Path) -> bool:
    """Brings a package below `to`. Returns whether anything had to be done."""
    package = PACKAGES[name]
    folder = to / name
    stamp = folder / "stamp"
    if stamp.is_file() and stamp.read_text() == package.spec() and program(name, to).exists():
        return False
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if package.registry == "npm":
        (folder / "package.json").write_text("{}\n")
        command = ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", package.spec()]
    else:
        _run([sys.executable, "-m", "venv", str(folder)], folder, package)
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package.spec()]
    _run(command, folder, package)
    if not program(name, to).exists():
        raise CannotFetch(f"{package.spec()} has no program {package.program}")
    stamp.write_text(package.spec())
    return True


def program(name: str, among: Path) -> Path:
    """Where a package's program lies."""
    package = PACKAGES[name]
    below = "node_modules/.bin" if package.registry == "npm" else "bin"
    return among / name / below / package.program


def _run(command: list[str], folder: Path, package: Package) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, env=os.environ, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotFetch(f"{package.spec()}: {error}") from error
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise CannotFetch(f"{package.spec()}: {' '.join(last) or 'failed'}")
