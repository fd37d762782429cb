"""Builds the program of a release, with the same bytes from any checkout of a commit.

Paths of this computer would get into the program by messages of panics and by assertions of C code: the compilers replace
them. Programs for Linux are compiled and linked by zig, which has the C libraries of old and of other systems.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .common import PACKAGE, PROGRAM, ROOT, TARGETS, Failure, epoch, run

# zig is a C compiler and linker for all targets; cargo-zigbuild tells cargo to use it.
TOOLS = ("cargo-zigbuild==0.24.1", "ziglang==0.17.1")


def tools(folder: Path) -> Path:
    """Installs `TOOLS` into an environment, which is kept, and returns its folder of programs."""
    stamp = folder / "stamp"
    if not stamp.exists() or stamp.read_text() != " ".join(TOOLS):
        run([sys.executable, "-m", "venv", "--clear", folder])
        run([folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS])
        stamp.write_text(" ".join(TOOLS))
    return folder / "bin"


def prefixes(target_dir: Path) -> list[tuple[str, str]]:
    """Returns folders of this computer and what stands for them in the program; of two that match, the later one counts."""
    cargo_home = os.environ.get("CARGO_HOME") or Path.home() / ".cargo"
    sysroot = run(["rustc", "--print", "sysroot"], cwd=ROOT).strip()
    return [(str(cargo_home), "/cargo"), (sysroot, "/rust"), (str(ROOT), "/yore"), (str(target_dir), "/yore/target")]


def environment(target: str, target_dir: Path) -> dict[str, str]:
    replaced = prefixes(target_dir)
    c_flags = " ".join(["-g0", *(f"-ffile-prefix-map={folder}={name}" for folder, name in replaced)])
    return {
        **os.environ,
        "SOURCE_DATE_EPOCH": str(epoch()),
        "CARGO_INCREMENTAL": "0",
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(f"--remap-path-prefix={folder}={name}" for folder, name in replaced),
        f"CFLAGS_{target.replace('-', '_')}": c_flags,
        f"CXXFLAGS_{target.replace('-', '_')}": c_flags,
    }


def build(target: str, out: Path, target_dir: Path | None) -> Path:
    """Builds the program into a folder of the target's name, and returns its path."""
    target_dir = (target_dir or ROOT / "target").resolve()
    settings = environment(target, target_dir)
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT).returncode != 0:
        print("release: the working tree has changes that no commit has", file=sys.stderr)
    zig = TARGETS[target].zig
    if zig:
        settings["PATH"] = f"{tools(target_dir / 'release-tools')}{os.pathsep}{settings['PATH']}"
    command = ["cargo", "zigbuild" if zig else "build", "--profile", "dist", "-p", PACKAGE, "--locked", "--target", zig or target]
    if subprocess.run([*command, "--target-dir", target_dir], cwd=ROOT, env=settings).returncode != 0:
        raise Failure(f"cargo cannot build {target}; `rustup target add {target}` brings its standard library")
    name = PROGRAM + TARGETS[target].suffix
    made = target_dir / target / "dist" / name
    leaked = [folder for folder, _ in prefixes(target_dir) if folder.encode() in made.read_bytes()]
    if leaked:
        raise Failure(f"{made} contains {leaked}")
    (out / target).mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy2(made, out / target / name))
