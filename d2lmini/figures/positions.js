// Chapter 3: the table of sinusoids, a column as a wave, similarity by distance, and a rotation.
import { choice, make, show, slider } from "./controls.js";
import { matrix } from "./matrix.js";
import { among, controlState, figure, upTo } from "./frame.js";
import { dot, sinusoid } from "./forward.js";
import { draw, lines, movable } from "./lines.js";

const BASES = [10, 100, 1000, 10000, 100000];
const POSITIONS = 32;
const REACH = 1.45; // of the dial, with room for numbers at the tips of its hands

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
  const column = slider("Column", { min: 0, max: 31, value: first.column }, field("column"));
  const position = slider("Position i", { min: 0, max: POSITIONS - 1, value: first.position },
    field("position"));
  const offset = slider("Offset k", { min: 1 - POSITIONS, max: POSITIONS - 1, value: first.offset,
    format: (k) => show(k, 0) }, field("offset"));
  const table = matrix({ title: "positions", rowsAre: "position", columnsAre: "column",
    onReach: (text) => frame.explain(text),
    onChoose: (n, m) => state.set({ position: n, column: m }) });
  const wave = lines({ title: "One column: a wave", xIs: "position", onReach: field("position") });
  const likeness = lines({ title: "Dot product of two positions, as a share of that with itself",
    xIs: "distance k", onReach: field("offset") });
  const dial = draw("svg", { viewBox: `${-REACH} ${-REACH} ${2 * REACH} ${2 * REACH}`, role: "slider", tabindex: 0,
    class: "dial" });
  const turn = make("p");
  const small = draw("svg", { class: "dials", "aria-hidden": "true" });
  small.addEventListener("click", ({ target }) => {
    const pair = target.closest("[data-pair]")?.dataset.pair;
    if (pair !== undefined) state.set({ column: 2 * Number(pair) });
  });
  const rotation = make("div", { className: "hand" },
    make("p", { className: "caption" }, make("span", { className: "name" }, "The pair as a hand")),
    dial, turn);
  const clocks = make("div", { className: "clocks" },
    make("p", { className: "caption" }, make("span", { className: "name" }, "A hand for each pair of columns"),
      "; the large one is circled"), small);
  const frame = figure(model, el, {
    state,
    title: "Clocks",
    controls: [width, base, column, position, offset].map((c) => c.element),
    parts: [make("div", { className: "narrow" }, table.element),
      make("div", { className: "stack curves" }, wave.element, likeness.element),
      rotation, clocks],
    help: "Choose a number of the table, move a marker, or drag the hand. Dashed hand: position i; solid: i + k.",
    brief: {
      controls: [position, offset].map((c) => c.element),
      parts: [rotation],
      help: "Dashed hand: position i; solid: i + k. Drag the solid one, or move a slider.",
    },
  });
  table.element.classList.add("dense");
  // The hand of i + k follows the pointer, step by step, whichever way it is turned.
  movable(dial, dial, { reach: REACH, step: 1,
    to: (x, y) => {
      const { width: d, base: b, column: c, position: i, offset: k } = state.get();
      const speed = 1 / b ** ((c - (c % 2)) / d);
      const turn = Math.atan2(x, y) - (i + k) * speed; // to the pointer, by the shorter way
      const steps = Math.round(Math.atan2(Math.sin(turn), Math.cos(turn)) / speed);
      state.set({ offset: Math.max(1 - POSITIONS, Math.min(POSITIONS - 1, k + steps)) });
    },
    by: (dx, dy) => state.set({ offset:
      Math.max(1 - POSITIONS, Math.min(POSITIONS - 1, state.get().offset + dx + dy)) }) });

  function hand(angle, kind) {
    return draw("line", { x1: 0, y1: 0, x2: Math.sin(angle), y2: -Math.cos(angle), class: kind });
  }

  // The dial: both hands with their positions, and the angle between them.
  function drawDial(from, to, i, k) {
    const at = (angle, r) => [r * Math.sin(angle), -r * Math.cos(angle)];
    const point = (angle, r) => at(angle, r).map((v) => v.toFixed(3)).join(" ");
    const whole = Math.abs(to - from) >= 2 * Math.PI;
    const wide = Math.abs(to - from) > Math.PI ? 1 : 0;
    const label = (angle, text, kind) => {
      const [x, y] = at(angle, 1.22);
      return draw("text", { x, y: y + 0.07, class: kind }, text);
    };
    const near = Math.abs(Math.sin((to - from) / 2)) < 0.12; // one number would cover the other
    dial.replaceChildren(
      draw("circle", { r: 1, class: "axis" }),
      whole ? draw("circle", { r: 0.4, class: "turned" }) : draw("path", { class: "turned",
        d: `M${point(from, 0.4)} A0.4 0.4 0 ${wide} ${to > from ? 1 : 0} ${point(to, 0.4)}` }),
      hand(from, "before"), hand(to, "after"),
      near ? "" : label(from, String(i), "tip"), label(to, show(i + k, 0), "tip to"));
  }

  // All hands at position i and at i + k; a click chooses a pair.
  function drawClocks({ width: d, base: b, column: c, position: i, offset: k }) {
    small.setAttribute("viewBox", `0 0 ${2.4 * Math.max(8, d / 2)} 2.4`); // the height is fixed
    small.replaceChildren(...Array.from({ length: d / 2 }, (_, p) => {
      const speed = 1 / b ** ((2 * p) / d);
      return draw("g", { transform: `translate(${2.4 * p + 1.2} 1.2)`, "data-pair": p,
        class: p === (c - (c % 2)) / 2 ? "clock chosen" : "clock" },
      draw("circle", { r: 1, class: "axis" }), hand(i * speed, "before"), hand((i + k) * speed, "after"));
    }));
  }

  function update({ width: d, base: b, column: c, position: i, offset: k }) {
    const P = Array.from({ length: POSITIONS }, (_, n) => sinusoid(n, d, b));
    const all = P.map((_, n) => n);
    const pair = c - (c % 2);
    const speed = 1 / b ** (pair / d);
    table.update({
      rows: all, columns: P[0].map((_, n) => n), top: 1, digits: null, mark: i, markColumn: c,
      value: (n, m) => P[n][m],
      explain: (n, m) => `${m % 2 ? "cos" : "sin"}(${n} / ${b}^(${m - (m % 2)}/${d})) = ${
        show(P[n][m], 3)}`,
    });
    wave.update({ x: all, series: { [`column ${c}`]: P.map((row) => row[c]) },
      low: -1, high: 1, at: i });
    likeness.update({ x: all, series: { similarity: P.map((row) => dot(P[0], row) / (d / 2)) },
      low: -1, high: 1, at: Math.abs(k), digits: 3 });
    drawDial(i * speed, (i + k) * speed, i, k);
    dial.setAttribute("aria-label", `A hand at position ${i} and at position ${i + k}: offset`);
    for (const [name, value] of [["min", 1 - POSITIONS], ["max", POSITIONS - 1], ["now", k]]) {
      dial.setAttribute(`aria-value${name}`, value);
    }
    turn.hidden = model.get("data").brief;
    drawClocks({ width: d, base: b, column: c, position: i, offset: k });
    column.element.querySelector("input").max = d - 1;
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
    frame.note(model.get("data").brief
      ? `From position ${i} to ${show(i + k, 0)} the hand turns by ${show(k * speed)} radian, ${
        show((k * speed * 180) / Math.PI, 0)} degrees.`
      : `Position ${i}, column ${c}: ${show(P[i][c], 3)}. Offset ${show(k, 0)}.`);
  }
  update(first);
}

export default { render };
