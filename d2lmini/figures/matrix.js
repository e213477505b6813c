// Matrices that can be explored by pointer and keyboard.
import { hued, make, show } from "./controls.js";

// A table of numbers. Tab focuses it, and arrow keys or the pointer select a cell, which
// update's explain(i, j) describes in words, through onReach. onChoose(i, j) is called when a cell is
// clicked or Enter is pressed on it; onLight(i, j) when a cell is pointed at, and without arguments
// when none is any more. point(i, j) points at a cell, point() at none; outline(rule) frames the cells
// for which rule(i, j) is true.
//
// update({ rows, columns, value, explain, ... }): the labels of both axes; value(i, j), a number;
// top, the number with the deepest colour, Infinity for no colours; digits of the numbers, null for
// none; heading instead of the title, a remark after it, axes instead of the names of rows and
// columns; mark and markColumn, a row and a column to highlight.
export function matrix({ title, rowsAre, columnsAre, onReach, onChoose, onLight }) {
  const name = make("span", { className: "name" }, title);
  const shape = make("span", { className: "shape" });
  const head = make("thead");
  const body = make("tbody");
  const table = make("table", { role: "grid", "aria-label": title }, head, body);
  const axes = make("p", { className: "axes" },
    ...hued(`rows: ${rowsAre}; columns: ${columnsAre}`));
  const scale = make("p", { className: "axes" });
  const caption = make("p", { className: "caption" }, name, " ", shape);
  const element = make("div", { className: "matrix" }, caption, table, axes, scale);
  let cells = [];
  let state = { rows: [], columns: [] };
  let cursor = [0, 0];

  // Highlight the row and column of a cell, here and in neighbouring matrices: the same cell if
  // their axes agree, the row if only the rows agree; nothing without a cell.
  element.light = (like, i, j) => {
    const sameColumns = cells[0]?.length === like[1] && columnsAre === like[2];
    const alike = cells.length === like[0] ? [i, sameColumns ? j : null] : [];
    [...body.rows].forEach((row, r) => row.firstChild.classList.toggle("at", r === alike[0]));
    [...head.querySelectorAll("th")].forEach((th, c) => th.classList.toggle("at", c === alike[1]));
    for (const cell of body.querySelectorAll("td.at")) cell.classList.remove("at");
    cells[alike[0]]?.[alike[1]]?.classList.add("at");
  };
  const light = (...place) => {
    for (const sibling of element.parentElement?.children ?? []) {
      sibling.light?.([cells.length, cells[0]?.length, columnsAre], ...place);
    }
    onLight?.(...place);
  };

  const say = (i, j) =>
    onReach?.(`${state.heading}[${state.rows[i]}, ${state.columns[j]}] = ${state.explain(i, j)}`, i, j);
  const reach = (i, j) => {
    cells[cursor[0]]?.[cursor[1]]?.setAttribute("tabindex", "-1");
    cursor = [i, j];
    cells[i][j].setAttribute("tabindex", "0");
    light(i, j);
    const whole = element.closest(".d2lmini-figure");
    if (whole) whole.explained = element; // the matrix of the explained number
    say(i, j);
  };
  const point = (...place) => (place.length ? reach(...place) : light());

  // Rebuild the table only if its shape changes: a keystroke changes numbers, not cells.
  const build = (rows, columns) => {
    cells = rows.map(() => columns.map(() => make("td", { role: "gridcell", tabIndex: -1 })));
    const corner = make("td");
    head.replaceChildren(
      make("tr", { role: "row" }, corner,
        ...columns.map(() => make("th", { scope: "col", role: "columnheader" }))),
    );
    body.replaceChildren(
      ...cells.map((row) =>
        make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader" }), ...row)),
    );
    cursor = [Math.min(cursor[0], rows.length - 1), Math.min(cursor[1], columns.length - 1)];
    cells[cursor[0]]?.[cursor[1]]?.setAttribute("tabindex", "0");
  };

  const label = (header, text, most) => {
    const letters = [...String(text)];
    header.textContent = letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
    header.title = letters.length > most ? text : "";
  };

  const place = (cell) => [
    cell.parentElement.rowIndex - 1,
    cell.cellIndex - 1,
  ];
  const onCell = (event) => {
    const cell = event.target.closest?.("td[role=gridcell]");
    if (cell) reach(...place(cell));
  };
  body.addEventListener("pointerover", onCell);
  body.addEventListener("focusin", onCell);
  body.addEventListener("pointerleave", () => light());
  body.addEventListener("focusout", () => light());
  body.addEventListener("click", ({ target }) => {
    const cell = target.closest("td[role=gridcell]");
    if (cell) onChoose?.(...place(cell));
  });
  body.addEventListener("keydown", (event) => {
    if (event.key === "Enter") onChoose?.(...place(event.target));
    const step = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    }[event.key];
    if (!step) return;
    event.preventDefault(); // else the page would scroll
    const [i, j] = place(event.target);
    cells[i + step[0]]?.[j + step[1]]?.focus();
  });

  const update = ({ rows, columns, value, explain, top, digits = 2, heading = title, remark = "",
    mark = null, markColumn = null, axes: said = null }) => {
    name.textContent = heading + remark;
    if (said) axes.replaceChildren(...hued(said));
    const same = rows.length === cells.length && columns.length === (cells[0]?.length ?? -1);
    state = { rows, columns, explain, heading };
    if (!same) build(rows, columns);
    element.style.setProperty("--rows", rows.length);
    element.style.setProperty("--columns", columns.length);
    shape.textContent = `(${rows.length}, ${columns.length})`;
    head.classList.toggle("upright", element.classList.contains("roomy")
      || columns.every((label) => String(label).length < 3));
    [...head.querySelectorAll("th")].forEach((th, j) => label(th, columns[j], 14));
    [...body.querySelectorAll("th")].forEach((th, i) => label(th, rows[i], 24));
    const numbers = rows.map((_, i) => columns.map((_, j) => value(i, j)));
    const has = (rule) => numbers.some((row) => row.some(rule));
    const [low, beyond, hidden] = [(v) => v < 0 && v > -Infinity,
      (v) => Math.abs(v) > top && Number.isFinite(v), (v) => v === -Infinity].map(has);
    scale.textContent = top === Infinity ? "" : `colours: ${low ? `−${top}` : 0} to ${top}${
      beyond ? " and beyond" : ""}${hidden ? "; hatched: hidden" : ""}`;
    cells.forEach((row, i) => row.forEach((cell, j) => {
      const number = numbers[i][j];
      const level = Number.isFinite(number) ? Math.min(1, Math.abs(number) / (top || 1)) : 0;
      cell.style.setProperty("--level", level.toFixed(3));
      cell.classList.toggle("masked", number === -Infinity);
      cell.classList.toggle("negative", number < 0 && number > -Infinity);
      cell.textContent = digits === null ? "" : show(number, digits);
    }));
    [...body.rows].forEach((row, i) => row.classList.toggle("marked", i === mark));
    [...head.rows[0].cells].forEach((th, j) => th.classList.toggle("marked", j - 1 === markColumn));
    // Else the sentence below would describe an outdated number.
    if (element.closest(".d2lmini-figure")?.explained === element && cells.length) say(...cursor);
  };
  const outline = (rule) => cells.forEach((row, i) =>
    row.forEach((cell, j) => cell.classList.toggle("outlined", rule(i, j))));
  return { element, update, point, outline };
}
