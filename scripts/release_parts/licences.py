"""The crates in the program: a bill of materials (CycloneDX), and the texts of their licences.

Both come from cargo itself: `cargo tree` lists exactly the crates whose code is in the program, with the features that it is
built with (no macros, no build scripts), `cargo metadata` tells where each package is. What no crate declares is in `OWN`.
"""

from __future__ import annotations

import json
import re
import tomllib
import uuid
from pathlib import Path

from .common import PACKAGE, ROOT, SUMMARY, Failure, epoch, run, version

LICENCE_FILE = re.compile(r"(un)?licen[cs]e|copying|copyright|notice", re.IGNORECASE)
SOURCE_CODE = (".rs", ".h", ".c", ".py", ".json", ".js")
# Parts of the program that are no crates.
OWN = ("crates/engine/assets/NOTICE", "crates/yore/src/page/assets/vendor/highlight.js-LICENSE.txt")
MUSL = "packaging/musl-COPYRIGHT"
# Licences whose text is the same for everybody.
ONE_TEXT = ("Apache-2.0", "MPL-2.0")


def crates(target: str) -> list[dict]:
    """Returns the packages whose code is in the program, sorted, each as `cargo metadata` describes it."""
    metadata = json.loads(run(["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target], cwd=ROOT))
    known = {(package["name"], package["version"]): package for package in metadata["packages"]}
    tree = run(["cargo", "tree", "--locked", "-p", PACKAGE, "--edges", "normal,no-proc-macro", "--target", target,
                "--prefix", "none", "--no-dedupe", "--format", "{p}"], cwd=ROOT)
    used = {tuple(line.split()[:2]) for line in tree.splitlines() if line.strip()}
    packages = [known[name, version.removeprefix("v")] for name, version in sorted(used)]
    inside = {package["id"]: package for package in packages}
    for node in metadata["resolve"]["nodes"]:
        if node["id"] in inside:
            kinds = {link["pkg"] for link in node["deps"] if any(kind["kind"] is None for kind in link["dep_kinds"])}
            inside[node["id"]]["uses"] = sorted(purl(inside[other]) for other in kinds if other in inside)
    return packages


def purl(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def declared(package: dict) -> str:
    """Returns the licence as an SPDX expression; older packages write `/` for `OR`."""
    return re.sub(r"\s*/\s*", " OR ", package["license"] or "")


def bill(packages: list[dict], target: str) -> bytes:
    """Returns the bill of materials as CycloneDX JSON."""
    lock = (ROOT / "Cargo.lock").read_text()
    sums = {(entry["name"], entry["version"]): entry.get("checksum") for entry in tomllib.loads(lock)["package"]}
    components = []
    for package in packages:
        component = {"type": "library", "bom-ref": purl(package), "name": package["name"], "version": package["version"],
                     "purl": purl(package), "licenses": [{"expression": declared(package)}]}
        if checksum := sums.get((package["name"], package["version"])):
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        components.append(component)
    main = next(component for component in components if component["name"] == PACKAGE)
    components.remove(main)
    time = run(["date", "-u", "-d", f"@{epoch()}", "+%Y-%m-%dT%H:%M:%SZ"]).strip()
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{PACKAGE} {version()} {target} {lock}')}",
        "version": 1,
        "metadata": {"timestamp": time, "component": {**main, "type": "application", "description": SUMMARY}},
        "components": components,
        "dependencies": [{"ref": purl(package), "dependsOn": package["uses"]} for package in packages],
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def own_texts(package: dict) -> list[str]:
    """Returns the licence files of a package, also those of what is copied into it."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.rglob("*") if LICENCE_FILE.match(path.name) and path.suffix not in SOURCE_CODE)
    return [path.read_text(errors="replace").strip() for path in files if path.is_file()]


def standard_text(package: dict, packages: list[dict]) -> list[str]:
    """Returns texts for a package without a licence file: its repository's, or those of the licences that it declares."""
    for other in packages:
        if package["repository"] and other["repository"] == package["repository"] and (texts := own_texts(other)):
            return texts
    names = re.split(r" OR | AND |[()]", declared(package))
    if "MIT" in names:
        authors = ", ".join(package["authors"]) or f"the authors of {package['name']}"
        text = (ROOT / "LICENSE-MIT").read_text()
        return [re.sub(r"Copyright \(c\).*", lambda _: f"Copyright (c) {authors}", text, count=1).strip()]
    for name in names:
        for other in packages:
            if name in ONE_TEXT and declared(other) == name and (texts := own_texts(other)):
                return texts
    raise Failure(f"no text is known for the licence of {package['name']}: {package['license']}")


def texts(packages: list[dict], target: str) -> bytes:
    """Returns the licences of all crates, each text once, after the names of those that it belongs to."""
    holders: dict[str, list[str]] = {}
    listed = []
    for package in packages:
        if package["source"] is None:
            continue
        line = f"{package['name']} {package['version']}: {declared(package)}"
        listed.append(f"{line}, {package['repository']}" if package["repository"] else line)
        for text in own_texts(package) or standard_text(package, packages):
            holders.setdefault(text, []).append(f"{package['name']} {package['version']}")
    for name in (*OWN, MUSL) if target.endswith("musl") else OWN:
        holders.setdefault((ROOT / name).read_text().strip(), []).append(Path(name).name)
    rule = "=" * 80
    parts = ["Software of others in yore, and the texts of its licences.\n\n"
             "The standard library of Rust (MIT OR Apache-2.0): see LICENSES-rust-library.html, where it is beside this file.\n\n"
             + "\n".join(listed)]
    parts += [f"{rule}\n{', '.join(sorted(set(names)))}\n{rule}\n\n{text}" for text, names in holders.items()]
    return ("\n\n".join(parts) + "\n").encode()


def rust_library() -> bytes | None:
    """Returns the licences of Rust's standard library, as the toolchain brings them."""
    path = Path(run(["rustc", "--print", "sysroot"], cwd=ROOT).strip()) / "share/doc/rust/COPYRIGHT-library.html"
    return path.read_bytes() if path.exists() else None
