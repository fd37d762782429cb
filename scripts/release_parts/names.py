"""Asks the registries, through their own clients, whether the proposed names are free. Nothing is reserved."""

from __future__ import annotations

import subprocess
import sys

from .common import PACKAGE, TARGETS

# A second choice, should the first be taken before the release.
PROPOSED = (PACKAGE, "yore-agent-memory")
PLATFORMS = sorted({target.npm_package() for target in TARGETS.values()})
CLIENTS = {
    "PyPI": ([sys.executable, "-m", "pip", "index", "versions", "--disable-pip-version-check"], "No matching distribution"),
    "npm": (["npm", "view", "--json"], "E404"),
    "cargo": (["cargo", "info", "--registry", "crates-io"], "could not find"),
    "Debian": (["apt-cache", "show"], "No packages found"),
}


def state(registry: str, name: str) -> str:
    command, absent = CLIENTS[registry]
    try:
        done = subprocess.run([*command, name], capture_output=True, text=True, cwd="/")
    except FileNotFoundError:
        return f"unknown: {command[0]} is missing"
    if done.returncode == 0:
        return "taken"
    if absent in done.stdout + done.stderr:
        return "free"
    return f"unknown: {(done.stderr.strip().splitlines() or ['no answer'])[-1]}"


def run() -> int:
    asked = [(registry, name) for name in PROPOSED for registry in CLIENTS]
    asked += [("npm", name) for name in PLATFORMS]
    found = [(registry, name, state(registry, name)) for registry, name in asked]
    for registry, name, answer in found:
        print(f"{name:32} {registry:10} {answer}")
    return 0 if all(answer == "free" for _, name, answer in found if name in (PACKAGE, *PLATFORMS)) else 1
