#!/usr/bin/env python3
"""How often does yore find where the topic of a conversation changes?

    scripts/topics.py YORE FOLDER [--pairs N] [--parts N] [--seed N] [--keep-times]

FOLDER holds transcripts of Claude Code (*.jsonl). Conversations are joined from pieces of N different ones (3 to 8 exchanges
each, of one project where there are enough), written as one transcript, ingested by the program YORE into a store of their
own, and divided by `yore topics`. A change is found if a topic begins at most two messages of the person or the agent from
it. Without --keep-times the pieces follow each other without a pause, so that times give nothing away. Printed: precision,
recall and F1 with a bootstrap interval, and the topics that are found in conversations of one piece.
"""

import argparse
import json
import os
import random
import subprocess
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

TOLERANCE = 2


def is_prompt(record: dict) -> bool:
    if record.get("type") != "user" or record.get("isMeta") or record.get("isSidechain") or record.get("isCompactSummary"):
        return False
    content = (record.get("message") or {}).get("content")
    if isinstance(content, list):
        kinds = {part.get("type") for part in content if isinstance(part, dict)}
        if "tool_result" in kinds or "text" not in kinds:
            return False
        content = next(part["text"] for part in content if part.get("type") == "text")
    return isinstance(content, str) and bool(content.strip()) and not content.lstrip().startswith(("<", "Caveat:", "[Request"))


def pieces_of(path: Path) -> list[list[dict]]:
    """The exchanges of a transcript, each a list of records."""
    exchanges: list[list[dict]] = []
    for line in path.read_text(errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record.get("type") not in ("user", "assistant") or record.get("isSidechain"):
            continue
        if is_prompt(record):
            exchanges.append([record])
        elif exchanges:
            exchanges[-1].append(record)
    return exchanges


def joined(pieces: list[list[list[dict]]], session: str, keeps_times: bool) -> tuple[list[str], list[str]]:
    """The lines of a joined transcript, and the ids of the messages with which its pieces begin, but for the first."""
    lines, seams, clock, ordinal = [], [], datetime(2026, 1, 5, 9, 0, 0), 0
    for piece in pieces:
        previous = None
        seams.append(f"{session[:24]}{ordinal + 1:012x}")
        for exchange in piece:
            for record in exchange:
                ordinal += 1
                record = dict(record, sessionId=session, uuid=f"{session[:24]}{ordinal:012x}", cwd="/home/dev/joined")
                record["parentUuid"] = f"{session[:24]}{ordinal - 1:012x}" if ordinal > 1 else None
                at = record.get("timestamp")
                if at and not keeps_times:
                    time = datetime.fromisoformat(at.replace("Z", "+00:00")).replace(tzinfo=None)
                    step = (time - previous) if previous and time > previous else timedelta(seconds=30)
                    previous = time
                    clock += min(step, timedelta(minutes=30))
                    record["timestamp"] = clock.isoformat(timespec="milliseconds") + "Z"
                lines.append(json.dumps(record))
    return lines, seams[1:]


def yore(program: str, home: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "YORE_HOME": str(home / "data"), "YORE_DAEMON__AUTOSTART": "false"}
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr}")
    return done.stdout


def spoken_before(turns: list[dict]) -> dict[str, int]:
    """For each turn the number of messages before it."""
    count, places = 0, {}
    for turn in turns:
        places[turn["id"]] = count
        count += turn["role"] in ("human", "assistant") and bool(turn["text"].strip())
    return places


def f1(rows: list[tuple[int, int, int]]) -> tuple[float, float, float]:
    hit, found, real = (sum(row[at] for row in rows) for at in range(3))
    precision, recall = hit / max(found, 1), hit / max(real, 1)
    return 2 * precision * recall / max(precision + recall, 1e-9), precision, recall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("yore")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--parts", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep-times", action="store_true")
    arguments = parser.parse_args()
    program = str(Path(arguments.yore).resolve())
    chance = random.Random(arguments.seed)
    known: dict[str, list[list[dict]]] = {}
    for path in sorted(arguments.folder.rglob("*.jsonl")):
        exchanges = pieces_of(path)
        if len(exchanges) >= 3:
            # Snapshots of one conversation begin alike: the longest counts.
            key = json.dumps([exchange[0]["message"] for exchange in exchanges[:2]])
            if len(exchanges) > len(known.get(key, [])):
                known[key] = exchanges
    conversations = list(known.values())
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        folder = home / ".claude" / "projects" / "joined"
        folder.mkdir(parents=True)
        seams: dict[str, list[str]] = {}
        for number in range(arguments.pairs):
            session = f"{number:08x}-0000-4000-8000-000000000000"
            pieces = []
            for exchanges in chance.sample(conversations, arguments.parts):
                length = chance.randint(3, min(8, len(exchanges)))
                start = chance.randint(0, len(exchanges) - length)
                pieces.append(exchanges[start : start + length])
            lines, seams[session] = joined(pieces, session, arguments.keep_times)
            (folder / f"{session}.jsonl").write_text("\n".join(lines) + "\n")
        yore(program, home, "ingest", str(folder))
        topics = {found["session"]: found["topics"] for found in json.loads(yore(program, home, "topics", "--all", "-n", "0", "--json"))}
        rows, unread = [], 0
        for session, at in seams.items():
            turns = json.loads(yore(program, home, "show", session, "--budget", "0", "--json"))["turns"]
            before = spoken_before(turns)
            real = [before[turn["id"]] for turn in turns if turn["native_id"] in at]
            if len(real) < len(at):
                unread += 1
                continue
            found = [before[topic["turn"]] for topic in topics.get(session, [])[1:]]
            left, hit = list(real), 0
            for place in found:
                near = [seam for seam in left if abs(seam - place) <= TOLERANCE]
                if near:
                    left.remove(near[0])
                    hit += 1
            rows.append((hit, len(found), len(real)))
        score, precision, recall = f1(rows)
        drawn = sorted(f1(chance.choices(rows, k=len(rows)))[0] for _ in range(1000))
        print(f"{len(rows)} conversations of {arguments.parts} pieces from {len(conversations)} ({unread} left out)")
        print(f"F1 {score:.3f} [{drawn[25]:.3f}, {drawn[974]:.3f}], precision {precision:.3f}, recall {recall:.3f}")
        print(f"topics in the mean: {sum(row[1] + 1 for row in rows) / max(len(rows), 1):.2f}")


if __name__ == "__main__":
    main()
