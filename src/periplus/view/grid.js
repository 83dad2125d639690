"use strict";
// Filters, sorts and pages the rows of a grid, chooses its columns, and saves what is shown as CSV.
const PER_PAGE = 100, LONGEST = 200;
const data = JSON.parse(document.getElementById("pages").textContent);
const columns = data.columns.map(([name, title, kind, isShown], place) => ({ name, title, kind, isShown, place }));
const isNumber = (column) => ["count", "share", "seconds", "bytes", "number"].includes(column.kind);
const placeOf = Object.fromEntries(columns.map((column) => [column.name, column.place]));
const texts = data.texts.map((name) => placeOf[name]);
const words = data.rows.map((row) => texts.map((place) => row[place] ?? "").join("\n").toLowerCase());
const state = { text: "", index: "", status: "", sort: null, down: false, page: 0 };

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function written(value, kind) {
  if (value === null || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value.length > LONGEST ? value.slice(0, LONGEST - 1) + "…" : value;
  if (kind === "moment") return new Date(value * 1000).toISOString().slice(0, 19).replace("T", " ");
  if (kind === "seconds") return value < 1 ? `${Math.round(value * 1000)} ms` : `${Number(value.toPrecision(3))} s`;
  if (kind === "count") return value.toLocaleString("en");
  if (kind !== "bytes") return String(Number.isInteger(value) ? value : Number(value.toPrecision(4)));
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

function chosen() {
  const wanted = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (row, place) =>
    wanted.every((word) => words[place].includes(word)) &&
    (!state.index || row[placeOf.state] === state.index) &&
    (!state.status || String(row[placeOf.status] ?? "").startsWith(state.status));
  const rows = data.rows.filter(matches);
  if (state.sort !== null) {
    const place = state.sort.place, sign = state.down ? -1 : 1;
    const order = (a, b) => (typeof a === "string" ? (a < b ? -1 : a > b ? 1 : 0) : a - b);
    rows.sort((one, other) => {
      const a = one[place], b = other[place];
      const isBlank = [a, b].map((value) => value === null || value === "");
      return isBlank[0] || isBlank[1] ? isBlank[0] - isBlank[1] : sign * order(a, b);
    });
  }
  return rows;
}

function breakable(url) {
  return url.split(/(?<=[^:/][/?&])(?=[^/])/).flatMap((part) => [element("wbr"), part]).slice(1);
}

function cell(value, column) {
  const made = element("td");
  if (isNumber(column)) made.className = "n";
  else if (column.kind === "moment") made.className = "when";
  else if (column.kind === "url") made.className = "url";
  const text = written(value, column.kind);
  if (!made.className && text.length > 24) made.className = "long";
  if (column.kind === "url" && typeof value === "string" && /^https?:\/\//.test(value))
    made.append(element("a", { href: value, rel: "noreferrer nofollow noopener" }, ...breakable(text)));
  else made.append(text);
  return made;
}

function draw() {
  const rows = chosen(), shown = columns.filter((column) => column.isShown);
  const pages = Math.max(Math.ceil(rows.length / PER_PAGE), 1);
  state.page = Math.min(Math.max(state.page, 0), pages - 1);
  const heads = shown.map((column) => {
    const button = element("button", { type: "button" }, column.title);
    const head = element("th", { scope: "col", ...(isNumber(column) ? { class: "n" } : {}) }, button);
    if (state.sort === column) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    button.addEventListener("click", () => {
      state.down = state.sort === column ? !state.down : isNumber(column);
      state.sort = column;
      state.page = 0;
      draw();
      table.querySelector(`thead th:nth-child(${shown.indexOf(column) + 1}) button`).focus();
    });
    return head;
  });
  const first = state.page * PER_PAGE, part = rows.slice(first, first + PER_PAGE);
  const lines = part.map((row) => element("tr", {}, ...shown.map((column) => cell(row[column.place], column))));
  table.replaceChildren(element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines));
  const total = data.rows.length.toLocaleString("en"), found = rows.length.toLocaleString("en");
  count.textContent = rows.length === data.rows.length ? `${total} URLs` : `${found} of ${total} URLs`;
  where.textContent = rows.length ? `rows ${(first + 1).toLocaleString("en")} to ${(first + part.length).toLocaleString("en")}` : "no rows";
  previous.disabled = state.page === 0;
  next.disabled = state.page === pages - 1;
}

function csv() {
  const quoted = (value, kind) => {
    if (value === null) return "";
    let text = kind === "moment" ? new Date(value * 1000).toISOString().slice(0, 19) + "Z" : String(value);
    if (typeof value === "string" && (/^[\t\r\n]/.test(text) || /^\s*[=+\-@]/.test(text))) text = "'" + text;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const shown = columns.filter((column) => column.isShown);
  const lines = chosen().map((row) => shown.map((column) => quoted(row[column.place], column.kind)).join(","));
  return [shown.map((column) => column.name).join(","), ...lines, ""].join("\r\n");
}

function select(label, all, values, key) {
  const made = element("select", { "aria-label": label }, element("option", { value: "" }, all));
  made.append(...values.map(([value, text]) => element("option", { value }, text)));
  made.addEventListener("change", () => Object.assign(state, { [key]: made.value, page: 0 }) && draw());
  return made;
}

const table = element("table", { "data-part": "pages" }), count = element("span", { class: "soft small", role: "status" });
const where = element("span", { class: "soft small" });
const previous = element("button", { type: "button" }, "Previous"), next = element("button", { type: "button" }, "Next");
const input = element("input", { type: "search", placeholder: "Filter by URL or text", "aria-label": "Filter rows" });
const save = element("button", { type: "button" }, "Save as CSV");
input.addEventListener("input", () => Object.assign(state, { text: input.value, page: 0 }) && draw());
previous.addEventListener("click", () => (state.page--, draw()));
next.addEventListener("click", () => (state.page++, draw()));
save.addEventListener("click", () => {
  const link = element("a", { download: data.file, href: URL.createObjectURL(new Blob([csv()], { type: "text/csv" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
const boxes = columns.map((column) => {
  const box = element("input", { type: "checkbox" });
  box.checked = column.isShown;
  box.addEventListener("change", () => ((column.isShown = box.checked), draw()));
  return element("label", {}, box, " " + column.title);
});
document.getElementById("grid").replaceChildren(
  element(
    "div", { class: "filter" }, input,
    select("Index state", "any index state", data.states.map((value) => [value, value]), "index"),
    select("Status", "any status", ["2", "3", "4", "5"].map((value) => [value, value + "xx"]), "status"), save, count
  ),
  element("details", { class: "columns" }, element("summary", {}, "Columns"), element("div", {}, ...boxes)),
  element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Pages" }, table),
  element("p", { class: "pages" }, previous, where, next)
);
draw();
