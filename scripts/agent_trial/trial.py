"""One agent's trial: yore is installed, sessions are run, and what came of it is kept for the checks.

- `Trial`: runs the sessions in order
- `Evidence`: what the checks look at
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .agents.base import Agent
from .model_server import Logged, ModelServer
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
    seconds: float = 0.0

    def requests(self, *labels: str) -> list[Logged]:
        return [logged for label in labels for logged in self.server.of(label)]


class Trial:
    """Runs the sessions of one agent."""

    def __init__(self, agent: Agent, yore: Path, out: Path, node: Path | None) -> None:
        root = out / agent.name
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        place = Place(root, node)
        server = ModelServer(Script(agent.full).answer, root / "requests.jsonl")
        place.environment.update(agent.environment(place, server.url))
        self.evidence = Evidence(agent, place, Yore(yore, place), server)
        self._has_run = False

    def run(self) -> Evidence:
        evidence, agent, place, yore = self.evidence, self.evidence.agent, self.evidence.place, self.evidence.yore
        began = time.monotonic()
        try:
            agent.set_up(place, evidence.server.url)
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
            self._install()
            self.say("next")
            if agent.can_resume:
                self._go_on()
            else:
                self.say("fault")
            self.say("delegate")
            self.say("elsewhere", folder=place.tidewatch)
            yore.run("config", "set", "learn.in_session", "true")
            yore.run("config", "set", "learn.in_session_prompts", "1")
            self.say("lesson")
            self._look()
            self._uninstall()
        finally:
            agent.end(place)
            yore.stop()
            evidence.server.stop()
            evidence.seconds = time.monotonic() - began
        return evidence

    def say(self, scene: str, folder: Path | None = None, resumed: bool = False) -> None:
        """Runs the prompt of a scene."""
        folder = folder or self.evidence.place.otter
        self._session(scene, self.evidence.agent.prompt(self.evidence.place, named(scene).prompt, folder, resumed), folder)

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
        evidence.sessions = yore.sessions()
        for session in evidence.sessions:
            evidence.turns[session["id"]] = yore.turns(session["id"])
        evidence.ledgers = yore.ledgers()
        evidence.runs["errors"] = yore.run("recall", "--all", "--errors", "unresolved import gauge", "--json")

    def _uninstall(self) -> None:
        evidence = self.evidence
        evidence.runs["uninstall"] = evidence.yore.run("uninstall", "all")
        evidence.trees["after"] = tree(evidence.place.home, DATA)
