// Searches as one types: the results of the last question take the place of those before, and the field keeps the focus.

import { part } from "./page.js";

const SILENCE_MS = 150;
let asked = 0;
let shown = 0;
let timer = 0;
let running = null;
let started = false;

export function start() {
  if (new URLSearchParams(location.search).has("focus")) document.getElementById("q").focus();
  if (started) return;
  started = true;
  document.addEventListener("input", (event) => {
    if (!event.target.closest("#search")) return;
    clearTimeout(timer);
    timer = setTimeout(ask, SILENCE_MS);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "search") return;
    event.preventDefault();
    clearTimeout(timer);
    ask();
  });
}

function address() {
  const fields = [...new FormData(document.getElementById("search"))].filter(([, value]) => value.trim() !== "");
  const query = new URLSearchParams(fields).toString();
  return new URL(query ? `./?${query}` : "./", document.baseURI);
}

async function ask() {
  const number = ++asked;
  const to = address();
  const results = document.getElementById("results");
  running?.abort();
  running = new AbortController();
  results.setAttribute("aria-busy", "true");
  const body = await part(to, running.signal).catch(() => null);
  if (number === asked) results.removeAttribute("aria-busy");
  // An older answer never takes the place of a newer one.
  if (!body || number < shown) return;
  shown = number;
  const found = body.querySelector("#results");
  results.replaceChildren(...(found ?? body).childNodes);
  history.replaceState(null, "", to);
}
