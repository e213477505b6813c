// Chapter 6: the hidden units of a network as lines in the plane, and a token that activates them.
import { checkbox, choice, make, show, slider } from "./controls.js";
import { matrix } from "./matrix.js";
import { between, controlState, each, figure, isFlag, upTo } from "./frame.js";
import { draw, movable } from "./lines.js";

const [LOW, HIGH] = [-0.5, 1.5]; // range of both features in the picture
const MIDDLE = (LOW + HIGH) / 2;
const CELLS = 25; // per side of the picture
const CORNERS = [[0, 0], [0, 1], [1, 0], [1, 1]];
const PARTS = ["key a", "key b", "bias", "value"];

// An output of a network with one hidden layer: for each unit, the sum and, after the ReLU, the weight
// of its value; and the matrix for this token alone, from the active units.
function look([a, b], units, relu) {
  const sums = units.map(([ka, kb, bias]) => ka * a + kb * b + bias);
  const awake = sums.map((sum) => !relu || sum > 0);
  const weights = sums.map((sum, i) => (awake[i] ? sum : 0));
  const output = units.reduce((sum, unit, i) => sum + weights[i] * unit[3], 0);
  const own = [0, 1, 2].map((k) =>
    units.reduce((sum, unit, i) => sum + (awake[i] ? unit[k] * unit[3] : 0), 0));
  return { sums, awake, weights, output, own };
}

// Where the line ka a + kb b + bias = 0 meets the border of the picture: two points, or none
function ends([ka, kb, bias]) {
  const meets = [LOW, HIGH].flatMap((at) => [
    ...(kb ? [[at, -(ka * at + bias) / kb]] : []), ...(ka ? [[-(kb * at + bias) / ka, at]] : [])]);
  const inside = meets.filter((point) => point.every((v) => v >= LOW - 1e-9 && v <= HIGH + 1e-9));
  const far = inside.map(([x, y]) => Math.hypot(x - inside[0][0], y - inside[0][1]));
  const furthest = Math.max(0, ...far);
  return furthest > 1e-6 ? [inside[0], inside[far.indexOf(furthest)]] : [];
}

function render({ model, el }) {
  const { wanted, brief } = model.get("data");
  const state = controlState(model, update, { token: each(between(LOW, HIGH), 2),
    units: each(each(between(-3, 3), 4), 3), unit: upTo(3), relu: isFlag });
  const first = state.get();
  const names = first.units.map((_, i) => `unit ${i}`);
  const relu = checkbox("ReLU", first.relu, (on) => state.set({ relu: on }));
  const which = choice("Change", Object.fromEntries(names.map((name, i) => [i, name])), first.unit,
    (i) => state.set({ unit: Number(i) }));
  const parts = PARTS.map((name, k) => slider(name, { min: -3, max: 3, step: 0.1,
    value: first.units[first.unit][k], format: (v) => show(v, 1) }, (v) => {
    const { units, unit } = state.get();
    state.set({ units: units.map((u, i) => (i === unit ? u.with(k, v) : u)) });
  }));
  const onReach = (text) => frame.explain(text);
  const [table, own, answers] = [["units", "hidden units", "their parts"],
    ["the matrix of this token", "output", "features, and 1"],
    ["answers", "", "the four tokens"]].map(([title, rowsAre, columnsAre]) =>
    matrix({ title, rowsAre, columnsAre, onReach }));
  const size = (HIGH - LOW) / CELLS;
  const middles = Array.from({ length: CELLS ** 2 }, (_, n) =>
    [n % CELLS, Math.floor(n / CELLS)].map((i) => LOW + (i + 0.5) * size));
  const at = ([a, b]) => [a - MIDDLE, MIDDLE - b]; // in the svg, with the origin at its centre
  const cells = middles.map((point) => {
    const [x, y] = at(point);
    return draw("rect", { x: x - size / 2, y: y - size / 2, width: size, height: size,
      "shape-rendering": "crispEdges" });
  });
  const minus = draw("path", { stroke: "currentColor", "stroke-width": 0.008 }); // for readers without colour
  const over = draw("g");
  const plane = draw("svg", { viewBox: `${LOW - MIDDLE} ${LOW - MIDDLE} ${HIGH - LOW} ${HIGH - LOW}`,
    class: "plane units", tabindex: 0, role: "application" }, draw("g", {}, ...cells), minus, over);
  const where = make("div", { className: "lines" },
    make("p", { className: "caption" }, "Drag the token, or move it with the arrow keys."),
    plane, make("p", { className: "axes" }, ...names.flatMap((name, i) => [
      make("span", { className: `key curve-${i}` }), name, "; "]), "dashed: asleep"));
  const frame = figure(model, el, {
    state,
    title: "Units that wake and sleep",
    controls: [which, ...parts, relu].map((c) => c.element),
    parts: [
      where,
      make("div", { className: "stack" }, table.element, own.element, answers.element),
    ],
    help: "Blue: the output, up to 1; orange, with minus signs: below 0. A line is where a unit "
      + "wakes, its tick on the awake side. Strong colour: tokens that share this one's matrix.",
    brief: {
      controls: [relu.element],
      parts: [where, answers.element],
      help: "Blue: the output, up to 1; orange, with minus signs: below 0. A line is where one of "
        + "three units wakes, its tick on the awake side. Only the four corners are asked.",
    },
  });
  const moveTo = (a, b) => state.set({ token: [a, b].map((v) =>
    Math.round(Math.max(LOW, Math.min(HIGH, v)) * 20) / 20) });
  movable(plane, plane, { reach: (HIGH - LOW) / 2, step: 0.05,
    to: (x, y) => moveTo(x + MIDDLE, y + MIDDLE),
    by: (da, db) => {
      const [a, b] = state.get().token;
      moveTo(a + da, b + db);
    } });

  function lineOf(unit, i, isAwake) {
    const found = ends(unit);
    if (!found.length) return [];
    const [[x1, y1], [x2, y2]] = found.map(at);
    const long = Math.hypot(unit[0], unit[1]);
    const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2];
    const kind = `unit curve-${i} ${isAwake ? "" : "asleep"}`;
    return [draw("line", { class: kind, x1, y1, x2, y2 }),
      draw("line", { class: `unit curve-${i}`, x1: mx, y1: my,
        x2: mx + (0.1 * unit[0]) / long, y2: my - (0.1 * unit[1]) / long }),
      draw("text", { "text-anchor": "middle", // its number at the end of the tick
        x: mx + (0.17 * unit[0]) / long, y: my - (0.17 * unit[1]) / long + 0.03 }, String(i))];
  }

  function update({ token, units, unit, relu: bends }) {
    const here = look(token, units, bends);
    const below = []; // a sign in every third cell of every third row
    middles.forEach((point, n) => {
      const there = look(point, units, bends);
      const [left, top] = at(point).map((v) => v.toFixed(3));
      const has = [n % CELLS, Math.floor(n / CELLS)].every((i) => i % 3 === 1);
      if (has && there.output < -0.05) below.push(`M${left - 0.02} ${top}h0.04`);
      const same = brief || there.awake.every((v, i) => v === here.awake[i]);
      cells[n].setAttribute("class", there.output < 0 ? "negative" : "positive");
      cells[n].setAttribute("fill-opacity",
        (Math.min(1, Math.abs(there.output)) * (same ? 0.75 : 0.35)).toFixed(3));
    });
    minus.setAttribute("d", below.join(""));
    const [x, y] = at(token);
    over.replaceChildren(
      ...units.flatMap((one, i) => lineOf(one, i, here.awake[i])),
      ...CORNERS.flatMap((corner, n) => {
        const [cx, cy] = at(corner);
        return [draw("circle", { class: wanted[n] ? "ring" : "hollow", cx, cy, r: 0.035 }),
          draw("text", { x: cx + 0.05, y: cy + 0.11 }, `(${corner.join(", ")})`)];
      }),
      draw("circle", { class: "handle", cx: x, cy: y, r: 0.05 }),
    );
    plane.setAttribute("aria-label", `The token at ${show(token[0])}, ${show(token[1])}; the output ${
      show(here.output)}`);
    const columns = ["key a", "key b", "bias", "sum", "weight", "value"];
    const row = (i) => [...units[i].slice(0, 3), here.sums[i], here.weights[i], units[i][3]];
    const [a, b] = token.map((v) => show(v));
    table.update({ rows: names, columns, top: 2, mark: unit, value: (i, j) => row(i)[j],
      explain: (i, j) => `${show(row(i)[j])}${[": what the unit multiplies a by",
        ": what it multiplies b by", ": what it adds", ` = ${show(units[i][0])} · ${a} + ${
          show(units[i][1])} · ${b} + ${show(units[i][2])}`, here.awake[i]
          ? ": it is awake, and its value counts so many times" : ": the sum is not positive; it sleeps",
        `: what it writes; its part of the output is ${show(here.weights[i] * units[i][3])}`][j]}` });
    own.update({ rows: ["output"], columns: ["a", "b", "1"], top: 2, value: (_, k) => here.own[k],
      explain: (_, k) => `${show(here.own[k])}: from the units that are awake, ${["key a", "key b",
        "bias"][k]} times value, added up` });
    const given = CORNERS.map((corner) => look(corner, units, bends).output);
    const error = given.reduce((sum, v, n) => sum + (v - wanted[n]) ** 2, 0) / given.length;
    answers.update({ rows: ["output"], columns: CORNERS.map((c) => c.join("")), top: 1,
      axes: `wanted: ${wanted.join(", ")}; mean squared error ${show(error)}`,
      value: (_, n) => given[n], explain: (_, n) => `${show(given[n])}; wanted is ${wanted[n]}` });
    const who = names.filter((_, i) => here.awake[i]);
    const plus = (v) => `${v < 0 ? "−" : "+"} ${show(Math.abs(v))}`;
    frame.note(`Awake: ${who.join(", ") || "none"}. The output is ${show(here.own[0])} a ${
      plus(here.own[1])} b ${plus(here.own[2])} = ${show(here.output)}.`);
    which.set(unit);
    relu.set(bends);
    parts.forEach((part, k) => part.set(units[unit][k]));
  }
  update(first);
}

export default { render };
