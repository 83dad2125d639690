// A search box for any page, and an overlay with results: by a Periplus server, or by a static index beside this file.
//
//   <script src="https://search.example.org/search.js" defer></script>            asks that server
//   <script src="/search/search.js" data-index defer></script>                     reads the index in /search/
//
// Attributes: data-server="https://...", data-collection="NAME", data-index="/folder/", data-base="/" (where the
// pages of the index are, if not where they were crawled), data-into="#selector" (where the box goes; by default where
// the script is), data-label="Search the manual". Colours are custom properties: --periplus-ink, -soft, -ground, -line,
// -accent, -active, -mark.
(() => {
  "use strict";
  const script = document.currentScript;
  const options = script.dataset;
  const here = new URL(".", script.src);
  const LABEL = options.label || "Search";
  const WAIT = 150; // ms after the last key until a request is sent
  const RESULTS = 8;

  const STYLE = `
:host { --ink: var(--periplus-ink, #17222d); --soft: var(--periplus-soft, #566575); --ground: var(--periplus-ground, #fff);
  --line: var(--periplus-line, #c9d2da); --accent: var(--periplus-accent, #0b5f86); --active: var(--periplus-active, #e8f1f6);
  --mark: var(--periplus-mark, #fff0b8); display: inline-block; font: 16px/1.45 system-ui, "Helvetica Neue", Arial, sans-serif; }
@media (prefers-color-scheme: dark) { :host { --ink: var(--periplus-ink, #e4e9ee); --soft: var(--periplus-soft, #a5b2be);
  --ground: var(--periplus-ground, #18212a); --line: var(--periplus-line, #3a4854); --accent: var(--periplus-accent, #7cc8ea);
  --active: var(--periplus-active, #24323e); --mark: var(--periplus-mark, #5a4a10); } }
:host(.floating) { position: fixed; top: .6rem; right: .6rem; z-index: 1000; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
button, input { font: inherit; color: var(--ink); background: var(--ground); border: 1px solid var(--line); border-radius: 8px; }
button { cursor: pointer; padding: .3rem .7rem; }
.open { min-width: 11rem; display: flex; justify-content: space-between; gap: 1rem; color: var(--soft); }
kbd { font: inherit; font-size: .8em; border: 1px solid var(--line); border-radius: 4px; padding: 0 .35em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
dialog { width: min(42rem, calc(100vw - 2rem)); max-width: none; max-height: min(80vh, 46rem); margin: 8vh auto auto; padding: 0;
  color: var(--ink); background: var(--ground); border: 1px solid var(--line); border-radius: 12px; overflow: hidden; }
dialog[open] { display: flex; flex-direction: column; }
dialog::backdrop { background: #0008; }
.top { display: flex; gap: .5rem; padding: .7rem; border-bottom: 1px solid var(--line); }
input { flex: 1; min-width: 0; padding: .45rem .7rem; }
.status { margin: 0; padding: .45rem 1rem; font-size: .85rem; color: var(--soft); }
.status:empty { display: none; }
.list { overflow-y: auto; overscroll-behavior: contain; padding: 0 .5rem .5rem; }
[role=option] { display: block; padding: .45rem .6rem; border-radius: 8px; color: inherit; text-decoration: none; overflow-wrap: anywhere; }
[role=option][aria-selected=true] { background: var(--active); box-shadow: inset 3px 0 var(--accent); }
.section { margin-left: 1rem; border-left: 2px solid var(--line); border-radius: 0 8px 8px 0; }
.title { display: block; color: var(--accent); font-weight: 600; }
.where { display: block; font-size: .8rem; color: var(--soft); }
.text { display: block; font-size: .88rem; }
mark { background: var(--mark); color: inherit; border-radius: 3px; }
.foot { display: block; padding: .5rem 1rem; border-top: 1px solid var(--line); font-size: .85rem; color: var(--accent); }
@media (max-width: 40rem) { dialog { width: 100vw; max-height: none; height: 100dvh; margin: 0; border: 0; border-radius: 0; } input { font-size: 16px; } }
`;

  // where answers come from

  const server = (options.server || here.origin).replace(/\/+$/, "");
  let reader;

  async function answer(query, signal) {
    if ("index" in options) {
      const folder = new URL(options.index || here, location.href);
      reader ??= import(new URL("static.js", here)).then((module) => module.open(folder, options.base));
      return (await reader).search(query, RESULTS);
    }
    const asked = new URLSearchParams({ q: query, n: RESULTS });
    if (options.collection) asked.set("collection", options.collection);
    const response = await fetch(`${server}/api/search?${asked}`, { signal, credentials: "omit" });
    if (!response.ok) throw new Error(response.status);
    return response.json();
  }

  // what is on the page

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const host = element("div", { class: "periplus-search" });
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];
  const opener = element("button", { type: "button", class: "open", "aria-haspopup": "dialog" }, LABEL, element("kbd", { "aria-hidden": "true" }, "/"));
  const input = element("input", {
    type: "text", role: "combobox", "aria-label": LABEL, "aria-expanded": "false", "aria-controls": "list", "aria-autocomplete": "list",
    autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "go", maxlength: "200",
  });
  const closer = element("button", { type: "button", "aria-label": "Close the search" }, "\u2715");
  const status = element("p", { class: "status", role: "status" });
  const list = element("div", { class: "list", id: "list", role: "listbox", "aria-label": "Results" });
  const foot = element("a", { class: "foot", hidden: "" }, "All results");
  const dialog = element("dialog", { "aria-label": LABEL }, element("div", { class: "top" }, input, closer), status, list, foot);
  list.hidden = true;
  root.append(opener, dialog);

  // results

  let chosen = -1;
  let shown = [];

  function marked(text, marks = []) {
    const letters = [...text]; // places count characters, not UTF-16 units
    const parts = [];
    let place = 0;
    for (const [start, end] of marks) {
      if (start < place) continue;
      parts.push(letters.slice(place, start).join(""), element("mark", {}, letters.slice(start, end).join("")));
      place = end;
    }
    return [...parts, letters.slice(place).join("")];
  }

  function option(address, title, where, snippet, marks, kind) {
    const url = new URL(address, location.href);
    if (!/^https?:$/.test(url.protocol)) return [];
    const made = element("a", { id: `option-${shown.length}`, role: "option", tabindex: "-1", href: url.href, "aria-selected": "false", class: kind });
    made.append(element("span", { class: "title" }, title || address));
    if (where) made.append(element("span", { class: "where" }, where));
    if (snippet) made.append(element("span", { class: "text" }, ...marked(snippet, marks)));
    const place = shown.push(made) - 1;
    made.addEventListener("mousemove", () => choose(place));
    made.addEventListener("click", () => dialog.close());
    return [made];
  }

  function show(found, query) {
    shown = [];
    const groups = found.results.map((page) => {
      const sections = page.sections || [];
      const url = page.url.split("#")[0];
      const made = option(page.url, page.title, url.replace(/^https?:\/\//, ""), sections.length ? "" : page.snippet, page.marks, "page");
      for (const each of sections) made.push(...option(`${url}#${encodeURI(each.anchor)}`, each.title, "", each.snippet, each.marks, "section"));
      return element("div", { role: "group", "aria-label": page.title || page.url }, ...made);
    });
    list.replaceChildren(...groups);
    list.hidden = !groups.length;
    list.scrollTop = 0;
    input.setAttribute("aria-expanded", String(groups.length > 0));
    const number = `${found.is_exact === false ? "about " : ""}${found.total.toLocaleString()} page${found.total === 1 ? "" : "s"}`;
    if (!groups.length) status.textContent = `Nothing found for \u201c${query}\u201d.`;
    else if (found.corrected) status.textContent = `Showing results for \u201c${found.corrected}\u201d; nothing was found for \u201c${query}\u201d. ${number}.`;
    else status.textContent = found.total ? `${number} found.` : "No page has all words; these have some.";
    foot.hidden = "index" in options || !found.has_next;
    foot.href = `${server}/?${new URLSearchParams({ q: query, ...(options.collection ? { collection: options.collection } : {}) })}`;
    choose(groups.length ? 0 : -1);
  }

  function choose(place) {
    shown[chosen]?.setAttribute("aria-selected", "false");
    chosen = place;
    const made = shown[place];
    if (!made) return input.removeAttribute("aria-activedescendant");
    made.setAttribute("aria-selected", "true");
    input.setAttribute("aria-activedescendant", made.id);
    made.scrollIntoView({ block: "nearest" });
  }

  function clear(text = "") {
    shown = [];
    chosen = -1;
    list.replaceChildren();
    list.hidden = foot.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    status.textContent = text;
  }

  // typing

  let timer;
  let request = new AbortController();

  async function ask() {
    request.abort();
    const mine = (request = new AbortController());
    const query = input.value.trim();
    if (!query) return clear();
    try {
      const found = await answer(query, mine.signal);
      if (!mine.signal.aborted) show(found, query);
    } catch {
      if (!mine.signal.aborted) clear("Search is not available now.");
    }
  }

  function open() {
    if (dialog.open) return;
    dialog.showModal();
    input.select();
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    request.abort();
    timer = setTimeout(ask, WAIT);
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && shown.length) choose((chosen + step + shown.length) % shown.length);
    else if (event.key === "Enter" && shown[chosen]) shown[chosen].click();
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    const at = event.composedPath()[0];
    const types = at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName);
    const isKey = event.key === "/" ? !types && !event.ctrlKey && !event.metaKey && !event.altKey : event.key === "k" && (event.ctrlKey || event.metaKey);
    if (!isKey || event.defaultPrevented) return;
    event.preventDefault();
    open();
  });
  opener.addEventListener("click", open);
  closer.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => request.abort());

  function place() {
    const target = options.into ? document.querySelector(options.into) : null;
    if (target) target.append(host);
    else if (script.isConnected && !script.closest("head")) script.after(host);
    else {
      host.classList.add("floating");
      document.body.append(host);
    }
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", place);
  else place();
})();
