"""The agents of the trial."""

from __future__ import annotations

import json
from pathlib import Path

from ..model_server import MODEL
from ..place import Place
from .base import KEY, Agent


# Reasons why some agents cannot pass a check, used by several of them.
NO_BRANCH = "its sessions do not record the branch"
NO_HOOKS = "it has no hooks and no plugins"


class ClaudeCode(Agent):
    name, title = "claude-code", "Claude Code"
    install = source = "claude-code"
    provider = "anthropic"

    def environment(self, place: Place, url: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "3",
        }

    def set_up(self, place: Place, url: str) -> None:
        (place.home / ".claude").mkdir()
        (place.home / ".claude" / "settings.json").write_text('{\n  "includeCoAuthoredBy": false\n}\n')

    def prompt(self, place: Place, words: str, folder: Path, resumed: bool) -> list[str]:
        command = [self.program, "-p", words, "--model", "claude-opus-4-8", "--dangerously-skip-permissions"]
        return [*command, "--continue"] if resumed else command

    def listing(self) -> list[str] | None:
        return [self.program, "mcp", "list"]

    def compaction(self, place: Place, folder: Path) -> list[str] | None:
        return self.prompt(place, "/compact", folder, True)


class ClaudeCodeOlder(ClaudeCode):
    name, title = "claude-code-older", "Claude Code (older line)"
    listed_as = "Claude Code"
    impossible = {"caches hold/resumed": "a resumed session of the older line omits the context added by a PreToolUse hook; its transcript contains it"}


class Codex(Agent):
    name, title, listed_as = "codex", "Codex CLI", "Codex"
    install = source = "codex"
    model = "gpt-trial"
    # The runs of the trial bypass the trust check.
    warned_of = ": not trusted yet"

    def environment(self, place: Place, url: str) -> dict[str, str]:
        return {"TRIAL_KEY": KEY}

    def set_up(self, place: Place, url: str) -> None:
        folder = place.home / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(
            f"""# mine
model = "{self.model}"
model_provider = "trial"
model_context_window = 200000

[model_providers.trial]
name = "trial"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "TRIAL_KEY"
request_max_retries = 3
"""
        )

    def prompt(self, place: Place, words: str, folder: Path, resumed: bool) -> list[str]:
        options = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
        if resumed:
            return [self.program, "exec", "resume", "--last", *options, words]
        return [self.program, "exec", *options, words]

    def listing(self) -> list[str] | None:
        return [self.program, "mcp", "list"]


class CodexCodeMode(Codex):
    """Codex with its newest models, which call tools from JavaScript."""

    name, title = "codex-code-mode", "Codex CLI (code mode)"
    model = "gpt-6-astra"

    @classmethod
    def package_of(cls) -> str:
        return "codex"


class Gemini(Agent):
    name, title = "gemini", "Gemini CLI"
    install = source = "gemini"
    provider = "gemini"
    impossible = {
        "read back/branches": NO_BRANCH,
        "compaction": "its PreCompress hook runs before every request, and no event reports that a compression took place",
        "sub-agents/told": "Gemini CLI runs no hook when a sub-agent starts",
    }

    def environment(self, place: Place, url: str) -> dict[str, str]:
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def set_up(self, place: Place, url: str) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False},
        }
        (place.home / ".gemini").mkdir()
        (place.home / ".gemini" / "settings.json").write_text(json.dumps(settings, indent=2))

    def prompt(self, place: Place, words: str, folder: Path, resumed: bool) -> list[str]:
        command = [self.program, "--skip-trust", "-y", "-m", "gemini-2.5-pro", "-p", words]
        return [*command, "-r", "latest"] if resumed else command

    def listing(self) -> list[str] | None:
        return [self.program, "mcp", "list"]


def _provider(url: str, limit: int) -> dict[str, object]:
    return {
        "autoupdate": False,
        "share": "disabled",
        "model": f"trial/{MODEL}",
        "small_model": f"trial/{MODEL}",
        "provider": {
            "trial": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Trial",
                "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
                "models": {MODEL: {"name": "Trial", "limit": {"context": limit, "output": 8_000}}},
            }
        },
    }


class OpenCode(Agent):
    name, title = "opencode", "OpenCode"
    install = source = "opencode"
    impossible = {"read back/branches": NO_BRANCH}

    def environment(self, place: Place, url: str) -> dict[str, str]:
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def set_up(self, place: Place, url: str) -> None:
        folder = place.home / ".config" / "opencode"
        folder.mkdir(parents=True)
        (folder / "opencode.json").write_text(json.dumps(_provider(url, 200_000), indent=2))

    def prompt(self, place: Place, words: str, folder: Path, resumed: bool) -> list[str]:
        command = [self.program, "run", "--auto"]
        return [*command, "-c", words] if resumed else [*command, words]

    def listing(self) -> list[str] | None:
        return [self.program, "mcp", "list"]


class Kilo(OpenCode):
    name, title, listed_as = "kilo", "Kilo CLI", "Kilo Code"
    install, source = "kilo", "kilo-cli"

    def environment(self, place: Place, url: str) -> dict[str, str]:
        return {"KILO_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def set_up(self, place: Place, url: str) -> None:
        folder = place.home / ".config" / "kilo"
        folder.mkdir(parents=True)
        (folder / "kilo.json").write_text(json.dumps(_provider(url, 200_000), indent=2))


class CopilotCli(Agent):
    name, title = "copilot-cli", "Copilot CLI"
    install = source = "copilot-cli"

    def environment(self, place: Place, url: str) -> dict[str, str]:
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": "gpt-5.4",
            "COPILOT_OFFLINE": "true",
        }

    def set_up(self, place: Place, url: str) -> None:
        (place.home / ".copilot").mkdir()
        (place.home / ".copilot" / "config.json").write_text("{}\n")

    def prompt(self, place: Place, words: str, folder: Path, resumed: bool) -> list[str]:
        command = [self.program, "-p", words, "--allow-all-tools", "--allow-all-paths"]
        return [*command, "--continue"] if resumed else command

    def compaction(self, place: Place, folder: Path) -> list[str] | None:
        return self.prompt(place, "/compact", folder, True)

    def listing(self) -> list[str] | None:
        return [self.program, "mcp", "list"]


class Cline(Agent):
    name, title, listed_as = "cline", "Cline CLI", "Cline"
    install = source = "cline"
    can_resume = False
    impossible = {"compaction": "it can resume a session only in its terminal interface"}

    def set_up(self, place: Place, url: str) -> None:
        place.run([self.program, "auth", "-p", "openai-compatible", "-k", KEY, "-m", MODEL, "-b", f"{url}/v1"], name="set-up")

    def prompt(self, place: Place, words: str, folder: Path, resumed: bool) -> list[str]:
        if resumed:
            sessions = place.home / ".cline" / "data" / "sessions"
            last = max(sessions.iterdir(), key=lambda session: session.stat().st_mtime).name
            return [self.program, "--id", last, words]
        return [self.program, words]

    def listing(self) -> list[str] | None:
        return [self.program, "config", "mcp"]

    def end(self, place: Place) -> None:
        # The hub keeps running and would serve the next session.
        place.run([self.program, "hub", "stop"], name="end")


class Continue(Agent):
    name, title, listed_as = "continue", "Continue CLI", "Continue"
    install = source = "continue"
    impossible = {
        **dict.fromkeys(("told: brief", "told: prompt", "told: file", "told: error", "told: command", "compaction"), f"its program never calls its own hooks (fireHook); its rules ask the model to recall"),
        "accepted/listed": "it has no command that lists servers",
        "read back/branches": NO_BRANCH,
        "sub-agents": "it has sub-agents only if a model is configured for them",
    }

    def environment(self, place: Place, url: str) -> dict[str, str]:
        return {"CONTINUE_TELEMETRY_ENABLED": "0"}

    def set_up(self, place: Place, url: str) -> None:
        (place.home / ".continue").mkdir()
        (place.home / ".continue" / "config.yaml").write_text(
            f"""# mine
name: trial
version: 0.0.1
schema: v1
models:
  - name: Trial
    provider: openai
    model: {MODEL}
    apiBase: {url}/v1
    apiKey: {KEY}
    roles: [chat, edit, apply]
"""
        )

    def prompt(self, place: Place, words: str, folder: Path, resumed: bool) -> list[str]:
        command = [self.program, "-p", "--auto", "--beta-subagent-tool"]
        return [*command, "--resume", words] if resumed else [*command, words]


class Qwen(Agent):
    name, title = "qwen", "Qwen Code"
    install = source = "qwen"
    full = 170_000
    impossible = {"sub-agents/told": "the output of its SubagentStart hook (hook_context) is not added to any prompt of a sub-agent"}

    def environment(self, place: Place, url: str) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY, "OPENAI_MODEL": MODEL, "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}

    def set_up(self, place: Place, url: str) -> None:
        (place.home / ".qwen").mkdir()
        settings = {"security": {"auth": {"selectedType": "openai"}}, "general": {"disableAutoUpdate": True}, "privacy": {"usageStatisticsEnabled": False}}
        (place.home / ".qwen" / "settings.json").write_text(json.dumps(settings, indent=2))

    def prompt(self, place: Place, words: str, folder: Path, resumed: bool) -> list[str]:
        command = [self.program, "-y", "--auth-type", "openai", "-p", words]
        return [*command, "--continue"] if resumed else command

    def listing(self) -> list[str] | None:
        return [self.program, "mcp", "list"]


class Aider(Agent):
    name, title, listed_as = "aider", "aider", "Aider"
    install = source = "aider"
    has_server = has_tools = False
    has_session_per_run = True
    says_where = False
    impossible = {
        **dict.fromkeys(("told: brief", "told: prompt", "told: file", "told: error", "told: command", "compaction"), f"{NO_HOOKS}; its rules mention `/run yore recall` to the model"),
        **dict.fromkeys(("accepted", "recall", "right project/recall", "sub-agents"), "it has no MCP client and no sub-agents"),
        **dict.fromkeys(("read back/calls", "read back/failures"), "its model calls no tools"),
        "read back/branches": NO_BRANCH,
    }

    def environment(self, place: Place, url: str) -> dict[str, str]:
        return {"OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": KEY, "AIDER_ANALYTICS_DISABLE": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

    def prompt(self, place: Place, words: str, folder: Path, resumed: bool) -> list[str]:
        command = [self.program, "--model", f"openai/{MODEL}", "--yes-always", "--no-check-update", "--no-show-model-warnings", "--no-gitignore"]
        if resumed:
            command.append("--restore-chat-history")
        return [*command, "--message", words]


AGENTS: list[type[Agent]] = [
    ClaudeCode,
    ClaudeCodeOlder,
    Codex,
    CodexCodeMode,
    Gemini,
    OpenCode,
    CopilotCli,
    Cline,
    Continue,
    Aider,
    Kilo,
    Qwen,
]
