// Colours code that comes on screen. The library makes a tree of words, of which this makes elements: nothing becomes markup.

import hljs from "./hljs-core.js";

const LANGUAGES = {
  bash: "sh shell zsh console shell-session terminal", cpp: "c h cc hpp c++ cxx", diff: "patch", go: "golang", ini: "toml conf",
  java: "kotlin", javascript: "js jsx mjs cjs", json: "jsonc json5 jsonl", python: "py python3", rust: "rs", sql: "sqlite postgresql",
  typescript: "ts tsx mts", xml: "html svg xhtml vue", yaml: "yml",
};
const NAMES = new Map(Object.entries(LANGUAGES).flatMap(([name, other]) => [name, ...other.split(" ")].map((one) => [one, name])));
// Longer code stays plain.
const LONGEST = 30_000;
const loading = new Map();
const seen = new WeakSet();

const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    observer.unobserve(entry.target);
    paint(entry.target);
  }
}, { rootMargin: "300px" });

export function colour(place) {
  for (const code of place.querySelectorAll("pre > code[class^=language-]")) {
    if (seen.has(code)) continue;
    seen.add(code);
    if (NAMES.has(named(code))) observer.observe(code);
  }
}

function named(code) {
  return code.className.replace("language-", "");
}

function known(name) {
  if (!loading.has(name)) {
    loading.set(name, import(`./hljs-${name}.js`).then((module) => hljs.registerLanguage(name, module.default)));
  }
  return loading.get(name);
}

async function paint(code) {
  const text = code.textContent;
  // Words that are marked stay marked.
  if (text.length > LONGEST || code.querySelector("mark")) return;
  const name = NAMES.get(named(code));
  await known(name);
  const tree = hljs.highlight(text, { language: name, ignoreIllegals: true })._emitter.rootNode;
  code.replaceChildren(...tree.children.map(element));
}

function element(node) {
  if (typeof node === "string") return document.createTextNode(node);
  const span = document.createElement("span");
  if (node.scope) span.className = node.scope.split(".").map((part) => `hl-${part.replace(/[^a-z-]/g, "")}`).join(" ");
  span.append(...node.children.map(element));
  return span;
}
