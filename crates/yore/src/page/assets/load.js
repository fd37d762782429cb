// Loads parts of other views in place: what a <details data-load> holds when it is opened, and a result at a level.

import { part } from "./page.js";

let started = false;

export function start() {
  if (!started) {
    started = true;
    // Toggle events do not bubble, but they are captured.
    document.addEventListener("toggle", (event) => {
      if (event.target.matches?.("details[data-load]") && event.target.open) fill(event.target);
    }, true);
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-level]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      deepen(link);
    });
  }
  // Parts of a view that are not worth waiting for.
  for (const details of document.querySelectorAll("details[data-load][data-now]")) {
    details.removeAttribute("data-now");
    if (matchMedia("(min-width: 60rem)").matches) details.open = true;
  }
}

async function lines(address) {
  const body = await part(address);
  return body.querySelector(".lines") ?? body.querySelector("section") ?? body;
}

async function fill(details) {
  const address = details.dataset.load;
  if (!address) return;
  details.removeAttribute("data-load");
  const summary = details.querySelector("summary");
  details.setAttribute("aria-busy", "true");
  const found = await lines(address).catch(() => null);
  details.removeAttribute("aria-busy");
  if (found) details.replaceChildren(summary, ...found.childNodes);
}

async function deepen(link) {
  const item = link.closest("[data-item]");
  const place = item.querySelector(".level");
  const was = link.getAttribute("aria-current");
  for (const other of item.querySelectorAll("a[data-level]")) other.removeAttribute("aria-current");
  // A second click closes it.
  if (was) return place.replaceChildren();
  link.setAttribute("aria-current", "true");
  const found = await lines(link.href).catch(() => null);
  if (link.getAttribute("aria-current") && found) place.replaceChildren(found);
}
