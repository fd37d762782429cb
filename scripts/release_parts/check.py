"""Tests of the release script, with a program that only prints: equal bytes, refusals of the installer, sums and signatures."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading
import traceback
import zipfile
from pathlib import Path

from . import package, signing
from .common import PACKAGE, PACKAGING, Failure, run, sha256, version

TARGET = "x86_64-unknown-linux-gnu"
FAKE = """#!/bin/sh
case "$1 $2 $3 $4" in
    "--version   ") echo "yore {version}" ;;
    "completions markdown  ") printf '## `yore`\\n### `yore recall`\\n' ;;
    completions*) echo "$*" ;;
    *) echo "called with $*" ;;
esac
"""


def packaged(folder: Path, name: str, **more) -> Path:
    program = folder / "fake"
    program.write_text(FAKE.replace("{version}", version()))
    program.chmod(0o755)
    package.package(package.Request(program, TARGET, folder / name, **more))
    return folder / name


def install(home: Path, *arguments: str | Path) -> subprocess.CompletedProcess:
    home.mkdir(exist_ok=True)
    settings = {"PATH": os.environ["PATH"], "HOME": str(home)}
    return subprocess.run(["sh", *map(str, arguments)], env=settings, capture_output=True, text=True)


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def two_packagings_give_equal_bytes(folder: Path) -> None:
    first = (packaged(folder, "one") / package.SUMS).read_text()
    os.environ["TZ"] = "Pacific/Kiritimati"
    assert first == (packaged(folder, "two") / package.SUMS).read_text()


def wheel_lists_all_its_files(folder: Path) -> None:
    wheel = next(packaged(folder, "one").glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        record = archive.read(f"{PACKAGE.replace('-', '_')}-{version()}.dist-info/RECORD").decode()
        assert sorted(line.split(",")[0] for line in record.splitlines()) == sorted(archive.namelist())


def bill_names_its_parts(folder: Path) -> None:
    bill = json.loads(next(packaged(folder, "one").glob("*.cdx.json")).read_text())
    known = {component["bom-ref"] for component in [bill["metadata"]["component"], *bill["components"]]}
    assert len(known) > 100 and len(known) == len(bill["components"]) + 1
    assert all(row["ref"] in known and set(row["dependsOn"]) <= known for row in bill["dependencies"])


def installer_installs_and_removes(folder: Path) -> None:
    made, home = packaged(folder, "one"), folder / "home"
    (home / ".local/bin").mkdir(parents=True)
    before = files(home)
    archive = next(made.glob("*-linux-gnu.tar.gz"))
    for _ in range(2):
        done = install(home, made / "install.sh", "--from", archive)
        assert done.returncode == 0, done.stderr
    assert {".local/bin/yore", ".local/share/man/man1/yore-recall.1"} <= files(home)
    assert "called with uninstall all" in install(home, made / "install.sh", "--uninstall").stdout
    assert files(home) == before


def installer_refuses_a_wrong_sum(folder: Path) -> None:
    made, home = packaged(folder, "one"), folder / "home"
    archive = next(made.glob("*-linux-gnu.tar.gz"))
    archive.write_bytes(archive.read_bytes() + b"\n")
    done = install(home, made / "install.sh", "--from", archive)
    assert done.returncode == 1 and "another checksum" in done.stderr and not files(home), done.stderr


def installer_refuses_what_is_not_listed(folder: Path) -> None:
    made, home = packaged(folder, "one"), folder / "home"
    other = Path(shutil.copy(next(made.glob("*-linux-gnu.tar.gz")), made / "other.tar.gz"))
    done = install(home, made / "install.sh", "--from", other)
    assert done.returncode == 1 and "does not list" in done.stderr and not files(home), done.stderr


def installer_without_an_address_fails(folder: Path) -> None:
    done = install(folder / "home", packaged(folder, "one") / "install.sh")
    assert done.returncode == 1 and "without an address" in done.stderr, done.stderr
    assert "@BASE_URL@" in (folder / "one/Formula/yore.rb").read_text()


def installer_downloads_and_checks_the_signature(folder: Path) -> None:
    key, public = keys(folder, "key")
    made = packaged(folder, "one", base_url=f"file://{folder}/one", public_key=public)
    signing.sign(made, key)
    done = install(folder / "home", made / "install.sh")
    assert done.returncode == 0 and "is installed" in done.stdout, done.stderr
    signing.sign(made, keys(folder, "other")[0])
    done = install(folder / "second", made / "install.sh")
    assert done.returncode == 1 and "signature" in done.stderr and not files(folder / "second"), done.stderr


def formula_has_the_sum_of_the_archive(folder: Path) -> None:
    made = packaged(folder, "one", base_url="https://example.invalid/yore")
    text = (made / "Formula/yore.rb").read_text()
    assert sha256(next(made.glob("*-linux-gnu.tar.gz"))) in text and "@" not in text.replace("#{bin}", ""), text


def changed_file_is_not_as_signed(folder: Path) -> None:
    made = packaged(folder, "one")
    key, public = keys(folder, "key")
    signing.sign(made, key)
    assert signing.verify(made, public) == len((made / package.SUMS).read_text().splitlines())
    signature = (made / f"{package.SUMS}.minisig").read_bytes()
    signing.sign(made, key)
    assert (made / f"{package.SUMS}.minisig").read_bytes() == signature
    for change in (lambda: (made / "more").write_text("more"), lambda: (made / "install.sh").write_text("changed")):
        change()
        try:
            signing.verify(made, public)
        except Failure:
            (made / "more").unlink(missing_ok=True)
            continue
        raise AssertionError("a changed release is verified")


def launcher_passes_arguments_and_the_exit_status(folder: Path) -> None:
    inside = folder / f"node_modules/{PACKAGE}-linux-x64"
    (inside / "bin").mkdir(parents=True)
    (inside / "package.json").write_text("{}")
    (inside / "bin/yore").write_text('#!/bin/sh\necho "got $*"\nexit 7\n')
    (inside / "bin/yore").chmod(0o755)
    launcher = folder / "node_modules/main/yore.js"
    launcher.parent.mkdir()
    shutil.copy(PACKAGING / "npm/yore.js", launcher)
    done = subprocess.run(["node", launcher, "a b", "c"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (7, "got a b c\n"), done
    shutil.rmtree(inside)
    done = subprocess.run(["node", launcher], capture_output=True, text=True)
    assert done.returncode == 1 and "is missing" in done.stderr, done


def npm_installs_from_a_registry_what_fits(folder: Path) -> None:
    made = packaged(folder, "one")
    names = {path.name.removesuffix(f"-{version()}.tgz"): path for path in made.glob("*.tgz")}

    class Registry(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/")
            if name in names:
                data = names[name].read_bytes()
                with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                    manifest = json.load(archive.extractfile("package/package.json"))
                place = f"http://127.0.0.1:{self.server.server_port}/{name}.tgz"
                integrity = f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"
                manifest["dist"] = {"tarball": place, "integrity": integrity}
                about = {"name": name, "dist-tags": {"latest": version()}, "versions": {version(): manifest}}
                answer = json.dumps(about).encode()
            elif name.removesuffix(".tgz") in names:
                answer = names[name.removesuffix(".tgz")].read_bytes()
            else:
                return self.send_error(404)
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        settings["npm_config_registry"] = f"http://127.0.0.1:{server.server_port}"
        run(["npm", "install", "--global", "--prefix", folder / "prefix", PACKAGE], env=settings)
        told = run([folder / "prefix/bin/yore", "recall", "x"], env=settings)
        by_npx = run(["npx", "--yes", PACKAGE, "ask", "y"], env=settings, cwd=folder)
        server.shutdown()
    assert (told, by_npx) == ("called with recall x\n", "called with ask y\n"), (told, by_npx)
    assert {name for name in files(folder / "prefix") if name.endswith("man1/yore-recall.1")}


def keys(folder: Path, name: str) -> tuple[Path, str]:
    """Makes a throwaway key without a password."""
    run(["minisign", "-G", "-W", "-f", "-p", folder / f"{name}.pub", "-s", folder / name])
    return folder / name, (folder / f"{name}.pub").read_text().splitlines()[1]


CHECKS = (two_packagings_give_equal_bytes, wheel_lists_all_its_files, bill_names_its_parts, installer_installs_and_removes,
          installer_refuses_a_wrong_sum, installer_refuses_what_is_not_listed, installer_without_an_address_fails,
          installer_downloads_and_checks_the_signature, formula_has_the_sum_of_the_archive, changed_file_is_not_as_signed,
          launcher_passes_arguments_and_the_exit_status, npm_installs_from_a_registry_what_fits)


# These sign with a throwaway key.
SIGNING = (installer_downloads_and_checks_the_signature, changed_file_is_not_as_signed)


def main() -> int:
    failed = []
    chosen = CHECKS
    if not shutil.which("minisign"):
        chosen = [check for check in CHECKS if check not in SIGNING]
        print(f"SKIPPED: minisign is missing (Debian's package of that name): {', '.join(check.__name__ for check in SIGNING)}")
    for check in chosen:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(Path(folder))
            except Exception:
                traceback.print_exc()
                failed.append(check.__name__)
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0
