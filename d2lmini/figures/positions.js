// Chapter 3: the table of sinusoids, one column as a wave, similarity by distance, and a turn.
import { choice, make, matrix, show, slider } from "./matrix.js";
import { among, controlState, figure, upTo } from "./frame.js";
import { dot, sinusoid } from "./forward.js";
import { draw, lines } from "./lines.js";

const BASES = [10, 100, 1000, 10000, 100000];
const POSITIONS = 32;

function render({ model, el }) {
  const state = controlState(model, update, { width: among([4, 8, 16, 32]), base: among(BASES),
    column: (v, { width: all }) => upTo(all)(v), position: upTo(POSITIONS),
    offset: (v) => Number.isInteger(v) && Math.abs(v) < POSITIONS });
  const first = state.get();
  const field = (name) => (value) => state.set({ [name]: value });
  const width = choice("Width", Object.fromEntries([4, 8, 16, 32].map((w) => [w, w])),
    first.width, (value) => state.set({
      width: Number(value), column: Math.min(state.get().column, value - 1) }));
  const base = choice("Base", Object.fromEntries(BASES.map((b) => [b, b.toLocaleString("en")])),
    first.base, (value) => state.set({ base: Number(value) }));
  const column = slider("Column", { min: 0, max: 31, value: first.column }, (value) =>
    state.set({ column: Math.min(value, state.get().width - 1) }));
  const position = slider("Position i", { min: 0, max: POSITIONS - 1, value: first.position },
    field("position"));
  const offset = slider("Offset k", { min: 1 - POSITIONS, max: POSITIONS - 1, value: first.offset,
    format: (k) => show(k, 0) }, field("offset"));
  const table = matrix({ title: "positions", rowsAre: "position", columnsAre: "column",
    onReach: (text) => frame.explain(text) });
  const wave = lines({ title: "One column: a wave", xIs: "position", onReach: field("position") });
  const likeness = lines({ title: "Dot product of two positions, as a share of that with itself",
    xIs: "distance k", onReach: field("offset") });
  const dial = draw("svg", { viewBox: "-1.2 -1.2 2.4 2.4", role: "img", class: "dial" });
  const turn = make("p");
  const rotation = make("div", { className: "lines" },
    make("p", { className: "caption" }, make("span", { className: "name" }, "The pair as a hand")),
    dial, turn);
  const frame = figure(model, el, {
    state,
    title: "Sinusoidal positions",
    controls: [width, base, column, position, offset].map((c) => c.element),
    parts: [make("div", { className: "stack" }, table.element, rotation),
      make("div", { className: "stack curves" }, wave.element, likeness.element)],
    help: "Point at a number of the table, or move a marker. Dashed hand: position i; whole: i + k.",
  });
  table.element.classList.add("dense");

  function hand(angle, kind) {
    return draw("line", { x1: 0, y1: 0, x2: Math.sin(angle), y2: -Math.cos(angle), class: kind });
  }

  function update({ width: d, base: b, column: c, position: i, offset: k }) {
    const P = Array.from({ length: POSITIONS }, (_, n) => sinusoid(n, d, b));
    const all = P.map((_, n) => n);
    const pair = c - (c % 2);
    const speed = 1 / b ** (pair / d);
    table.update({
      rows: all, columns: P[0].map((_, n) => n), top: 1, digits: null,
      value: (n, m) => P[n][m],
      explain: (n, m) => `${m % 2 ? "cos" : "sin"}(${n} / ${b}^(${m - (m % 2)}/${d})) = ${
        show(P[n][m], 3)}`,
    });
    wave.update({ x: all, series: { [`column ${c}`]: P.map((row) => row[c]) },
      low: -1, high: 1, at: i });
    likeness.update({ x: all, series: { similarity: P.map((row) => dot(P[0], row) / (d / 2)) },
      low: -1, high: 1, at: Math.abs(k), digits: 3 });
    dial.replaceChildren(
      draw("circle", { r: 1, class: "axis" }), hand(i * speed, "before"), hand((i + k) * speed, "after"));
    dial.setAttribute("aria-label", `A hand at position ${i} and at position ${i + k}`);
    const [cos, sin] = [Math.cos(k * speed), Math.sin(k * speed)].map((v) => show(v, 3));
    turn.textContent = `Columns ${pair} and ${pair + 1}, from position ${i} to ${show(i + k, 0)}${
      P[i + k] ? "" : ", outside the table"}: `
      + `(sin, cos) times ((${cos}, ${show(-Math.sin(k * speed), 3)}), (${sin}, ${cos})), `
      + "the same matrix at every position.";
    width.set(d);
    base.set(b);
    column.set(c);
    position.set(i);
    offset.set(k);
    frame.note(c === d - 1 && d < 32 ? `Width ${d} has the columns 0 to ${d - 1}.` : "");
  }
  update(first);
}

export default { render };
