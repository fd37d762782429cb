// Reads a long session: loads the parts around what is on screen, lets go of those that are far, and colours code.

import { part } from "./page.js";

// Parts of about a hundred turns that are kept.
const MOST_PARTS = 5;
// How far before the end the next part is loaded.
const AHEAD = "1200px";
const watched = new WeakSet();
let observer = null;
let loading = false;
// Earlier turns are loaded when one scrolls up: not as the page opens, where it would push away what is read.
let isUp = false;
let lastY = 0;

export function start() {
  if (!observer) {
    observer = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting && (isUp || target.rel === "next")) load(target);
    }, { rootMargin: AHEAD });
    addEventListener("scroll", () => {
      const wasUp = isUp;
      isUp = scrollY < lastY;
      lastY = scrollY;
      if (isUp && !wasUp) look();
    }, { passive: true });
    document.addEventListener("click", (event) => {
      const link = event.target.closest("#reader a[rel=prev], #reader a[rel=next]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      load(link);
    });
  }
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
    // It has its true height from the start, which the browser remembers for when it is off screen.
    found.classList.add("new");
    requestAnimationFrame(() => requestAnimationFrame(() => found.classList.remove("new")));
    keep(() => {
      place.replaceWith(...(isNext ? nodes : nodes.reverse()));
      letGo(isNext);
    });
  }
  loading = false;
  watch();
  look();
}

// Looks again at the links, which may be near already.
function look() {
  for (const link of reader()?.querySelectorAll("a[rel=prev], a[rel=next]") ?? []) {
    observer.unobserve(link);
    observer.observe(link);
  }
}

// Changes parts, and keeps what is on screen where it is.
function keep(change) {
  const place = reader();
  const seen = [...place.querySelectorAll(".turn")].find((turn) => turn.getBoundingClientRect().bottom > 0);
  const before = seen?.getBoundingClientRect().top;
  place.style.overflowAnchor = "none";
  change();
  if (seen?.isConnected) window.scrollBy({ top: seen.getBoundingClientRect().top - before, behavior: "instant" });
  lastY = scrollY;
  requestAnimationFrame(() => requestAnimationFrame(() => { place.style.overflowAnchor = ""; }));
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
