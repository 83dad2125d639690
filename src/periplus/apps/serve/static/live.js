// The live page: swaps numbers as they arrive, extends the curve, and shows which controls make sense now.
// Without this script the page reloads itself every ten seconds.

const SAMPLES = 300;
const NOTES = 50;
const LINES = 20;
const UNITS = ["bytes", "kB", "MB", "GB", "TB"];

const samples = curveOf(document.getElementById("rates"));
const collection = new URLSearchParams(location.search).get("collection");
const source = new EventSource("/live/events" + (collection ? "?collection=" + encodeURIComponent(collection) : ""));

source.addEventListener("status", (event) => show(JSON.parse(event.data)));
source.addEventListener("note", (event) => note(JSON.parse(event.data).text));
source.addEventListener("open", () => connected(""));
source.addEventListener("error", () => {
  connected("Not connected.");
  if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 10000);
});

let state = document.getElementById("state").textContent;
let first = true;
let sites = [];

function show(fields) {
  for (const [name, value] of Object.entries(fields)) {
    for (const element of document.querySelectorAll(`[data-field="${name}"]`)) {
      element.textContent = formatted(value, element.dataset.format);
      const tile = element.closest("li");
      if (tile) tile.hidden = !value; // nothing but zeros is not shown
    }
    const table = document.querySelector(`[data-table="${name}"]`);
    if (table) table.closest("section").hidden = !Object.keys(value).length;
    if (table) fill(table, Object.entries(value).map(([reason, count]) => [reasonCell(table, reason), numberCell(count)]));
  }
  if ("sites" in fields) showSites((sites = fields.sites));
  if ("state" in fields) changeState(fields.state);
  if (!first) extend(fields);
  if (!first) extendTimelines();
  first = false;
}

function formatted(value, format) {
  if (value === null || value === undefined) return "–";
  if (format === "bytes") return bytes(value);
  if (format === "share") return (value * 100).toFixed(1) + " %";
  return typeof value === "number" ? value.toLocaleString("en-US") : String(value);
}

function bytes(value) {
  let place = 0;
  while (value >= 1000 && place < UNITS.length - 1) {
    value /= 1000;
    place += 1;
  }
  return value.toFixed(place ? 1 : 0) + " " + UNITS[place];
}

function cell(content, className) {
  const made = document.createElement("td");
  made.append(content);
  if (className) made.className = className;
  return made;
}

function reasonCell(table, reason) {
  if (!("listed" in table.dataset)) return cell(reason || "none");
  return cell(linkTo("/live/urls", { kind: table.dataset.table, reason }, reason));
}

function linkTo(path, parameters, text) {
  const link = document.createElement("a");
  link.href = path + "?" + new URLSearchParams({ ...parameters, ...(collection ? { collection } : {}) });
  link.textContent = text;
  return link;
}

function numberCell(value) {
  return cell(value.toLocaleString("en-US"), "n");
}

function fill(table, rows) {
  table.replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells);
    return row;
  }));
}

function showSites(sites) {
  fill(document.getElementById("sites"), sites.map((site) => {
    return [
      cell(linkTo("/live/queue", { site: site.site }, site.site), "site"), cell(site.retired || site.stage), numberCell(site.queued), numberCell(site.pages),
      cell(bytes(site.bytes), "n"), numberCell(site.failures),
    ];
  }));
}

function changeState(now) {
  state = now;
  const controls = document.getElementById("controls");
  if (!controls) return;
  controls.hidden = now === "no crawl runs";
  document.getElementById("pause").hidden = now === "paused";
  document.getElementById("resume").hidden = now !== "paused";
}

function note(text) {
  document.getElementById("noted").hidden = false;
  const list = document.getElementById("notes");
  const item = document.createElement("li");
  item.textContent = new Date().toLocaleTimeString() + " " + text;
  list.prepend(item);
  while (list.children.length > NOTES) list.lastChild.remove();
}

function connected(text) {
  document.getElementById("connection").textContent = text;
}

function curveOf(line) {
  const texts = line.dataset.samples ? line.dataset.samples.split(",") : [];
  return texts.map(Number).filter(Number.isFinite);
}

function extend(fields) {
  samples.push("rate" in fields ? fields.rate : samples.at(-1) ?? 0);
  while (samples.length > SAMPLES) samples.shift();
  const most = scaleOf(Math.max(...samples));
  const points = samples.map((value, place) => `${SAMPLES + 1 - samples.length + place},${(60 - (value / most) * 60).toFixed(1)}`);
  document.getElementById("rates").setAttribute("points", points.join(" "));
  document.getElementById("top").textContent = String(most);
  document.getElementById("middle").textContent = String(most / 2);
  document.getElementById("rate").hidden = !samples.some(Boolean);
}

function scaleOf(most) {
  const power = most > 0 ? 10 ** Math.floor(Math.log10(most)) : 1;
  return [1, 2, 5, 10].map((step) => step * power).find((each) => each >= most);
}

// Timelines: for each second a sign of what the site did, and a digit for its requests.

function drawTimeline(picture) {
  const marks = picture.dataset.marks.match(/../g) || [];
  const first = SAMPLES - marks.length;
  const parts = [];
  for (let place = 0; place < marks.length; ) {
    let end = place;
    while (end < marks.length && marks[end][0] === marks[place][0]) end += 1;
    parts.push(bar(marks[place][0] === "b" ? "w" : marks[place][0], first + place, end - place, 3, 4));
    place = end;
  }
  marks.forEach((mark, place) => {
    if (mark[1] !== "0" || mark[0] === "b") parts.push(bar("b", first + place, 1, 0, 10));
  });
  picture.replaceChildren(...parts);
}

function bar(kind, x, width, y, height) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ class: kind, x, y, width, height })) made.setAttribute(name, value);
  return made;
}

const counted = new Map();

function extendTimelines() {
  const body = document.querySelector("#timelines tbody");
  const shown = state === "no crawl runs" ? [] : sites.slice(0, LINES);
  const kept = new Map([...body.rows].map((row) => [row.querySelector("svg").dataset.site, row]));
  body.replaceChildren(...shown.map((site) => {
    const row = kept.get(site.site) || timelineOf(site.site);
    const picture = row.querySelector("svg");
    const sign = site.stage === "resting" && site.failures ? "x" : { resting: "r", ready: "w", busy: "b", held: "h" }[site.stage] || "-";
    const requests = Math.min(Math.max(site.pages - (counted.get(site.site) ?? site.pages), 0), 9);
    counted.set(site.site, site.pages);
    picture.dataset.marks = (picture.dataset.marks + sign + requests).slice(-2 * SAMPLES);
    drawTimeline(picture);
    return row;
  }));
  document.getElementById("timelines").hidden = !shown.length;
}

function timelineOf(site) {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = site;
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const fields = { viewBox: "0 0 300 10", preserveAspectRatio: "none", role: "img", "aria-label": "Requests and rests of " + site };
  for (const [name, value] of Object.entries(fields)) picture.setAttribute(name, value);
  Object.assign(picture.dataset, { site, marks: "" });
  row.append(head, cell(picture));
  return row;
}

document.querySelectorAll("#timelines svg").forEach(drawTimeline);
