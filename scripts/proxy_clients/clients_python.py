"""Calls a provider with the official Python clients and prints what each call returned, a line of JSON for each scenario.

    clients_python.py '{"openai": BASE, "openai_path": "/v1", "anthropic": BASE, "gemini": BASE, "ollama": BASE}' [--step]

First comes `{"offers": [[client, scenario], ...]}`. Without `--step` all of them are run; with it, each line of the standard
input, `[client, scenario]`, is run and answered with one line. The packages of `requirements.txt` must be importable.

Every call is written once: `settled` awaits what must be awaited, `each` goes through streams of both kinds. Nothing is retried but
where the scenario is to retry.
"""

import asyncio
import base64
import hashlib
import importlib.metadata
import inspect
import json
import sys

import anthropic
import ollama
import openai
from google import genai
from google.genai import types

KEY = "test-key"
SECONDS = 20
PICTURE = b"\x89PNG\r\n\x1a\n" + b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(32768))
"""A megabyte that looks like a picture."""
PICTURE_TEXT = base64.b64encode(PICTURE).decode()
PLACE = {"type": "object", "properties": {"place": {"type": "string", "description": "Where: Ærø"}, "hour": {"type": "integer"}}, "required": ["place"]}
UNKNOWN = {"x_unknown": {"number": 2.50, "large": 12345678901234567890, "nothing": None, "text": "Grüße 🌊 \u2028"}}
COMMON = ["plain", "stream", "tools", "stream-tools", "image", "gzip", "stream-gzip", "error-400", "error-429", "error-500", "stream-cut", "models"]


def text(scenario):
    return f"scenario: {scenario}\nPlease tell me of the tide: Grüße, 潮汐 🌊 \\ \" </script>"


async def settled(value):
    return await value if inspect.isawaitable(value) else value


async def each(stream):
    if hasattr(stream, "__aiter__"):
        async for part in stream:
            yield part
    else:
        for part in stream:
            yield part


def plain(value):
    """A value of a client as JSON."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True)
    return value


class Caller:
    """One client of one protocol. `ask` makes one call; the scenarios are the same for all."""

    scenarios = COMMON

    async def run(self, scenario):
        self.told = []
        if scenario == "models":
            await self.attempt(self.models())
        elif scenario == "upload":
            await self.attempt(self.upload())
        elif scenario == "unknown":
            await self.attempt(self.unknown(text(scenario)))
        elif scenario.startswith("error"):
            await self.attempt(self.ask([self.user(text(scenario))], False))
            await self.attempt(self.ask([self.user(text(scenario))], True))
        elif scenario.endswith("tools"):
            await self.attempt(self.converse(text(scenario), scenario == "stream-tools"))
        elif scenario == "image":
            await self.attempt(self.ask([self.picture(text(scenario))], False))
        elif scenario == "retry-429":
            await self.attempt(self.ask([self.user(text(scenario))], False, retries=1))
        else:
            await self.attempt(self.ask([self.user(text(scenario))], scenario.startswith("stream")))
        return self.told

    async def attempt(self, call):
        """Notes what a call gives, or its error: class, words, status and body."""
        try:
            await call
        except Exception as error:
            cause = type(error.__cause__).__name__ if error.__cause__ else None
            body = getattr(error, "body", None) or getattr(error, "details", None)
            status = getattr(error, "status_code", None) or getattr(error, "code", None)
            self.told.append({"error": type(error).__name__, "words": str(error), "cause": cause, "status": str(status), "body": repr(body)})

    async def note(self, answer, streamed):
        """Notes an answer, or each part of a stream as it comes."""
        answer = await settled(answer)
        if streamed:
            async for part in each(answer):
                self.told.append(plain(part))
        else:
            self.told.append(plain(answer))

    async def converse(self, words, streamed):
        """A tool is called, and its result told in a second request."""
        await self.ask([self.user(words)], streamed, tools=True)
        await self.ask([self.user(words), *self.tool_turns()], streamed, tools=True)

    def user(self, words):
        return {"role": "user", "content": words}


class OpenAI(Caller):
    scenarios = [*COMMON, "retry-429", "upload", "unknown"]

    def __init__(self, bases, asynchronous):
        kind = openai.AsyncOpenAI if asynchronous else openai.OpenAI
        self.client = kind(api_key=KEY, base_url=bases["openai"] + bases["openai_path"], max_retries=0, timeout=SECONDS)

    async def models(self):
        page = await settled(self.client.models.list())
        self.told.append([plain(model) for model in page.data])

    async def upload(self):
        await self.note(self.client.files.create(file=("picture.png", PICTURE, "image/png"), purpose="vision"), False)

    async def unknown(self, words):
        await self.ask([self.user(words)], False, extra_body=UNKNOWN, extra_headers={"X-Test-Header": "a; b=c"}, extra_query={"a b": "c%2F/d", "e": ["1", "2"]})
        for method in (self.client.post, self.client.put, self.client.delete):
            try:
                await self.note(method("/unknown/end point/%C3%A6?x=1&y=%20", cast_to=object, body=UNKNOWN), False)
            except openai.APIStatusError as error:
                self.told.append([error.status_code, error.body])


class Chat(OpenAI):
    tools = [{"type": "function", "function": {"name": "tide", "description": "Tells the tide", "parameters": PLACE}}]

    async def ask(self, turns, streamed, tools=False, retries=0, **more):
        more |= {"tools": self.tools} if tools else {}
        more |= {"stream": True} if streamed else {}
        await self.note(self.client.with_options(max_retries=retries).chat.completions.create(model="gpt-test", messages=turns, **more), streamed)

    def picture(self, words):
        url = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PICTURE_TEXT}}
        return {"role": "user", "content": [url, {"type": "text", "text": words}]}

    def tool_turns(self):
        call = {"id": "call_test", "type": "function", "function": {"name": "tide", "arguments": '{"place":"Ærø"}'}}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "call_test", "content": "six: 潮汐"}]


class Responses(OpenAI):
    tools = [{"type": "function", "name": "tide", "description": "Tells the tide", "parameters": PLACE, "strict": False}]

    async def ask(self, turns, streamed, tools=False, retries=0, **more):
        more |= {"tools": self.tools} if tools else {}
        more |= {"stream": True} if streamed else {}
        await self.note(self.client.with_options(max_retries=retries).responses.create(model="gpt-test", input=turns, **more), streamed)

    def picture(self, words):
        image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64," + PICTURE_TEXT}
        return {"role": "user", "content": [image, {"type": "input_text", "text": words}]}

    def tool_turns(self):
        call = {"type": "function_call", "call_id": "call_test", "name": "tide", "arguments": '{"place":"Ærø"}'}
        return [call, {"type": "function_call_output", "call_id": "call_test", "output": "six: 潮汐"}]


class Anthropic(Caller):
    scenarios = [*COMMON, "retry-429", "unknown"]
    tools = [{"name": "tide", "description": "Tells the tide", "input_schema": PLACE}]

    def __init__(self, bases, asynchronous):
        kind = anthropic.AsyncAnthropic if asynchronous else anthropic.Anthropic
        self.client = kind(api_key=KEY, base_url=bases["anthropic"], max_retries=0, timeout=SECONDS)

    async def ask(self, turns, streamed, tools=False, retries=0, **more):
        more |= {"tools": self.tools} if tools else {}
        more |= {"stream": True} if streamed else {}
        system = [{"type": "text", "text": "Answer briefly: æ", "cache_control": {"type": "ephemeral"}}]
        client = self.client.with_options(max_retries=retries)
        await self.note(client.messages.create(model="claude-test", max_tokens=100, system=system, messages=turns, **more), streamed)

    def picture(self, words):
        source = {"type": "base64", "media_type": "image/png", "data": PICTURE_TEXT}
        return {"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": words}]}

    def tool_turns(self):
        call = {"type": "tool_use", "id": "toolu_test", "name": "tide", "input": {"place": "Ærø"}}
        return [{"role": "assistant", "content": [call]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_test", "content": "six: 潮汐"}]}]

    async def models(self):
        page = await settled(self.client.models.list())
        self.told.append([plain(model) for model in page.data])

    async def unknown(self, words):
        await self.ask([self.user(words)], False, extra_body=UNKNOWN, extra_headers={"anthropic-beta": "test-1,test-2"}, extra_query={"beta": "true"})


class Gemini(Caller):
    scenarios = [*COMMON, "unknown"]

    def __init__(self, bases, asynchronous):
        client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=bases["gemini"], timeout=SECONDS * 1000))
        self.keep = client
        self.client = client.aio if asynchronous else client

    async def ask(self, turns, streamed, tools=False, **more):
        config = {"system_instruction": "Answer briefly: æ", **more}
        if tools:
            declared = {"name": "tide", "description": "Tells the tide", "parameters_json_schema": PLACE}
            config |= {"tools": [{"function_declarations": [declared]}], "automatic_function_calling": {"disable": True}}
        method = self.client.models.generate_content_stream if streamed else self.client.models.generate_content
        await self.note(method(model="gemini-test", contents=turns, config=config), streamed)

    def user(self, words):
        return types.Content(role="user", parts=[types.Part(text=words)])

    def picture(self, words):
        return types.Content(role="user", parts=[types.Part.from_bytes(data=PICTURE, mime_type="image/png"), types.Part(text=words)])

    def tool_turns(self):
        call = types.Part(function_call=types.FunctionCall(name="tide", args={"place": "Ærø"}), thought_signature=b"test")
        result = types.Part.from_function_response(name="tide", response={"result": "six: 潮汐"})
        return [types.Content(role="model", parts=[call]), types.Content(role="user", parts=[result])]

    async def models(self):
        pager = await settled(self.client.models.list())
        self.told.append([plain(model) for model in pager.page])

    async def unknown(self, words):
        await self.ask([self.user(words)], False, http_options={"extra_body": UNKNOWN, "headers": {"X-Test-Header": "a; b=c"}})


class Ollama(Caller):
    tools = [{"type": "function", "function": {"name": "tide", "description": "Tells the tide", "parameters": PLACE}}]

    def __init__(self, bases, asynchronous):
        kind = ollama.AsyncClient if asynchronous else ollama.Client
        self.client = kind(host=bases["ollama"], timeout=SECONDS)

    async def ask(self, turns, streamed, tools=False):
        more = {"tools": self.tools} if tools else {}
        await self.note(self.client.chat(model="llama-test", messages=turns, stream=streamed, options={"temperature": 0.5}, **more), streamed)

    def picture(self, words):
        return {"role": "user", "content": words, "images": [PICTURE]}

    def tool_turns(self):
        call = {"function": {"name": "tide", "arguments": {"place": "Ærø"}}}
        return [{"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "tool_name": "tide", "content": "six: 潮汐"}]

    async def models(self):
        await self.note(self.client.list(), False)


KINDS = {"openai-chat": Chat, "openai-responses": Responses, "anthropic": Anthropic, "gemini": Gemini, "ollama": Ollama}


async def main():
    bases = json.loads(sys.argv[1])
    callers = {f"py-{name}-{mode}": kind(bases, mode == "async") for name, kind in KINDS.items() for mode in ("sync", "async")}
    offers = [[name, scenario] for name, caller in callers.items() for scenario in caller.scenarios]
    packages = ["openai", "anthropic", "google-genai", "ollama"]
    print(json.dumps({"offers": offers, "versions": {f"pip {name}": importlib.metadata.version(name) for name in packages}}), flush=True)
    for name, scenario in (map(json.loads, sys.stdin) if "--step" in sys.argv else offers):
        told = await callers[name].run(scenario)
        print(json.dumps({"client": name, "scenario": scenario, "told": told}, sort_keys=True), flush=True)


asyncio.run(main())
