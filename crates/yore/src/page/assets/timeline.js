// The slider of the timeline: shows what was held at the end of a month while it is moved.

import { part } from "./page.js";

let asked = 0;

export function start() {
  const slider = document.getElementById("months");
  if (slider.dataset.started) return;
  slider.dataset.started = "1";
  slider.addEventListener("input", () => show(slider));
}

async function show(slider) {
  const number = ++asked;
  name(slider);
  // One request for a movement, not for each of its steps.
  await new Promise((done) => setTimeout(done, 80));
  if (number !== asked) return;
  const query = new URLSearchParams(new FormData(slider.form));
  for (const [key, value] of [...query]) if (value === "") query.delete(key, value);
  const address = new URL(`timeline?${query}`, document.baseURI);
  const body = await part(address.href).catch(() => null);
  // A later movement has asked since.
  if (!body || number !== asked) return;
  document.getElementById("held").replaceWith(body.querySelector("#held"));
  const day = body.querySelector("#at").value;
  document.getElementById("at").value = day;
  history.replaceState(null, "", address);
}

function name(slider) {
  const month = Number(slider.value);
  const words = `${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, "0")}`;
  slider.setAttribute("aria-valuetext", words);
  slider.form.querySelector("output").textContent = words;
}
