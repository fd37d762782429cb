"""Makes all packages from one program. Equal input gives equal bytes: sorted names, the commit's time, fixed owners.

`package` makes, for the program's target, an archive, a wheel, a platform package for npm and, on Linux with glibc, a `.deb`; for
all targets whose archives are in the folder, npm's main package, the installer, the formula, the plugin and the sums.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from . import licences
from .common import (PACKAGE, PACKAGING, PROGRAM, ROOT, SUMMARY, TARGETS, Entries, Entry, Failure, Target, below, entries_of,
                     epoch, gzipped, run, sha256, tar_gz, version, write)

SUMS = "SHA256SUMS"
# Files of docs/ that are for people who change yore.
NOT_FOR_USERS = ("map.md", "design-defaults.md", "releasing.md")


@dataclass(frozen=True)
class Request:
    """Arguments of `package`."""

    program: Path
    target: str
    out: Path
    base_url: str | None = None
    public_key: str | None = None
    maintainer: str = "The yore contributors"
    texts_from: Path | None = None

    @classmethod
    def of(cls, given) -> Request:
        return cls(given.program, given.target, given.out, given.base_url, given.public_key, given.maintainer, given.texts_from)


@dataclass(frozen=True)
class Contents:
    """What the packages of one target are made of."""

    program: bytes
    man: Entries
    completions: dict[str, Entry]
    licences: Entries
    documents: Entries
    bill: bytes

    def shared(self, bash: str, zsh: str, fish: str) -> Entries:
        """Returns man pages and completions below a `share` folder, completions by their paths."""
        return {**below("man/man1", self.man), bash: self.completions["bash"], zsh: self.completions["zsh"],
                fish: self.completions["fish"]}


BASH, ZSH, FISH = "bash-completion/completions/yore", "zsh/site-functions/_yore", "fish/vendor_completions.d/yore.fish"


def contents(request: Request) -> Contents:
    speaker = (request.texts_from or request.program).resolve()

    def says(*words: str) -> Entry:
        # Nothing of the caller's environment may show in the texts. The program wants a home, and does not use it.
        return Entry(run([speaker, *words], env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"}).encode())

    told = says("--version").data.decode().split()[-1]
    if told != version():
        raise Failure(f"{speaker} is version {told}, the repository {version()}")
    reference = says("completions", "markdown").data.decode()
    commands = re.findall(r"^##+ `yore ?(.*)`$", reference, re.MULTILINE)
    man = {f"{'-'.join([PROGRAM, *command.split()])}.1": says("completions", "man", "--man-of", command) for command in commands}
    crates = licences.crates(request.target)
    texts = {name: Entry((ROOT / name).read_bytes()) for name in ("LICENSE-APACHE", "LICENSE-MIT")}
    texts["THIRD-PARTY-LICENSES.txt"] = Entry(licences.texts(crates, request.target))
    if library := licences.rust_library():
        texts["LICENSES-rust-library.html"] = Entry(library)
    documents = {f"docs/{name}": entry for name, entry in entries_of(ROOT / "docs").items() if name not in NOT_FOR_USERS}
    for name in ("README.md", "SECURITY.md"):
        documents[name] = Entry((ROOT / name).read_bytes())
    completions = {shell: says("completions", shell) for shell in ("bash", "zsh", "fish")}
    return Contents(request.program.read_bytes(), man, completions, texts, documents, licences.bill(crates, request.target))


def archive(made: Contents, target: str) -> bytes:
    completions = {"yore.bash": made.completions["bash"], "_yore": made.completions["zsh"], "yore.fish": made.completions["fish"]}
    entries = {PROGRAM + TARGETS[target].suffix: Entry(made.program, 0o755), "yore.cdx.json": Entry(made.bill),
               **below("man/man1", made.man), **below("completions", completions), **made.licences, **made.documents}
    return tar_gz(below(archive_name(target), entries), epoch())


def archive_name(target: str) -> str:
    return f"{PROGRAM}-{version()}-{target}"


def newest_glibc(program: bytes) -> str:
    """Returns the newest version of glibc's symbols in a program: the oldest glibc that runs it."""
    found = {tuple(map(int, numbers)) for numbers in re.findall(rb"GLIBC_(\d+)\.(\d+)", program)}
    return ".".join(map(str, max(found, default=(2, 17))))


def deb(made: Contents, request: Request) -> bytes:
    architecture = TARGETS[request.target].deb
    documents = {**made.licences, **made.documents, "yore.cdx.json": Entry(made.bill)}
    del documents["LICENSE-APACHE"], documents["LICENSE-MIT"]  # Debian's place for them is `copyright`.
    documents["copyright"] = Entry((PACKAGING / "deb/copyright").read_bytes() + b"\n" + made.licences["LICENSE-MIT"].data)
    shared = made.shared(BASH, "zsh/vendor-completions/_yore", FISH)
    shared = {(f"{name}.gz" if name.endswith(".1") else name): (Entry(gzipped(entry.data)) if name.endswith(".1") else entry)
              for name, entry in shared.items()}
    files = {f"usr/bin/{PROGRAM}": Entry(made.program, 0o755), **below("usr/share", shared),
             **below(f"usr/share/doc/{PACKAGE}", documents)}
    needs = [f"libc6 (>= {newest_glibc(made.program)})"] + (["libgcc-s1"] if b"libgcc_s.so.1\0" in made.program else [])
    fields = {"Package": PACKAGE, "Version": version(), "Architecture": architecture, "Maintainer": request.maintainer,
              "Installed-Size": str(sum(len(entry.data) for entry in files.values()) // 1024 + 1), "Depends": ", ".join(needs),
              "Section": "utils", "Priority": "optional",
              "Description": f"{SUMMARY}\n Searches past sessions with coding agents, and gives new sessions what they\n"
                             " need of them. Everything stays on this computer."}
    control = "".join(f"{name}: {value}\n" for name, value in fields.items())
    sums = "".join(f"{hashlib.md5(entry.data).hexdigest()}  {name}\n" for name, entry in sorted(files.items()))
    files |= {"DEBIAN/control": Entry(control.encode()), "DEBIAN/md5sums": Entry(sums.encode())}
    with tempfile.TemporaryDirectory() as scratch:
        tree, result = Path(scratch) / "tree", Path(scratch) / "package.deb"
        for name, entry in files.items():
            write(tree / name, entry.data).chmod(entry.mode)
        for path in [tree, *tree.rglob("*")]:
            os.utime(path, (epoch(), epoch()))
            if path.is_dir():
                path.chmod(0o755)
        # More threads would compress in other blocks. Old systems know xz, not zstd.
        run(["dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", tree, result],
            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())})
        return result.read_bytes()


def wheel(made: Contents, target: str) -> tuple[str, bytes]:
    """Returns a wheel's name and bytes; the program is its script."""
    base = f"{PACKAGE.replace('-', '_')}-{version()}"
    platforms = [TARGETS[target].wheel.format(glibc=newest_glibc(made.program).replace(".", "_"))]
    platforms += [name.replace("_2_17", "2014") for name in platforms if "_2_17_" in name]  # The older word for it.
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in platforms)
    about = (f"Metadata-Version: 2.4\nName: {PACKAGE}\nVersion: {version()}\nSummary: {SUMMARY}\n"
             "License-Expression: MIT OR Apache-2.0\n" + "".join(f"License-File: {name}\n" for name in sorted(made.licences))
             + "Requires-Python: >=3.7\nDescription-Content-Type: text/markdown\n\n" + (PACKAGING / "README.md").read_text())
    files: Entries = {
        f"{base}.data/scripts/{PROGRAM}{TARGETS[target].suffix}": Entry(made.program, 0o755),
        **below(f"{base}.data/data/share", made.shared(BASH, ZSH, FISH)),
        **below(f"{base}.dist-info/licenses", made.licences),
        f"{base}.dist-info/sboms/yore.cdx.json": Entry(made.bill),
        f"{base}.dist-info/METADATA": Entry(about.encode()),
        f"{base}.dist-info/WHEEL": Entry(f"Wheel-Version: 1.0\nGenerator: release\nRoot-Is-Purelib: false\n{tags}".encode()),
    }
    record = f"{base}.dist-info/RECORD"
    rows = [f"{name},sha256={urlsafe_digest(entry.data)},{len(entry.data)}" for name, entry in sorted(files.items())]
    files[record] = Entry("\n".join([*rows, f"{record},,", ""]).encode())
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as package:
        for name, entry in sorted(files.items()):
            info = zipfile.ZipInfo(name, time.gmtime(epoch())[:6])
            info.create_system, info.external_attr, info.compress_type = 3, (0o100000 | entry.mode) << 16, zipfile.ZIP_DEFLATED
            package.writestr(info, entry.data, compresslevel=9)
    return f"{base}-py3-none-{'.'.join(platforms)}.whl", raw.getvalue()


def urlsafe_digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def npm(manifest: dict, entries: Entries) -> tuple[str, bytes]:
    """Returns the name and bytes of a package for npm."""
    whole = {"name": None, "version": version(), "description": SUMMARY, "license": "MIT OR Apache-2.0", **manifest}
    entries = {**entries, "package.json": Entry((json.dumps(whole, indent=2) + "\n").encode())}
    return f"{whole['name']}-{version()}.tgz", tar_gz(below("package", entries), epoch())


def npm_platform(made: Contents, target: Target) -> tuple[str, bytes]:
    manifest = {"name": target.npm_package(), "os": [target.npm_os], "cpu": [target.npm_cpu], "preferUnplugged": True}
    if target.npm_libc:
        manifest["libc"] = [target.npm_libc]
    program = {f"bin/{PROGRAM}{target.suffix}": Entry(made.program, 0o755)}
    return npm(manifest, {**program, "yore.cdx.json": Entry(made.bill), **made.licences})


def npm_main(made: Contents, targets: list[str]) -> tuple[str, bytes]:
    manifest = {"name": PACKAGE, "bin": {PROGRAM: "bin/yore.js"}, "man": [f"man/{name}" for name in sorted(made.man)],
                "engines": {"node": ">=12"},
                "optionalDependencies": {TARGETS[target].npm_package(): version() for target in targets}}
    texts = {name: made.licences[name] for name in ("LICENSE-APACHE", "LICENSE-MIT")}
    launcher = {"bin/yore.js": Entry((PACKAGING / "npm/yore.js").read_bytes(), 0o755)}
    readme = {"README.md": Entry((PACKAGING / "README.md").read_bytes())}
    return npm(manifest, {**launcher, **readme, **below("man", made.man), **texts})


def plugin() -> bytes:
    """Returns the marketplace of Claude Code with the plugin, as in the repository."""
    entries = {**below("plugin", entries_of(ROOT / "plugin")), **below(".claude-plugin", entries_of(ROOT / ".claude-plugin")),
               **{name: Entry((ROOT / name).read_bytes()) for name in ("LICENSE-APACHE", "LICENSE-MIT")}}
    for name in (".claude-plugin/marketplace.json", "plugin/.claude-plugin/plugin.json"):
        stated = json.loads(entries[name].data)
        if stated.get("plugins", [stated])[0]["version"] != version():
            raise Failure(f"{name} does not state version {version()}")
    return tar_gz(below(f"{PROGRAM}-claude-plugin-{version()}", entries), epoch())


def filled(template: Path, values: dict[str, str | None]) -> bytes:
    """Fills in a template. A place without a value stays as it is, and fails when it is used."""
    text = template.read_text()
    for name, value in values.items():
        if value is not None:
            text = text.replace(f"@{name}@", value)
    return text.encode()


def formula(request: Request, targets: list[str]) -> bytes:
    blocks = []
    for system, word in (("linux", "linux-gnu"), ("macos", "apple-darwin")):
        rows = []
        for target in (target for target in targets if target.endswith(word)):
            name = f"{archive_name(target)}.tar.gz"
            processor = "arm" if target.startswith("aarch64") else "intel"
            place = f'      url "@BASE_URL@/{name}"\n      sha256 "{sha256(request.out / name)}"\n'
            rows.append(f"    on_{processor} do\n{place}    end\n")
        if rows:
            blocks.append(f"  on_{system} do\n{''.join(rows)}  end\n")
    values = {"VERSION": version(), "SUMMARY": SUMMARY, "DOWNLOADS": "\n".join(blocks).rstrip(), "BASE_URL": request.base_url}
    return filled(PACKAGING / "yore.rb", values)


def package(request: Request) -> list[Path]:
    """Writes all packages, and returns their paths."""
    made = contents(request)
    target, out = TARGETS[request.target], request.out
    files = [write(out / f"{archive_name(request.target)}.tar.gz", archive(made, request.target)),
             write(out / f"{archive_name(request.target)}.cdx.json", made.bill)]
    for name, data in (wheel(made, request.target), npm_platform(made, target)):
        files.append(write(out / name, data))
    if target.deb:
        files.append(write(out / f"{PACKAGE}_{version()}_{target.deb}.deb", deb(made, request)))
    targets = [name for name in TARGETS if (out / f"{archive_name(name)}.tar.gz").exists()]
    name, data = npm_main(made, targets)
    values = {"VERSION": version(), "TARGETS": " ".join(targets), "PUBLIC_KEY": request.public_key or "",
              "BASE_URL": request.base_url}
    files += [write(out / name, data), write(out / "install.sh", filled(PACKAGING / "install.sh", values)),
              write(out / "Formula/yore.rb", formula(request, targets)),
              write(out / f"{PROGRAM}-claude-plugin-{version()}.tar.gz", plugin())]
    (out / "install.sh").chmod(0o755)
    return [*files, write(out / SUMS, sums(out).encode())]


def sums(folder: Path) -> str:
    """Returns the checksums of everything in a folder of packages, sorted by name."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(SUMS))
    return "".join(f"{sha256(folder / name)}  {name}\n" for name in sorted(path.relative_to(folder).as_posix() for path in files))
