"""Brings the packages of `requirements.txt` and `package.json` into a folder, with pip and npm as they are set up on this computer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from . import drive

HERE = Path(__file__).resolve().parent
LISTS = [HERE / "requirements.txt", HERE / "package.json"]


class Missing(Exception):
    """Packages that are not there, and the remedy."""


def wanted() -> str:
    return "".join(path.read_text() for path in LISTS)


def check(folder: Path):
    """Fails where the folder does not hold the packages that are listed."""
    stamp = folder / "stamp"
    if not stamp.is_file() or stamp.read_text() != wanted():
        raise Missing(f"{folder} does not hold the packages that are listed: run `scripts/proxy-clients fetch {folder}`")


def run(*command: str):
    if subprocess.run(command, stdout=sys.stderr).returncode:
        raise Missing(f"{Path(command[0]).name} failed: see above")


def fetch(folder: Path):
    """Installs what is not there. The stamp is written last: what a run that was stopped has left is not taken for all of it."""
    try:
        check(folder)
        print(f"proxy-clients: all there in {folder}")
        return
    except Missing:
        pass
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("npm is missing")
    for name in ("python", "js", "stamp"):
        path = folder / name
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    (folder / "js").mkdir(parents=True)
    # An environment of its own: packages of the computer would change what clients send, such as the encodings they accept.
    run(sys.executable, "-m", "venv", str(folder / "python"))
    run(drive.python(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(LISTS[0]))
    shutil.copy(LISTS[1], folder / "js" / "package.json")
    # The computer's npm is run by the Node.js that came with pip.
    run(drive.node(folder), str(Path(npm).resolve()), "install", "--prefix", str(folder / "js"), "--ignore-scripts", "--no-package-lock",
        "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
    (folder / "stamp").write_text(wanted())
    print(f"proxy-clients: made in {folder}")
