"""OpenAI Responses: `POST /v1/responses`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..conversation import Answer, Call, Message, Request, Result, Tool

NAME = "responses"


def matches(path: str) -> bool:
    return path.endswith("/responses")


def decode(path: str, body: dict[str, Any]) -> Request:
    items = body.get("input", [])
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    messages = [message for message in map(_message, items) if message is not None]
    # Codex brings the tools of its newest models as the first item.
    listed = [tool for item in items if item.get("type") == "additional_tools" for tool in item.get("tools") or []]
    return Request(
        protocol=NAME,
        model=body.get("model", ""),
        system=body.get("instructions") or "",
        tools=_tools((body.get("tools") or []) + listed, None),
        messages=messages,
        parts=items,
        is_stream=bool(body.get("stream")),
        raw=body,
    )


def _tools(tools: list[dict[str, Any]], namespace: str | None) -> list[Tool]:
    found: list[Tool] = []
    for tool in tools:
        if tool.get("type") == "namespace":
            found.extend(_tools(tool.get("tools") or [], tool.get("name")))
            continue
        function = tool.get("function") or tool
        name = function.get("name") or tool.get("type", "")
        is_text = tool.get("type") == "custom"
        found.append(Tool(name, function.get("description", ""), function.get("parameters") or {}, is_text, namespace))
    return found


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def _message(item: dict[str, Any]) -> Message | None:
    kind = item.get("type", "message")
    if kind == "agent_message":
        # From one agent of a team to another; what is sealed is what the scripted model wrote.
        content = item.get("content") or []
        return Message("user", ["\n".join(part.get("text") or part.get("encrypted_content") or "" for part in content)])
    if kind == "message":
        role = item.get("role", "")
        return Message("system" if role == "developer" else role, [_text(item.get("content"))])
    if kind in ("function_call", "custom_tool_call"):
        try:
            arguments = json.loads(item.get("arguments") or "{}")
        except ValueError:
            arguments = {}
        call = Call(item.get("call_id", ""), item.get("name", ""), arguments, item.get("input"), item.get("namespace"))
        return Message("assistant", calls=[call])
    if kind in ("function_call_output", "custom_tool_call_output"):
        return Message("tool", results=[Result(item.get("call_id", ""), _text(item.get("output")))])
    return None


def _items(answer: Answer, number: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.text or not answer.calls:
        content = [{"type": "output_text", "text": answer.text or "Done.", "annotations": []}]
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content})
    for at, call in enumerate(answer.calls):
        item: dict[str, Any] = {"id": f"fc_{number}_{at}", "call_id": call.id, "name": call.name, "status": "completed"}
        if call.namespace:
            item["namespace"] = call.namespace
        if call.text is None:
            items.append({"type": "function_call", "arguments": json.dumps(call.arguments), **item})
        else:
            items.append({"type": "custom_tool_call", "input": call.text, **item})
    return items


def whole(answer: Answer, request: Request, number: int) -> dict[str, Any]:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_780_000_000 + number,
        "status": "completed",
        "model": request.model,
        "output": _items(answer, number),
        "usage": {
            "input_tokens": answer.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.input_tokens + 20,
        },
        "error": None,
        "incomplete_details": None,
        "tools": [],
        "parallel_tool_calls": True,
    }


def events(answer: Answer, request: Request, number: int) -> Iterator[str]:
    sequence = 0

    def event(kind: str, fields: dict[str, Any]) -> str:
        nonlocal sequence
        sequence += 1
        return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': sequence, **fields})}\n\n"

    response = whole(answer, request, number)
    yield event("response.created", {"response": {**response, "status": "in_progress", "output": [], "usage": None}})
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            begun = {**item, "content": [], "status": "in_progress"}
            yield event("response.output_item.added", {"output_index": index, "item": begun})
            text = item["content"][0]["text"]
            empty = {"type": "output_text", "text": "", "annotations": []}
            yield event("response.content_part.added", {**place, "content_index": 0, "part": empty})
            yield event("response.output_text.delta", {**place, "content_index": 0, "delta": text})
            yield event("response.output_text.done", {**place, "content_index": 0, "text": text})
            yield event("response.content_part.done", {**place, "content_index": 0, "part": item["content"][0]})
        elif item["type"] == "function_call":
            yield event("response.output_item.added", {"output_index": index, "item": {**item, "arguments": "", "status": "in_progress"}})
            yield event("response.function_call_arguments.delta", {**place, "delta": item["arguments"]})
            yield event("response.function_call_arguments.done", {**place, "arguments": item["arguments"]})
        else:
            yield event("response.output_item.added", {"output_index": index, "item": {**item, "input": "", "status": "in_progress"}})
        yield event("response.output_item.done", {"output_index": index, "item": item})
    yield event("response.completed", {"response": response})


def error(status: int) -> dict[str, Any]:
    return {"error": {"message": f"scripted error {status}", "type": "server_error", "code": None}}
