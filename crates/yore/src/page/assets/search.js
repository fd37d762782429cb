// Searches as one types: the results of the last question take the place of those before, and the field keeps the focus.

import { part, say } from "./page.js";

const SILENCE_MS = 150;
let asked = 0;
let timer = 0;
let running = null;
let started = false;
// The address whose results are shown or awaited.
let current = "";

export function start() {
  current = location.href;
  if (new URLSearchParams(location.search).has("focus")) document.getElementById("q").focus();
  if (started) return;
  started = true;
  document.addEventListener("input", (event) => {
    // A filter is asked for when it is whole: half a date is no date.
    if (event.target.id === "q") soon(SILENCE_MS);
  });
  document.addEventListener("change", (event) => {
    if (event.target.id !== "q" && event.target.closest("#search")) soon(0);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "search") return;
    event.preventDefault();
    // Asked again even if nothing was changed: there may be new results.
    current = "";
    soon(0);
  });
}

function soon(after) {
  clearTimeout(timer);
  timer = setTimeout(ask, after);
}

function address() {
  const fields = [...new FormData(document.getElementById("search"))].map(([name, value]) => [name, value.trim()]);
  const query = new URLSearchParams(fields.filter(([, value]) => value !== "")).toString();
  return new URL(query ? `./?${query}` : "./", document.baseURI).href;
}

async function ask() {
  const results = document.getElementById("results");
  if (!results) return;
  const to = address();
  if (to === current) return;
  current = to;
  const number = ++asked;
  running?.abort();
  running = new AbortController();
  results.setAttribute("aria-busy", "true");
  const body = await part(to, running.signal).catch(() => null);
  // An older answer never takes the place of a newer one.
  if (number !== asked) return;
  results.removeAttribute("aria-busy");
  if (!body) {
    current = "";
    return say("yore does not answer: `yore page` opens the page again");
  }
  results.replaceChildren(...(body.querySelector("#results") ?? body).childNodes);
  const question = new URL(to).searchParams.get("q");
  document.title = `${question ? `${question} · ` : ""}Search · yore`;
  document.getElementById("told").textContent = results.querySelector(".state")?.textContent ?? "";
  history.replaceState(null, "", to);
}
