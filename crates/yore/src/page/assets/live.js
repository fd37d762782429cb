// Tells that the daemon read something new, on views that would show it, and offers to show the view anew. Nothing moves by itself.

import { renew } from "./page.js";

const main = document.getElementById("main");
const news = document.getElementById("news");
// A screen reader reads each change aloud: seconds between two of them.
const PAUSE = 5;

let source = null;
let started = false;
let turns = 0;
let hasNews = false;
let isUncertain = false;
let timer = 0;

// Is called whenever a view was replaced: it shows everything until now.
export function start() {
  if (started) return;
  started = true;
  // A hidden page keeps no connection: browsers allow few to one host.
  document.addEventListener("visibilitychange", connect);
  addEventListener("pagehide", close);
  addEventListener("pageshow", connect);
  connect();
}

function connect() {
  if (document.hidden) return close();
  if (source) return;
  const wanted = (main.dataset.live || "").split(" ");
  source = new EventSource(new URL("api/v1/events", document.baseURI));
  const take = {
    captured: (data) => { turns += data.turns; },
    upkeep: () => {},
    missed: () => { isUncertain = true; },
  };
  for (const name of wanted.includes("upkeep") ? ["captured", "upkeep", "missed"] : ["captured", "missed"]) {
    source.addEventListener(name, (event) => {
      take[name](JSON.parse(event.data));
      hasNews = true;
      if (!timer) tell();
    });
  }
}

function close() {
  source?.close();
  source = null;
}

function words() {
  if (isUncertain) return "New turns were read";
  if (turns === 0) return "Upkeep ran";
  return turns === 1 ? "1 new turn" : `${turns.toLocaleString("en")} new turns`;
}

function tell() {
  timer = 0;
  if (!hasNews) return;
  hasNews = false;
  timer = setTimeout(tell, PAUSE * 1000);
  const known = news.querySelector("a");
  if (known) {
    // The focus may be in it.
    news.firstChild.textContent = `${words()}: `;
    return;
  }
  const show = document.createElement("a");
  show.href = location.href;
  show.textContent = "show";
  show.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    clear();
    renew();
    main.focus({ preventScroll: true });
  });
  const dismiss = document.createElement("button");
  dismiss.type = "button";
  dismiss.textContent = "Not now";
  dismiss.addEventListener("click", () => {
    clear();
    main.focus({ preventScroll: true });
  });
  news.replaceChildren(document.createTextNode(`${words()}: `), show, dismiss);
  news.classList.add("shown");
}

function clear() {
  turns = 0;
  hasNews = isUncertain = false;
  news.classList.remove("shown");
  news.replaceChildren();
}
