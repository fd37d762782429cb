"""Says what the fake provider answers: canned bytes for each protocol and scenario, the same on every run.

- `answer` looks at the path for the protocol and at the last text of the user for the scenario ("scenario: stream-tools")
- one class for each protocol makes its JSON and its stream
- every text holds characters of several bytes, and streams are cut without regard to lines or characters
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from dataclasses import dataclass

from .wire import Request

TEXT = ["The tide ", "comes at six: ", "Grüße, ", "潮汐 ", "🌊 and more."]
WHEN = 1767225600
STAMP = "2026-01-01T00:00:00Z"
PIECES = 6
"""In how many pieces a stream is sent."""


@dataclass
class Answer:
    """An answer: `pieces` is a stream in chunks, `body` one with a length. `cut` ends the connection in the middle."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    pieces: list[bytes] | None = None
    cut: bool = False


def compact(value) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def server_sent(events: list, named: bool = False, done: bool = False) -> bytes:
    lines = b"".join((b"event: %s\n" % event["type"].encode() if named else b"") + b"data: " + compact(event) + b"\n\n" for event in events)
    return lines + (b"data: [DONE]\n\n" if done else b"")


class Chat:
    """OpenAI chat completions."""

    stream_type = "text/event-stream; charset=utf-8"
    tool_call = {"id": "call_test", "type": "function", "function": {"name": "tide", "arguments": '{"place":"Ærø","hour":6}'}}

    def whole(self, tools: bool):
        message = {"role": "assistant", "content": None if tools else "".join(TEXT), "refusal": None}
        if tools:
            message["tool_calls"] = [self.tool_call]
        return {"id": "chatcmpl-test", "object": "chat.completion", "created": WHEN, "model": "gpt-test",
                "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if tools else "stop"}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}, "x_unknown": {"kept": [1, 2.5, None]}}

    def stream(self, tools: bool) -> bytes:
        def chunk(delta, reason=None):
            return {"id": "chatcmpl-test", "object": "chat.completion.chunk", "created": WHEN, "model": "gpt-test",
                    "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]}

        if tools:
            words = self.tool_call["function"]["arguments"]
            first = {**self.tool_call, "index": 0, "function": {"name": "tide", "arguments": ""}}
            deltas = [{"role": "assistant", "content": None, "tool_calls": [first]}]
            deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": words[at : at + 7]}}]} for at in range(0, len(words), 7)]
        else:
            deltas = [{"role": "assistant", "content": ""}] + [{"content": words} for words in TEXT]
        events = [chunk(delta) for delta in deltas] + [chunk({}, "tool_calls" if tools else "stop")]
        return b": a comment\n\n" + server_sent(events, done=True)

    def error(self, status: int, kind: str):
        return {"error": {"message": f"a test of {status}: Grüße", "type": kind, "param": None, "code": f"test_{status}"}}

    def models(self):
        return {"object": "list", "data": [{"id": "gpt-test", "object": "model", "created": WHEN, "owned_by": "test"}]}


class Responses(Chat):
    """OpenAI responses."""

    def whole(self, tools: bool):
        if tools:
            item = {"type": "function_call", "id": "fc_test", "call_id": "call_test", "name": "tide", "arguments": '{"place":"Ærø"}', "status": "completed"}
        else:
            item = {"type": "message", "id": "msg_test", "status": "completed", "role": "assistant",
                    "content": [{"type": "output_text", "text": "".join(TEXT), "annotations": []}]}
        return {"id": "resp_test", "object": "response", "created_at": WHEN, "status": "completed", "error": None, "incomplete_details": None,
                "instructions": None, "metadata": {}, "model": "gpt-test", "output": [item], "parallel_tool_calls": True, "temperature": 1.0,
                "tool_choice": "auto", "tools": [], "top_p": 1.0,
                "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 7,
                          "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 16}}

    def stream(self, tools: bool) -> bytes:
        whole = self.whole(tools)
        item = whole["output"][0]
        events = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}]
        if tools:
            events.append({"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": "", "status": "in_progress"}})
            words = item["arguments"]
            events += [{"type": "response.function_call_arguments.delta", "item_id": "fc_test", "output_index": 0, "delta": words[at : at + 5]}
                       for at in range(0, len(words), 5)]
            events.append({"type": "response.function_call_arguments.done", "item_id": "fc_test", "output_index": 0, "name": "tide", "arguments": words})
        else:
            events.append({"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": [], "status": "in_progress"}})
            part = {"item_id": "msg_test", "output_index": 0, "content_index": 0}
            events.append({"type": "response.content_part.added", **part, "part": {"type": "output_text", "text": "", "annotations": []}})
            events += [{"type": "response.output_text.delta", **part, "delta": words, "logprobs": []} for words in TEXT]
            events.append({"type": "response.output_text.done", **part, "text": "".join(TEXT), "logprobs": []})
            events.append({"type": "response.content_part.done", **part, "part": item["content"][0]})
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        events.append({"type": "response.completed", "response": whole})
        return server_sent([{**event, "sequence_number": number} for number, event in enumerate(events)], named=True)


class Messages:
    """Anthropic messages."""

    stream_type = "text/event-stream; charset=utf-8"

    def whole(self, tools: bool):
        content = [{"type": "text", "text": "".join(TEXT)}]
        if tools:
            content.append({"type": "tool_use", "id": "toolu_test", "name": "tide", "input": {"place": "Ærø", "hour": 6}})
        return {"id": "msg_test", "type": "message", "role": "assistant", "model": "claude-test", "content": content,
                "stop_reason": "tool_use" if tools else "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 7}}

    def stream(self, tools: bool) -> bytes:
        whole = self.whole(tools)
        events = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
                  {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}, {"type": "ping"}]
        events += [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words}} for words in TEXT]
        events.append({"type": "content_block_stop", "index": 0})
        if tools:
            words = json.dumps(whole["content"][1]["input"], ensure_ascii=False)
            events.append({"type": "content_block_start", "index": 1, "content_block": {**whole["content"][1], "input": {}}})
            events += [{"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": words[at : at + 6]}}
                       for at in range(0, len(words), 6)]
            events.append({"type": "content_block_stop", "index": 1})
        events.append({"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None}, "usage": {"output_tokens": 7}})
        return server_sent([*events, {"type": "message_stop"}], named=True)

    def error(self, status: int, kind: str):
        return {"type": "error", "error": {"type": kind, "message": f"a test of {status}: Grüße"}, "request_id": "req_test"}

    def models(self):
        model = {"type": "model", "id": "claude-test", "display_name": "Test", "created_at": STAMP}
        return {"data": [model], "has_more": False, "first_id": "claude-test", "last_id": "claude-test"}


class Gemini:
    """Gemini generateContent, and streamGenerateContent with alt=sse."""

    stream_type = "text/event-stream"

    def part(self, parts, reason=None):
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if reason:
            candidate["finishReason"] = reason
        return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 7, "totalTokenCount": 16},
                "modelVersion": "gemini-test", "responseId": "resp-test"}

    def whole(self, tools: bool):
        call = {"functionCall": {"name": "tide", "args": {"place": "Ærø", "hour": 6}}, "thoughtSignature": "dGVzdA=="}
        return self.part([call] if tools else [{"text": "".join(TEXT)}], "STOP")

    def stream(self, tools: bool) -> bytes:
        events = [self.part([{"text": words}]) for words in TEXT]
        lines = server_sent([*events, self.whole(True)] if tools else [*events, self.part([{"text": ""}], "STOP")])
        return lines.replace(b"\n\n", b"\r\n\r\n")

    def error(self, status: int, kind: str):
        return {"error": {"code": status, "message": f"a test of {status}: Grüße", "status": kind.upper()}}

    def models(self):
        return {"models": [{"name": "models/gemini-test", "version": "1", "displayName": "Test", "inputTokenLimit": 1000, "outputTokenLimit": 100,
                            "supportedGenerationMethods": ["generateContent"]}]}


class Ollama:
    """Ollama's chat, whose streams are lines of JSON."""

    stream_type = "application/x-ndjson"

    def part(self, message, done: bool):
        line = {"model": "llama-test", "created_at": STAMP, "message": {"role": "assistant", "content": "", **message}, "done": done}
        if done:
            line |= {"done_reason": "stop", "total_duration": 5, "load_duration": 1, "prompt_eval_count": 9, "prompt_eval_duration": 2,
                     "eval_count": 7, "eval_duration": 2}
        return line

    def call(self):
        return {"tool_calls": [{"function": {"name": "tide", "arguments": {"place": "Ærø", "hour": 6}}}]}

    def whole(self, tools: bool):
        return self.part(self.call() if tools else {"content": "".join(TEXT)}, True)

    def stream(self, tools: bool) -> bytes:
        parts = [self.part({"content": words}, False) for words in TEXT]
        if tools:
            parts.append(self.part(self.call(), False))
        return b"".join(compact(part) + b"\n" for part in [*parts, self.part({}, True)])

    def error(self, status: int, kind: str):
        return {"error": f"a test of {status}: Grüße"}

    def models(self):
        return {"models": [{"model": "llama-test", "name": "llama-test", "modified_at": STAMP, "digest": "0" * 64, "size": 42}]}


ERRORS = {"error-400": (400, "Bad Request", "invalid_request_error"), "error-429": (429, "Too Many Requests", "rate_limit_error"),
          "error-500": (500, "Internal Server Error", "api_error")}


def last_user_text(body) -> str:
    """The last text that the user wrote, wherever the protocol keeps it; a tool's result is not one."""
    if not isinstance(body, dict):
        return ""
    turns = body.get("messages") or body.get("contents") or body.get("input") or []
    if isinstance(turns, str):
        return turns
    for turn in reversed(turns):
        if turn.get("role", "user") != "user":
            continue
        content = turn.get("content") or turn.get("parts") or ""
        parts = [{"text": content}] if isinstance(content, str) else content
        text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        if text:
            return text
    return ""


def has_tool_result(value) -> bool:
    if isinstance(value, dict):
        told = value.get("role") == "tool" or value.get("type") in ("tool_result", "function_call_output") or "functionResponse" in value
        return told or any(has_tool_result(inner) for inner in value.values())
    return isinstance(value, list) and any(has_tool_result(inner) for inner in value)


def protocol_of(path: str):
    if path.endswith("/chat/completions"):
        return Chat()
    if path.endswith("/responses"):
        return Responses()
    if path.endswith("/v1/messages"):
        return Messages()
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return Gemini()
    return Ollama() if path.endswith("/api/chat") else None


def cut(whole: bytes, count: int = PIECES) -> list[bytes]:
    """Cuts into pieces of about the same length, anywhere: in a line, in a character."""
    return [whole[len(whole) * at // count : len(whole) * (at + 1) // count] for at in range(count)]


def answer(request: Request) -> Answer:
    """The answer to a request. It depends on the bytes of the request alone."""
    path = request.target.split("?")[0]
    try:
        body = json.loads(request.body) if request.body[:1] in (b"{", b"[") else None
    except ValueError:
        body = None
    zipped = "gzip" in {word.split(";")[0] for word in request.head.tokens("accept-encoding")}
    # Two lines of one name, in the case and the order in which they must arrive.
    headers = [("Date", "Thu, 01 Jan 2026 00:00:00 GMT"), ("X-Request-Id", "req_test"), ("Set-Cookie", "first=1; Path=/"),
               ("Set-Cookie", "second=2; Path=/; HttpOnly"), ("X-Unknown-Header", "kept; as=it is"), ("Cache-Control", "no-cache, must-revalidate")]

    def whole(status: str, value, more=(), squeeze: bool = False) -> Answer:
        raw = compact(value)
        lines = [*headers, ("Content-Type", "application/json; charset=utf-8"), *more]
        if squeeze and zipped:
            return Answer(status, [*lines, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")], gzip.compress(raw, mtime=0))
        return Answer(status, lines, raw)

    if request.method == "GET" and path.endswith("/models"):
        api = Gemini() if request.head.get("x-goog-api-key") else Messages() if request.head.get("anthropic-version") else Chat()
        return whole("200 OK", api.models())
    if request.method == "GET" and path.endswith("/api/tags"):
        return whole("200 OK", Ollama().models())
    if path.endswith("/files"):
        return whole("200 OK", {"id": "file-test", "object": "file", "bytes": len(request.body), "created_at": WHEN, "filename": "picture.png",
                                "purpose": "vision", "status": "processed"})
    api = protocol_of(path)
    if api is None:
        return whole("418 I'm a teapot" if request.method == "DELETE" else "200 OK", {"unknown_endpoint": path.rsplit("/", 2)[-2:], "bytes": len(request.body)})

    found = re.search(r"scenario: ([a-z0-9-]+)", last_user_text(body))
    scenario = found.group(1) if found else "plain"
    if scenario == "retry-429":
        if request.head.get("x-stainless-retry-count") in (None, "0"):
            return whole("429 Too Many Requests", api.error(429, "rate_limit_error"), [("Retry-After-Ms", "30"), ("Retry-After", "1")])
        scenario = "plain"
    if scenario in ERRORS:
        status, words, kind = ERRORS[scenario]
        more = [("Retry-After", "7"), ("X-RateLimit-Remaining-Requests", "0")] if status == 429 else []
        return whole(f"{status} {words}", api.error(status, kind), more)

    tools = scenario.endswith("tools") and not has_tool_result(body)
    streamed = body.get("stream", isinstance(api, Ollama)) if not isinstance(api, Gemini) else path.endswith(":streamGenerateContent")
    if not streamed:
        return whole("200 OK", api.whole(tools), squeeze=scenario.endswith("gzip"))
    pieces = cut(api.stream(tools))
    headers.append(("Content-Type", api.stream_type))
    if scenario.endswith("gzip") and zipped:
        packer = zlib.compressobj(wbits=31)
        pieces = [packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in pieces]
        pieces[-1] += packer.flush()
        headers.append(("Content-Encoding", "gzip"))
    if scenario == "stream-cut":
        return Answer("200 OK", headers, pieces=pieces[: PIECES // 2], cut=True)
    return Answer("200 OK", headers, pieces=pieces)
