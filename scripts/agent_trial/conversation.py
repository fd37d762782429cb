"""What an agent sends to its model, whichever protocol it speaks.

- `Request`: one model request, decoded
- `Message`, `Call`, `Result`, `Tool`: its parts
- `Answer`: what the scripted model says
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Call:
    """A tool call of the model."""

    id: str
    name: str
    arguments: dict[str, Any]
    # The text of a tool that takes text instead of an object (Codex: `exec`, `apply_patch`).
    text: str | None = None
    # The name space of the tool, where the protocol has one (Codex: `mcp__yore`).
    namespace: str | None = None


@dataclass
class Result:
    """What a tool answered."""

    id: str
    text: str


@dataclass
class Message:
    """One message; `role` is `system`, `user`, `assistant` or `tool`."""

    role: str
    texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def words(self) -> str:
        return "\n".join(self.texts)


@dataclass
class Tool:
    """A tool that the model may call."""

    name: str
    description: str
    schema: dict[str, Any]
    # Takes text instead of an object.
    is_text: bool = False
    namespace: str | None = None


@dataclass
class Request:
    """One model request. `parts` are the JSON values that a provider's cache sees, in its order."""

    protocol: str
    model: str
    system: str
    tools: list[Tool]
    messages: list[Message]
    parts: list[Any]
    is_stream: bool
    raw: dict[str, Any]

    def everything(self) -> str:
        """All words of the request but the tools."""
        words = [self.system]
        for message in self.messages:
            words.extend(message.texts)
            words.extend(result.text for result in message.results)
        return "\n".join(words)


@dataclass
class Answer:
    """What the scripted model says: words, tool calls, or an HTTP error."""

    text: str = ""
    calls: list[Call] = field(default_factory=list)
    # Tokens of the request that the answer claims, so that agents believe their context is full.
    input_tokens: int = 1_000
    # An HTTP status instead of an answer.
    error: int | None = None
