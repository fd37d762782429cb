"""What is forgotten is gone: from every file, after a kill, after everything is read again."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from .place import Home, Place, Row

PHRASE = "xylofizz4711"


def everywhere(home: Home, phrase: str) -> list[str]:
    """Files of the data directory that hold a phrase: as bytes, and in the archive's blobs, which are unpacked."""
    found = []
    for path in sorted(home.data.rglob("*")):
        if path.is_file() and not path.is_symlink() and phrase.encode() in path.read_bytes():
            found.append(str(path.relative_to(home.data)))
    for table, column in (("blob", "data"), ("turn_text", "words")):
        for row, data in home.rows(f"SELECT rowid, {column} FROM {table}"):
            if phrase.encode() in unpacked(data):
                found.append(f"{table} {row}")
    for (table,) in home.rows("SELECT name FROM sqlite_schema WHERE type = 'table'"):
        for row in home.rows(f'SELECT * FROM "{table}"'):
            if any(phrase in str(value) for value in row):
                found.append(f"table {table}")
                break
    return found


def unpacked(data: object) -> bytes:
    """Every zstd frame within a value, unpacked; the value itself where there is none."""
    if not isinstance(data, bytes):
        return str(data).encode()
    at = data.find(b"\x28\xb5\x2f\xfd")
    if at < 0:
        return data
    done = subprocess.run(["zstd", "-d", "-q", "-c"], input=data[at:], capture_output=True, check=False)
    return data + done.stdout


def forgotten_phrase(place: Place) -> Iterator[Row]:
    """A phrase in sessions, notes, memories, entities and their log is forgotten for good: in no file, after everything is read again."""
    home = place.home("forget")
    place.corpus(home, 6, 10)
    said = place.transcript(home, [f"the word is {PHRASE}", "From now on always use " + PHRASE + " in `dock.rs` because it is faster."], cwd="/home/ada/p1")
    home.yore("ingest", "--no-embed")
    home.yore("extract", "--all")
    home.yore("remember", f"note with {PHRASE}", "--global")
    kept = home.yore("remember", f"the {PHRASE} pump is red", "--kind", "fact", "--global", "--entity", PHRASE).out.decode()
    home.yore("backup")
    home.yore("forget", said.stem, "--hard", "--yes")
    home.yore("forget", "--query", PHRASE, "--hard", "--yes")
    for memory in [word for word in kept.split() if len(word) >= 10 and set(word) <= set("0123456789abcdef")]:
        home.yore("forget", memory, "--hard", "--yes")
    first = everywhere(home, PHRASE)
    for command in (("ingest", "--no-embed"), ("extract", "--all"), ("reindex",)):
        home.yore(*command)
    again = everywhere(home, PHRASE)
    answers = [call for call in (("recall", "--all", PHRASE), ("memories", "--all"), ("notes", "--all"), ("op", "log"), ("sessions",))
               if PHRASE in home.yore(*call).out.decode(errors="replace")]
    yield Row("places that hold it after forgetting", 1, len(first), ", ".join(first[:6]))
    yield Row("places that hold it after everything was read again", 1, len(again), ", ".join(again[:6]))
    yield Row("answers that tell it", 5, len(answers), ", ".join(" ".join(call) for call in answers))


def forget_killed(place: Place) -> Iterator[Row]:
    """`forget --hard` of a session that twelve others repeat is killed, then run again: no copy stays."""
    whole = place.home("whole")
    place.corpus(whole, 8, 20)
    session = place.uuid()
    first = place.transcript(whole, [f"{PHRASE} {place.words(30)}" for _ in range(40)], session=session, day=1)
    lines = first.read_text()
    for number in range(12):
        other = place.transcript(whole, [place.words(10)], day=2 + number)
        other.write_text(lines.replace(session, other.stem) + other.read_text())
    whole.yore("ingest", "--no-embed")
    undisturbed = place.home("calm")
    shutil.copytree(whole.path, undisturbed.path, dirs_exist_ok=True)
    began = time.monotonic()
    undisturbed.yore("forget", session, "--hard", "--yes")
    took = time.monotonic() - began
    trials = place.times(25)
    left = told = kills = 0
    for number in range(trials):
        home = place.home(f"killed-{number}")
        shutil.copytree(whole.path, home.path, dirs_exist_ok=True)
        run = home.start("forget", session, "--hard", "--yes")
        time.sleep(place.random.uniform(0.02, took))
        kills += run.poll() is None
        run.kill()
        run.communicate()
        home.yore("forget", session, "--hard", "--yes")
        home.yore("ingest", "--no-embed")
        home.yore("reindex")
        left += bool(everywhere(home, PHRASE))
        told += PHRASE in home.yore("recall", "--all", PHRASE).out.decode(errors="replace")
        shutil.rmtree(home.path)
    yield Row("stores that still hold a copy", trials, left, f"{kills} kills")
    yield Row("stores that tell it", trials, told)


def dead_segments(place: Place) -> Iterator[Row]:
    """A daemon and other processes write the index in turn: no file stays that the index does not name."""
    home = place.home("turns")
    place.corpus(home, 3, 5)
    home.yore("ingest", "--no-embed")
    home.start_daemon()
    rounds = place.times(25)
    for number in range(rounds):
        place.transcript(home, [place.words(12)], day=number)
        home.yore("ingest", "--no-embed", YORE_DAEMON__USE="false")
        home.yore("remember", f"note {number}: {place.words(6)}", "--global")
    home.yore("ingest", "--no-embed")
    dead = unnamed(home.data)
    yield Row("files of no segment that the index names", rounds, len(dead), ", ".join(dead[:3]))


def unnamed(data: Path) -> list[str]:
    """Files of the full-text index whose segment is not in its list."""
    dead = []
    for meta in data.glob("index/**/meta.json"):
        named = {segment["segment_id"].replace("-", "") for segment in json.loads(meta.read_text())["segments"]}
        for path in meta.parent.iterdir():
            stem = path.name.split(".")[0]
            if len(stem) == 32 and stem not in named:
                dead.append(path.name)
    return dead


ATTACKS = {"forgotten-phrase": forgotten_phrase, "forget-killed": forget_killed, "dead-segments": dead_segments}
