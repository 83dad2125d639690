"use strict";
// Tables are sorted by a click on a head; without this script they are as complete, in the order of their question.
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  if (body.rows.length < 2) continue;
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
        return isNumber ? (cell.dataset.v === undefined ? -Infinity : Number(cell.dataset.v)) : cell.textContent;
      };
      const rows = [...body.rows].map((row) => [keyOf(row), row]);
      rows.sort(([a], [b]) => (isNumber ? a - b || (a > b) - (a < b) : a.localeCompare(b)) * (down ? -1 : 1));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
