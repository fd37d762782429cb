// Reads a long session: loads the parts around what is on screen, lets go of those that are far, and colours code.

import { part } from "./page.js";

// Parts of about a hundred turns that are kept.
const MOST_PARTS = 5;
// How far before the end the next part is loaded.
const AHEAD = "1200px";
const watched = new WeakSet();
let observer = null;
let loading = false;

export function start() {
  observer ??= new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) load(entry.target);
  }, { rootMargin: AHEAD });
  watch();
  // The place of a turn is known once what is above it has its height.
  const at = document.getElementById("at");
  if (at) requestAnimationFrame(() => at.closest(".turn").scrollIntoView({ block: "center", behavior: "instant" }));
}

function reader() {
  return document.getElementById("reader");
}

function watch() {
  for (const link of reader().querySelectorAll("a[rel=prev], a[rel=next]")) {
    if (watched.has(link)) continue;
    watched.add(link);
    observer.observe(link);
  }
  if (reader().querySelector("pre > code[class^=language-]")) import("./colours.js").then((module) => module.colour(reader()));
}

async function load(link) {
  if (loading) return;
  loading = true;
  const body = await part(link.href).catch(() => null);
  const found = body?.querySelector("#reader .window");
  if (found && link.isConnected) {
    const isNext = link.rel === "next";
    const place = link.closest("p");
    const more = body.querySelector(isNext ? "#reader > .after" : "#reader > .before");
    const nodes = [found, more].filter(Boolean);
    keep(() => {
      place.replaceWith(...(isNext ? nodes : nodes.reverse()));
      letGo(isNext);
    });
  }
  loading = false;
  watch();
  // What was not loaded meanwhile may still be near.
  for (const other of reader().querySelectorAll("a[rel=prev], a[rel=next]")) {
    observer.unobserve(other);
    observer.observe(other);
  }
}

// Changes parts, and keeps what is on screen where it is.
function keep(change) {
  const seen = [...reader().querySelectorAll(".turn")].find((turn) => turn.getBoundingClientRect().bottom > 0);
  const before = seen?.getBoundingClientRect().top;
  change();
  if (seen?.isConnected) window.scrollBy({ top: seen.getBoundingClientRect().top - before, behavior: "instant" });
}

// Takes out the parts that are farthest, and leaves a link in their place.
function letGo(isNext) {
  for (;;) {
    const parts = reader().querySelectorAll(".window");
    if (parts.length <= MOST_PARTS) return;
    const far = isNext ? parts[0] : parts[parts.length - 1];
    const { first, last } = far.dataset;
    reader().querySelector(isNext ? ":scope > .before" : ":scope > .after")?.remove();
    const link = document.createElement("a");
    link.rel = isNext ? "prev" : "next";
    link.href = address(first, last);
    link.textContent = isNext ? "Previous turns" : "Next turns";
    const place = document.createElement("p");
    place.className = isNext ? "more before" : "more after";
    place.append(link);
    far.replaceWith(place);
  }
}

function address(first, last) {
  const to = new URL(reader().dataset.path, document.baseURI);
  to.searchParams.set("from", first);
  to.searchParams.set("count", last - first + 1);
  const within = new URLSearchParams(location.search).get("in");
  if (within) to.searchParams.set("in", within);
  return to.href;
}
