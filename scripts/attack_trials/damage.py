"""Damaged databases and indexes, full disks and read-only media: nothing is wrong in silence, words are saved."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .place import Home, Place, Row


def noise(place: Place, path: Path, places: int) -> None:
    """Writes up to 64 random bytes at random places of a file."""
    size = path.stat().st_size
    with open(path, "r+b") as file:
        for _ in range(places):
            file.seek(place.random.randrange(min(4096, size - 1), max(4097, size - 64)) if size > 8192 else place.random.randrange(size))
            file.write(place.random.randbytes(place.random.randrange(1, 64)))


def database_noise(place: Place) -> Iterator[Row]:
    """Noise in ten places of yore.db: found by `doctor --deep`, never printed as the original, saved by `repair`."""
    whole = place.home("whole")
    place.corpus(whole, 20, 30)
    whole.yore("ingest", "--no-embed")
    turns = whole.turns()
    originals = {session: whole.yore("show", session, "--original").out for session in whole.sessions()}
    stores = place.times(10)
    sound = unseen = altered = unsaved = lost = 0
    for number in range(stores):
        home = place.home(f"damaged-{number}")
        shutil.copytree(whole.data, home.data)
        noise(place, home.data / "yore.db", 10)
        plain, deep = home.yore("doctor"), home.yore("doctor", "--deep")
        sound += "yore.db is sound" in plain.text
        unseen += deep.code == 0
        for session, original in originals.items():
            shown = home.yore("show", session, "--original")
            altered += shown.code == 0 and shown.out != original
        home.yore("repair")
        if home.yore("doctor", "--deep").code != 0:
            unsaved += 1
        os.symlink(whole.path / ".claude", home.path / ".claude")
        home.yore("ingest", "--no-embed")
        lost += len(set(turns) - set(home.turns()))
    yield Row("plain `doctor` says that the database is sound", stores, sound)
    yield Row("`doctor --deep` finds nothing", stores, unseen)
    yield Row("`show --original` prints other bytes with exit 0", stores * len(originals), altered)
    yield Row("not sound after `repair`", stores, unsaved)
    yield Row("turns missing after `repair` and `ingest`", stores * len(turns), lost)


def index_noise(place: Place) -> Iterator[Row]:
    """Noise in files of the indexes: an answer that lacks something says so."""
    whole = place.home("whole")
    place.corpus(whole, 12, 30)
    whole.yore("ingest", "--no-embed")
    question = place.words(4)
    expected = ids(whole, question)
    tried = silent = 0
    for folder in ("index", "vectors"):
        files = [path for path in sorted((whole.data / folder).rglob("*")) if path.is_file() and path.stat().st_size > 64]
        for path in place.random.sample(files, min(len(files), place.times(8))):
            home = place.home(f"{folder}-{tried}")
            shutil.copytree(whole.data, home.data)
            damaged = home.data / path.relative_to(whole.data)
            damaged.write_bytes(place.random.randbytes(damaged.stat().st_size))
            tried += 1
            result = home.yore("recall", "--all", "--json", question)
            says = any(word in result.text for word in ('"pending', "missing", "rebuil", "waiting", "lack"))
            silent += result.code == 0 and ids(home, question) != expected and not says
    yield Row("answers that lack something without a word", tried, silent)


def ids(home: Home, question: str) -> list[str]:
    out = home.yore("recall", "--all", "--json", question).out.decode(errors="replace")
    return [line.split('"')[3] for line in out.splitlines() if line.strip().startswith('"id":')]


def disk_full(place: Place) -> Iterator[Row]:
    """A disk that is full while reading: nothing is lost when there is room, and what is there answers."""
    sizes = [3, 5, 8, 12]
    lost = silent = tried = 0
    for megabytes in sizes:
        home = place.home(f"full-{megabytes}")
        place.corpus(home, 20, 40)
        home.data.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "tmpfs", str(home.data)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            yield Row("disk full: no file system could be mounted", 0, 0, "run as root")
            return
        try:
            first = home.yore("ingest", "--no-embed")
            tried += 1
            has_some = bool(home.turns())
            silent += first.is_broken or has_some and home.yore("recall", "--all", "tide gauge").code not in (0, 1)
            subprocess.run(["mount", "-o", "remount,size=400m", str(home.data)], capture_output=True, check=False)
            home.yore("ingest", "--no-embed")
            lost += 20 * 40 * 2 - len(home.turns())
        finally:
            subprocess.run(["umount", str(home.data)], capture_output=True, check=False)
    yield Row("panics, or no answer though words are stored", tried, silent)
    yield Row("turns lost after there is room", tried * 1600, lost)


def file_limit(place: Place) -> Iterator[Row]:
    """Files that may not grow (`ulimit -f`): an error that names the reason, and nothing lost."""
    home = place.home("limited")
    place.corpus(home, 20, 40)
    limited = subprocess.run([place.yore, "ingest", "--no-embed"], env=home.environment(), cwd=home.path, capture_output=True, check=False,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    broken = b"panicked" in limited.stderr
    home.yore("ingest", "--no-embed")
    yield Row("panics", 1, int(broken), limited.stderr.decode(errors="replace").strip()[:80].replace("|", "/"))
    yield Row("turns lost afterwards", 1600, 1600 - len(home.turns()))


def read_only(place: Place) -> Iterator[Row]:
    """A data directory on a read-only medium still answers."""
    home = place.home("readonly")
    place.corpus(home, 5, 10)
    home.yore("ingest", "--no-embed")
    memory = home.yore("remember", "the winch is greased in spring", "--kind", "fact", "--global").out.decode().split()
    memory = next((word for word in memory if len(word) >= 10 and all(c in "0123456789abcdef" for c in word)), "")
    session = home.sessions()[0]
    mounts = [["mount", "--bind", str(home.data), str(home.data)], ["mount", "-o", "remount,bind,ro", str(home.data)]]
    if any(subprocess.run(mount, capture_output=True, check=False).returncode for mount in mounts):
        yield Row("read-only: could not be mounted", 0, 0, "run as root")
        return
    try:
        calls = [("recall", "--all", "tide gauge"), ("sessions",), ("show", session), ("memories", "--all"), ("brief",),
                 ("stats",), ("notes", "--all"), ("topics",), ("show", memory)]
        failed = [call for call in calls if home.yore(*call).code not in (0, 1)]
    finally:
        subprocess.run(["umount", str(home.data)], capture_output=True, check=False)
    yield Row("commands that do not answer", len(calls), len(failed), "; ".join(" ".join(call) for call in failed))


def odd_directories(place: Place) -> Iterator[Row]:
    """Data directories with blanks, line breaks, quotes, a leading dash, emoji, long names."""
    names = ["a b", "a\nb", "a'b\"c", "-dash", "\U0001f6a2", "x" * 200, "a$HOME", "a;b", "ä"]
    failed = []
    for name in names:
        home = place.home(name)
        place.corpus(home, 1, 2)
        done = home.yore("ingest", "--no-embed")
        if done.is_broken or done.code or len(home.turns()) != 4:
            failed.append(repr(name))
    yield Row("directories that do not work", len(names), len(failed), ", ".join(failed))


ATTACKS = {"database-noise": database_noise, "index-noise": index_noise, "disk-full": disk_full, "file-limit": file_limit,
           "read-only": read_only, "odd-directories": odd_directories}
