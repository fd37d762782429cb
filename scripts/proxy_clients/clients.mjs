// Calls a provider with the official JavaScript clients and prints what each call returned, a line of JSON for each scenario.
//
//     node clients.mjs FOLDER '{"openai": BASE, "openai_path": "/v1", "anthropic": BASE, "gemini": BASE, "ollama": BASE}' [--step]
//
// FOLDER holds `node_modules` with the packages of `package.json`. First comes `{"offers": [[client, scenario], ...]}`. Without
// `--step` all of them are run; with it, each line of the standard input, `[client, scenario]`, is run and answered with one line.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, words, ...flags] = process.argv.slice(2);
const bases = JSON.parse(words);
const manifest = (name) => JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8"));

/** Imports a package of FOLDER as a program there would: its entry for Node.js and modules. */
async function load(name) {
  const pick = (entry) => (typeof entry === "string" ? entry : pick(entry[["node", "import", "default"].find((key) => entry[key])]));
  return import(pathToFileURL(join(folder, "node_modules", name, pick(manifest(name).exports["."]))));
}

const { default: OpenAI, toFile } = await load("openai");
const { default: Anthropic } = await load("@anthropic-ai/sdk");
const { GoogleGenAI } = await load("@google/genai");
const { Ollama } = await load("ollama");

const KEY = "test-key";
const MILLISECONDS = 20000;
const picture = Buffer.concat([
  Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
  ...Array.from({ length: 32768 }, (_, number) => createHash("sha256").update(String(number)).digest()),
]);
const pictureText = picture.toString("base64");
const place = { type: "object", properties: { place: { type: "string", description: "Where: Ærø" }, hour: { type: "integer" } }, required: ["place"] };
const unknown = { x_unknown: { number: 2.5, nothing: null, text: "Grüße 🌊 \u2028" } };
const common = ["plain", "stream", "tools", "stream-tools", "image", "gzip", "stream-gzip", "error-400", "error-429", "error-500", "stream-cut", "models"];
const text = (scenario) => `scenario: ${scenario}\nPlease tell me of the tide: Grüße, 潮汐 🌊 \\ " </script>`;

/** One client of one protocol. `ask` makes one call; the scenarios are the same for all. */
class Caller {
  scenarios = common;

  async run(scenario) {
    this.told = [];
    const turns = [this.user(text(scenario))];
    if (scenario === "models") await this.attempt(() => this.models());
    else if (scenario === "upload") await this.attempt(() => this.upload());
    else if (scenario === "unknown") await this.attempt(() => this.unknown(turns));
    else if (scenario.startsWith("error")) {
      await this.attempt(() => this.ask(turns, false));
      await this.attempt(() => this.ask(turns, true));
    } else if (scenario.endsWith("tools")) {
      await this.attempt(async () => {
        await this.ask(turns, scenario === "stream-tools", { tools: true });
        await this.ask([...turns, ...this.toolTurns()], scenario === "stream-tools", { tools: true });
      });
    } else if (scenario === "image") await this.attempt(() => this.ask([this.picture(text(scenario))], false));
    else if (scenario === "retry-429") await this.attempt(() => this.ask(turns, false, { retries: 1 }));
    else await this.attempt(() => this.ask(turns, scenario.startsWith("stream")));
    return this.told;
  }

  /** Notes what a call gives, or its error: class, words, status and body. */
  async attempt(call) {
    try {
      await call();
    } catch (error) {
      const body = error.error ?? null;
      const cause = error.cause ? `${error.cause.constructor.name}: ${error.cause.message}` : null;
      this.told.push({ error: error.constructor.name, words: String(error.message), cause, status: error.status ?? error.status_code ?? null, body });
    }
  }

  /** Notes an answer, or each part of a stream as it comes. */
  async note(answer, streamed) {
    answer = await answer;
    if (!streamed) this.told.push(JSON.parse(JSON.stringify(answer)));
    else for await (const part of answer) this.told.push(JSON.parse(JSON.stringify(part)));
  }

  user(words) {
    return { role: "user", content: words };
  }
}

class OpenAICaller extends Caller {
  scenarios = [...common, "retry-429", "upload", "unknown"];
  client = new OpenAI({ apiKey: KEY, baseURL: bases.openai + bases.openai_path, maxRetries: 0, timeout: MILLISECONDS });

  async models() {
    this.told.push((await this.client.models.list()).data);
  }

  async upload() {
    await this.note(this.client.files.create({ file: await toFile(picture, "picture.png", { type: "image/png" }), purpose: "vision" }), false);
  }

  async unknown(turns) {
    await this.ask(turns, false, { body: unknown, options: { headers: { "X-Test-Header": "a; b=c" }, query: { "a b": "c%2F/d", e: ["1", "2"] } } });
    for (const method of ["post", "put", "delete"]) {
      try {
        await this.note(this.client[method]("/unknown/end point/%C3%A6?x=1&y=%20", { body: unknown }), false);
      } catch (error) {
        this.told.push([error.status, error.error]);
      }
    }
  }
}

class Chat extends OpenAICaller {
  ask(turns, streamed, { tools, retries, body, options } = {}) {
    const declared = [{ type: "function", function: { name: "tide", description: "Tells the tide", parameters: place } }];
    const request = { model: "gpt-test", messages: turns, ...(tools && { tools: declared }), ...(streamed && { stream: true }), ...body };
    return this.note(this.client.chat.completions.create(request, { maxRetries: retries ?? 0, ...options }), streamed);
  }

  picture(words) {
    const url = { type: "image_url", image_url: { url: "data:image/png;base64," + pictureText } };
    return { role: "user", content: [url, { type: "text", text: words }] };
  }

  toolTurns() {
    const call = { id: "call_test", type: "function", function: { name: "tide", arguments: '{"place":"Ærø"}' } };
    return [{ role: "assistant", content: null, tool_calls: [call] }, { role: "tool", tool_call_id: "call_test", content: "six: 潮汐" }];
  }
}

class Responses extends OpenAICaller {
  ask(turns, streamed, { tools, retries, body, options } = {}) {
    const declared = [{ type: "function", name: "tide", description: "Tells the tide", parameters: place, strict: false }];
    const request = { model: "gpt-test", input: turns, ...(tools && { tools: declared }), ...(streamed && { stream: true }), ...body };
    return this.note(this.client.responses.create(request, { maxRetries: retries ?? 0, ...options }), streamed);
  }

  picture(words) {
    const image = { type: "input_image", detail: "auto", image_url: "data:image/png;base64," + pictureText };
    return { role: "user", content: [image, { type: "input_text", text: words }] };
  }

  toolTurns() {
    const call = { type: "function_call", call_id: "call_test", name: "tide", arguments: '{"place":"Ærø"}' };
    return [call, { type: "function_call_output", call_id: "call_test", output: "six: 潮汐" }];
  }
}

class AnthropicCaller extends Caller {
  scenarios = [...common, "retry-429", "unknown"];
  client = new Anthropic({ apiKey: KEY, baseURL: bases.anthropic, maxRetries: 0, timeout: MILLISECONDS });

  ask(turns, streamed, { tools, retries, body, options } = {}) {
    const declared = [{ name: "tide", description: "Tells the tide", input_schema: place }];
    const system = [{ type: "text", text: "Answer briefly: æ", cache_control: { type: "ephemeral" } }];
    const request = { model: "claude-test", max_tokens: 100, system, messages: turns, ...(tools && { tools: declared }), ...(streamed && { stream: true }), ...body };
    return this.note(this.client.messages.create(request, { maxRetries: retries ?? 0, ...options }), streamed);
  }

  picture(words) {
    const source = { type: "base64", media_type: "image/png", data: pictureText };
    return { role: "user", content: [{ type: "image", source }, { type: "text", text: words }] };
  }

  toolTurns() {
    const call = { type: "tool_use", id: "toolu_test", name: "tide", input: { place: "Ærø" } };
    const result = { type: "tool_result", tool_use_id: "toolu_test", content: "six: 潮汐" };
    return [{ role: "assistant", content: [call] }, { role: "user", content: [result] }];
  }

  async models() {
    this.told.push((await this.client.models.list()).data);
  }

  unknown(turns) {
    return this.ask(turns, false, { body: unknown, options: { headers: { "anthropic-beta": "test-1,test-2" }, query: { beta: "true" } } });
  }
}

class Gemini extends Caller {
  scenarios = [...common, "unknown"];
  client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: bases.gemini, timeout: MILLISECONDS } });

  ask(turns, streamed, { tools, httpOptions } = {}) {
    const declared = { name: "tide", description: "Tells the tide", parametersJsonSchema: place };
    const config = {
      systemInstruction: "Answer briefly: æ",
      ...(tools && { tools: [{ functionDeclarations: [declared] }], automaticFunctionCalling: { disable: true } }),
      ...(httpOptions && { httpOptions }),
    };
    const method = streamed ? "generateContentStream" : "generateContent";
    return this.note(this.client.models[method]({ model: "gemini-test", contents: turns, config }), streamed);
  }

  user(words) {
    return { role: "user", parts: [{ text: words }] };
  }

  picture(words) {
    return { role: "user", parts: [{ inlineData: { data: pictureText, mimeType: "image/png" } }, { text: words }] };
  }

  toolTurns() {
    const call = { functionCall: { name: "tide", args: { place: "Ærø" } }, thoughtSignature: "dGVzdA==" };
    return [{ role: "model", parts: [call] }, { role: "user", parts: [{ functionResponse: { name: "tide", response: { result: "six: 潮汐" } } }] }];
  }

  async models() {
    this.told.push((await this.client.models.list()).page);
  }

  unknown(turns) {
    return this.ask(turns, false, { httpOptions: { extraBody: unknown, headers: { "X-Test-Header": "a; b=c" } } });
  }
}

class OllamaCaller extends Caller {
  scenarios = [...common, "unknown"];
  client = new Ollama({ host: bases.ollama });

  ask(turns, streamed, { tools, body } = {}) {
    const declared = [{ type: "function", function: { name: "tide", description: "Tells the tide", parameters: place } }];
    return this.note(this.client.chat({ model: "llama-test", messages: turns, stream: streamed, ...(tools && { tools: declared }), ...body }), streamed);
  }

  picture(words) {
    return { role: "user", content: words, images: [picture] };
  }

  toolTurns() {
    const call = { function: { name: "tide", arguments: { place: "Ærø" } } };
    return [{ role: "assistant", content: "", tool_calls: [call] }, { role: "tool", tool_name: "tide", content: "six: 潮汐" }];
  }

  async models() {
    await this.note(this.client.list(), false);
  }

  unknown(turns) {
    return this.ask(turns, false, { body: unknown });
  }
}

const callers = {
  "js-openai-chat": new Chat(),
  "js-openai-responses": new Responses(),
  "js-anthropic": new AnthropicCaller(),
  "js-gemini": new Gemini(),
  "js-ollama": new OllamaCaller(),
};
const offers = Object.entries(callers).flatMap(([name, caller]) => caller.scenarios.map((scenario) => [name, scenario]));
const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const step = async ([name, scenario]) => say({ client: name, scenario, told: await callers[name].run(scenario) });

const names = ["openai", "@anthropic-ai/sdk", "@google/genai", "ollama"];
say({ offers, versions: { node: process.version, ...Object.fromEntries(names.map((name) => [`npm ${name}`, manifest(name).version])) } });
if (flags.includes("--step")) for await (const line of createInterface({ input: process.stdin })) await step(JSON.parse(line));
else for (const offer of offers) await step(offer);
process.exit(0);
