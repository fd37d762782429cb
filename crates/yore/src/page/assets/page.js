// The page's behaviour: keys, changes, and what is told about them. Reading works without it.

const csrf = document.querySelector('meta[name="yore-csrf"]').content;
const said = document.getElementById("said");
const main = document.getElementById("main");

// Tells something to the person, with an offer to undo it: by the number of an operation, or by a request.
export function say(words, undo) {
  said.replaceChildren(document.createTextNode(words));
  if (undo) {
    const request = typeof undo === "number" ? { path: `api/v1/operations/${undo}/undo`, body: {} } : undo;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Undo";
    button.addEventListener("click", () => change("POST", request.path, request.body, { words: "Undone" }));
    said.append(" ", button);
  }
  said.classList.add("shown");
}

// Sends a change to the API, and shows the view anew, or goes on to another one.
// words: what is told afterwards; then: a path to go on to, with {memory} for the memory in effect; undo: a request that undoes it.
export async function change(method, path, body, { words, then, undo } = {}) {
  const key = crypto.randomUUID();
  const answer = await fetch(path, {
    method,
    headers: { "content-type": "application/json", "yore-csrf": csrf, "idempotency-key": key },
    body: JSON.stringify(body),
  }).catch(() => null);
  if (!answer) return say("yore does not answer: `yore page` opens the page again");
  const result = await answer.json().catch(() => ({}));
  if (!answer.ok) return say([result.detail, result.remedy].filter(Boolean).join(". ") || answer.statusText);
  const told = words || (result.operation === null ? "It was so already" : "Done");
  const back = result.operation || (undo && { path, body: undo });
  const next = then && new URL(then.replace("{memory}", () => encodeURIComponent(result.memory || "")), document.baseURI).href;
  if (next && next !== location.href) {
    // The next document tells it.
    sessionStorage.setItem("yore-said", JSON.stringify([told, back]));
    location.assign(next);
    return result;
  }
  if (await renew()) {
    say(told, back);
    return result;
  }
  // The view is gone: the change left another memory in its place, or an entry in the log.
  const left = result.operation && (await fetch(`api/v1/operations/${result.operation}`).then((a) => a.json()).catch(() => null));
  const kept = left?.changes?.find((changed) => changed.kind === "memory" && changed.after);
  sessionStorage.setItem("yore-said", JSON.stringify([told, back]));
  location.assign(new URL(kept ? `memories/${kept.id}` : "log", document.baseURI));
  return result;
}

// Fetches the content of an address without what is around it, as nodes.
export async function part(address, signal) {
  const answer = await fetch(address, { headers: { "yore-part": "1" }, signal });
  if (answer.status === 401) location.reload();
  const { body } = new DOMParser().parseFromString(policy.createHTML(await answer.text()), "text/html");
  body.dataset.status = answer.status;
  return body;
}

// The server makes all markup, and escapes what was recorded. Nothing else may become markup.
const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("yore", { createHTML: (markup) => markup })
  : { createHTML: (markup) => markup };

// Shows the view anew, where it stands.
// Returns false if there is nothing at the address any more.
export async function renew(address = location.href) {
  const at = [...document.querySelectorAll("[data-item]")].indexOf(document.activeElement?.closest("[data-item]"));
  const body = await part(address);
  if (body.dataset.status === "404") return false;
  main.replaceChildren(...body.childNodes);
  equip();
  if (at >= 0) {
    // The item that was decided is gone: its place has the next one.
    if (items().length > 0) focusItem(at);
    else main.focus();
  }
  return true;
}

function items() {
  return [...document.querySelectorAll("[data-item]")];
}

function focusItem(at) {
  const all = items();
  if (all.length === 0) return;
  const item = all[Math.max(0, Math.min(at, all.length - 1))];
  const target = item.matches("[tabindex]") ? item : item.querySelector("a, button, [tabindex]") || item;
  if (target === item) item.tabIndex = -1;
  target.focus();
  item.scrollIntoView({ block: "nearest" });
}

document.addEventListener("click", (event) => {
  if (event.target.closest("button[data-next]")) {
    return focusItem(items().indexOf(event.target.closest("[data-item]")) + 1);
  }
  const button = event.target.closest("button[data-path]");
  if (!button) return;
  const { method, path, body, ask, words, then, undo } = button.dataset;
  if (ask && button.dataset.sure === "0") return;
  if (ask && button.dataset.sure !== "1") {
    // The second click confirms, but not that of a double click.
    button.dataset.sure = "0";
    setTimeout(() => { if (button.dataset.sure === "0") button.dataset.sure = "1"; }, 700);
    button.dataset.label = button.textContent;
    button.textContent = ask;
    button.classList.add("sure");
    button.addEventListener("blur", () => {
      button.dataset.sure = "";
      button.textContent = button.dataset.label;
      button.classList.remove("sure");
    }, { once: true });
    return;
  }
  change(method, path, body ? JSON.parse(body) : {}, { words, then, undo: undo && JSON.parse(undo) });
});

// A form that changes something sends its fields; empty ones are left out. With data-changed it sends those that were changed, and an
// empty one empties what it stands for.
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-path]");
  if (!form) return;
  event.preventDefault();
  const body = JSON.parse(form.dataset.body || "{}");
  const known = Object.keys(body).length;
  for (const field of form.elements) {
    if (!field.name || (field.type === "radio" && !field.checked)) continue;
    if ("changed" in form.dataset ? !isChanged(field) : field.value === "") continue;
    body[field.name] = valueOf(field);
  }
  if ("changed" in form.dataset && Object.keys(body).length === known) return say("Nothing was changed");
  const { method, path, words, then } = form.dataset;
  change(method, path, body, { words, then });
});

function isChanged(field) {
  if (field.type === "checkbox") return field.checked !== field.defaultChecked;
  if (field.tagName === "SELECT") return [...field.options].some((option) => option.selected !== option.defaultSelected);
  return field.value !== field.defaultValue;
}

function valueOf(field) {
  if (field.type === "checkbox") return field.checked;
  if (field.type === "number") return Number(field.value);
  if (field.dataset.type === "list") return field.value.split(",").map((one) => one.trim()).filter(Boolean);
  return field.value;
}

const KEYS = [
  ["/", "search"],
  ["j, k", "next, previous item"],
  ["Enter", "open it"],
  ["g, then a letter", "go to a view: the letters are underlined in the list below"],
  ["?", "this help"],
  ["Esc", "close, leave a field"],
];

function help() {
  document.getElementById("help")?.remove();
  const dialog = document.createElement("dialog");
  dialog.id = "help";
  const title = document.createElement("h2");
  title.textContent = "Keys";
  const list = document.createElement("dl");
  const views = [...document.querySelectorAll("nav [data-key]")].map((a) => [`g ${a.dataset.key}`, a.textContent.trim()]);
  const own = [...document.querySelectorAll("[data-press]")].map((b) => [b.dataset.press, b.firstChild.textContent.trim()]);
  const told = new Set();
  for (const [key, words] of [...KEYS, ...own, ...views]) {
    if (told.has(key)) continue;
    told.add(key);
    const name = document.createElement("dt");
    const kbd = document.createElement("kbd");
    kbd.textContent = key;
    name.append(kbd);
    const text = document.createElement("dd");
    text.textContent = words;
    list.append(name, text);
  }
  const close = document.createElement("button");
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  dialog.append(title, list, close);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

let going = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const inField = event.target.matches("input, textarea, select");
  if (event.key === "Escape" && inField) return event.target.blur();
  if (inField || document.querySelector("dialog[open]")) return;
  const now = items().indexOf(document.activeElement?.closest?.("[data-item]"));
  if (going) {
    going = false;
    const link = document.querySelector(`nav [data-key="${CSS.escape(event.key)}"]`);
    if (link) return event.preventDefault(), link.click();
  }
  // A key of the item that has the focus, or of the view, or of the first item that has it.
  const item = document.activeElement?.closest?.("[data-item]");
  const key = `[data-press="${CSS.escape(event.key)}"]`;
  const ofView = [...main.querySelectorAll(key)].find((one) => !one.closest("[data-item]"));
  const pressed = item?.querySelector(key) || ofView || (item ? null : main.querySelector(key));
  if (pressed) {
    event.preventDefault();
    pressed.focus();
    pressed.click();
    // The heading of a form opens it.
    const form = pressed.matches("summary") && pressed.parentElement;
    if (form?.open) form.querySelector("input:not([type=hidden]), textarea, select")?.focus();
    return;
  }
  switch (event.key) {
    case "/": {
      const field = document.querySelector("input[type=search]");
      event.preventDefault();
      if (field) field.focus(), field.select();
      else location.href = new URL("./?focus=1", document.baseURI);
      break;
    }
    case "j": focusItem(now + 1); break;
    case "k": focusItem(now < 0 ? 0 : now - 1); break;
    case "g": going = true; setTimeout(() => { going = false; }, 1500); break;
    case "?": event.preventDefault(); help(); break;
  }
});

// Modules of views: each is loaded where its element is, and started anew when the view was replaced.
const MODULES = [
  ["details[data-load], [data-level], #search", () => import("./load.js")],
  ["#search", () => import("./search.js")],
  ["#reader", () => import("./reader.js")],
  ["#months", () => import("./timeline.js")],
  ["[data-live]", () => import("./live.js")],
];

function equip() {
  for (const [element, load] of MODULES) {
    if (document.querySelector(element)) load().then((module) => module.start());
  }
}
equip();

const kept = sessionStorage.getItem("yore-said");
if (kept) {
  sessionStorage.removeItem("yore-said");
  say(...JSON.parse(kept));
}
