"""What all agents have in common in the trial.

- `Agent`: how an agent is set up, started, resumed, filled up, and what it can do
- `Impossible`: what it cannot, and how that is known
"""

from __future__ import annotations

from pathlib import Path

from ..place import Done, Place
from ..script import FULL

KEY = "trial-key"


class Agent:
    """An agent in the trial. Subclasses say how; what they leave out the agent does not have."""

    # Its package in `packages.PACKAGES`, and the name of its row.
    name = ""
    title = ""
    # As `yore install` and as yore's store call it.
    install = ""
    source = ""
    # As `yore install` lists it, where that is not its title.
    listed_as = ""
    # The provider whose protocol it speaks, as yore's proxy calls it.
    provider = "openai"
    # Whether it has MCP servers, and whether its model calls tools.
    has_server = True
    has_tools = True
    # Whether each run is a session of its own, also where the last one is resumed.
    has_session_per_run = False
    # True if its requests say in which directory it works.
    says_where = True
    # Whether a session can be gone on with outside of a terminal.
    can_resume = True
    # The end of the one warning that `yore doctor` gives of it after an install.
    warned_of = ""
    # Tokens that fill its context so that it compacts.
    full = FULL
    # Name of a check, or of a cell, to why this agent cannot pass it.
    impossible: dict[str, str] = {}

    def __init__(self, program: Path) -> None:
        self.program = str(program)

    @classmethod
    def package_of(cls) -> str:
        return cls.name

    def set_up(self, place: Place, url: str) -> None:
        """Writes the agent's own settings, so that its model is the scripted one."""

    def environment(self, place: Place, url: str) -> dict[str, str]:
        return {}

    def prompt(self, place: Place, words: str, folder: Path, resumed: bool) -> list[str]:
        """The command that runs one prompt without a terminal, in a new session or the last one."""
        raise NotImplementedError

    def after_install(self, place: Place) -> None:
        """What the person does in the agent once yore is installed, such as trusting its hooks."""

    def listing(self) -> list[str] | None:
        """The command by which the agent lists its servers."""
        return None

    def compaction(self, place: Place, folder: Path) -> list[str] | None:
        """The command that compacts the last session; `None` where a full context does."""
        return None

    def end(self, place: Place) -> None:
        """Ends what the agent leaves running."""

    def check_run(self, done: Done) -> str | None:
        """Why a run did not do what it should, by what the agent printed."""
        return None if done.ok() else f"exit {done.status}: {done.out.strip()[-300:]}"
