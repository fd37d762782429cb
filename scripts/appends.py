#!/usr/bin/env python3
"""Ingests a tree of transcripts in 100 appends, as agents write them, and prints what is stored.

    scripts/appends.py YORE_BINARY TRANSCRIPTS [ROUNDS]

Each round adds the next hundredth of every file (cut anywhere, mostly inside a line) to a copy,
then runs `yore ingest` on the copies. Prints CPU seconds of all rounds and `yore status`.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile


def main(yore, source, rounds=100):
    source = pathlib.Path(source)
    with tempfile.TemporaryDirectory() as scratch:
        copies, memory = pathlib.Path(scratch, "copies"), pathlib.Path(scratch, "memory")
        files = {path: copies / path.relative_to(source) for path in sorted(source.rglob("*.jsonl"))}
        for copy in files.values():
            copy.parent.mkdir(parents=True, exist_ok=True)
        run = lambda *arguments, **options: subprocess.run([yore, "--data-dir", memory, *arguments], check=True, **options)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for turn in range(rounds):
            for path, copy in files.items():
                size = path.stat().st_size
                start, end = size * turn // rounds, size * (turn + 1) // rounds
                with path.open("rb") as whole, copy.open("ab") as part:
                    whole.seek(start)
                    part.write(whole.read(end - start))
            run("ingest", copies, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{rounds} rounds, {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.1f} CPU s", flush=True)
        run("stats")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 100)
