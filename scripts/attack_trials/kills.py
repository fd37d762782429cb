"""Processes killed at random moments, and many at once: nothing may be lost or doubled."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator

from .place import Home, Place, Row


def ingest_killed(place: Place) -> Iterator[Row]:
    """`ingest` killed at random moments, then run to its end: the same turns as an undisturbed run."""
    files = place.home("calm")
    place.corpus(files, 30, 40)
    whole = time.monotonic()
    files.yore("ingest", "--no-embed")
    whole = time.monotonic() - whole
    expected, kills, failed = files.turns(), 0, 0
    stores = place.times(5)
    for number in range(stores):
        home = place.home(f"killed-{number}")
        os.symlink(files.path / ".claude", home.path / ".claude")
        for _ in range(8):
            run = home.start("ingest", "--no-embed")
            time.sleep(place.random.uniform(0, whole))
            kills += run.poll() is None
            run.kill()
            run.communicate()
        home.yore("ingest", "--no-embed")
        failed += home.turns() != expected or b"sound" not in home.yore("doctor", "--deep").out
    yield Row("stores that differ", stores, failed, f"{kills} kills")


def write_slowly(place: Place, home: Home, seed: int, until: threading.Event) -> None:
    """Appends exchanges to a transcript; three lines of ten arrive in two writes."""
    session, cwd = f"00000000-0000-4000-8000-{seed:012}", f"/home/ada/w{seed}"
    folder = home.path / ".claude" / "projects" / cwd.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    at = 0
    with open(folder / f"{session}.jsonl", "ab", buffering=0) as file:
        while not until.is_set():
            for line in place.exchange(session, cwd, f"w{seed} n{at} {place.words(8)}", at):
                raw = (json.dumps(line) + "\n").encode()
                cut = place.random.randrange(1, len(raw)) if place.random.random() < 0.3 else len(raw)
                file.write(raw[:cut])
                if cut < len(raw):
                    time.sleep(0.01)
                    file.write(raw[cut:])
            at += 1
            time.sleep(0.02)


def daemon_killed(place: Place) -> Iterator[Row]:
    """A daemon that captures what eight writers append is killed again and again: the same turns as a calm reading."""
    home = place.home("live")
    done = threading.Event()
    writers = [threading.Thread(target=write_slowly, args=(place, home, seed, done)) for seed in range(8)]
    for writer in writers:
        writer.start()
    time.sleep(0.5)
    home.yore("ingest", "--no-embed")
    kills = refused = 0
    for _ in range(place.times(12)):
        refused += home.start_daemon().code != 0
        time.sleep(place.random.uniform(0.3, 2.5))
        if pid := home.daemon_pid():
            try:
                os.kill(pid, signal.SIGKILL)
                kills += 1
            except ProcessLookupError:
                pass
    done.set()
    for writer in writers:
        writer.join()
    home.yore("ingest", "--no-embed")
    calm = place.home("calm")
    os.symlink(home.path / ".claude", calm.path / ".claude")
    calm.yore("ingest", "--no-embed")
    live, expected = home.turns(), calm.turns()
    yield Row("turns lost or doubled", len(expected), len(set(live) ^ set(expected)) + len(live) - len(set(live)), f"{kills} kills")
    yield Row("`daemon start` right after a kill is refused", kills, refused)


def agents_at_once(place: Place) -> Iterator[Row]:
    """Eight agents at once: hooks, recall, ingest and notes, with a daemon."""
    home = place.home("busy")
    place.corpus(home, 20, 20)
    home.yore("ingest", "--no-embed")
    home.start_daemon()
    end = time.monotonic() + 30 * place.scale
    times: dict[str, list[float]] = {}
    failures: list[str] = []
    noted = []

    def agent(number: int) -> None:
        at = 0
        while time.monotonic() < end:
            at += 1
            kind = ("hook", "recall", "remember", "ingest")[(at + number) % 4]
            given = json.dumps({"session_id": f"s{number}", "cwd": "/home/ada/p1", "hook_event_name": "UserPromptSubmit",
                                "prompt": place.words(9)}).encode()
            call = {
                "hook": ("hook", "claude-code", "UserPromptSubmit"), "recall": ("recall", "--all", place.words(4)),
                "remember": ("remember", f"note {number} {at}: {place.words(8)}", "--global"), "ingest": ("ingest", "--no-embed"),
            }[kind]
            began = time.monotonic()
            result = home.yore(*call, given=given)
            times.setdefault(kind, []).append(time.monotonic() - began)
            if result.code not in (0, 1) or result.is_broken:
                failures.append(f"{kind} {result.code}: {result.text[-80:]}")
            elif kind == "remember":
                noted.append(at)

    threads = [threading.Thread(target=agent, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    quantiles = []
    for kind, all_times in sorted(times.items()):
        ordered = sorted(all_times)
        p50, p95 = (ordered[int(len(ordered) * share)] for share in (0.5, 0.95))
        quantiles.append(f"{kind} p50 {p50 * 1000:.0f} p95 {p95 * 1000:.0f} ms")
    yield Row("calls that fail", sum(map(len, times.values())), len(failures), "; ".join(quantiles + failures[:2]))
    kept = home.rows("SELECT count(*) FROM note")
    yield Row("notes lost", len(noted), max(0, len(noted) - (kept[0][0] if kept else 0)))


def start_together(place: Place) -> Iterator[Row]:
    """Commands that start together on an empty data directory: one schema, no damage."""
    failed = 0
    for number in range(place.times(5)):
        home = place.home(f"new-{number}")
        place.corpus(home, 2, 3)
        runs = [home.start("ingest", "--no-embed") for _ in range(5)]
        place.random.choice(runs).kill()
        for run in runs:
            run.communicate()
        home.yore("ingest", "--no-embed")
        failed += len(home.turns()) != 12 or b"sound" not in home.yore("doctor", "--deep").out
    yield Row("data directories that are not whole", place.times(5), failed)


ATTACKS = {"ingest-killed": ingest_killed, "daemon-killed": daemon_killed, "agents-at-once": agents_at_once, "start-together": start_together}
