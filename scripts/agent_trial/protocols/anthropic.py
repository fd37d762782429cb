"""Anthropic Messages: `POST /v1/messages`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..conversation import Answer, Call, Message, Request, Result, Tool

NAME = "anthropic"


def matches(path: str) -> bool:
    return path.endswith("/messages")


def decode(path: str, body: dict[str, Any]) -> Request:
    messages = [_message(message) for message in body.get("messages", [])]
    tools = [Tool(tool.get("name", ""), tool.get("description", ""), tool.get("input_schema", {})) for tool in body.get("tools", [])]
    return Request(
        protocol=NAME,
        model=body.get("model", ""),
        system=_texts(body.get("system", "")),
        tools=tools,
        messages=messages,
        parts=[{**_uncached(part), "content": _as_blocks(_uncached(part.get("content")))} for part in body.get("messages", [])],
        is_stream=bool(body.get("stream")),
        raw=body,
    )


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [] if isinstance(block, dict) and block.get("type") == "text")


def _message(message: dict[str, Any]) -> Message:
    decoded = Message(message.get("role", ""))
    content = message.get("content", "")
    if isinstance(content, str):
        decoded.texts.append(content)
        return decoded
    for block in content:
        kind = block.get("type")
        if kind == "text":
            decoded.texts.append(block.get("text", ""))
        elif kind == "tool_use":
            decoded.calls.append(Call(block["id"], block["name"], block.get("input", {})))
        elif kind == "tool_result":
            decoded.results.append(Result(block.get("tool_use_id", ""), _texts(block.get("content", ""))))
    return decoded


def _uncached(value: Any) -> Any:
    """A value without the marks of the cache, which move with each request."""
    if isinstance(value, dict):
        return {key: _uncached(inner) for key, inner in value.items() if key != "cache_control"}
    if isinstance(value, list):
        return [_uncached(inner) for inner in value]
    return value


def _as_blocks(content: Any) -> Any:
    """A text alone is the same to the provider as a list with one text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _blocks(answer: Answer) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if answer.text or not answer.calls:
        blocks.append({"type": "text", "text": answer.text or "Done."})
    blocks.extend({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in answer.calls)
    return blocks


def _envelope(answer: Answer, request: Request, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number:024d}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": answer.input_tokens, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }


def whole(answer: Answer, request: Request, number: int) -> dict[str, Any]:
    return {
        **_envelope(answer, request, number),
        "content": _blocks(answer),
        "stop_reason": "tool_use" if answer.calls else "end_turn",
    }


def events(answer: Answer, request: Request, number: int) -> Iterator[str]:
    def event(kind: str, fields: dict[str, Any]) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    yield event("message_start", {"message": _envelope(answer, request, number)})
    for index, block in enumerate(_blocks(answer)):
        if block["type"] == "text":
            yield event("content_block_start", {"index": index, "content_block": {"type": "text", "text": ""}})
            # In two pieces, as a stream is.
            middle = len(block["text"]) // 2
            for piece in (block["text"][:middle], block["text"][middle:]):
                if piece:
                    yield event("content_block_delta", {"index": index, "delta": {"type": "text_delta", "text": piece}})
        else:
            yield event("content_block_start", {"index": index, "content_block": {**block, "input": {}}})
            arguments = json.dumps(block["input"])
            yield event("content_block_delta", {"index": index, "delta": {"type": "input_json_delta", "partial_json": arguments}})
        yield event("content_block_stop", {"index": index})
    stop = "tool_use" if answer.calls else "end_turn"
    usage = {"input_tokens": answer.input_tokens, "output_tokens": 20}
    yield event("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage})
    yield event("message_stop", {})


def error(status: int) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "api_error", "message": f"scripted error {status}"}}
