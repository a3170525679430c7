// A server that calls an LLM API directly, by the official OpenAI SDK as it is published:
// it knows OPENAI_BASE_URL and OPENAI_API_KEY alone. Says as JSON what it got.

import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.BURSAR_NODE_MODULES, "package.json"));
const { default: OpenAI } = require("openai");

let requests = 0;
const counted = (...args) => {
  requests += 1;
  return fetch(...args);
};
const client = new OpenAI({ fetch: counted });
const model = "scripted-small";
const says = (text) => [{ role: "user", content: text }];
const scripted = (script) => says(`@script ${JSON.stringify(script)}`);
const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather of a place",
    parameters: { type: "object", properties: { place: { type: "string" } } },
  },
};

async function plain() {
  const done = await client.chat.completions.create({ model, messages: scripted({ text: "Blue." }) });
  return { text: done.choices[0].message.content, finish: done.choices[0].finish_reason };
}

async function stream() {
  const chunks = await client.chat.completions.create({
    model,
    messages: scripted({ text: "one two three" }),
    stream: true,
    stream_options: { include_usage: true },
  });
  const said = { text: "", finish: null, usage: false };
  for await (const chunk of chunks) {
    said.text += chunk.choices[0]?.delta?.content ?? "";
    said.finish = chunk.choices[0]?.finish_reason ?? said.finish;
    said.usage ||= (chunk.usage?.total_tokens ?? 0) > 0;
  }
  return said;
}

async function tools() {
  const places = ["Rome", "Oslo"];
  const calls = places.map((place) => ({ name: "weather", input: { place } }));
  const messages = scripted({ tool_calls: calls });
  const asked = await client.chat.completions.create({ model, messages, tools: [weather] });
  const message = asked.choices[0].message;
  const called = message.tool_calls.map((it) => JSON.parse(it.function.arguments).place);
  messages.push(message);
  for (const it of message.tool_calls) {
    messages.push({ role: "tool", tool_call_id: it.id, content: "sun" });
  }
  messages.push(...scripted({ text: "Sunny." }));
  const done = await client.chat.completions.create({ model, messages, tools: [weather] });
  return { called, text: done.choices[0].message.content };
}

async function failure(body) {
  const before = requests;
  try {
    await client.chat.completions.create({ model, messages: says("hi"), ...body });
  } catch (it) {
    return { it, requests: requests - before };
  }
  throw new Error("it did not fail");
}

async function exhausted(stream) {
  const { it, requests } = await failure({ stream });
  return { status: it.status, code: it.code, kind: it.error.limit.kind, requests };
}

const said = {};
said.models = (await client.models.list()).data.map((it) => it.id);
said.refused = await failure({ n: 2 }).then(({ it }) => ({ status: it.status, param: it.param }));
said.plain = await plain();
said.stream = await stream();
said.tools = await tools();
said.exhausted = await exhausted(false);
said.exhausted_stream = await exhausted(true);
console.log(JSON.stringify(said));
