// The live page: swaps numbers as they arrive, extends the curve, and shows which controls make sense now.
// Without this script the page reloads itself every ten seconds.

const SAMPLES = 300;
const NOTES = 50;
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

function show(fields) {
  for (const [name, value] of Object.entries(fields)) {
    for (const element of document.querySelectorAll(`[data-field="${name}"]`)) {
      element.textContent = formatted(value, element.dataset.format);
    }
    const table = document.querySelector(`[data-table="${name}"]`);
    if (table) fill(table, Object.entries(value).map(([reason, count]) => [reasonCell(table, reason), numberCell(count)]));
  }
  if ("sites" in fields) showSites(fields.sites);
  if ("state" in fields) changeState(fields.state);
  if (!first) extend(fields);
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
      cell(linkTo("/live/queue", { site: site.site }, site.site)), cell(site.retired || site.stage), numberCell(site.queued), numberCell(site.pages),
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
  const most = Math.max(...samples) || 1;
  const step = 300 / Math.max(samples.length - 1, 1);
  const points = samples.map((value, index) => `${(index * step).toFixed(1)},${(60 - (value / most) * 60).toFixed(1)}`);
  document.getElementById("rates").setAttribute("points", points.join(" "));
}
