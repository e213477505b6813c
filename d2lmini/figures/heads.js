// Chapter 5: the input features that each head reads.
import { choice, make, show, slider, steady } from "./controls.js";
import { matrix } from "./matrix.js";
import { among, between, controlState, figure, upTo } from "./frame.js";
import { attend, linear } from "./forward.js";

function render({ model, el }) {
  const { words, X, W_q: Wq, W_k: Wk, W_v: Wv } = model.get("data");
  const width = X[0].length;
  const state = controlState(model, update, { num_heads: among([1, 2, 4, 8]),
    order: among(["project", "split", "own"]), feature: upTo(width), amount: between(-3, 3) });
  const first = state.get();
  const heads = choice("Heads", { 1: 1, 2: 2, 4: 4, 8: 8 }, first.num_heads,
    (value) => state.set({ num_heads: Number(value) }));
  const order = choice("Order", {
    project: "project, then split", own: "split, a matrix for each head",
    split: "split, one matrix for all heads",
  }, first.order, (value) => state.set({ order: value }));
  const feature = slider("Feature of the first word", { min: 0, max: width - 1, value: first.feature },
    (value) => state.set({ feature: value }));
  const amount = slider("changed by", { min: -3, max: 3, step: 0.1, value: first.amount,
    format: (v) => show(v, 1) }, (value) => state.set({ amount: value }));
  const onReach = (text) => frame.explain(text);
  const reads = matrix({ title: "what a head reads", rowsAre: "heads",
    columnsAre: "features of the input", onReach });
  const place = make("div", { className: "heads" });
  const frame = figure(model, el, {
    state,
    title: "Heads",
    controls: [heads, order, feature, amount].map((c) => c.element),
    parts: [make("div", { className: "wide stretched" }, steady(reads.element, 15.3)), steady(place, 20)],
    help: "Change a feature, and see which heads notice.",
  });
  let maps = [];

  // The rows of W for head h: all their columns, only those of the head's own slice, or the same
  // small matrix on the slice of each head.
  const part = (W, h, size, way) => {
    const start = h * size;
    const [first, shift] = way === "split" ? [0, start] : [start, 0];
    return W.slice(first, first + size).map((row) =>
      row.map((w, f) => (way === "project" ? w : Math.floor(f / size) === h ? row[f - shift] : 0)));
  };

  function update({ num_heads: n, order: way, feature: f, amount: a }) {
    const size = width / n;
    const parts = Array.from({ length: n }, (_, h) =>
      [Wq, Wk, Wv].map((W) => part(W, h, size, way)));
    const names = parts.map((_, h) => `head ${h}`);
    const strength = (h, g) => Math.sqrt(parts[h].reduce((sum, W) =>
      sum + W.reduce((inner, row) => inner + row[g] ** 2, 0), 0));
    const read = names.map((_, h) => X[0].filter((_, g) => strength(h, g) > 0).length);
    reads.update({ rows: names, columns: X[0].map((_, g) => g), top: 2, digits: 1, value: strength,
      markColumn: a ? f : null,
      explain: (h, g) => (strength(h, g) > 0
        ? `${show(strength(h, g))}, the length of what feature ${g} adds to query, key and value; `
          + `head ${h} reads ${read[h]} of ${width} features`
        : `0: feature ${g} lies outside the slice of head ${h}`) });
    const changed = X.map((row, i) => row.map((v, g) => (i === 0 && g === f ? v + a : v)));
    const weightsOf = (input, [q, k, v]) =>
      attend(linear(input, q), linear(input, k), linear(input, v)).weights;
    if (maps.length !== n) {
      maps = names.map((name) => matrix({ title: name, rowsAre: "queries",
        columnsAre: "keys", onReach }));
      maps.forEach((map) => map.element.classList.toggle("compact", n > 4));
      place.classList.toggle("many", n > 4);
      place.replaceChildren(...maps.map((m) => m.element));
    }
    let noticing = 0;
    maps.forEach((map, h) => {
      const before = weightsOf(X, parts[h]);
      const now = weightsOf(changed, parts[h]);
      const differs = (i, j) => Math.abs(now[i][j] - before[i][j]) > 1e-9;
      const notices = now.some((row, i) => row.some((_, j) => differs(i, j)));
      noticing += notices;
      map.update({ rows: words, columns: words, top: 1, value: (i, j) => now[i][j],
        remark: notices ? ": notices" : "",
        explain: (i, j) => (differs(i, j)
          ? `${show(now[i][j], 3)}; it was ${show(before[i][j], 3)} before the change`
          : `${show(now[i][j], 3)}, as before the change`) });
      map.outline(differs);
      map.element.classList.toggle("notices", notices);
    });
    frame.note(a === 0 ? "Nothing is changed yet."
      : `Feature ${f} of “${words[0]}” is changed by ${show(a, 1)}: ${noticing} of ${n} heads notice.`);
    heads.set(n);
    order.set(way);
    feature.set(f);
    amount.set(a);
  }
  update(first);
}

export default { render };
