"use strict";
// Keeps the page of a run, and that of all runs, current from server-sent events. Nothing is fetched from elsewhere.

const run = document.body.dataset.run;
const PLACES = "summary, [tabindex], a, button, input";
const $ = (id) => document.getElementById(id);
const whole = (n) => n.toLocaleString("en");

async function call(method, path, content) {
  const options = { method, headers: { "content-type": "application/json" }, body: JSON.stringify(content) };
  const reply = await fetch(path, options).catch(() => null);
  if (reply === null) throw new Error("The service cannot be reached.");
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.error);
  return answer;
}

function attempt(form, work) {
  const place = form.querySelector(".wrong");
  place.textContent = "";
  return work().catch((error) => { place.textContent = error.message; });
}

// The list of runs: its form.

function channelsOf(text) {
  const channels = {};
  for (const line of text.split("\n").filter((l) => l.trim())) {
    const words = line.trim().split(/\s+/);
    if (words.length !== 3) throw new Error(`A line must have a name, inputs and outputs, as north 0,1 0,1; it is: ${line}`);
    if (words[0] in channels) throw new Error(`The channel ${words[0]} must occur once.`);
    channels[words[0]] = { inputs: words[1].split(","), outputs: words[2].split(",") };
  }
  return channels;
}

async function begin(form) {
  const fields = new FormData(form);
  const wish = { name: fields.get("name"), policy: fields.get("policy"), delta: Number(fields.get("delta")),
                 channels: channelsOf(fields.get("channels")) };
  for (const key of ["epsilon", "max_senses"]) if (fields.get(key)) wish[key] = Number(fields.get(key));
  const kind = fields.get("kind"), number = { above: "level", top: "m", within: "width" }[kind];
  if (number && !fields.get("number")) throw new Error("This question requires a level or a width in bits, or how many.");
  if (kind !== "best") wish.question = { kind, ...(number && { [number]: Number(fields.get("number")) }) };
  await call("POST", "/api/runs", wish);
  location.assign(`/runs/${wish.name}`);
}

// A run: its standing, its report, its controls.

function fact(word, value) {
  const div = document.createElement("div");
  const dt = document.createElement("dt");
  const dd = document.createElement("dd");
  dt.textContent = word;
  dd.textContent = value;
  div.append(dt, dd);
  return div;
}

function facts(s) {
  const list = [["state", s.paused && s.state === "open" ? "paused" : s.state], ["senses", whole(s.senses)]];
  if (s.answer) list.unshift(["answer", s.answer]);
  if (s.best) list.push(["best", s.best]);
  else if (s.leader) list.push(["leader", s.leader]);
  if (!s.best && s.challenger && s.evidence_bits !== null)
    list.push([`evidence against ${s.challenger}`, `${s.evidence_bits.toFixed(1)} of ${s.threshold_bits.toFixed(1)} bits`]);
  if (!s.best && s.nearly_best !== null)
    list.push([`${s.nearly_best} is the best or within`, `${(Math.ceil(s.within_bits * 1e4) / 1e4).toFixed(4)} bit`]);
  if (s.more_senses !== null) list.push(["to go, about", whole(s.more_senses)]);
  if (s.max_senses !== null) list.push(["at most", whole(s.max_senses)]);
  if (s.error) list.push(["error", s.error]);
  return list;
}

// The standing above is told at once, the report below takes longer to draw: it says as of when it is.
let standing = null;
let drawn = null;

function sayAsOf() {
  if (drawn === null) return;
  const behind = standing !== null && standing.senses !== drawn.senses;
  $("as-of").hidden = false;
  $("as-of").classList.toggle("behind", behind);
  $("as-of").textContent = `The report below is as of ${whole(drawn.senses)} senses, at ` +
    `${drawn.time.replace("T", " ").replace("+00:00", " UTC")}` +
    (behind ? `; above are ${whole(standing.senses)} senses, and it is being drawn anew.` : ".");
}

function showStanding(s) {
  standing = s;
  sayAsOf();
  const dl = document.createElement("dl");
  dl.className = "facts";
  dl.append(...facts(s).map(([word, value]) => fact(word, value)));
  const parts = [dl];
  if (s.request !== null) {
    const words = document.createElement("p");
    words.textContent = `Request ${s.request}: ${whole(s.answered)} of ${whole(s.asked)} senses`;
    const bar = document.createElement("progress");
    bar.max = s.asked;
    bar.value = s.answered;
    bar.setAttribute("aria-label", words.textContent);
    parts.push(words, bar);
  }
  if (s.sensors.length) {
    const words = document.createElement("p");
    words.id = "sensors";
    words.textContent = "Sensors: " + s.sensors.map((each) =>
      `${each.name} (${each.channels.join(", ")}), ${whole(each.senses)} senses` +
      (each.silent_s > 60 ? `, silent for ${whole(each.silent_s)} s` : "")).join("; ");
    parts.push(words);
  }
  $("now").replaceChildren(...parts);
  if ($("pause")) {
    $("pause").textContent = s.paused ? "Go on" : "Pause";
    $("pause").dataset.paused = s.paused;
    $("controls").hidden = s.state === "decided" || s.state === "undecided";
  }
}

// A part of the page is replaced as a whole, and the focus stays where it was.
function replace(part, change) {
  const focus = [...part.querySelectorAll(PLACES)].indexOf(document.activeElement);
  change();
  if (focus >= 0) [...part.querySelectorAll(PLACES)][focus]?.focus({ preventScroll: true });
}

function showRuns(list) {
  replace($("list"), () => { $("list").innerHTML = list; });
}

// What the reader has unfolded, searched and sorted stays so.
function showReport({ title, body, senses, time }) {
  const report = $("report");
  drawn = { senses, time };
  sayAsOf();
  const seen = [...report.querySelectorAll("details")].map((each) => each.open);
  const choices = document.body.choices(report);
  replace(report, () => {
    report.innerHTML = body;
    for (const each of report.querySelectorAll("[data-style]")) {
      each.style.cssText = each.dataset.style;
      each.removeAttribute("data-style");
    }
    report.querySelectorAll("details").forEach((each, i) => { if (i < seen.length) each.open = seen[i]; });
    document.body.liven(report, choices);
  });
  document.title = title;
}

function connection(words, lost) {
  $("connection").textContent = words;
  $("connection").classList.toggle("lost", lost);
}

// EventSource connects again by itself after a lost connection, and gives up after a refusal: then we do it.
function follow(address, shows, last) {
  const source = new EventSource(`${address}?last=${encodeURIComponent(last)}`);
  let heard = Date.now();
  const hear = (show) => (event) => {
    heard = Date.now();
    if (event.lastEventId) last = event.lastEventId;
    connection("live", false);
    show(JSON.parse(event.data));
  };
  for (const [kind, show] of Object.entries(shows)) source.addEventListener(kind, hear(show));
  source.addEventListener("trouble", hear(({ error }) => connection(error, true)));
  source.addEventListener("quiet", () => { heard = Date.now(); });
  source.onopen = () => connection("live", false);
  source.onerror = () => connection("connection lost, trying again …", true);
  const watch = setInterval(() => {
    if (source.readyState === EventSource.CLOSED || Date.now() - heard > 30000) {
      connection("connection lost, trying again …", true);
      source.close();
      clearInterval(watch);
      follow(address, shows, last);
    }
  }, 2000);
}

function control() {
  const form = $("controls");
  const change = (content) => attempt(form, () => call("PATCH", `/api/runs/${run}`, content));
  $("pause").addEventListener("click", () => change({ paused: $("pause").dataset.paused !== "true" }));
  $("end").addEventListener("click", () => { if (confirm("End this run? Its limit becomes what it has spent.")) change({ end: true }); });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    change({ max_senses: Number($("limit").value) });
  });
}

if (run) follow(`/runs/${run}/events`, { status: showStanding, report: showReport }, "");
else if ($("list")) follow("/events", { runs: showRuns }, "");
if ($("controls")) control();
if ($("new-run"))
  $("new-run").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(event.target, () => begin(event.target));
  });
