"""Installs each package in clean systems, uses it as a newcomer would, removes it, and looks at what is left.

A clean system is a Debian made by debootstrap, with Python and Node.js for the packages that need them. Each trial has an overlay
of it, no network, processes of its own and a user without rights: nothing of this computer but the packages and the histories,
which are mounted for reading. Needs root.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from .common import PACKAGE, ROOT, Failure, run as call

HOME = "/home/dev"
INCLUDED = "python3-venv,python3-pip"
LATER = ("nodejs", "npm")
UV = "uv==0.13.9"
ANSWER = "the curve cache moves out of Redis into the process"
SETTINGS = '{\n  // mine\n  "model": "opus",\n}\n'
TAKE_OUT = "{program} uninstall all && {program} daemon stop"
DATA = re.compile(r"home/dev/\.local/share/yore(/|$)")
# Records that package managers write about any package, and their caches.
RECORDS = re.compile(r"var/(lib/dpkg|lib/apt|log|cache)/|home/dev/\.(npm|cache/uv|cache/pip|local/share/uv)(/|$)|.*__pycache__")


@dataclass(frozen=True)
class Kind:
    """A way to install yore: commands in the clean system. `{package}` is the file, `{program}` what was installed."""

    file: str
    install: str
    program: str
    remove: str
    prepare: str = "true"
    also: str = "true"
    as_root: bool = False
    # Python's and npm's installers keep folders that they made.
    keeps_folders: bool = False


IN_VENV, VENV = f"{HOME}/venv/bin", "python3 -m venv ~/venv"
OFFLINE = "--offline --no-index --find-links /packages"
MAIN = f"$(echo /packages/{PACKAGE}-[0-9]*.tgz)"
KINDS = {
    "installer": Kind(
        file="*-linux-gnu.tar.gz",
        install="sh /packages/install.sh --from {package}",
        program=f"{HOME}/.local/bin/yore",
        remove="sh /packages/install.sh --uninstall"),
    "deb": Kind(
        file="*.deb",
        install="dpkg --install {package}",
        program="/usr/bin/yore",
        remove=f"dpkg --remove {PACKAGE}",
        as_root=True),
    "pip": Kind(
        file="*.whl",
        prepare=VENV,
        install=f"{IN_VENV}/pip install --no-index --find-links /packages {PACKAGE}",
        program=f"{IN_VENV}/yore",
        remove=f"{IN_VENV}/pip uninstall --yes {PACKAGE}",
        keeps_folders=True),
    "uv": Kind(
        file="*.whl",
        prepare=f"{VENV} && {IN_VENV}/pip install --no-index --find-links /tools uv",
        install=f"{IN_VENV}/uv tool install {OFFLINE} {PACKAGE}",
        also=f"{IN_VENV}/uvx {OFFLINE} --from {PACKAGE} yore --version",
        program=f"{HOME}/.local/bin/yore",
        remove=f"{IN_VENV}/uv tool uninstall {PACKAGE}",
        keeps_folders=True),
    "npm": Kind(
        file=f"{PACKAGE}-linux-x64-[0-9]*.tgz",
        install=f"npm install --global --offline --prefix ~/.local {MAIN} {{package}}",
        also=f"npm exec --yes --offline --package={MAIN} --package={{package}} -- yore --version",
        program=f"{HOME}/.local/bin/yore",
        remove=f"npm uninstall --global --prefix ~/.local {PACKAGE} {PACKAGE}-linux-x64",
        keeps_folders=True),
}


def root_of(suite: str, work: Path) -> Path:
    """Makes a clean system, unless it is there."""
    root = work / "roots" / suite
    if not (root / "ready").exists():
        print(f"release: making a clean system of {suite}", file=sys.stderr)
        if not (root / "etc/debian_version").exists():
            call(["debootstrap", "--variant=minbase", f"--include={INCLUDED}", suite, root])
        # debootstrap does not resolve the alternatives among the packages that npm needs; apt does.
        (root / "etc/resolv.conf").write_bytes(Path("/etc/resolv.conf").read_bytes())
        inside = ["chroot", root, "env", "DEBIAN_FRONTEND=noninteractive"]
        call([*inside, "apt-get", "update", "-qq"])
        call([*inside, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *LATER])
        call(["chroot", root, "useradd", "--create-home", "--shell", "/bin/sh", "dev"])
        (root / "ready").touch()
    return root


def run(given) -> int:
    """Runs all trials and prints their table. Returns 0 if all held."""
    work = (given.work or Path(tempfile.gettempdir()) / "yore-release-try").resolve()
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    call([*pip, "--no-deps", "-d", work / "tools", UV])
    rows = []
    for suite in given.suites:
        for kind in given.packages:
            found = sorted(given.directory.resolve().glob(KINDS[kind].file))
            if len(found) != 1:
                raise Failure(f"{given.directory} has {len(found)} files {KINDS[kind].file}, not one")
            row = {"root": str(root_of(suite, work)), "kind": kind, "package": str(found[0]), "tools": str(work / "tools"),
                   "history": str(given.history.resolve()) if given.history else None, "question": given.question}
            print(f"release: {suite} {kind}", file=sys.stderr)
            with tempfile.TemporaryDirectory(dir=work) as scratch:
                row["scratch"] = scratch
                # The processes end with the trial, and so does a daemon.
                alone = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
                text = call([*alone, sys.executable, ROOT / "scripts/release", "try-one", json.dumps(row)])
            debian = (Path(row["root"]) / "etc/debian_version").read_text().strip()
            rows.append({"system": f"Debian {debian}", **row, **json.loads(text)})
    text = table(rows, given.history)
    print(text, end="")
    if given.markdown:
        given.markdown.write_text(text)
    for row in rows:
        for problem in row["problems"]:
            print(f"{row['system']} {row['kind']}: {problem}", file=sys.stderr)
    return 1 if any(row["problems"] for row in rows) else 0


def table(rows: list[dict], history: Path | None) -> str:
    def seconds(row: dict, name: str) -> str:
        return f"{row['seconds'][name]:.1f}" if name in row["seconds"] else "-"

    lines = []
    if history:
        sizes = [path.stat().st_size for path in history.rglob("*") if path.is_file()]
        lines += [f"History: {len(sizes)} files, {sum(sizes) / 1e6:.0f} MB. Computer: {os.cpu_count()} cores.", ""]
    lines += ["| system | package | size, MB | install, s | example: first answer, s | history: first answer, s | recall, s | "
              "left after removal |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        lines.append(f"| {row['system']} | {row['kind']} | {Path(row['package']).stat().st_size / 1e6:.1f} | " + " | ".join(
            seconds(row, name) for name in ("install", "example", "history", "recall"))
            + f" | {'FAILED' if row['problems'] else 'data only'} |")
    return "\n".join(lines) + "\n"


class Place:
    """A clean system of one trial."""

    def __init__(self, row: dict) -> None:
        scratch = Path(row["scratch"])
        self.lower, self.upper, self.root = Path(row["root"]), scratch / "upper", scratch / "root"
        self.problems: list[str] = []
        self.seconds: dict[str, float] = {}
        for folder in (self.upper, scratch / "work", self.root):
            folder.mkdir()
        layers = f"lowerdir={self.lower},upperdir={self.upper},workdir={scratch / 'work'}"
        call(["mount", "-t", "overlay", "overlay", "-o", layers, self.root])
        call(["mount", "-t", "proc", "proc", self.root / "proc"])
        call(["mount", "--rbind", "/dev", self.root / "dev"])
        self.show(Path(row["package"]).parent, "packages")
        self.show(Path(row["tools"]), "tools")

    def show(self, folder: Path, name: str) -> None:
        """Mounts a folder of this computer for reading."""
        inside = self.root / name
        inside.mkdir(parents=True, exist_ok=True)
        call(["mount", "--bind", folder, inside])
        call(["mount", "-o", "remount,bind,ro", inside])

    def do(self, command: str, name: str = "", expect: str = "", as_root: bool = False) -> str:
        """Runs a command in the system; notes its seconds, and a problem unless it ends well and prints what is expected."""
        user = [] if as_root else ["--userspec=dev:dev"]
        settings = [f"HOME={'/root' if as_root else HOME}", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C.UTF-8"]
        start = time.monotonic()
        done = subprocess.run(["chroot", *user, self.root, "env", "-i", *settings, "sh", "-c", f"cd ~ && {command}"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if name:
            self.seconds[name] = time.monotonic() - start
        if done.returncode != 0 or not re.search(expect, done.stdout):
            self.problems.append(f"`{command}` exits with {done.returncode} (expected: 0 and {expect!r}):\n{done.stdout[-2000:]}")
        return done.stdout

    def changed(self, folders: bool) -> set[str]:
        """Returns files that differ from the system as it was made or were deleted; with `folders` also new empty folders."""
        found = set()
        for path in self.upper.rglob("*"):
            name = str(path.relative_to(self.upper))
            if path.is_symlink() or not path.is_dir():
                found.add(name)
            elif folders and not (self.lower / name).exists() and not any((self.root / name).iterdir()):
                found.add(name)
        return found


def run_one(text: str) -> int:
    """Runs one trial inside its namespaces, and prints its result as JSON."""
    row = json.loads(text)
    kind, place = KINDS[row["kind"]], Place(row)
    filled = {"package": f"/packages/{Path(row['package']).name}", "program": kind.program}
    place.do(f"mkdir -p .claude && printf '%s' '{SETTINGS}' >.claude/settings.json")
    place.do(kind.prepare)
    mounted = mount_history(place, Path(row["history"])) if row["history"] else []
    for folder in mounted:
        call(["umount", place.root / folder])
    before = place.changed(True)

    place.do(kind.install.format(**filled), "install", as_root=kind.as_root)
    place.do(kind.also.format(**filled))
    place.do(f"{kind.program} up", "example", expect=ANSWER)
    if row["history"]:
        mount_history(place, Path(row["history"]))
        place.do(f"{kind.program} up", "history", expect=r"[1-9]\d* read, 0 unchanged(.|\n)*\[[0-9a-f]{10}\]")
        place.do(f"{kind.program} recall --all '{row['question']}'", "recall", expect=r"\[[0-9a-f]{10}\]")
    place.do(f"{kind.program} install claude-code", expect="laude")
    place.do(f"grep -q '{kind.program}\\|{PACKAGE}' .claude/settings.json")
    if row["kind"] != "installer":  # It does this itself.
        place.do(TAKE_OUT.format(**filled))
    place.do(kind.remove, as_root=kind.as_root)
    for folder in mounted:
        call(["umount", place.root / folder])
    if (place.root / HOME[1:] / ".claude/settings.json").read_text() != SETTINGS:
        place.problems.append("the agent's settings are not as they were")
    after = place.changed(not kind.keeps_folders)
    left = sorted(name for name in after - before if not DATA.match(name) and not RECORDS.match(name))
    if left:
        place.problems.append(f"{len(left)} files are left: {', '.join(left[:12])}")
    print(json.dumps({"seconds": place.seconds, "problems": place.problems}))
    return 0


def mount_history(place: Place, history: Path) -> list[str]:
    """Mounts the folders of a home directory's agents, such as `.claude/projects`, for reading; their parents stay writable."""
    names = [f"{HOME[1:]}/{path.relative_to(history)}" for path in sorted(history.glob(".*/*")) if path.is_dir()]
    for name in names:
        place.show(history / Path(name).relative_to(HOME[1:]), name)
    for parent in {Path(name).parent for name in names}:
        os.chown(place.root / parent, *owner(place))
    return names


def owner(place: Place) -> tuple[int, int]:
    state = (place.root / HOME[1:]).stat()
    return state.st_uid, state.st_gid
