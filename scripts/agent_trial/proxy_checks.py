"""What is asked of an agent's trial besides, where its model is reached through yore's proxy.

- `cells_of`: all checks of a way to the model
- `broken_pairs`, `repetitions`: what is counted, here and in a direct run of the same agent
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable

from .checks import CELLS, Check, blocks, conversation, main, told, unmarked
from .model_server import Logged
from .script import LAMPS
from .trial import Evidence

# Sessions that are gone on with; each other scene is a session of its own.
RESUMED = ("next", "again", "fault", "full")
# The parts that a provider's cache sees before the messages.
HEAD = ("tools", "system", "instructions", "systemInstruction")
# The shortest quote that is looked for twice, in characters.
QUOTE = 40
ID = re.compile(r"\[([0-9a-f]{10})\]")


def direct(evidence: Evidence) -> Evidence:
    """The requests of the direct run, as the checks look at them."""
    return Evidence(evidence.agent, evidence.place, evidence.yore, _Log(evidence.direct), dict.fromkeys(scenes(evidence.direct)))


class _Log:
    """Stands for the model server of an earlier run."""

    def __init__(self, requests: list[Logged]) -> None:
        self.requests = requests

    def of(self, label: str) -> list[Logged]:
        return [logged for logged in self.requests if logged.label == label]


def scenes(requests: Iterable[Logged]) -> list[str]:
    return list(dict.fromkeys(logged.label for logged in requests if logged.label))


def chains(evidence: Evidence) -> list[tuple[str, list[Logged]]]:
    """The requests of each conversation of the person, in their order."""
    labels = scenes(evidence.server.requests)
    resumed = tuple(label for label in RESUMED if label in labels and evidence.agent.can_resume)
    found = [(label, conversation(evidence, label)) for label in labels if label not in resumed]
    return [*found, ("next and resumed", conversation(evidence, *resumed))] if resumed else found


def broken_pairs(evidence: Evidence) -> dict[str, list[str]]:
    """Where a request is no beginning of the next one of its conversation: of the messages, and of what precedes them."""
    broken: dict[str, list[str]] = {"messages": [], "head": []}
    for label, requests in chains(evidence):
        for number, (before, after) in enumerate(zip(requests, requests[1:])):
            old, new = [unmarked(part) for part in before.request.parts], [unmarked(part) for part in after.request.parts]
            at = next((at for at, part in enumerate(old) if at >= len(new) or new[at] != part), None)
            if at is not None:
                now = json.dumps(new[at]) if at < len(new) else "nothing"
                broken["messages"].append(f"{label}, request {number + 2}, message {at}: {difference(json.dumps(old[at]), now)}")
            changed = [key for key in HEAD if unmarked(before.request.raw.get(key)) != unmarked(after.request.raw.get(key))]
            if changed:
                was, now = (json.dumps(unmarked(logged.request.raw.get(changed[0]))) for logged in (before, after))
                broken["head"].append(f"{label}, request {number + 2}, {changed[0]}: {difference(was, now)}")
    return broken


def difference(was: str, now: str) -> str:
    at = next((at for at, (a, b) in enumerate(zip(was, now)) if a != b), min(len(was), len(now)))
    start = max(at - 40, 0)
    return f"was {was[start : at + 80]!r}, now {now[start : at + 80]!r}"


def repetitions(evidence: Evidence) -> dict[str, Counter[str]]:
    """Ids and quotes that stand in one request more than once in what yore told, by scene: how often too many, in the worst request."""
    found: dict[str, Counter[str]] = {}
    for label in scenes(evidence.server.requests):
        worst = found.setdefault(label, Counter())
        for logged in main(evidence.requests(label), evidence.agent.has_tools):
            words = [word for block in blocks(logged.request) for word in [*ID.findall(block), *quotes(block)]]
            for word, times in Counter(words).items():
                if times > 1:
                    worst[word] = max(worst[word], times - 1)
    return found


def quotes(block: str) -> list[str]:
    """The lines of a block that quote what was said, without their ids."""
    lines = (ID.sub("", line).strip(" -") for line in block.splitlines())
    return [line for line in lines if len(line) >= QUOTE and not line.startswith(("From earlier sessions", "Where things stand", "(yore:", "<", "Files opened", "files:", "Rule of"))]


# -- the checks ----------------------------------------------------------------------------------


def nothing_goes_wrong(evidence: Evidence) -> str | None:
    """The proxy passed requests on, and read all of them; without memory it added nothing."""
    counts = evidence.proxy.get("end", {}).get("counts")
    if not counts:
        return "`yore proxy` tells nothing"
    bad = [f"{name} {counts[name]}" for name in ("late", "failed", "unreadable", "dropped", "unreached") if counts[name]]
    if evidence.through == "plain" and counts["added"]:
        bad.append(f"added {counts['added']}")
    if counts["requests"] == 0:
        bad.append("no request went through")
    if failure := evidence.proxy["end"].get("failure"):
        bad.append(f"not archived: {failure}")
    return ", ".join(bad) or None


def all_went_through(evidence: Evidence) -> str | None:
    """The model server got as many requests as the proxy counted, and no part of the proxy's own address."""
    counts = evidence.proxy.get("end", {}).get("counts", {})
    got = len(evidence.server.paths) + len(evidence.server.other)
    token = (evidence.yore.data / "proxy-token").read_text().strip()
    if leaked := [path for path in [*evidence.server.paths, *evidence.server.other] if token in path or "/openai" in path or "/memory" in path]:
        return f"the server was asked for {leaked[0].replace(token, 'TOKEN')!r}"
    return None if counts.get("requests", 0) >= got else f"{got} requests reached the server, the proxy counts {counts.get('requests')}"


def beginnings_stay(evidence: Evidence) -> str | None:
    """What the agent keeps as the beginning of its next request, the provider sees as one."""
    here, there = broken_pairs(evidence), broken_pairs(direct(evidence))
    worse = [f"{kind}: {len(here[kind])} broken pairs, directly {len(there[kind])}; {here[kind][:3]}" for kind in here if len(here[kind]) > len(there[kind])]
    return "; ".join(worse) or None


def hooks_and_proxy_tell_once(evidence: Evidence) -> str | None:
    """No request tells an id or a quote more often than one of a direct run, which hooks alone feed."""
    if evidence.through == "plain":
        return None
    here, there = repetitions(evidence), repetitions(direct(evidence))
    worse = [(label, sum(words.values()), sum(there.get(label, Counter()).values()), list(words)[:3]) for label, words in here.items()]
    bad = [f"{label}: {times} told again, directly {before}: {words}" for label, times, before, words in worse if times > before]
    return "; ".join(bad) or None


def proxy_tells_where_hooks_do_not(evidence: Evidence) -> str | None:
    """Without hooks the agent is told by the proxy what a hook would tell at a prompt."""
    has_hooks = "told: prompt" not in evidence.agent.impossible and evidence.through != "alone"
    if evidence.through == "plain" or has_hooks:
        return None
    return told(evidence, ("next",), "concerning the prompt", LAMPS)


def agents_are_archived_once(evidence: Evidence) -> str | None:
    """An agent whose own history is read leaves no session of the proxy's."""
    found = [session for session in evidence.sessions if session["agent"] == "proxy"]
    return f"{len(found)} sessions of the proxy: {[session['title'] for session in found[:4]]}" if found else None


# Prompts where yore is not installed in the agent.
ALONE = {
    "installed": ("runs",),
    "read back": tuple(CELLS["read back"]),
    "told: brief": ("title-model",),
    "caches hold": ("prefix", "resumed"),
    "right project": ("unasked",),
    "no echo": ("marks", "quotes"),
    "once": ("twice", "budgets"),
    "sub-agents": ("kept",),
}
PROXY_CELLS: dict[str, dict[str, Check]] = {
    "proxy": {
        "counts": nothing_goes_wrong,
        "all": all_went_through,
        "prefix": beginnings_stay,
        "twice": hooks_and_proxy_tell_once,
        "told": proxy_tells_where_hooks_do_not,
        "archived": agents_are_archived_once,
    },
}


def cells_of(through: str) -> dict[str, dict[str, Check]]:
    """All checks of a way to the model, by cell."""
    if not through:
        return CELLS
    if through == "alone":
        return {**{cell: {name: CELLS[cell][name] for name in names} for cell, names in ALONE.items()}, **PROXY_CELLS}
    return {**CELLS, **PROXY_CELLS}
