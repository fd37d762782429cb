"""Gemini: `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..conversation import Answer, Call, Message, Request, Result, Tool

NAME = "gemini"


def matches(path: str) -> bool:
    return path.endswith((":generateContent", ":streamGenerateContent"))


def decode(path: str, body: dict[str, Any]) -> Request:
    tools = [
        Tool(function.get("name", ""), function.get("description", ""), function.get("parametersJsonSchema") or function.get("parameters") or {})
        for group in body.get("tools") or []
        for function in group.get("functionDeclarations") or []
    ]
    system = body.get("systemInstruction") or {}
    return Request(
        protocol=NAME,
        model=path.rsplit("/", 1)[-1].split(":")[0],
        system="\n".join(part.get("text", "") for part in _parts(system)),
        tools=tools,
        messages=[_message(content) for content in body.get("contents", [])],
        parts=body.get("contents", []),
        is_stream=path.endswith(":streamGenerateContent"),
        raw=body,
    )


def _parts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"text": content}]
    return content.get("parts") or []


def _message(content: dict[str, Any]) -> Message:
    decoded = Message("assistant" if content.get("role") == "model" else "user")
    for at, part in enumerate(_parts(content)):
        if "text" in part:
            decoded.texts.append(part["text"])
        elif "functionCall" in part:
            call = part["functionCall"]
            decoded.calls.append(Call(call.get("id") or f"call{at}", call.get("name", ""), call.get("args") or {}))
        elif "functionResponse" in part:
            response = part["functionResponse"]
            value = response.get("response") or {}
            text = value.get("output") if isinstance(value.get("output"), str) else json.dumps(value)
            decoded.results.append(Result(response.get("id") or response.get("name", ""), text))
    return decoded


def whole(answer: Answer, request: Request, number: int) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if answer.text or not answer.calls:
        parts.append({"text": answer.text or "Done."})
    parts.extend({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}} for call in answer.calls)
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": answer.input_tokens,
            "candidatesTokenCount": 20,
            "totalTokenCount": answer.input_tokens + 20,
        },
        "modelVersion": request.model,
        "responseId": f"response-{number}",
    }


def events(answer: Answer, request: Request, number: int) -> Iterator[str]:
    yield f"data: {json.dumps(whole(answer, request, number))}\r\n\r\n"


def error(status: int) -> dict[str, Any]:
    return {"error": {"code": status, "message": f"scripted error {status}", "status": "INTERNAL"}}
