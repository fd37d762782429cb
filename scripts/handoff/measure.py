#!/usr/bin/env python3
"""Measures `yore handoff`: of what the second half of a session uses, how much does the package of the first half name?

    measure.py YORE DATA_DIR [--tokens 1500] [--out DIR] [--most 40] [SESSION ...]

DATA_DIR holds the sessions already (`yore ingest`). Each session is cut at its compaction that is nearest to the middle, if one leaves
40 turns behind it, else in the middle. Gold are, after the cut: files that tools read or change, commands with a purpose, and the
person's orders, approved plans and answers from before the cut of whose words a turn after it has 60 %. Knowable is what occurs before
the cut. A file counts as named by its name, a command by its whole step, an order by 60 % of its words. Beside it: the agent's own
summary at that compaction, whole and cut to the same budget.

Naming everything would have a perfect share, so beside it: precision (of the files and commands from before the cut that a text names,
the share that is used after it), the same for a text that names all of them, the share of all gold, and as a control how much of the
gold the package of another session names. With --out, the packages and the second halves are written for readers.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess

PURPOSES = set(
    "test tests pytest vitest jest nextest tox unittest lint linter clippy golangci-lint eslint ruff flake8 shellcheck fmt format "
    "prettier gofmt gofumpt black build compile bench benchmark benchmarks hyperfine check vet tsc typecheck mypy pyright ty release "
    "publish goreleaser deploy migrate migration migrations install setup sync bootstrap ci run start serve dev".split()
)
LOOKS = set(
    "awk cat cd cp curl echo export find grep head ls mkdir mv printf rg rm sed sleep source tail wc which git gh nl".split()
)
SHOWS = {"cat", "head", "tail", "sed", "nl", "less", "bat"}
STOP = set(
    "the and that this with for you are not have from but was can will would should could what when where which there their them they "
    "then than just like make sure want need please also only some about into does did has had its it's let's i'm don't use using used "
    "get got one all any how why who out now see look new".split()
)
SHARE = 0.6
LEAST_AFTER = 40
OTHER = 7


def run(arguments, *words):
    command = [arguments.yore, "--no-daemon", "--data-dir", arguments.data, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def words_of(text):
    return {word for word in re.findall(r"[a-z0-9_./-]{3,}", text.lower()) if word.strip("./-") not in STOP}


def steps_of(command):
    for part in re.split(r"&&|; ", command):
        step = part.split(" 2>")[0].split(" | ")[0].split(" >")[0].strip()
        if step:
            yield step


def has_purpose(step):
    parts = [word for word in step.split() if "=" not in word]
    if not parts or parts[0].split("/")[-1] in LOOKS or len(step) > 160:
        return False
    inner = [piece for word in parts[1:6] for piece in word.split("/")[-1].split(":")]
    return any(piece in PURPOSES for piece in inner)


def unquoted(text):
    try:
        return (json.loads(text, strict=False).splitlines() or [""])[0]
    except ValueError:
        return ""


def used(turns):
    """Returns the files and the commands with a purpose of some turns."""
    files, commands = set(), set()
    for turn in turns:
        if turn["role"] not in ("tool_call", "assistant"):
            continue
        directory = (turn.get("directory") or "").rstrip("/")
        # A program that runs other tools writes their input as code.
        scripted = re.findall(r'"?cmd"?: ?("(?:[^"\\\n]|\\.)*")', turn["tool_text"])
        lines = turn["tool_text"].splitlines() + ["cmd: " + unquoted(text) for text in scripted]
        for line in lines:
            line = line.strip()
            found = re.match(r"(?:file_path|notebook_path|path): (\S+\.\w+)$", line) or re.match(
                r"\*\*\* (?:Update|Add|Delete) File: (\S+)$", line
            )
            if found:
                files.add(relative(found.group(1), directory))
            command = re.match(r"(?:command|cmd): (.+)$", line)
            if not command:
                continue
            whole = re.sub(r"^(?:/bin/)?(?:bash|zsh) -lc ", "", command.group(1))
            for step in steps_of(whole):
                if has_purpose(step):
                    commands.add(step)
                if step.split()[0] in SHOWS and "<<" not in step and "-i " not in step:
                    for word in re.findall(r"[\w@./-]+\.[A-Za-z]\w{0,8}\b", step):
                        files.add(relative(word, directory))
    return files, commands


def relative(path, directory):
    return path[len(directory) + 1 :] if directory and path.startswith(directory + "/") else path.removeprefix("./")


def orders(turns):
    """Returns the person's orders, plans and answers as sets of words."""
    found = []
    for turn in turns:
        text = turn["text"].strip()
        if turn["role"] == "human" and 5 <= len(text.split()) <= 80 and not text.startswith(("<", "/", "!", "[")):
            found.append(text)
        elif turn["role"] == "human" and "Implement the following plan:" in text:
            found.extend(line for line in text.splitlines() if line.startswith("# "))
        elif turn["role"] == "tool_result" and turn["tool_text"].startswith("User has answered"):
            found.extend(f"{question} {answer}" for question, answer in re.findall(r'"([^"]+)"="([^"]+)"', turn["tool_text"]))
        elif turn["role"] == "tool_result" and turn["tool_text"].startswith("User has approved your plan"):
            found.extend(line for line in turn["tool_text"].splitlines() if line.startswith("# "))
    sets = {text: words_of(text) for text in found}
    return {text: words for text, words in sets.items() if len(words) >= 4}


def is_in(words, text_words):
    return len(words & text_words) >= SHARE * len(words)


def names(text, files, commands, decided):
    tokens = set(re.findall(r"[\w.@-]+", text))
    tokens |= {token.strip(".") for token in tokens}
    text_words = words_of(text)
    return (
        {path for path in files if path.rsplit("/", 1)[-1] in tokens},
        {step for step in commands if step in text},
        {text for text, words in decided.items() if is_in(words, text_words)},
    )


def cut_of(turns):
    """Returns the number of turns before the cut, and the agent's own summary there."""
    middle = len(turns) // 2
    summaries = [at for at, turn in enumerate(turns) if turn["role"] == "summary" and at >= LEAST_AFTER and len(turns) - at > LEAST_AFTER]
    if summaries:
        at = min(summaries, key=lambda at: abs(at - middle))
        return at, turns[at]["text"] or turns[at]["tool_text"]
    return middle, None


def shown(turn):
    text = turn["text"].strip() or turn["tool_text"].strip()
    return f"[{turn['role']}] {text[:400]}"


def measure(arguments, session):
    turns = json.loads(run(arguments, "show", session, "--json").stdout)["turns"]
    cut, summary = cut_of(turns)
    before, after = turns[:cut], [turn for turn in turns[cut:] if turn["role"] != "summary"]
    answer = run(arguments, "handoff", session, "--at", str(cut), "--tokens", str(arguments.tokens), "--json")
    if answer.returncode:
        raise SystemExit(f"{session}: {answer.stderr}")
    package = json.loads(answer.stdout)
    files, commands = used(after)
    known_files, known_commands = used(before)
    later = [words_of(turn["text"] + " " + turn["tool_text"][:4000]) for turn in after]
    decided = {text: words for text, words in orders(before).items() if any(is_in(words, turn) for turn in later)}
    new = {text for text, words in orders(after).items()}
    row = {"session": session, "agent": turns[0]["agent"], "turns": len(turns), "cut": cut, "tokens": package["tokens"]}
    row["all"] = (len(files), len(commands), len(decided) + len(new))
    new_files, new_commands = files - known_files, commands - known_commands
    row["leaked"] = tuple(map(len, names(package["text"], new_files, new_commands, {})))[:2]
    row["new"] = (len(new_files), len(new_commands))
    files, commands = files & known_files, commands & known_commands
    row["known"] = (len(known_files), len(known_commands))
    row["gold"] = (files, commands, decided)
    row["text"] = package["text"]
    told = lambda text: tuple(map(len, names(text, known_files, known_commands, {})))[:2]
    row["told"] = told(package["text"])
    row["knowable"] = (len(files), len(commands), len(decided))
    row["handoff"] = tuple(map(len, names(package["text"], files, commands, decided)))
    if arguments.verbose:
        named = names(package["text"], files, commands, decided)
        print(session, "missing files", sorted(files - named[0])[:12], "commands", sorted(commands - named[1])[:8], "orders",
              [text[:90] for text in set(decided) - named[2]][:6])
    if summary:
        row["summary_told"] = told(summary)
        row["summary"] = tuple(map(len, names(summary, files, commands, decided)))
        row["summary_cut"] = tuple(map(len, names(summary[: 4 * arguments.tokens], files, commands, decided)))
        row["summary_tokens"] = len(summary) // 4
    return row, package["text"], "\n\n".join(map(shown, after))[:6000]


def share(rows, key, part=None):
    pick = (lambda counts: counts[part]) if part is not None else sum
    named, known = sum(pick(row[key]) for row in rows), sum(pick(row["knowable"]) for row in rows)
    each = [pick(row[key]) / pick(row["knowable"]) for row in rows if pick(row["knowable"])]
    return f"{named / max(known, 1):.3f} ({named} of {known}), mean of sessions {statistics.mean(each) if each else 0:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("yore")
    parser.add_argument("data")
    parser.add_argument("sessions", nargs="*")
    parser.add_argument("--tokens", type=int, default=1500)
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    listed = json.loads(run(arguments, "sessions", "--all", "--json", "-n", "1000").stdout or "[]")
    listed = listed["items"] if isinstance(listed, dict) else listed
    sessions = arguments.sessions or [session["session"] for session in listed]
    rows = []
    for session in sessions[: arguments.most]:
        row, text, after = measure(arguments, session)
        rows.append(row)
        print(json.dumps({key: value for key, value in row.items() if key not in ("gold", "text")}))
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            (arguments.out / f"{len(rows):02}.md").write_text(text)
            (arguments.out / f"{len(rows):02}.after.txt").write_text(after)
    compacted = [row for row in rows if "summary" in row]
    knowable, every = [[sum(row[key][part] for row in rows) for part in range(3)] for key in ("knowable", "all")]
    print(f"\n{len(rows)} sessions, {len(compacted)} cut at a compaction; largest package {max(row['tokens'] for row in rows)} tokens")
    print(f"files, commands, decisions after the cut: {every}, of these knowable: {knowable}")
    for label, group, key in [
        ("handoff, all sessions", rows, "handoff"),
        ("handoff, at compactions", compacted, "handoff"),
        ("own summary, whole", compacted, "summary"),
        ("own summary, cut to the budget", compacted, "summary_cut"),
    ]:
        if group:
            print(f"{label}: {share(group, key)}")
            for part, name in enumerate(("files", "commands", "decisions")):
                print(f"  {name}: {share(group, key, part)}")
    for part, name in enumerate(("files", "commands")):
        total = lambda group, key: sum(row[key][part] for row in group)
        line = f"precision, {name}: handoff {total(rows, 'handoff')} of {total(rows, 'told')} named"
        if compacted:
            line += f"; at compactions {total(compacted, 'handoff')} of {total(compacted, 'told')}"
            line += f", own summary {total(compacted, 'summary')} of {total(compacted, 'summary_told')}"
        print(f"{line}; all that is known {total(rows, 'knowable')} of {total(rows, 'known')}")
        print(f"  used only after the cut, and named all the same: {total(rows, 'leaked')} of {total(rows, 'new')}")
    for row, other in zip(rows, rows[OTHER:] + rows[:OTHER]):
        row["other"] = tuple(map(len, names(other["text"], *row["gold"])))
    print(f"control, the package of another session: {share(rows, 'other')}")
    print(f"of all gold: {sum(sum(row['handoff']) + sum(row['leaked']) for row in rows)} of {sum(every)}, knowable {sum(knowable)}")
    if compacted:
        print(f"length of a summary, median: {statistics.median(row['summary_tokens'] for row in compacted)} tokens")


if __name__ == "__main__":
    main()
