#!/usr/bin/env python3
"""Ingests every folder of real histories into a memory of its own and counts what came out.

    scripts/samples.py YORE_BINARY SAMPLES RAW [FOLDER...]

SAMPLES is the folder of small samples, RAW the unpacked archive of real sessions. Prints a table in
Markdown: files, empty files, sessions, side conversations, turns by role, skips with their
reasons, and beside it what plain Python counts in the same files without any reader of ours.
"""
import collections
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile


def values(path):
    """Every JSON value of a file of lines; glued ones too, torn ones counted."""
    decoder, bad = json.JSONDecoder(strict=False), 0
    found = []
    for line in path.read_bytes().decode("utf-8", "replace").split("\n"):
        at, line = 0, line.strip().strip("\0")
        while at < len(line):
            try:
                value, at = decoder.raw_decode(line, at)
            except ValueError:
                bad += 1
                break
            found.append(value)
            while at < len(line) and line[at].isspace():
                at += 1
    return found, bad


def claude(paths):
    sessions, said, bad, empty = set(), set(), 0, 0
    for path in paths:
        if path.suffix != ".jsonl" or path.name in ("journal.jsonl", "history.jsonl"):
            continue
        found, broken = values(path)
        bad, empty = bad + broken, empty + (path.stat().st_size == 0)
        for value in found:
            if isinstance(value, dict) and value.get("type") in ("user", "assistant") and not value.get("isSidechain"):
                if not path.name.startswith("agent-"):
                    sessions.add(value.get("sessionId"))
                if value["type"] == "assistant" and not path.name.startswith("agent-"):
                    message = value.get("message") or {}
                    if any(isinstance(b, dict) and b.get("type") == "text" and (b.get("text") or "").strip() for b in message.get("content") or [] if not isinstance(message.get("content"), str)):
                        said.add((message.get("id"), value.get("requestId")) if message.get("id") else value.get("uuid") or id(value))
    return {"sessions": len(sessions), "assistant messages with text": len(said), "bad lines": bad, "empty files": empty}


def codex(paths):
    sessions, human, bad = set(), 0, 0
    for path in paths:
        if path.suffix != ".jsonl" or path.name == "history.jsonl":
            continue
        found, broken = values(path)
        bad += broken
        metas = [v["payload"]["id"] for v in found if isinstance(v, dict) and v.get("type") == "session_meta"]
        if metas:
            sessions.add(metas[0])
        human += sum(v.get("type") == "event_msg" and v["payload"].get("type") == "user_message" for v in found if isinstance(v, dict))
    return {"sessions": len(sessions), "user_message events": human, "bad lines": bad}


def aider(paths):
    sessions = human = 0
    for path in paths:
        for line in path.read_text("utf-8", "replace").split("\n"):
            sessions += line.startswith("# aider chat started at ")
            human += line.startswith("#### ")
    return {"sessions": sessions, "user lines": human}


def gemini(paths):
    documents = [json.loads(path.read_text()) for path in paths if path.suffix == ".json"]
    documents = [d for d in documents if "messages" in d]
    kinds = collections.Counter(m.get("type") for d in documents for m in d["messages"])
    return {"sessions": len({d["sessionId"] for d in documents}), **{f"{k} messages": n for k, n in sorted(kinds.items())}}


def cursor(paths):
    counts = collections.Counter()
    for path in paths:
        if path.name == "state.vscdb":
            database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
            tables = {row[0] for row in database.execute("select name from sqlite_master where type = 'table'")}
            if "cursorDiskKV" in tables:
                for key, value in database.execute("select key, value from cursorDiskKV where key like 'composerData:%'"):
                    try:
                        composer = json.loads(value)
                    except (TypeError, ValueError):
                        counts["unreadable composers"] += 1
                        continue
                    heads = composer.get("fullConversationHeadersOnly") or composer.get("conversation") or []
                    counts["composers with messages"] += bool(heads)
                    counts["headers"] += len(heads)
            for (value,) in database.execute("select value from ItemTable where key = 'workbench.panel.aichat.view.aichat.chatdata'"):
                tabs = json.loads(value).get("tabs", [])
                counts["tabs with bubbles"] += sum(bool(tab.get("bubbles")) for tab in tabs)
                counts["bubbles"] += sum(len(tab.get("bubbles") or []) for tab in tabs)
            for (value,) in database.execute("select value from ItemTable where key = 'composer.composerData'"):
                for composer in json.loads(value).get("allComposers", []):
                    counts["inline composers with messages"] += bool(composer.get("conversation"))
                    counts["inline messages"] += len(composer.get("conversation") or [])
        elif path.suffix in (".jsonl", ".txt"):
            counts["transcripts"] += 1
    return dict(counts)


def cline(paths):
    counts = collections.Counter()
    for path in paths:
        if path.name.endswith(".messages.json"):
            messages = json.loads(path.read_text()).get("messages", [])
            counts["sessions"] += 1
            counts["messages"] += len(messages)
    return dict(counts)


COUNT = {"claude-code": claude, "codex": codex, "aider": aider, "gemini": gemini, "cursor": cursor, "cline": cline}


def main(yore, samples, raw, *only):
    folders = [(path.name, folder) for base in (raw, samples) for path in sorted(pathlib.Path(base).iterdir()) if path.is_dir() for folder in sorted(path.iterdir())]
    print("| folder | files | read as | counted by plain Python | skipped |")
    print("| --- | --- | --- | --- | --- |")
    for source, folder in folders:
        if source not in COUNT or only and folder.name not in only and source not in only:
            continue
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        with tempfile.TemporaryDirectory() as scratch:
            run = lambda *arguments: json.loads(subprocess.run([yore, "--data-dir", scratch, "--json", *arguments], check=True, stdout=subprocess.PIPE).stdout)
            # A history of aider under another name must be named itself.
            roots = paths if source == "aider" else [folder]
            report = run("ingest", "--no-embed", "--source", source, *roots)
            database = sqlite3.connect(pathlib.Path(scratch, "yore.db"))
            kinds = dict(database.execute("select kind, count(*) from episode group by kind"))
            roles = dict(database.execute("select role, count(*) from turn group by role order by role"))
            skips = database.execute("select reason, detail, sum(count) from skip group by reason, detail order by 3 desc").fetchall()
        say = lambda counts: ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"
        skipped = ", ".join(f"{reason}{' ' + detail if detail else ''} {count:,}" for reason, detail, count in skips) or "none"
        failures = report.get("failures") or []
        failed = f"; failed: {failures}" if failures else ""
        print(f"| {source}/{folder.name} | {len(paths):,} | {say(kinds)}; turns {sum(roles.values()):,}: {say(roles)}{failed} | {say(COUNT[source](paths))} | {skipped} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
