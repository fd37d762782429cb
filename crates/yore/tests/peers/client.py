"""Talks to a server with the Python SDK's client and says what it saw, as JSON.

    client.py WHAT MODE URL [HEADER: VALUE]...
    client.py WHAT MODE -- COMMAND...

WHAT is `memory` (yore itself, in which something about pelicans is known) or `fixtures` (what it
serves for tests); MODE is `auto` (the newest protocol that both speak) or `legacy` (with a
handshake). Run by `mcp_peers.rs`; whatever is not as it should be ends it with a traceback.
"""
import json
import os
import sys
import warnings

import anyio
import httpx2
import jsonschema
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

# What does not happen within this time does not happen.
LONG = 60


async def memory(client):
    """The tools of yore itself; what they answer has the form that they promise."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    recall = tools["recall"]
    jsonschema.Draft202012Validator.check_schema(recall.output_schema)
    result = await client.call_tool("recall", {"question": "pelican", "project": "all"})
    assert not result.is_error, result
    jsonschema.validate(result.structured_content, recall.output_schema)
    jsonschema.validate({"question": "pelican", "project": "all"}, recall.input_schema)
    text = "\n".join(block.text for block in result.content)
    mistake = await client.call_tool("recall", {"question": ""})
    assert mistake.is_error and "empty" in mistake.content[0].text, mistake
    try:
        await client.call_tool("nonesuch", {})
        raise AssertionError("a tool that does not exist was called")
    except MCPError as error:
        unknown = error.error.code
    seen = {
        "tools": sorted(tools),
        "structured": result.structured_content,
        "text": text,
        "unknown": unknown,
        "instructions": bool(client.instructions),
    }
    if client.server_capabilities.resources:
        seen["resources"] = [resource.uri for resource in (await client.list_resources()).resources]
        seen["templates"] = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
    if client.server_capabilities.prompts:
        seen["prompts"] = [prompt.name for prompt in (await client.list_prompts()).prompts]
    return seen


async def fixtures(client):
    """Structured content, progress, and a call that is cancelled when it has begun."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    result = await client.call_tool("test_structured", {"text": "pelican"})
    jsonschema.validate(result.structured_content, tools["test_structured"].output_schema)
    steps = []

    async def step(progress, total, message):
        steps.append([progress, total])

    await client.call_tool("test_tool_with_progress", {}, progress_callback=step)
    prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "this", "arg2": "that"})
    resource = await client.read_resource("test://template/7/data")

    begun = anyio.Event()

    async def begin(progress, total, message):
        begun.set()

    async with anyio.create_task_group() as tasks:
        slow = anyio.CancelScope()

        async def call():
            with slow:
                await client.call_tool("test_slow", {}, progress_callback=begin)
                raise AssertionError("the slow call came to an end")

        tasks.start_soon(call)
        await begun.wait()
        slow.cancel()
    cancelled = "0"
    while cancelled == "0":
        cancelled = (await client.call_tool("test_cancelled", {})).content[0].text
        await anyio.sleep(0.05)
    return {
        "tools": len(tools),
        "structured": result.structured_content,
        "steps": steps,
        "prompt": prompt.messages[0].content.text,
        "resource": json.loads(resource.contents[0].text)["id"],
        "cancelled": cancelled,
    }


async def main(what, mode, *rest):
    if rest[0] == "--":
        # The SDK hands on a few variables only; these are the test's own surroundings.
        server = StdioServerParameters(command=rest[1], args=list(rest[2:]), env=dict(os.environ))
        return await talk(what, mode, server)
    url, *headers = rest
    headers = dict(header.split(": ", 1) for header in headers)
    async with httpx2.AsyncClient(headers=headers, timeout=LONG) as http_client:
        return await talk(what, mode, streamable_http_client(url, http_client=http_client))


async def talk(what, mode, server):
    with anyio.fail_after(LONG):
        async with Client(server, mode=mode) as client:
            seen = await {"memory": memory, "fixtures": fixtures}[what](client)
            seen["protocol"] = client.protocol_version
            return seen


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(anyio.run(main, *sys.argv[1:])))
