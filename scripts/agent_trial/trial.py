"""One agent's trial: yore is installed, sessions are run, and what came of it is kept for the checks.

- `Trial`: runs the sessions in order
- `Evidence`: what the checks look at
- `root_of`: where a trial keeps what it saw
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .agents.base import Agent
from .model_server import Logged, ModelServer, logged_in
from .place import Done, Place, Yore, tree
from .script import RULE, STANDING, Script, named

# What agents and yore write for themselves, beside settings.
DATA = (".local/share/yore", ".cache", ".npm", "dev")


@dataclass
class Evidence:
    """What the checks look at."""

    agent: Agent
    place: Place
    yore: Yore
    server: ModelServer
    runs: dict[str, Done] = field(default_factory=dict)
    # Trees of the home: before yore was installed, after it, after it was installed again, after it
    # was taken out.
    trees: dict[str, dict[str, str]] = field(default_factory=dict)
    # Files of the home as yore found them, by name.
    files: dict[str, bytes] = field(default_factory=dict)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    turns: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    ledgers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    # How the agent reaches its model: "" directly, "plain" or "memory" through yore's proxy, "alone" like "memory"
    # and without hooks and tools of yore.
    through: str = ""
    # Requests of a run of the same agent that reached its model directly.
    direct: list[Logged] = field(default_factory=list)
    # The proxy's state before yore was installed, and at the end.
    proxy: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: float = 0.0

    def requests(self, *labels: str) -> list[Logged]:
        return [logged for label in labels for logged in self.server.of(label)]


def root_of(out: Path, agent: str, through: str) -> Path:
    """The folder of an agent's trial."""
    return out / (f"{agent}-through-{through}" if through else agent)


class Trial:
    """Runs the sessions of one agent."""

    def __init__(self, agent: Agent, yore: Path, out: Path, node: Path | None, through: str = "", is_named: bool = False) -> None:
        root = root_of(out, agent.name, through)
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        place = Place(root, node)
        server = ModelServer(Script(agent.full).answer, root / "requests.jsonl")
        self.evidence = Evidence(agent, place, Yore(yore, place), server, through=through)
        self._named = agent.source if through and is_named else ""
        if through:
            self.evidence.direct = logged_in(root_of(out, agent.name, "") / "requests.jsonl")

    def run(self) -> Evidence:
        evidence, agent, place, yore = self.evidence, self.evidence.agent, self.evidence.place, self.evidence.yore
        began = time.monotonic()
        try:
            url = self._address()
            place.environment.update(agent.environment(place, url))
            agent.set_up(place, url)
            # Sessions from before yore came.
            for scene in ("lamps", "gauges", "build", "seed"):
                self.say(scene)
            self.say("alarm", folder=place.tidewatch)
            agent.end(place)
            # The trial types its prompts without a terminal.
            yore.run("config", "set", "capture.headless", "person")
            evidence.runs["up"] = yore.run("up")
            # aider's histories lie in the projects.
            yore.run("up", folder=place.tidewatch)
            yore.run("remember", "--standing", STANDING, folder=place.otter)
            yore.run("remember", "--kind", "standard", RULE, folder=place.otter)
            self._note_proxy("before")
            if evidence.through != "alone":
                self._install()
            self.say("next")
            if agent.can_resume:
                self._go_on()
            else:
                self.say("fault")
            self.say("delegate")
            self.say("elsewhere", folder=place.tidewatch)
            if evidence.through == "alone":
                self.say("twin")
                self.say("twin", folder=place.tidewatch, label="twin elsewhere")
            yore.run("config", "set", "learn.in_session", "true")
            yore.run("config", "set", "learn.in_session_prompts", "1")
            self.say("lesson")
            self._look()
            if evidence.through != "alone":
                self._uninstall()
        finally:
            agent.end(place)
            yore.stop()
            evidence.server.stop()
            evidence.seconds = time.monotonic() - began
        return evidence

    def _address(self) -> str:
        """Where the agent reaches its model."""
        evidence, yore = self.evidence, self.evidence.yore
        if not evidence.through:
            return evidence.server.url
        # The daemon reads the first sessions while they run: it must know before that programs type for a person.
        yore.run("config", "set", "capture.headless", "person")
        if not yore.open_proxy(evidence.server.url):
            raise RuntimeError("the proxy of yore is not open")
        return self._proxied()

    def _proxied(self, folder: Path | None = None) -> str:
        evidence = self.evidence
        return evidence.yore.proxied(evidence.agent.provider, evidence.through in ("memory", "alone"), self._named, folder)

    def _note_proxy(self, when: str) -> None:
        if self.evidence.through:
            self.evidence.proxy[when] = self.evidence.yore.json("proxy") or {}

    def say(self, scene: str, folder: Path | None = None, resumed: bool = False, label: str = "") -> None:
        """Runs the prompt of a scene."""
        folder = folder or self.evidence.place.otter
        if self._named and not self.evidence.agent.says_where:
            self.evidence.place.environment.update(self.evidence.agent.environment(self.evidence.place, self._proxied(folder)))
        self._session(label or scene, self.evidence.agent.prompt(self.evidence.place, named(scene).prompt, folder, resumed), folder)

    def _session(self, label: str, command: list[str], folder: Path | None = None) -> None:
        self.evidence.server.label = label
        self.evidence.runs[label] = self.evidence.place.run(command, name=label, folder=folder)

    def _go_on(self) -> None:
        """Resumes the session, fills its context and goes on after it was compacted."""
        agent, place = self.evidence.agent, self.evidence.place
        for scene in ("again", "fault", "full"):
            self.say(scene, resumed=True)
        if (command := agent.compaction(place, place.otter)) is not None:
            self._session("compaction", command)
        # An agent may compact as it begins with the next prompt.
        self.say("after", resumed=True)
        self.say("later", resumed=True)

    def _install(self) -> None:
        evidence, agent, yore = self.evidence, self.evidence.agent, self.evidence.yore
        evidence.trees["before"] = tree(evidence.place.home, DATA)
        evidence.files = {name: (evidence.place.home / name).read_bytes() for name, sum in evidence.trees["before"].items() if not sum.startswith("->") and (evidence.place.home / name).stat().st_size < 1 << 20}
        evidence.runs["list"] = yore.run("install")
        evidence.runs["install"] = yore.run("install", agent.install)
        evidence.trees["installed"] = tree(evidence.place.home, DATA)
        evidence.runs["install again"] = yore.run("install", agent.install)
        evidence.trees["installed again"] = tree(evidence.place.home, DATA)
        agent.after_install(evidence.place)
        if (command := agent.listing()) is not None:
            evidence.runs["listing"] = evidence.place.run(command, name="listing")
        evidence.runs["doctor"] = yore.run("doctor")

    def _look(self) -> None:
        """Asks yore what it has archived."""
        evidence, yore = self.evidence, self.evidence.yore
        evidence.agent.end(evidence.place)
        yore.settle()
        self._note_proxy("end")
        evidence.sessions = yore.sessions()
        for session in evidence.sessions:
            evidence.turns[session["id"]] = yore.turns(session["id"])
        evidence.ledgers = yore.ledgers()
        evidence.runs["errors"] = yore.run("recall", "--all", "--errors", "unresolved import gauge", "--json")

    def _uninstall(self) -> None:
        evidence = self.evidence
        evidence.runs["uninstall"] = evidence.yore.run("uninstall", "all")
        evidence.trees["after"] = tree(evidence.place.home, DATA)
