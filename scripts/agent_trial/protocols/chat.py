"""OpenAI Chat Completions: `POST /v1/chat/completions`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..conversation import Answer, Call, Message, Request, Result, Tool

NAME = "chat"


def matches(path: str) -> bool:
    return path.endswith("/chat/completions")


def decode(path: str, body: dict[str, Any]) -> Request:
    system: list[str] = []
    messages: list[Message] = []
    for message in body.get("messages", []):
        role, text = message.get("role", ""), _text(message.get("content"))
        if role in ("system", "developer") and not messages:
            system.append(text)
            continue
        decoded = Message("system" if role == "developer" else role)
        if role == "tool":
            decoded.results.append(Result(message.get("tool_call_id", ""), text))
        elif text:
            decoded.texts.append(text)
        for call in message.get("tool_calls") or []:
            if "custom" in call:
                custom = call["custom"]
                decoded.calls.append(Call(call.get("id", ""), custom.get("name", ""), {}, text=custom.get("input", "")))
                continue
            function = call.get("function", {})
            decoded.calls.append(Call(call.get("id", ""), function.get("name", ""), _arguments(function.get("arguments"))))
        messages.append(decoded)
    tools = []
    for tool in body.get("tools") or []:
        # A tool that takes text instead of an object is a custom one.
        is_text = tool.get("type") == "custom"
        function = tool.get("custom" if is_text else "function", {})
        tools.append(Tool(function.get("name", ""), function.get("description", ""), function.get("parameters", {}), is_text))
    return Request(
        protocol=NAME,
        model=body.get("model", ""),
        system="\n".join(system),
        tools=tools,
        messages=messages,
        parts=[_uncached(part) for part in body.get("messages", [])],
        is_stream=bool(body.get("stream")),
        raw=body,
    )


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""


def _arguments(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _uncached(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _uncached(inner) for key, inner in value.items() if key not in ("cache_control", "copilot_cache_control")}
    if isinstance(value, list):
        return [_uncached(inner) for inner in value]
    return value


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"index": at, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        if call.text is None
        else {"index": at, "id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.text}}
        for at, call in enumerate(answer.calls)
    ]


def _usage(answer: Answer) -> dict[str, int]:
    return {"prompt_tokens": answer.input_tokens, "completion_tokens": 20, "total_tokens": answer.input_tokens + 20}


def whole(answer: Answer, request: Request, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or (None if answer.calls else "Done.")}
    if answer.calls:
        message["tool_calls"] = _calls(answer)
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_780_000_000 + number,
        "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if answer.calls else "stop"}],
        "usage": _usage(answer),
    }


def events(answer: Answer, request: Request, number: int) -> Iterator[str]:
    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        value = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": 1_780_000_000 + number,
            "model": request.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            **more,
        }
        return f"data: {json.dumps(value)}\n\n"

    yield chunk({"role": "assistant", "content": ""})
    text = answer.text or ("" if answer.calls else "Done.")
    middle = len(text) // 2
    for piece in (text[:middle], text[middle:]):
        if piece:
            yield chunk({"content": piece})
    for call in _calls(answer):
        yield chunk({"tool_calls": [call]})
    yield chunk({}, "tool_calls" if answer.calls else "stop", usage=_usage(answer))
    yield "data: [DONE]\n\n"


def error(status: int) -> dict[str, Any]:
    return {"error": {"message": f"scripted error {status}", "type": "server_error", "code": None}}
