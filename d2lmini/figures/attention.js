// Chapters 1 and 4: a query among keys in the plane; weights, output and entropy follow.
import { checkbox, choice, hued, make, show, slider } from "./controls.js";
import { matrix } from "./matrix.js";
import { among, between, controlState, each, figure, isFlag } from "./frame.js";
import { dot, softmax, weightedSum } from "./forward.js";
import { draw, lines, movable } from "./lines.js";

const SIDE = 3; // the plane extends from -SIDE to SIDE
const SIZES = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const length = (v) => Math.sqrt(dot(v, v));

// Similarity, and how it was computed, in words. A dot product of d_k random features has a typical
// size of sqrt(d_k); the plane has two features, so its products are multiplied by sqrt(d_k / 2).
const SIMILARITIES = {
  dot: (q, k, { d_k: d, scaled, plain }) => {
    if (plain) return [dot(q, k), product(q, k)];
    const factor = Math.sqrt(d / 2) / (scaled ? Math.sqrt(d) : 1);
    const value = dot(q, k) * factor;
    const over = scaled ? ` / √${d}` : "";
    return [value, `(${product(q, k)}) · √(${d}/2)${over}`];
  },
  cosine: (q, k) => {
    const lengths = length(q) * length(k);
    return lengths
      ? [dot(q, k) / lengths, `(${product(q, k)}) / (${show(length(q))} · ${show(length(k))})`]
      : [0, "a query of length 0 has no direction; its cosine is taken as 0"];
  },
  additive: (q, k) => [2 * Math.tanh(q[0] + k[0]) + 2 * Math.tanh(q[1] + k[1]),
    `2 tanh(${show(q[0])} + ${show(k[0])}) + 2 tanh(${show(q[1])} + ${show(k[1])})`],
};
const product = (q, k) => `${show(q[0])} · ${show(k[0])} + ${show(q[1])} · ${show(k[1])}`;

// In nats, with 0 ln 0 = 0
const entropy = (weights) => -weights.reduce((sum, p) => sum + (p > 0 ? p * Math.log(p) : 0), 0);

function render({ model, el }) {
  const { words, keys, plain } = model.get("data");
  const state = controlState(model, update, {
    query: each(between(-SIDE, SIDE), 2), similarity: among(Object.keys(SIMILARITIES)),
    scaled: isFlag, d_k: among(SIZES) });
  const first = state.get();
  const kind = choice("Similarity", { dot: "dot product", cosine: "cosine", additive: "additive" },
    first.similarity, (value) => state.set({ similarity: value }));
  const scaled = checkbox("Divided by √d_k", first.scaled, (value) => state.set({ scaled: value }));
  const size = slider("d_k", { min: 0, max: SIZES.length - 1, value: SIZES.indexOf(first.d_k),
    format: (i) => String(SIZES[i]) }, (i) => state.set({ d_k: SIZES[i] }));
  const onReach = (text) => frame.explain(text);
  // Highlight the query and the key of a score or weight in the plane.
  const onLight = (_, j) => standOut(j === undefined ? null : `.query, [data-key="${j}"]`);
  const scores = matrix({ title: "scores", rowsAre: "query", columnsAre: "keys", onReach, onLight });
  const weights = matrix({ title: "weights", rowsAre: "query", columnsAre: "keys", onReach, onLight });
  const output = matrix({ title: "output", rowsAre: "query", columnsAre: "features", onReach,
    onLight: (i) => standOut(i === undefined ? null : ".output") });
  const spread = lines({ title: "Entropy of the weights, by d_k", xIs: "d_k",
    onReach: (i) => state.set({ d_k: SIZES[i] }) });
  const plane = draw("svg", { viewBox: `${-SIDE} ${-SIDE} ${2 * SIDE} ${2 * SIDE}`, tabindex: 0,
    role: "application", class: "plane asked" });
  const asking = make("div", { className: "lines" },
    make("p", { className: "caption" }, "Drag the query, or move it with the arrow keys."),
    plane,
    make("p", { className: "axes" }, ...hued("line: query; dots: keys; square: output")));
  const result = model.get("data").brief ? [] : [output.element];
  const stack = make("div", { className: "stack alike" }, scores.element, weights.element, ...result);
  const frame = figure(model, el, {
    state,
    title: plain ? "A query among keys" : "The square root",
    controls: (plain ? [kind] : [kind, scaled, size]).map((c) => c.element),
    parts: [
      asking,
      stack,
      ...(plain ? [] : [spread.element]),
    ],
    help: "A key's area is its weight. The values are the keys; the square is the output.",
    brief: {
      controls: [scaled, size].map((c) => c.element),
      parts: [asking, stack],
    },
  });

  const moveTo = (x, y) => state.set({
    query: [x, y].map((v) => Math.round(Math.max(-SIDE, Math.min(SIDE, v)) * 20) / 20) });
  movable(plane, plane, { reach: SIDE, step: 0.1, to: moveTo, by: (dx, dy) => {
    const [x, y] = state.get().query;
    moveTo(x + dx, y + dy);
  } });

  let outstanding = null;
  function standOut(what) {
    outstanding = what;
    for (const part of plane.querySelectorAll(".at")) part.classList.remove("at");
    if (what) for (const part of plane.querySelectorAll(what)) part.classList.add("at");
  }
  plane.addEventListener("pointerover", ({ target }) => {
    const key = target.closest("[data-key]");
    if (key) weights.point(0, Number(key.dataset.key));
    else weights.point();
  });
  plane.addEventListener("pointerleave", () => weights.point());

  function update(now) {
    const { query: q, similarity, d_k: d } = now;
    const compared = keys.map((k) => SIMILARITIES[similarity](q, k, { ...now, plain }));
    const raw = compared.map(([value]) => value);
    const p = softmax(raw);
    const mean = weightedSum(p, keys);
    const labels = { rows: ["query"], columns: words };
    scores.update({ ...labels, top: 6, value: (i, j) => raw[j],
      explain: (i, j) => `${compared[j][1]} = ${show(raw[j])}` });
    weights.update({ ...labels, top: 1, value: (i, j) => p[j],
      explain: (i, j) => `exp(${show(raw[j])}) / (${
        raw.map((s) => `exp(${show(s)})`).join(" + ")}) = ${show(p[j])}` });
    output.update({ rows: ["query"], columns: ["x", "y"], top: SIDE, value: (i, j) => mean[j],
      explain: (i, j) => `${
        p.map((w, n) => `${show(w)} · ${show(keys[n][j])}`).join(" + ")} = ${show(mean[j])}` });
    const curve = (divide) => SIZES.map((size) => entropy(softmax(keys.map((k) =>
      SIMILARITIES[similarity](q, k, { d_k: size, scaled: divide })[0]))));
    spread.update({ x: SIZES, low: 0, high: Math.log(keys.length), at: SIZES.indexOf(d),
      series: { "not divided": curve(false), divided: curve(true) } });
    plane.replaceChildren(
      draw("line", { class: "axis", x1: -SIDE, x2: SIDE, y1: 0, y2: 0 }),
      draw("line", { class: "axis", y1: -SIDE, y2: SIDE, x1: 0, x2: 0 }),
      ...keys.map(([x, y], n) => draw("g", { "data-key": n },
        draw("circle", { fill: "transparent", cx: x, cy: -y, r: 0.3 }), // a larger target for the pointer
        draw("circle", { class: "ring", cx: x, cy: -y, r: 0.07 }),
        draw("circle", { class: "weight", cx: x, cy: -y, r: (0.5 * Math.sqrt(p[n])).toFixed(3) }),
        draw("text", { x: x + 0.12, y: -y - 0.14 }, words[n]))),
      draw("line", { class: "query", x1: 0, y1: 0, x2: q[0], y2: -q[1] }),
      draw("circle", { class: "handle", cx: q[0], cy: -q[1], r: 0.13 }),
      draw("rect", { class: "output", x: mean[0] - 0.1, y: -mean[1] - 0.1, width: 0.2, height: 0.2 }),
    );
    standOut(outstanding);
    plane.setAttribute("aria-label", `The query at ${show(q[0])}, ${show(q[1])}; the largest weight, ${
      show(Math.max(...p))}, is that of ${words[p.indexOf(Math.max(...p))]}`);
    for (const control of [scaled, size]) control.disable(similarity !== "dot");
    // Other similarities do not depend on d_k. Hidden, it keeps its space.
    spread.element.style.visibility = similarity === "dot" ? "" : "hidden";
    kind.set(similarity);
    scaled.set(now.scaled);
    size.set(SIZES.indexOf(d));
  }
  update(first);
}

export default { render };
