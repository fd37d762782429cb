#!/usr/bin/env python3
"""Measures what yore tells again of what compactions left out, on transcripts of Claude Code.

    compaction.py moments TRANSCRIPT... >MOMENTS.jsonl    the prompts, files and commands after each compaction
    compaction.py judge MOMENTS.jsonl TOLD.jsonl [--list] what `--bin compaction` says of them

A thing that a compaction left out is *used* if, later in the session and before the next compaction, its file is read or changed, its
command is run, or 60 % of its content words stand in one message. It is *given before use* if it was told at a moment that is not
later than the use: a hook runs before the call. The block right after a compaction is counted where yore has read the session.
"""
import collections, json, re, sys

STOP = set("the a an of to in and or is was it that this for on with by not no be as at from we our you they its are were if so than then also only into out".split())
words = lambda text: {word for word in re.findall(r"[a-z0-9_]{3,}", text.lower()) if word not in STOP}


def lines(path):
    for line in open(path, errors="replace"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def millis(stamp):
    import datetime
    return int(datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() * 1000)


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict) and part.get("type") == "text")


def moments(paths):
    seen = set()
    for path in paths:
        at, compaction, number = None, 0, 0
        for entry in lines(path):
            stamp, session = entry.get("timestamp"), entry.get("sessionId")
            if not stamp or not session or entry.get("isSidechain"):
                continue
            at = millis(stamp)
            message = entry.get("message") or {}
            if entry.get("isCompactSummary"):
                compaction, number = entry.get("uuid"), 0
                if compaction in seen:
                    compaction = None
                    continue
                seen.add(compaction)
                yield {"id": f"{compaction}/all", "session": session, "at_ms": at, "all": True}
                continue
            if not compaction or not isinstance(message, dict):
                continue
            found = []
            if entry.get("type") == "user" and not entry.get("isMeta"):
                said = text_of(message.get("content")).strip()
                if said and not said.startswith("<"):
                    found.append({"prompt": said})
            for part in message.get("content") or [] if isinstance(message.get("content"), list) else []:
                if not isinstance(part, dict):
                    continue
                given = part.get("input") or {}
                if part.get("type") == "tool_use" and isinstance(given, dict):
                    if part.get("name") == "Bash" and given.get("command"):
                        found.append({"command": given["command"]})
                    elif part.get("name") in ("Read", "Edit", "Write", "MultiEdit", "NotebookEdit") and given.get("file_path"):
                        found.append({"file": given["file_path"], "is_read": part["name"] == "Read"})
                elif part.get("type") == "text" and entry.get("type") == "assistant":
                    found.append({"said": part.get("text", "")})
            for moment in found:
                number += 1
                yield {"id": f"{compaction}/{number}", "session": session, "at_ms": at, **moment}


def uses(item, moment):
    text, kind = item["text"], item["part"]
    named = re.match(r"`([^`]+)`", text)
    if kind == "files" and named:
        touched = moment.get("file") or moment.get("command") or ""
        return named[1] in touched
    if kind == "commands" and named:
        return named[1].rstrip("…") in (moment.get("command") or "")
    said = moment.get("said") or moment.get("prompt") or moment.get("command") or ""
    own = words(text)
    return len(own) > 1 and len(own & words(said)) >= .6 * len(own)


def judge(moments_path, told_path, show):
    told = {row["id"]: row for row in map(json.loads, open(told_path))}
    groups = collections.OrderedDict()
    for moment in map(json.loads, open(moments_path)):
        groups.setdefault(moment["id"].split("/")[0], []).append(moment)
    count = collections.defaultdict(lambda: collections.Counter())
    tokens, micros = [], []
    for name, own in groups.items():
        dropped = told.get(f"{name}/all", {}).get("told", [])
        given, spent = {}, 0
        for at, moment in enumerate(own):
            row = told.get(moment["id"])
            if row is None or "all" in moment:
                continue
            micros.append(row["micros"])
            for item in row["told"]:
                if item["text"] not in given:
                    given[item["text"]] = at
                    spent += len(item["text"]) // 4 + 15
        tokens.append(spent)
        for item in dropped:
            used = next((at for at, moment in enumerate(own) if "all" not in moment and uses(item, moment)), None)
            at = given.get(item["text"])
            key = item["part"]
            for part in (key, "all"):
                count[part]["dropped"] += 1
                count[part]["used"] += used is not None
                count[part]["used, given before"] += used is not None and at is not None and at <= used
                count[part]["not used"] += used is None
                count[part]["not used, given"] += used is None and at is not None
            if show and at is not None:
                print("right" if used is not None and at <= used else "LATE" if used is not None else "UNUSED", item["part"], item["text"][:110], "|", str({k: v for k, v in own[at].items() if k not in ("id", "session", "at_ms")})[:120])
    print(f"{len(groups)} compactions")
    for part, row in count.items():
        print(f"{part}: {dict(row)}: of used {row['used, given before'] / max(1, row['used']):.2f} given before use, "
              f"of unused {row['not used, given'] / max(1, row['not used']):.2f} given")
    tokens.sort(), micros.sort()
    print(f"tokens after a compaction: {tokens[len(tokens) // 2]} in the middle, {tokens[-1]} at most; "
          f"{micros[len(micros) // 2]} µs in the middle, {micros[int(len(micros) * .95)]} µs p95")


if __name__ == "__main__":
    if sys.argv[1:2] == ["moments"]:
        for moment in moments(sys.argv[2:]):
            print(json.dumps(moment))
    elif sys.argv[1:2] == ["judge"]:
        judge(sys.argv[2], sys.argv[3], "--list" in sys.argv)
    else:
        sys.exit(__doc__)
