"""What a model wants to do, in the terms of each agent's tools.

- `shell`, `read`, `edit`, `recall`, `delegate`: one wish each; they give a `Call` for the tools that a
  request offers, or `None` where the agent has no such tool
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from typing import Any

from .conversation import Call, Request, Tool

_numbers = itertools.count(1)

# Tool name to arguments, in the order in which they are preferred.
Forms = dict[str, Callable[..., dict[str, Any]]]

SHELL: Forms = {
    "exec_command": lambda command: {"cmd": command},
    "Bash": lambda command: {"command": command},
    "run_shell_command": lambda command: {"command": command, "is_background": False},
    "bash": lambda command: {"command": command, "description": "runs a command"},
    "run_commands": lambda command: {"commands": [command]},
}
READ: Forms = {
    "Read": lambda path: {"file_path": path, "filepath": path},
    "read_file": lambda path: {"file_path": path},
    "read": lambda path: {"filePath": path},
    "view": lambda path: {"path": path},
    "read_files": lambda path: {"files": [{"path": path}]},
}
EDIT: Forms = {
    "Edit": lambda path, old, new: {"file_path": path, "old_string": old, "new_string": new},
    "replace": lambda path, old, new: {"file_path": path, "instruction": "add a line", "old_string": old, "new_string": new},
    "edit": lambda path, old, new: {"file_path": path, "filePath": path, "old_string": old, "new_string": new, "oldString": old, "newString": new},
    "editor": lambda path, old, new: {"path": path, "old_text": old, "new_text": new},
}
DELEGATE: Forms = {
    "Agent": lambda task: {"description": "a helper", "prompt": task, "subagent_type": "general-purpose", "run_in_background": False},
    "Task": lambda task: {"description": "a helper", "prompt": task, "subagent_type": "general-purpose"},
    "invoke_agent": lambda task: {"agent_name": "generalist", "prompt": task},
    "task": lambda task: {
        "description": "a helper",
        "name": "helper",
        "prompt": task,
        "subagent_type": "general",
        "agent_type": "general-purpose",
        "mode": "sync",
    },
    "spawn_agent": lambda task: {"systemPrompt": "You are a helper.", "task": task, "message": task, "task_name": "helper", "fork_turns": "none"},
    "agent": lambda task: {"description": "a helper", "prompt": task, "subagent_type": "general-purpose", "run_in_background": False},
}


def shell(request: Request, command: str) -> Call | None:
    """Runs a command."""
    if _is_code_mode(request):
        # The natural way to write it.
        return _script(f"const result = await tools.exec_command({json.dumps({'cmd': command})});\ntext(result);")
    return _call(request, SHELL, command)


def read(request: Request, path: str) -> Call | None:
    """Reads a file."""
    return _call(request, READ, path) or shell(request, f"cat {path}")


def edit(request: Request, path: str, old: str, new: str) -> Call | None:
    """Replaces a text in a file."""
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n" + "".join(f"+{line}\n" for line in new.split("\n")) + "*** End Patch\n"
    if _is_code_mode(request):
        return _script(f"text(await tools.apply_patch({json.dumps(patch)}));")
    if (tool := _tool(request, "apply_patch")) is not None and tool.is_text:
        return Call(_id(), "apply_patch", {}, text=patch)
    call = _call(request, EDIT, path, old, new)
    # Codex without its own tool for it intercepts the patch in a command.
    return call or shell(request, f"apply_patch <<'EOF'\n{patch}EOF")


def recall(request: Request, arguments: dict[str, Any], name: str = "recall") -> Call | None:
    """Asks yore."""
    if _is_code_mode(request):
        return _script(f"text(await tools.mcp__yore__{name}({json.dumps(arguments)}));")
    tool = yore_tool(request, name)
    return tool and Call(_id(), tool.name, arguments, namespace=tool.namespace)


def yore_tool(request: Request, name: str = "recall") -> Tool | None:
    """The tool of yore's server, however the agent spells it."""
    for tool in request.tools:
        full = f"{tool.namespace or ''}.{tool.name}"
        if full.endswith(name) and "yore" in full and not full.endswith(f"_local_{name}"):
            return tool
        # Some agents call tools by their own names alone.
        if tool.name == name and "earlier sessions" in tool.description:
            return tool
    return None


def load(request: Request, name: str = "recall") -> Call | None:
    """Asks the agent for a tool of yore that it lists by its name only."""
    if (tool := _tool(request, "ToolSearch")) is not None:
        return Call(_id(), tool.name, {"query": f"select:mcp__yore__{name}", "max_results": 3})
    if (tool := _tool(request, "tool_search")) is not None:
        return Call(_id(), tool.name, {"query": f"select:mcp__yore__{name}"})
    return None


def delegate(request: Request, task: str) -> Call | None:
    """Has a sub-agent do something."""
    return _call(request, DELEGATE, task)


def wait(request: Request) -> Call | None:
    """Waits for sub-agents that run beside the one that started them; `None` where they do not."""
    if (tool := _tool(request, "wait_agent")) is None:
        return None
    ids = re.findall(r'"agent_id":\s*"([^"]+)"', "\n".join(result.text for message in request.messages for result in message.results))
    known = tool.schema.get("properties") or {}
    arguments = {key: value for key, value in {"targets": ids[-1:], "timeout_ms": 10_000}.items() if key in known}
    return Call(_id(), tool.name, arguments, namespace=tool.namespace)


def _is_code_mode(request: Request) -> bool:
    return (tool := _tool(request, "exec")) is not None and tool.is_text


def _script(text: str) -> Call:
    return Call(_id(), "exec", {}, text=text)


def _tool(request: Request, name: str) -> Tool | None:
    return next((tool for tool in request.tools if tool.name == name), None)


def _call(request: Request, forms: Forms, *wish: str) -> Call | None:
    for name, form in forms.items():
        if (tool := _tool(request, name)) is None:
            continue
        known = tool.schema.get("properties") or {}
        arguments = {key: value for key, value in form(*wish).items() if not known or key in known}
        return Call(_id(), tool.name, arguments, namespace=tool.namespace)
    return None


def _id() -> str:
    return f"call_{next(_numbers):06d}"
