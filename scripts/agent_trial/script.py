"""What the scripted model says: a scene for each prompt of the trial, and housekeeping besides.

- `Scene`: a prompt, the tools that the model calls because of it, and its last words
- `SCENES`: all of them
- `answer`: finds the scene of a request and its next step

A request tells by itself how far its scene is: by the calls since the prompt. So an agent may repeat,
retry, resume and compact as it likes.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import tools
from .conversation import Answer, Call, Request

# What the seed sessions say and no other; whoever has these words elsewhere quotes them.
LAMPS = "gulls sat on the sensor all night"
GAUGE = "gauge seven is out of service since the storm of October"
MENDED = "importing it from tide::sensors mended the build"
REASON = "redis lost our leases during the Brouwersdam failover"
ALARM = "the harbour alarm rings at three metres fifty"
ERROR = "error[E0432]: unresolved import `tide::gauge`"

QUESTION = "why did the tide cache leave redis"
WORDINGS = [
    "tide tables cached in moka inside the process instead of redis",
    "redis leases lost during failover",
    'decision "tide cache" moka',
    "We moved the tide cache into moka because redis lost leases.",
]
ERRAND = "helper errand seven: why were the quay lamps dimmed by the astronomical clock and not by a light sensor?"
# A standing note of the person.
STANDING = "the otter is only released on Tuesdays"
# A rule of the person that forbids a command of the scene `next`.
RULE = "Use `make otter` to build, not `sh build.sh`."

# How the request to record what was learned begins.
TO_RECORD = "Memory, once in this session"

# What the answer of the scene `full` claims of its request, so that the agent compacts. An agent may name another number.
FULL = 10_000_000


@dataclass(frozen=True)
class Goal:
    """A tool call that the model wants to have made. `sign` is in its arguments and in no others."""

    sign: str
    text: str
    call: Callable[[Request], Call | None]


@dataclass(frozen=True)
class Scene:
    """A prompt, the tools that the model calls because of it, and its last words."""

    name: str
    prompt: str
    last: str
    goals: tuple[Goal, ...] = ()
    # What the prompt is known by, in whatever the agent makes of it.
    mark: str = ""
    input_tokens: int = 1_000
    # HTTP status of the first answer.
    error: int | None = None

    def known_by(self) -> str:
        return self.mark or self.prompt


def asked(arguments: dict[str, Any]) -> tuple[Goal, ...]:
    """Asks yore; where the agent lists its tools by name only, asks for the tool first."""
    return (
        Goal("select:mcp__yore__recall", "", lambda request: None if tools.yore_tool(request) else tools.load(request)),
        Goal(arguments["question"], "", lambda request: tools.recall(request, arguments)),
    )


def ran(command: str, text: str) -> Goal:
    return Goal(command, text, lambda request: tools.shell(request, command))


def edited(name: str, old: str, new: str, text: str) -> Goal:
    return Goal(new.rsplit("\n", 1)[-1], text, lambda request: tools.edit(request, path_of(request, name), old, new))


def looked_at(name: str, text: str) -> Goal:
    return Goal(name, text, lambda request: tools.read(request, path_of(request, name)))


SCENES = (
    # Earlier sessions, the last one last: a brief tells of it, a prompt, a file and an error of the others.
    Scene(
        "lamps",
        f"The quay lamps are dimmed by the astronomical clock and not by a light sensor, because {LAMPS}. Write that into lamps.txt.",
        "lamps.txt says it now: astronomical clock, no light sensor.",
        (looked_at("lamps.txt", ""), edited("lamps.txt", "quay lamps", "quay lamps\nby the clock", "Now the line.")),
        mark="The quay lamps are dimmed by the astronomical clock",
    ),
    Scene(
        "gauges",
        f"Strike gauge seven from gauges.txt, because {GAUGE}.",
        "Gauge seven is struck.",
        (looked_at("gauges.txt", ""), edited("gauges.txt", "gauge seven", "gauge seven: struck", "Struck.")),
        mark="Strike gauge seven from gauges.txt",
    ),
    Scene(
        "build",
        "Build the otter and mend what is broken.",
        f"The build failed because tide::gauge has moved; {MENDED}.",
        (ran("sh build.sh", "Now the build."), ran("sh mend.sh", "That can be mended.")),
    ),
    Scene(
        "seed",
        f"From now on the tide tables are cached in moka inside the process, because {REASON}. Put that into notes.txt.",
        "The note is written.",
        (
            looked_at("notes.txt", "I will look at the notes first."),
            edited("notes.txt", "notes of the otter", "notes of the otter\ntide tables: moka", "Now the note."),
        ),
        mark="From now on the tide tables are cached in moka",
    ),
    Scene(
        "alarm",
        f"Remember for this project that {ALARM}. What does alarm.txt say?",
        "alarm.txt says the same: it rings, and the quay is closed.",
        (looked_at("alarm.txt", ""),),
        mark="Remember for this project that the harbour alarm",
    ),
    # With yore.
    Scene(
        "next",
        "why are the quay lamps not dimmed by a light sensor?",
        "Because of the birds. The build fails as it did before.",
        (
            *asked({"question": QUESTION, "wordings": WORDINGS}),
            ran("sh build.sh", "Now the build."),
            looked_at("gauges.txt", "Now the gauges."),
            edited("gauges.txt", "gauge seven: struck", "gauge seven: struck\nchecked again", "And a line in the list."),
        ),
    ),
    Scene("again", "why are the quay lamps not dimmed by a light sensor, once more?", "Because of the birds, as I said."),
    Scene("fault", "How many gauges has the delta?", "Eleven gauges.", error=500),
    Scene("full", "Count the tide gauges of the delta until the context is full.", "One, two, many.", input_tokens=FULL),
    Scene("after", "Go on with the tide cache: why did it leave redis?", "Because of the failover; that was before the compaction."),
    Scene("later", "And where did the tide tables go?", "Into the process, as I said before."),
    Scene(
        "delegate",
        "Let a helper find out why the tide cache left redis.",
        "The helper came back.",
        (
            Goal(ERRAND, "A helper will look.", lambda request: tools.delegate(request, ERRAND)),
            Goal("timeout_ms", "", tools.wait),
        ),
    ),
    Scene("errand", ERRAND, "The helper found it: the failover."),
    Scene(
        "elsewhere",
        "what do we know about the harbour alarm, and about any tide cache?",
        "It rings at a certain height.",
        asked({"question": "harbour alarm; tide cache, redis, moka"}),
    ),
    # The same words in both projects: the one knows of them, the other does not.
    Scene("twin", "who dimmed the quay lamps by the clock, and why?", "The birds."),
    # With consent: the agent is asked to record what it learned, and the model does nothing.
    Scene("lesson", "Which gauge of the delta comes after gauge six?", "Gauge seven comes after gauge six."),
)


def named(name: str) -> Scene:
    return next(scene for scene in SCENES if scene.name == name)


def path_of(request: Request, name: str) -> str:
    """The path of a file of the project: absolute, because some tools want that."""
    for text in [request.system, *(text for message in request.messages for text in message.texts)]:
        if found := re.search(r"(/[^\s\"'<>`]*?/dev/(?:otter|tidewatch))\b", text):
            return f"{found.group(1)}/{name}"
    return name


# How agents ask their model to sum up.
COMPACTION = (
    "create a detailed summary",
    "CONTEXT CHECKPOINT COMPACTION",
    "<state_snapshot>",
    "detailed prompt for continuing",
    "Summarize the conversation",
    "summarize our conversation",
    "anchored summary",
    "summary of the conversation",
)
SUMMARY = "The notes were changed and the build was tried."


class Script:
    """Answers requests. One for each agent: it knows which faults were played already."""

    def __init__(self, full: int = FULL) -> None:
        self._faults: set[str] = set()
        self._full = full

    def answer(self, request: Request) -> Answer:
        """What the model says next."""
        found = find(request)
        if _is_compaction(request):
            return Answer(f"<analysis>I looked at all of it.</analysis>\n<summary>{SUMMARY}</summary>\n<state_snapshot>{SUMMARY}</state_snapshot>")
        if not request.tools and request.protocol != "chat" or found is None:
            return _housekeeping(request)
        scene, at = found
        if not request.tools and _is_housekeeping(request):
            return _housekeeping(request)
        if scene.error and scene.name not in self._faults:
            self._faults.add(scene.name)
            return Answer(error=scene.error)
        made = [call for message in request.messages[at:] for call in message.calls]
        written = [json.dumps(call.arguments, ensure_ascii=False) + (call.text or "") for call in made]
        for goal in scene.goals:
            sign = json.dumps(goal.sign, ensure_ascii=False)[1:-1]
            if any(sign in text or goal.sign in text for text in written):
                continue
            if (call := goal.call(request)) is not None:
                return Answer(goal.text, [call])
        return Answer(scene.last, input_tokens=self._full if scene.input_tokens == FULL else scene.input_tokens)


def find(request: Request) -> tuple[Scene, int] | None:
    """The scene of the last prompt in a request, and the place of its message."""
    for at in range(len(request.messages) - 1, -1, -1):
        message = request.messages[at]
        if message.role != "user":
            continue
        words = without_recalled(message.words())
        place, scene = max(((words.rfind(scene.known_by()), scene) for scene in SCENES), key=lambda found: found[0])
        if place >= 0:
            return scene, at
    return None


def without_recalled(text: str) -> str:
    """A text without what yore put into it, escaped or not."""
    text = html.unescape(text)
    return re.sub(r"<recalled-data.*?</recalled-data>", "", text, flags=re.DOTALL)


def _is_compaction(request: Request) -> bool:
    # Behind it there may be reminders of the client.
    last = next((message for message in reversed(request.messages) if message.role in ("user", "assistant", "tool")), None)
    asks_in_message = last is not None and last.role == "user" and any(mark in last.words() for mark in COMPACTION)
    return asks_in_message or (not request.tools and any(mark in request.system for mark in COMPACTION))


def _is_housekeeping(request: Request) -> bool:
    return "title" in request.system.lower()


def _housekeeping(request: Request) -> Answer:
    everything = request.system + "\n" + (request.messages[-1].words() if request.messages else "")
    if "title" in everything.lower():
        is_json = any(key in request.raw for key in ("output_config", "response_format", "output_format"))
        return Answer('{"title": "Tide cache", "isNewTopic": true}' if is_json else "Tide cache")
    return Answer("Hello.")
