"""Signs the checksums of a release with minisign, and checks signature and files. Debian's package `minisign` has the program."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .common import PROGRAM, Failure, run, version
from .package import SUMS, sums


def sign(folder: Path, key: Path) -> None:
    """Signs `SHA256SUMS`. minisign asks for the key's password on the terminal."""
    if (folder / SUMS).read_text() != sums(folder):
        raise Failure(f"{folder / SUMS} is not of the files beside it: package them again")
    # A comment of its own instead of minisign's, which has the time: the same files get the same signature.
    command = ["minisign", "-S", "-s", key, "-m", folder / SUMS, "-x", folder / f"{SUMS}.minisig", "-t", f"{PROGRAM} {version()}"]
    try:
        if subprocess.run(command).returncode != 0:
            raise Failure("minisign did not sign")
    except FileNotFoundError:
        raise Failure("minisign is missing") from None


def verify(folder: Path, public_key: str) -> int:
    """Checks the signature, and that the files are exactly those of the sums; returns their number."""
    named = ["-p", public_key] if Path(public_key).is_file() else ["-P", public_key]
    run(["minisign", "-V", *named, "-m", folder / SUMS, "-x", folder / f"{SUMS}.minisig"])
    signed, found = (folder / SUMS).read_text().splitlines(), sums(folder).splitlines()
    if different := sorted(set(signed) ^ set(found)):
        raise Failure("these files are not as signed: " + ", ".join(sorted({line.split("  ", 1)[1] for line in different})))
    return len(found)
