#!/usr/bin/env python3
"""Scores reports of `yore audit --json` against labelled instruction lines.

    score.py LABELS ROOT REPORT... [--aside | --all] [--list]

LABELS has one JSON object a line: `file` (relative to ROOT), `line`, `fault` (a kind, or null for a clean line), and
optionally `also` (further kinds that count as right), `pair` (the other lines of a doubled pair) and `aside` (held out).
A REPORT is one JSON object with `findings`, each with `file` (absolute, or relative to ROOT), `line` and `kind`.

Held-out lines are left out by default; `--aside` scores them alone, without listing them. `--list` prints the misses.
"""

from __future__ import annotations

import argparse
import collections
import json
import os


def findings(paths: list[str], root: str) -> dict[tuple[str, int], set[str]]:
    """Kinds reported for each (file, line), from all reports together."""
    kinds = collections.defaultdict(set)
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for found in json.load(f)["findings"]:
                name = os.path.join(root, found["file"])
                kinds[os.path.realpath(name), found["line"]].add(found["kind"])
    return kinds


def judge(label: dict, at: list[tuple[str, int]], kinds: dict[tuple[str, int], set[str]]) -> str:
    """The outcome of one label: found, missed, wrong kind, silent or false alarm; `at` is its line, then its pair's."""
    here = set(kinds.get(at[0], ()))
    if label["fault"] is None:
        # Either line of a doubled pair may be reported as the doubled one.
        if label.get("pair"):
            here.discard("doubled")
        return "false alarm" if here else "silent"
    right = {label["fault"], *label.get("also", ())}
    if here & right or ("doubled" in right and any("doubled" in kinds.get(p, ()) for p in at[1:])):
        return "found"
    return "wrong kind" if here else "missed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels")
    parser.add_argument("root")
    parser.add_argument("report", nargs="+")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--aside", action="store_true", help="score the held-out lines alone")
    part.add_argument("--all", action="store_true", help="score all lines")
    parser.add_argument("--list", action="store_true", help="print each miss and each false alarm")
    args = parser.parse_args()
    if args.list and (args.aside or args.all):
        parser.error("--list would show held-out lines: use it without --aside and --all")

    kinds = findings(args.report, args.root)
    outcomes = collections.defaultdict(collections.Counter)
    with open(args.labels, encoding="utf-8") as f:
        labels = [json.loads(line) for line in f if line.strip()]
    for label in labels:
        if not args.all and bool(label.get("aside")) != args.aside:
            continue
        lines = [label, *label.get("pair", ())]
        at = [(os.path.realpath(os.path.join(args.root, x["file"])), x["line"]) for x in lines]
        outcome = judge(label, at, kinds)
        outcomes[label["fault"] or "clean"][outcome] += 1
        if args.list and outcome not in ("found", "silent"):
            said = ", ".join(sorted(kinds.get(at[0], ()))) or "-"
            print(f"{outcome:12} {label['fault'] or 'clean':13} said {said:13} {label['file']}:{label['line']}  {label['text']}")

    for kind in sorted(outcomes):
        print(f"{kind:13} " + ", ".join(f"{n} {what}" for what, n in outcomes[kind].most_common()))
    clean = outcomes.pop("clean", collections.Counter())
    faults = sum(outcomes.values(), collections.Counter())
    print(f"found {faults['found']} of {faults.total()}; false alarms {clean['false alarm']} of {clean.total()}")


if __name__ == "__main__":
    main()
