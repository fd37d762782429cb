#!/usr/bin/env python3
"""Replays the shell commands of transcripts and counts what the gate before a command says, and what it misses.

    scripts/gate.py commands FOLDER... > commands.jsonl        FOLDER: AGENT=GROUP=PATH, AGENT one of claude-code, codex
    cargo run --release -p yore-bench --bin gate -- --commands commands.jsonl --work DIRECTORY AGENT=PATH... > told.jsonl
    scripts/gate.py judge commands.jsonl told.jsonl [--list]

Reads the transcripts itself, without any reader of yore. A failing command *repeats* an earlier one of its group if both have the same
words (numbers, texts, hashes and temporary names aside) and the same error, or if the output names the same missing program, unknown
option or task. *Loop*: tests, builds, linters and formatters that fail, commands that only look at something, patches: these fail
because the work is unfinished, and are told of only where the output names the cause. A note is *right* if its command then failed, a
*false alarm* if it passed. A session is told of one cause once; a repetition that follows a note of its cause in the session counts as
told.
"""
import collections
import datetime
import json
import pathlib
import re
import sys

NOT_RUN = ("The user doesn't want", "User rejected", "This command requires approval", "Permission to use", "<tool_use_error>",
           "Command timed out", "Permission for this action", "Request interrupted", "[Request interrupted")
LOOP = re.compile(r"\b(test|tests|pytest|vitest|jest|nextest|tox|lint|clippy|golangci-lint|eslint|ruff|flake8|shellcheck|fmt|format|"
                  r"prettier|gofmt|black|build|compile|bench|check|vet|tsc|mypy|pyright|ty|act)\b")
LOOKS = {"awk", "cat", "cd", "diff", "echo", "find", "grep", "head", "jq", "ls", "pwd", "rg", "sed", "stat", "tail", "tree", "wc", "which"}
NAMED = [
    ("program", re.compile(r"command not found: (\S+)|(?:^|[ :])(?=[\w./@+-]*[a-z])([\w./@+-]+): command not found")),
    ("option", re.compile(r"(?:unknown|unrecognized|unexpected|invalid|illegal)(?: shorthand)? (?:flag|option|arguments?)s?(?: --)?:? *"
                          r"['`\"]?(-{0,2}[\w-]+)")),
    ("task", re.compile(r"no task (\S+) found|unknown command ['\"`]([\w:-]+)|[Mm]issing script: ['\"]?([\w:-]+)|"
                        r"No rule to make target ['`\"]?([\w./-]+)|git: '(\S+)' is not a git command")),
]
ERROR = re.compile(r"(?i)^error|^\w*error:|: error|fatal|not found|no such file|denied|cannot|can't|unknown|unrecognized|invalid|failed|"
                   r"FAIL|parse error|undefined|missing|^usage:|exception|panicked|refused|not permitted|no matches|no task|accepts")


def text(content):
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text(part.get("text", "")) if isinstance(part, dict) else str(part) for part in content)
    return ""


def lines(path):
    for line in open(path, errors="replace"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def claude(path):
    calls, began = {}, {}
    for line in lines(path):
        message = line.get("message")
        # The lines of one message have times of their own; the message counts from its first.
        key = message.get("id") if isinstance(message, dict) else None
        began.setdefault(key, line.get("timestamp"))
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else []:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use" and block.get("name") == "Bash":
                command = (block.get("input") or {}).get("command")
                calls[block["id"]] = (began[key] or line.get("timestamp"), line.get("cwd"), line.get("sessionId"), command)
            elif block.get("type") == "tool_result" and block.get("tool_use_id") in calls:
                at, cwd, session, command = calls[block["tool_use_id"]]
                output, failed = text(block.get("content")), bool(block.get("is_error"))
                # A refusal with the person's own words has no exit code.
                has_code = re.match(r"(Error: )?[Ee]xit code \d", output)
                ran = not failed or has_code or ERROR.search(output[:2000]) or "Traceback" in output
                if not output.lstrip().startswith(NOT_RUN) and ran:
                    yield block["tool_use_id"], at, cwd, session, command, failed, output


def codex(path):
    calls, cwd, session = {}, None, None
    for line in lines(path):
        item = line.get("payload") if isinstance(line.get("payload"), dict) else line
        if line.get("type") == "session_meta":
            session = item.get("id")
        cwd = item.get("cwd") or cwd
        if item.get("type") == "function_call" and item.get("name") in ("exec_command", "shell"):
            try:
                given = json.loads(item.get("arguments") or "")
            except ValueError:
                continue
            command = given.get("cmd") or given.get("command") or ""
            if isinstance(command, list):
                command = command[-1] if command[1:2] == ["-lc"] else " ".join(command)
            calls[item.get("call_id")] = (line.get("timestamp"), given.get("workdir") or cwd, command)
        elif item.get("type") == "function_call_output" and item.get("call_id") in calls:
            at, directory, command = calls[item["call_id"]]
            output = item.get("output")
            output = output if isinstance(output, str) else json.dumps(output)
            code = re.search(r"exited with code (-?\d+)|\"exit_code\":\s*(-?\d+)|[Ee]xit code: (-?\d+)", output)
            if code:
                failed = next(group for group in code.groups() if group) != "0"
                try:
                    output = json.loads(output).get("output", output)
                except (ValueError, AttributeError):
                    pass
                output = output.split("Output:\n", 1)[-1]
                if output.startswith("failed in sandbox"):
                    output = output.split("stdout: ", 1)[-1]
                yield item["call_id"], at, directory, session or path.stem, command, failed, output


def commands(folders):
    found = {}
    for folder in folders:
        agent, group, root = folder.split("=", 2)
        for path in sorted(pathlib.Path(root).rglob("*.jsonl")):
            for key, at, cwd, session, command, failed, output in (claude if agent == "claude-code" else codex)(path):
                if key in found or not at or not command or not command.strip():
                    continue
                time = datetime.datetime.fromisoformat(at.replace("Z", "+00:00"))
                found[key] = {
                    "id": key, "agent": agent, "group": group, "session": session, "at_ms": int(time.timestamp() * 1000),
                    "directory": cwd or "", "command": command, "failed": failed, "output": output[:20000],
                }
    for one in sorted(found.values(), key=lambda one: one["at_ms"]):
        print(json.dumps(one))


def form(command):
    """The words of a command that stay."""
    command = re.sub(r"<<-?\s*['\"]?(\w+)['\"]?.*?^\1$", "", command, flags=re.S | re.M)
    command = re.sub(r"\|\s*(tail|head|grep|cat|wc|sort)\b[^|&;]*", "", command)
    words = re.findall(r"\"(?:\\.|[^\"])*\"|'[^']*'|[^\s\"']+", re.sub(r"\d?>&?\s*\S+", "", command))
    kept = []
    for word in words:
        bare = word.strip("'\"")
        if " " in bare or "\n" in bare:
            bare = "TEXT"
        elif bare.isdigit() or re.fullmatch(r"(?=.*\d)[0-9a-f-]{7,40}", bare):
            bare = "N"
        elif re.match(r"(/private)?/(tmp|var/folders)/", bare):
            bare = "TMP"
        elif bare.startswith(("/", "~/")):
            bare = "*/" + bare.rsplit("/", 1)[-1]
        kept.append(bare)
    rest = " ".join(kept)
    return re.sub(r"^cd \S+ && ", "", rest)


def shape(output):
    rows = [row.strip() for row in output.split("\n") if row.strip() and not re.match(r"(Error: )?[Ee]xit code", row)]
    errors = [row for row in rows if ERROR.search(row) and "ERROR task failed" not in row and not re.match(r"^\[[\w:]+\] \$", row)]
    if any(row.startswith("Traceback") for row in rows):
        errors = [row for row in errors if re.match(r"^[\w.]+(Error|Exception)\b", row)][-1:] or errors
    row = (errors or rows or [""])[0]
    return re.sub(r"0x[0-9a-f]+|\b(?=\w*\d)[0-9a-f]{7,40}\b|\b\d+(\.\d+)?(ms|s|m)?\b", "N", row)[:200]


def cause(one):
    """What makes two failures one: the thing that the output names and the command has, or words and error."""
    command = one["command"]
    program = next((word.rsplit("/", 1)[-1] for word in form(command).split() if "=" not in word), "")
    for row in one["output"].split("\n")[:400]:
        for kind, pattern in NAMED:
            match = pattern.search(row[:400])
            name = match and next((group for group in match.groups() if group), None)
            if name and len(name) > 1 and re.search(r"(?<![\w-])" + re.escape(name) + r"(?![\w-])", command):
                return kind, name if kind == "program" else (program, name)
    return None if not one["failed"] else ("run", form(command), shape(one["output"]))


def is_loop(one, kind):
    words = form(one["command"]).split()
    program = next((word.rsplit("/", 1)[-1] for word in words if "=" not in word), "")
    return kind == "run" and (program in LOOKS or program in ("apply_patch", "***") or bool(LOOP.search(form(one["command"]))))


def judge(commands_file, told_file, is_listed):
    asked = [json.loads(line) for line in open(commands_file)]
    told = {}
    for line in open(told_file):
        answer = json.loads(line)
        told[answer["id"]] = answer["warnings"]
    totals = collections.defaultdict(collections.Counter)
    seen, given = set(), set()
    for one in asked:
        count, session = totals[one["agent"]], (one["group"], one["session"])
        why = cause(one)
        failed = one["failed"] or (why is not None and why[0] != "run")
        notes = [note for note in told.get(one["id"], []) if "Failed" in note["against"]]
        new = [note for note in notes if (session, note["cause"]) not in given]
        given.update((session, note["cause"]) for note in new)
        for part in (count, totals[one["group"]], totals["all"]):
            part["commands"] += 1
            part["failed"] += failed
            if new:
                part["notes"] += 1
                part["right"] += failed
                part["false"] += not failed
            part["passed"] += not failed
        if failed and why:
            key = (one["group"], why)
            if key in seen:
                name = "loop" if is_loop(one, why[0]) else "repeat"
                for part in (count, totals[one["group"]], totals["all"]):
                    part[name] += 1
                    part[name + " told"] += bool(notes)
                    part["any"] += 1
                    part["any told"] += bool(notes)
                if is_listed:
                    print(name, "TOLD " if notes else "SILENT", one["group"], one["session"][:6], form(one["command"])[:110], "=>", why[-1], sep=" | ")
            seen.add(key)
        if is_listed and new:
            note = new[0]["against"]["Failed"]
            print("note", "right" if failed else "FALSE", one["command"][:120].replace("\n", " "), new[0]["cause"][:80],
                  note["error"][:90], note["next"], round(note["chance"], 2), sep=" | ")
    print("| | commands | failed | notes | right | false | precision | false of passed | repeats told | loop told | all repeats told |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, part in sorted(totals.items()):
        share = lambda one, other: f"{part[one]} of {part[other]} ({part[one] / part[other]:.0%})" if part[other] else "none"
        precision = f"{part['right'] / part['notes']:.2f}" if part["notes"] else "-"
        alarms = f"{100 * part['false'] / part['passed']:.2f} %" if part["passed"] else "-"
        print(f"| {name} | {part['commands']} | {part['failed']} | {part['notes']} | {part['right']} | {part['false']} | {precision} | "
              f"{alarms} | {share('repeat told', 'repeat')} | {share('loop told', 'loop')} | {share('any told', 'any')} |")


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "commands":
        commands(sys.argv[2:])
    elif len(sys.argv) > 3 and sys.argv[1] == "judge":
        judge(sys.argv[2], sys.argv[3], "--list" in sys.argv)
    else:
        sys.exit(__doc__)
