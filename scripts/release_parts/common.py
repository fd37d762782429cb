"""What all parts of the release script use: targets, the version, the commit's time, files with fixed bytes.

- `TARGETS`: the rows that differ from target to target
- `Entry`, `tar_gz`, `write`: files of packages
- `version`, `epoch`, `run`, `Failure`
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGING = ROOT / "packaging"
PACKAGE = "yore-memory"
PROGRAM = "yore"
SUMMARY = "A long-term memory for AI coding agents: keeps every word, finds it again"


class Failure(Exception):
    """An error to print without a trace."""


@dataclass(frozen=True)
class Target:
    """What differs from target to target. `zig` is the target's name for cargo-zigbuild, None where cargo builds it alone."""

    zig: str | None
    deb: str | None
    wheel: str
    npm_os: str
    npm_cpu: str
    npm_libc: str | None
    known: str
    suffix: str = ""

    def npm_package(self) -> str:
        libc = "-musl" if self.npm_libc == "musl" else ""
        return f"{PACKAGE}-{self.npm_os}-{self.npm_cpu}{libc}"


# `{glibc}` of a wheel's tag is the newest version of the symbols that the program uses, at least 2.17.
TARGETS = {
    "x86_64-unknown-linux-gnu": Target(
        "x86_64-unknown-linux-gnu.2.17", "amd64", "manylinux_{glibc}_x86_64", "linux", "x64", "glibc", "built and tried"),
    "x86_64-unknown-linux-musl": Target(
        "x86_64-unknown-linux-musl", None, "musllinux_1_1_x86_64", "linux", "x64", "musl", "untried"),
    "aarch64-unknown-linux-gnu": Target(
        "aarch64-unknown-linux-gnu.2.17", "arm64", "manylinux_{glibc}_aarch64", "linux", "arm64", "glibc", "untried"),
    "aarch64-unknown-linux-musl": Target(
        "aarch64-unknown-linux-musl", None, "musllinux_1_1_aarch64", "linux", "arm64", "musl", "untried"),
    "x86_64-apple-darwin": Target(None, None, "macosx_10_12_x86_64", "darwin", "x64", None, "untried, on a Mac"),
    "aarch64-apple-darwin": Target(None, None, "macosx_11_0_arm64", "darwin", "arm64", None, "untried, on a Mac"),
    "x86_64-pc-windows-msvc": Target(None, None, "win_amd64", "win32", "x64", None, "untried, on Windows", ".exe"),
}


def run(command: list[str | Path], **more) -> str:
    """Runs a command and returns what it prints; fails with its errors."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    except FileNotFoundError:
        raise Failure(f"{command[0]} is missing") from None
    if done.returncode != 0:
        words = " ".join(map(str, command))
        raise Failure(f"{words} exits with {done.returncode}:\n{done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def version() -> str:
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def epoch() -> int:
    """Returns the time of the commit, the only time that a package contains."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or run(["git", "log", "-1", "--format=%ct"], cwd=ROOT))


@dataclass(frozen=True)
class Entry:
    """A file of a package."""

    data: bytes
    mode: int = 0o644


Entries = dict[str, Entry]


def entries_of(folder: Path) -> Entries:
    """Returns the files below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): Entry(path.read_bytes()) for path in files}


def below(folder: str, entries: Entries) -> Entries:
    return {f"{folder}/{name}": entry for name, entry in entries.items()}


def gzipped(data: bytes) -> bytes:
    """Compresses without name and time, so that equal data gives equal bytes."""
    return gzip.compress(data, 9, mtime=0)


def tar_gz(entries: Entries, time: int) -> bytes:
    """Returns a compressed archive with sorted names, one time, and root as the owner of everything."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, entry in sorted(entries.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(entry.data), entry.mode, time
            info.uname = info.gname = "root"
            archive.addfile(info, io.BytesIO(entry.data))
    return gzipped(raw.getvalue())


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
