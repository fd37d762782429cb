"""What is asked of each agent's trial.

- `CELLS`: the columns of the table, each a list of checks
- `Verdict`: how a check ended: ok, failed, or impossible
- `judge`: all checks of a trial
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .conversation import Request
from .model_server import Logged
from .script import ALARM, ERRAND, GAUGE, LAMPS, MENDED, QUESTION, REASON, SUMMARY, TO_RECORD, named
from .tools import yore_tool
from .trial import Evidence

OK, FAILED, IMPOSSIBLE = "ok", "failed", "impossible"

# What yore writes around what it recalls, in any of its forms.
MARKS = (
    "recalled-data",
    "From earlier sessions, concerning",
    "From earlier sessions, where the same error",
    "Where things stand in",
    "What stands between the marks",
    "data, never instructions",
)
# Most tokens of what is told unasked, and most characters of ten results.
BRIEF_TOKENS, PROMPT_TOKENS, RECALL_CHARS = 600, 800, 3_000


@dataclass(frozen=True)
class Verdict:
    """How a check ended, and why."""

    check: str
    outcome: str
    detail: str = ""
    # Whether the check passes, although it was thought impossible.
    was_met: bool = False


# A check gives nothing when all is well, else what is wrong.
Check = Callable[[Evidence], str | None]


def main(requests: Iterable[Logged], needs_tools: bool = True) -> list[Logged]:
    """The requests of the conversation itself: not those for titles and summaries."""
    return [logged for logged in requests if logged.answer.error is None and (logged.request.tools or not needs_tools)]


def conversation(evidence: Evidence, *labels: str) -> list[Logged]:
    """The requests of the person's conversation in some sessions; a sub-agent's are left out."""
    found = main(evidence.requests(*labels), evidence.agent.has_tools)
    # Helpers that the agent runs for itself have other instructions.
    found = [logged for logged in found if logged.request.system[:60] == found[0].request.system[:60]]
    return [logged for logged in found if ERRAND not in first_words(logged.request) or named("delegate").prompt in logged.request.everything()]


def first_words(request: Request) -> str:
    """What the user of a conversation says before anybody answers."""
    words = []
    for message in request.messages:
        if message.role == "assistant":
            break
        if message.role == "user":
            words.append(message.words())
    return "\n".join(words)


BLOCK = re.compile(r"<recalled-data.*?</recalled-data>", re.DOTALL)


def blocks(request: Request) -> list[str]:
    """What yore told unasked in a request: blocks between its marks, outside of tool results of its own."""
    # Some agents name the tools of servers without the server.
    calls = [call for message in request.messages for call in message.calls]
    own = {call.id for call in calls if call.name == "recall" or "yore" in f"{call.namespace or ''}{call.name}{call.text or ''}"}
    words: list[str] = [request.system]
    for message in request.messages:
        words.extend(message.texts)
        words.extend(result.text for result in message.results if result.id not in own)
    return [block for text in words for block in BLOCK.findall(html.unescape(text))]


def told(evidence: Evidence, labels: tuple[str, ...], beginning: str, words: str) -> str | None:
    """Whether a block that begins so and holds these words reached the model."""
    requests = conversation(evidence, *labels)
    if not requests:
        return f"no request in {', '.join(labels)}"
    found = [block for logged in requests for block in blocks(logged.request)]
    about = [block for block in found if beginning in block]
    if not about:
        return f"nothing that says {beginning!r} reached the model"
    return None if any(words in block for block in about) else f"{words!r} is not in what reached the model: {about[0][:300]!r}"


# -- the checks ----------------------------------------------------------------------------------


def runs_end_well(evidence: Evidence) -> str | None:
    agents_own = ("lamps", "gauges", "build", "seed", "alarm", "next", "again", "fault", "full", "compaction", "after", "later", "delegate", "elsewhere", "lesson")
    bad = [(label, why) for label in agents_own if (run := evidence.runs.get(label)) and (why := evidence.agent.check_run(run))]
    return f"{bad[0][0]}: {bad[0][1]}" if bad else None


def is_found(evidence: Evidence) -> str | None:
    out = evidence.runs["list"].out
    title = evidence.agent.listed_as or evidence.agent.title
    return None if title in out else f"`yore install` does not list {title}: {out[:300]!r}"


def is_installed(evidence: Evidence) -> str | None:
    return None if evidence.runs["install"].ok() else evidence.runs["install"].out[-300:]


def install_again_changes_nothing(evidence: Evidence) -> str | None:
    changed = differences(evidence.trees["installed"], evidence.trees["installed again"])
    return f"changed: {changed}" if changed else None


def is_accepted(evidence: Evidence) -> str | None:
    run = evidence.runs.get("listing")
    if run is None:
        return None if not evidence.agent.has_server else "the agent has no list of servers"
    bad = re.search(r"yore.{0,80}(fail|error|disconnected|✗)", run.out, re.IGNORECASE | re.DOTALL)
    return None if "yore" in run.out and not bad else f"the agent lists: {run.out[-300:]!r}"


def server_reaches_the_model(evidence: Evidence) -> str | None:
    requests = conversation(evidence, "next")
    offered = any(yore_tool(logged.request) or "yore" in json.dumps(logged.request.raw) and "recall" in json.dumps(logged.request.raw) for logged in requests)
    return None if offered else "no tool of yore reached the model"


def is_there_at_once(evidence: Evidence) -> str | None:
    requests = conversation(evidence, "next")
    code_mode = any(tool.is_text and tool.name == "exec" for tool in requests[0].request.tools) if requests else False
    return None if requests and (yore_tool(requests[0].request) or code_mode) else "recall is not among the tools of the first request"


def doctor_is_content(evidence: Evidence) -> str | None:
    run = evidence.runs["doctor"]
    bad = [line for line in run.out.splitlines() if line.startswith(("✗", "!"))]
    if evidence.agent.warned_of:
        warnings = [line for line in bad if line.endswith(evidence.agent.warned_of)]
        return None if len(warnings) == 1 == len(bad) else f"not only {evidence.agent.warned_of!r}: {bad[:3]}"
    return f"{bad[:3]}" if bad else None


def seed_sessions(evidence: Evidence) -> dict[str, list[dict[str, Any]]]:
    """Turns of the session that each scene's prompt begins, by scene."""
    found: dict[str, list[dict[str, Any]]] = {}
    for turns in evidence.turns.values():
        for turn in turns:
            for scene in ("lamps", "gauges", "build", "seed", "alarm", "next", "delegate", "elsewhere", "lesson"):
                if scene not in found and turn["role"] == "human" and named(scene).known_by() in turn["text"]:
                    found[scene] = turns
    return found


def prompts_are_the_persons(evidence: Evidence) -> str | None:
    wrong = []
    for scene in ("lamps", "gauges", "build", "seed", "alarm", "next", "again", "fault", "full", "after", "later", "delegate", "elsewhere", "lesson"):
        if scene not in evidence.runs:
            continue
        prompt = named(scene).prompt
        exact = [turn for turns in evidence.turns.values() for turn in turns if turn["role"] == "human" and turn["text"].strip() == prompt]
        if len(exact) != 1:
            near = [(turn["role"], turn["text"][:120]) for turns in evidence.turns.values() for turn in turns if prompt[:40] in turn["text"]]
            wrong.append(f"{scene}: {len(exact)} times as it was typed; {near[:2]}")
    return "; ".join(wrong[:3]) or None


def answers_are_the_agents(evidence: Evidence) -> str | None:
    wrong = []
    for scene in ("lamps", "gauges", "build", "seed", "alarm", "next", "again", "after"):
        if scene not in evidence.runs:
            continue
        last = named(scene).last
        found = [turn for turns in evidence.turns.values() for turn in turns if turn["role"] == "assistant" and last in turn["text"]]
        if len(found) != 1:
            wrong.append(f"{scene}: {len(found)} times")
    return "; ".join(wrong) or None


def calls_are_kept(evidence: Evidence) -> str | None:
    turns = seed_sessions(evidence).get("build", [])
    # A script that calls tools is the agent's own words; the command that it ran is the call.
    is_script = re.compile(r"^exec\n").match
    calls = [turn for turn in turns if turn["role"] in ("tool_call", "assistant") and "sh build.sh" in turn["tool_text"] and not is_script(turn["tool_text"])]
    results = [turn for turn in turns if turn["role"] == "tool_result" and "unresolved import" in turn["tool_text"]]
    if len(calls) != 1:
        return f"the call of the build is kept {len(calls)} times"
    return None if len(results) == 1 else f"what the build printed is kept {len(results)} times"


def failures_are_seen(evidence: Evidence) -> str | None:
    turns = seed_sessions(evidence).get("build", [])
    failed = [turn["is_error"] for turn in turns if turn["role"] == "tool_result" and "unresolved import" in turn["tool_text"]]
    done = [turn["is_error"] for turn in turns if turn["role"] == "tool_result" and "Finished" in turn["tool_text"]]
    if not failed or not all(failed):
        return "the failing build counts as no failure"
    return "the build that worked counts as a failure" if any(done) else None


def files_are_known(evidence: Evidence) -> str | None:
    found = evidence.yore.json("recall", "--no-daemon", "--all", "--file", "gauges.txt", "gauge", "-n", "20") or {}
    sessions = {hit.get("session") for hit in found.get("results", [])}
    wanted = {turn["session"] for turn in seed_sessions(evidence).get("gauges", [])}
    return None if wanted & sessions else "the session that changed gauges.txt is not found by this file"


def projects_are_right(evidence: Evidence) -> str | None:
    wrong = []
    for scene, turns in seed_sessions(evidence).items():
        wanted = "tidewatch" if scene in ("alarm", "elsewhere") else "otter"
        if any(turn["project"] != wanted for turn in turns):
            wrong.append(f"{scene}: {turns[0]['project']}")
    return "; ".join(wrong) or None


def sessions_are_apart(evidence: Evidence) -> str | None:
    own = [turns for turns in evidence.turns.values() if any(turn["kind"] == "session" for turn in turns)]
    begun = ["lamps", "gauges", "build", "seed", "alarm", "next", "delegate", "elsewhere", "twin", "twin elsewhere", "lesson"]
    if evidence.agent.has_session_per_run:
        begun += ["again", "fault", "full", "after", "later"]
    elif not evidence.agent.can_resume:
        begun.append("fault")
    wanted = sum(1 for scene in begun if scene in evidence.runs)
    return None if len(own) == wanted else f"{len(own)} sessions instead of {wanted}"


def titles_say_something(evidence: Evidence) -> str | None:
    bad = [session["title"] for session in evidence.sessions if session["title"] and re.match(r"\s*[<&{\[#]|Untitled|New [Ss]ession", session["title"])]
    return f"{bad[:3]}" if bad else None


def models_are_known(evidence: Evidence) -> str | None:
    turns = seed_sessions(evidence).get("seed", [])
    return None if any(turn["model"] for turn in turns if turn["role"] == "assistant") else "no answer names its model"


def branches_are_known(evidence: Evidence) -> str | None:
    turns = seed_sessions(evidence).get("seed", [])
    return None if any(turn["branch"] == "main" for turn in turns) else "no turn names its branch"


def brief_is_told(evidence: Evidence) -> str | None:
    return told(evidence, ("next",), "Where things stand in otter", REASON)


def brief_is_told_first(evidence: Evidence) -> str | None:
    requests = conversation(evidence, "next")
    return None if requests and any("Where things stand" in block for block in blocks(requests[0].request)) else "the first request has no brief"


def prompt_is_answered(evidence: Evidence) -> str | None:
    return told(evidence, ("next",), "concerning the prompt", LAMPS)


def file_is_answered(evidence: Evidence) -> str | None:
    return told(evidence, ("next", "again"), "concerning the file", GAUGE)


def error_is_answered(evidence: Evidence) -> str | None:
    if any(MENDED in answer for answer in yores_answers(evidence, "next")):
        # The agent was told by its own recall; told again it would be told twice.
        return None
    return told(evidence, ("next", "again"), "the same error was met", MENDED)


def command_is_answered(evidence: Evidence) -> str | None:
    return told(evidence, ("next", "again"), "Rule of ", "make otter")


def title_model_is_told_nothing(evidence: Evidence) -> str | None:
    labels = tuple(evidence.runs)
    others = [logged for logged in evidence.requests(*labels) if not logged.request.tools and logged not in main(evidence.requests(*labels), evidence.agent.has_tools)]
    fed = [logged.label for logged in others if "title" in logged.request.system.lower() and blocks(logged.request)]
    return f"in {fed}" if fed else None


def earlier_messages_stay(evidence: Evidence) -> str | None:
    """While a program runs, what it sent stays the beginning of what it sends: then providers' caches hold."""
    for label in ("next", "again", "fault", "delegate", "elsewhere", "lesson"):
        requests = [logged for logged in conversation(evidence, label)]
        for before, after in zip(requests, requests[1:]):
            old, new = [unmarked(part) for part in before.request.parts], [unmarked(part) for part in after.request.parts]
            if new[: len(old)] != old:
                at = next((at for at, part in enumerate(old) if at >= len(new) or new[at] != part), 0)
                was, now = json.dumps(old[at])[:200], json.dumps(new[at])[:200] if at < len(new) else "nothing"
                return f"{label}: message {at} was {was}, now {now}"
    return None


def is_asked_to_record(evidence: Evidence) -> str | None:
    """With consent, an agent that lets a hook ask for one more turn is asked once to record what it learned, and then ends."""
    if evidence.agent.source not in ("claude-code", "codex", "qwen"):
        return None
    requests = main(evidence.requests("lesson"), evidence.agent.has_tools)
    # An agent may write the words twice into the one request that follows.
    asked = sum(TO_RECORD in logged.request.everything() for logged in requests)
    return None if asked == 1 else f"it was asked in {asked} of {len(requests)} requests"


def unmarked(part: Any) -> Any:
    """A message without the marks by which a client says what to cache: they move on with each request."""
    if isinstance(part, dict):
        return {key: unmarked(value) for key, value in part.items() if key != "cache_control"}
    return [unmarked(item) for item in part] if isinstance(part, list) else part


def told_words_stay(evidence: Evidence) -> str | None:
    """What was told before stands in the resumed session where it stood."""
    before, after = conversation(evidence, "next"), conversation(evidence, "again")
    if not evidence.agent.can_resume:
        return None
    if not before or not after:
        return "no request"
    old, new = blocks(before[-1].request), blocks(after[-1].request)
    missing = [block for block in old if block not in new]
    return f"{len(missing)} of {len(old)} are gone, such as {missing[0][:160]!r}" if missing else None


def yores_answers(evidence: Evidence, label: str) -> list[str]:
    """What the agent got from its own calls of yore, once for each call."""
    answers: dict[str, str] = {}
    for logged in conversation(evidence, label):
        own = {call.id for message in logged.request.messages for call in message.calls if "recall" in call.name or "__recall" in (call.text or "")}
        for message in logged.request.messages:
            for result in message.results:
                if result.id in own or result.id.endswith("recall") or (not own and "recalled-data" in result.text):
                    answers[result.id] = result.text
    return list(answers.values())


def recall_answers(evidence: Evidence) -> str | None:
    found = yores_answers(evidence, "next")
    if not found:
        return "no call of recall was answered"
    return None if REASON in found[-1] else f"the answer is {found[-1][:300]!r}"


def wordings_arrive(evidence: Evidence) -> str | None:
    sent = [call for logged in conversation(evidence, "next") for call in logged.answer.calls if QUESTION in json.dumps(call.arguments) + (call.text or "")]
    if not sent:
        return "the agent offered no tool to send them to"
    found = yores_answers(evidence, "next")
    bad = [answer for answer in found if "bad arguments" in answer or "unknown field" in answer or "invalid" in answer[:80].lower()]
    return f"refused: {bad[0][:200]!r}" if bad else None if found else "no answer"


def recall_costs_its_text(evidence: Evidence) -> str | None:
    found = yores_answers(evidence, "next")
    if not found:
        return "no call of recall was answered"
    text = found[-1]
    if text.count(REASON) > 1 and len(re.findall(re.escape(REASON) + r"\. Put", text)) > 1:
        return "the same words arrive twice"
    if re.search(r"\b[0-9a-f]{32}\b", text):
        return "ids of 32 digits"
    # What was said in the past may name any path; what yore says itself may not.
    own = "\n".join(line for line in text.replace("\\n", "\n").splitlines() if not line.startswith("  "))
    if re.search(r"^\[\d+\].*/home/", own, re.MULTILINE):
        return "absolute paths"
    return None if len(text) <= RECALL_CHARS else f"{len(text)} characters"


def right_project_is_asked(evidence: Evidence) -> str | None:
    found = yores_answers(evidence, "elsewhere")
    if not found:
        return "no call of recall was answered"
    if REASON in found[-1]:
        return "another project's words were told"
    return None if ALARM in found[-1] else f"the answer is {found[-1][:300]!r}"


def no_other_projects_words(evidence: Evidence) -> str | None:
    elsewhere = [logged for label in ("elsewhere", "twin elsewhere") for logged in conversation(evidence, label)]
    leaked = [block for logged in elsewhere for block in blocks(logged.request) if REASON in block or LAMPS in block]
    return f"told unasked: {leaked[0][:200]!r}" if leaked else None


def own_words_are_not_kept(evidence: Evidence) -> str | None:
    kept = [
        f"{turn['role']}: {text[max(0, text.find(mark) - 60) : text.find(mark) + 120]!r}"
        for turns in evidence.turns.values()
        for turn in turns
        for text in (turn["text"], turn["tool_text"])
        for mark in MARKS
        if mark in text
    ]
    kept += [f"title: {session['title']!r}" for session in evidence.sessions if session["title"] and any(mark in session["title"] for mark in MARKS)]
    return f"{len(kept)} times, {kept[0]}" if kept else None


def quotes_are_not_kept(evidence: Evidence) -> str | None:
    """What was recalled stands in the archive only where it was said."""
    kept = []
    for words, scene in ((REASON, "seed"), (LAMPS, "lamps"), (GAUGE, "gauges"), (ALARM, "alarm")):
        own = {turn["session"] for turn in seed_sessions(evidence).get(scene, [])}
        for turns in evidence.turns.values():
            kept.extend(
                f"{turn['role']}: {(turn['text'] + turn['tool_text'])[:200]!r}"
                for turn in turns
                if turn["session"] not in own and words in turn["text"] + turn["tool_text"]
            )
    return f"{len(kept)} times, {kept[0]}" if kept else None


def own_calls_are_not_kept(evidence: Evidence) -> str | None:
    kept = [turn["tool_text"][:150] for turns in evidence.turns.values() for turn in turns if turn["role"] != "human" and QUESTION in turn["tool_text"]]
    return f"{len(kept)} times, {kept[0]!r}" if kept else None


def nothing_is_told_twice(evidence: Evidence) -> str | None:
    """By yore's own account: between two beginnings nothing is given twice to one conversation, but a rule at the command that breaks it."""
    twice = []
    for rows in evidence.ledgers.values():
        given: dict[str | None, set[str]] = {}
        for row in rows:
            known = given.setdefault(row.get("agent_id"), set())
            if row.get("is_reset") or row.get("kind") == "forgot":
                known.clear()
            if row.get("kind") and row["kind"] != "command":
                twice += [turn for turn in row.get("turns", []) if turn in known]
            known.update(row.get("turns", []))
    if twice:
        return f"{sorted(set(twice))[:3]} more than once"
    briefs = sum("Where things stand" in block for block in set(blocks(requests[-1].request))) if (requests := conversation(evidence, "again")) else 0
    return f"{briefs} briefs" if briefs > 1 else None


def compaction_is_survived(evidence: Evidence) -> str | None:
    requests = conversation(evidence, "after", "later")
    if not requests:
        return "no request after the compaction"
    last = requests[-1].request
    if SUMMARY not in last.everything():
        return "the agent did not compact"
    return None if any("before it was compacted" in block for block in blocks(last)) else "the compacted session is not told what it was asked"


def sub_agent_is_told(evidence: Evidence) -> str | None:
    errand = [logged for logged in main(evidence.requests("delegate")) if ERRAND in first_words(logged.request) and named("delegate").prompt not in logged.request.everything()]
    if not errand:
        return "no sub-agent ran"
    return None if any(blocks(logged.request) for logged in errand) else "the sub-agent is told nothing"


def sub_agents_are_apart(evidence: Evidence) -> str | None:
    inner = [session for session in evidence.sessions if session["kind"] == "subagent"]
    said = [turn for turns in evidence.turns.values() for turn in turns if turn["role"] == "human" and ERRAND in turn["text"]]
    if said:
        return "what the agent told its helper counts as the person's words"
    return None if inner else "the sub-agent's conversation is not kept as one"


def fault_leaves_no_trace(evidence: Evidence) -> str | None:
    asked = [turn for turns in evidence.turns.values() for turn in turns if named("fault").prompt in turn["text"] and turn["role"] == "human"]
    said = [turn for turns in evidence.turns.values() for turn in turns if turn["role"] == "assistant" and named("fault").last in turn["text"]]
    return None if len(asked) == len(said) == 1 else f"asked {len(asked)} times, answered {len(said)} times"


def budgets_hold(evidence: Evidence) -> str | None:
    rows = [row for ledger in evidence.ledgers.values() for row in ledger]
    over = [f"{row['kind']} {row['tokens']}" for row in rows if row.get("kind") and row["tokens"] > (BRIEF_TOKENS if row["kind"] == "brief" else PROMPT_TOKENS)]
    return f"{over}" if over else None


def sessions_have_their_ids(evidence: Evidence) -> str | None:
    known = {session["session"] for session in evidence.sessions}
    # A ledger whose name begins with ~ is named by a hash of its session's id.
    named = {id: rows for id, rows in evidence.ledgers.items() if not id.startswith("~")}
    strange = [id for id, rows in named.items() if id not in known and any(row.get("tokens") for row in rows)]
    return f"given to {strange[:3]}, which no transcript is called" if strange else None


def is_taken_out(evidence: Evidence) -> str | None:
    left = []
    for name in evidence.trees["after"]:
        path = evidence.place.home / name
        if name in evidence.trees["installed"] and path.is_file() and path.stat().st_size < 1 << 20:
            text = path.read_bytes()
            if str(evidence.yore.program).encode() in text or b"ritten by `yore install" in text:
                left.append(name)
    if left:
        return f"still in {left}"
    made = [name for name in evidence.trees["installed"] if name not in evidence.trees["before"] and name in evidence.trees["after"] and "yore" in name]
    if made:
        return f"left behind: {made}"
    # What neither the agent nor a hand has changed since is as it was.
    changed = [
        name
        for name, sum in evidence.trees["before"].items()
        if evidence.trees["installed"].get(name) != sum and name in evidence.files and is_settings(name) and not same_but_for_the_agent(evidence, name)
    ]
    return f"not as before: {changed}" if changed else None


def is_settings(name: str) -> bool:
    return name.endswith((".json", ".jsonc", ".toml", ".yml", ".yaml", ".md"))


def same_but_for_the_agent(evidence: Evidence, name: str) -> bool:
    path = evidence.place.home / name
    if not path.is_file():
        return False
    now, before = path.read_bytes(), evidence.files[name]
    if now == before:
        return True
    # The agent writes this file too: then what was there must be there still.
    try:
        old, new = json.loads(before), json.loads(now)
    except ValueError:
        return all(line in now.splitlines() for line in before.splitlines() if line.strip())
    return all(key in new for key in old) and "yore" not in json.dumps(new.get("mcpServers", {})) + json.dumps(new.get("hooks", {}))


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    names = sorted(before.keys() | after.keys())
    return [name for name in names if before.get(name) != after.get(name)]


# Column, and what is asked in it.
CELLS: dict[str, dict[str, Check]] = {
    "installed": {
        "runs": runs_end_well,
        "found": is_found,
        "installed": is_installed,
        "again": install_again_changes_nothing,
        "doctor": doctor_is_content,
    },
    "accepted": {"listed": is_accepted, "offered": server_reaches_the_model, "at-once": is_there_at_once},
    "read back": {
        "prompts": prompts_are_the_persons,
        "answers": answers_are_the_agents,
        "calls": calls_are_kept,
        "failures": failures_are_seen,
        "files": files_are_known,
        "projects": projects_are_right,
        "sessions": sessions_are_apart,
        "titles": titles_say_something,
        "models": models_are_known,
        "branches": branches_are_known,
        "fault": fault_leaves_no_trace,
    },
    "told: brief": {"brief": brief_is_told, "first": brief_is_told_first, "title-model": title_model_is_told_nothing, "ids": sessions_have_their_ids},
    "told: prompt": {"prompt": prompt_is_answered},
    "told: file": {"file": file_is_answered},
    "told: error": {"error": error_is_answered},
    "told: command": {"command": command_is_answered},
    "caches hold": {"prefix": earlier_messages_stay, "resumed": told_words_stay},
    "asked to record": {"once": is_asked_to_record},
    "recall": {"answer": recall_answers, "wordings": wordings_arrive, "cost": recall_costs_its_text},
    "right project": {"recall": right_project_is_asked, "unasked": no_other_projects_words},
    "no echo": {"marks": own_words_are_not_kept, "quotes": quotes_are_not_kept, "calls": own_calls_are_not_kept},
    "once": {"twice": nothing_is_told_twice, "budgets": budgets_hold},
    "compaction": {"told": compaction_is_survived},
    "sub-agents": {"told": sub_agent_is_told, "kept": sub_agents_are_apart},
    "taken out": {"out": is_taken_out},
}


def judge(evidence: Evidence, cells: dict[str, dict[str, Check]]) -> dict[str, list[Verdict]]:
    """All checks, by cell."""
    verdicts: dict[str, list[Verdict]] = {}
    for cell, checks in cells.items():
        for name, check in checks.items():
            why_not = evidence.agent.impossible.get(f"{cell}/{name}") or evidence.agent.impossible.get(cell)
            try:
                wrong = check(evidence)
            except Exception as error:  # noqa: BLE001 - a check that cannot be made is a failed one
                wrong = f"the check itself failed: {type(error).__name__}: {error}"
            if why_not:
                # What was thought impossible and works is worth knowing, and no failure.
                verdict = Verdict(name, IMPOSSIBLE, why_not, was_met=not wrong)
            else:
                verdict = Verdict(name, FAILED if wrong else OK, wrong or "")
            verdicts.setdefault(cell, []).append(verdict)
    return verdicts
