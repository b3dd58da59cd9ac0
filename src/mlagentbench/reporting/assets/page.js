"use strict";
(() => {
  const value = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.v === undefined) return cell.textContent;
    return cell.dataset.v === "" ? null : Number(cell.dataset.v);
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    if (body.rows.length < 2) continue;
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const first = head.classList.contains("n") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = now === first ? other : first;
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const rows = [...body.rows].map((row) => [value(row, column), row]);
        rows.sort(([a], [b]) => (a === null ? (b === null ? 0 : 1) : b === null ? -1 : sign * compare(a, b)));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  for (const filter of document.querySelectorAll(".filter")) {
    const input = filter.querySelector("input");
    const told = filter.querySelector("output");
    const groups = [...filter.parentElement.querySelectorAll(":scope > details")];
    const cards = groups.map((group) => [group, [...group.querySelectorAll(".card")].map((card) => [card, ""])]);
    filter.hidden = false;
    const were = new Map(groups.map((group) => [group, group.open]));
    let read = false;
    input.addEventListener("input", () => {
      if (!read) for (const [, all] of cards) for (const each of all) each[1] = each[0].textContent.toLowerCase();
      read = true;
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const [group, all] of cards) {
        let here = 0;
        for (const [card, text] of all) {
          card.hidden = !words.every((word) => text.includes(word));
          here += card.hidden ? 0 : 1;
        }
        group.hidden = here === 0;
        group.open = words.length ? here > 0 : were.get(group);
        left += here;
      }
      told.textContent = words.length ? `${left} shown` : "";
    });
  }

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of closed) each.open = false;
  });
})();
