"use strict";
// Sorts a table when a column head is clicked, and filters its rows. Without this script tables are complete.
const MIN_ROWS_TO_FILTER = 6;

function addSorting(table) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const isNumber = head.classList.contains("n");
      const down = head.ariaSort ? head.ariaSort === "ascending" : isNumber;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keyOf = (row) => {
        const cell = row.cells[place];
        if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
        return isNumber ? -Infinity : cell.textContent;
      };
      const rows = [...body.rows].map((row) => [keyOf(row), row]);
      const order = (a, b) => (typeof a === "number" ? a - b || (a > b) - (a < b) : a.localeCompare(b));
      rows.sort(([a], [b]) => order(a, b) * (down ? -1 : 1));
      body.append(...rows.map(([, row]) => row));
    });
  });
}

function addFilter(table) {
  const rows = [...table.tBodies[0].rows], box = document.createElement("p");
  const input = document.createElement("input"), shown = document.createElement("span");
  box.className = "filter";
  input.type = "search";
  input.placeholder = "Filter rows";
  input.setAttribute("aria-label", "Filter rows of this table");
  shown.className = "soft small";
  shown.setAttribute("role", "status");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let kept = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      kept += row.hidden ? 0 : 1;
    }
    shown.textContent = words.length ? `${kept} of ${rows.length} rows` : "";
  });
  box.append(input, shown);
  table.closest(".scroll").before(box);
}

for (const table of document.querySelectorAll("table")) {
  const rows = table.tBodies[0].rows.length;
  if (rows > 1) addSorting(table);
  if (rows >= MIN_ROWS_TO_FILTER) addFilter(table);
}
