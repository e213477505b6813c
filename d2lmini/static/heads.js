// Chapter 4: which features of its input does a head read?
import { choice, controlState, figure, make, matrix, show, slider } from "./matrix.js";
import { attend, linear } from "./forward.js";

function render({ model, el }) {
  const { words, X, W_q: Wq, W_k: Wk, W_v: Wv } = model.get("data");
  const width = X[0].length;
  const state = controlState(model, update);
  const first = state.get();
  const heads = choice("Heads", { 1: 1, 2: 2, 4: 4, 8: 8 }, first.num_heads,
    (value) => state.set({ num_heads: Number(value) }));
  const order = choice("Order", {
    project: "project, then split", split: "split, then project",
  }, first.order, (value) => state.set({ order: value }));
  const feature = slider("Change feature", { min: 0, max: width - 1, value: first.feature },
    (value) => state.set({ feature: value }));
  const amount = slider("of the first word by", { min: -3, max: 3, step: 0.1, value: first.amount,
    format: (v) => show(v, 1) }, (value) => state.set({ amount: value }));
  const onReach = (text) => frame.explain(text);
  const reads = matrix({ title: "what a head reads", rowsAre: "heads",
    columnsAre: "features of the input", onReach });
  const place = make("div", { className: "parts" });
  const frame = figure(model, el, {
    title: "Heads: who reads which features?",
    controls: [heads, order, feature, amount].map((c) => c.element),
    parts: [reads.element, place],
    help: "Change a feature, and see which heads notice.",
  });
  let maps = [];

  // Rows of a weight that make the output of head h; of their columns those that it reads.
  const part = (W, h, size, whole) => W.slice(h * size, (h + 1) * size).map((row) =>
    row.map((w, f) => (whole || Math.floor(f / size) === h ? w : 0)));

  function update({ num_heads: n, order: way, feature: f, amount: a }) {
    const size = width / n;
    const whole = way === "project";
    const parts = Array.from({ length: n }, (_, h) =>
      [Wq, Wk, Wv].map((W) => part(W, h, size, whole)));
    const names = parts.map((_, h) => `head ${h}`);
    const strength = (h, g) => Math.sqrt(parts[h].reduce((sum, W) =>
      sum + W.reduce((inner, row) => inner + row[g] ** 2, 0), 0));
    const read = names.map((_, h) => X[0].filter((_, g) => strength(h, g) > 0).length);
    reads.update({ rows: names, columns: X[0].map((_, g) => g), top: 2, digits: 1, value: strength,
      explain: (h, g) => (strength(h, g) > 0
        ? `${show(strength(h, g))}, the length of what feature ${g} adds to query, key and value; `
          + `head ${h} reads ${read[h]} of ${width} features`
        : `0: feature ${g} lies outside the slice of head ${h}`) });
    const changed = X.map((row, i) => row.map((v, g) => (i === 0 && g === f ? v + a : v)));
    const weightsOf = (input, [q, k, v]) =>
      attend(linear(input, q), linear(input, k), linear(input, v)).weights;
    if (maps.length !== n) {
      maps = names.map((name) => matrix({ title: `weights, ${name}`, rowsAre: "queries",
        columnsAre: "keys", onReach }));
      place.replaceChildren(...maps.map((m) => m.element));
    }
    const moved = maps.map((map, h) => {
      const before = weightsOf(X, parts[h]);
      const now = weightsOf(changed, parts[h]);
      const differs = (i, j) => Math.abs(now[i][j] - before[i][j]) > 1e-9;
      map.update({ rows: words, columns: words, top: 1, value: (i, j) => now[i][j],
        explain: (i, j) => (differs(i, j)
          ? `${show(now[i][j], 3)}; it was ${show(before[i][j], 3)} before the change`
          : `${show(now[i][j], 3)}, as before the change`) });
      return before.some((row, i) => row.some((_, j) => differs(i, j)));
    });
    const noticed = moved.filter(Boolean).length;
    frame.note(a === 0 ? "Nothing is changed yet."
      : `Feature ${f} changed by ${show(a, 1)}: the weights of ${noticed} of ${n} ${
        n === 1 ? "head" : "heads"} moved.`);
    heads.set(n);
    order.set(way);
    feature.set(f);
    amount.set(a);
  }
  update(first);
}

export default { render };
