// Chapters 5 and 6: one number of one token changes; which positions notice?
import { choice, controlState, figure, matrix, show, slider } from "./matrix.js";
import { layerNorm, linear } from "./forward.js";

// Rows of one sentence are normalised together, each feature over all rows, or each row alone.
const columnsOf = (rows) => rows[0].map((_, k) => rows.map((row) => row[k]));
const NORMS = {
  layer: (X) => X.map((x) => layerNorm(x)),
  batch: (X) => columnsOf(columnsOf(X).map((column) => layerNorm(column))),
  wrong: (X, sentence) => {
    const flat = [...new Set(sentence)].map((s) =>
      layerNorm(X.filter((_, i) => sentence[i] === s).flat()));
    return flat.flatMap((numbers) => Array.from({ length: numbers.length / X[0].length },
      (_, i) => numbers.slice(i * X[0].length, (i + 1) * X[0].length)));
  },
};
const NAMES = {
  ffn: "position-wise feed-forward",
  layer: "add & norm, layer normalisation",
  batch: "add & norm, batch normalisation",
  wrong: "add & norm over steps and features",
};

function render({ model, el }) {
  const { X, Y, positions, sentence, W_1: W1, b_1: b1, W_2: W2, b_2: b2 } = model.get("data");
  const state = controlState(model, update);
  const first = state.get();
  const layer = choice("Layer", NAMES, first.layer, (value) => state.set({ layer: value }));
  const token = choice("Position", Object.fromEntries(positions.map((name, i) => [i, name])),
    first.position, (value) => state.set({ position: Number(value) }));
  const feature = slider("Feature", { min: 0, max: X[0].length - 1, value: first.feature },
    (value) => state.set({ feature: value }));
  const amount = slider("Changed by", { min: -4, max: 4, step: 0.1, value: first.amount,
    format: (v) => show(v, 1) }, (value) => state.set({ amount: value }));
  const onReach = (text) => frame.explain(text);
  const [input, output, change] = ["input X", "output", "change of the output"].map((title) =>
    matrix({ title, rowsAre: "positions", columnsAre: "features", onReach }));
  const frame = figure(model, el, {
    title: "One number changes: who notices?",
    controls: [layer, token, feature, amount].map((c) => c.element),
    parts: [input, output, change].map((m) => m.element),
    help: "Two sentences, a and b. Move the last slider.",
  });

  const apply = (kind, rows) => {
    if (kind !== "ffn") {
      return NORMS[kind](rows.map((x, i) => x.map((v, k) => v + Y[i][k])), sentence);
    }
    return linear(linear(rows, W1, b1).map((row) => row.map((v) => Math.max(0, v))), W2, b2);
  };
  const WHY = {
    ffn: (i) => `computed from ${positions[i]} alone`,
    layer: (i) => `mean and variance are those of ${positions[i]} alone`,
    batch: (i, k) => `mean and variance are those of feature ${k} over all six positions`,
    wrong: (i) => `mean and variance are those of all of sentence ${sentence[i]}`,
  };

  function update({ layer: kind, position: p, feature: f, amount: a }) {
    const changed = X.map((row, i) => row.map((v, k) => (i === p && k === f ? v + a : v)));
    const before = apply(kind, X);
    const after = apply(kind, changed);
    const labels = { rows: positions, columns: X[0].map((_, k) => k), top: 3 };
    const difference = (i, k) => after[i][k] - before[i][k];
    input.update({ ...labels, value: (i, k) => changed[i][k],
      explain: (i, k) => (i === p && k === f && a !== 0
        ? `${show(X[i][k])} + ${show(a, 1)}` : show(X[i][k])) });
    output.update({ ...labels, value: (i, k) => after[i][k],
      explain: (i, k) => `${show(after[i][k], 3)}; ${WHY[kind](i, k)}` });
    change.update({ ...labels, top: 1, value: difference,
      explain: (i, k) => `${show(after[i][k], 3)} − (${show(before[i][k], 3)})` });
    const noticed = positions.filter((_, i) => X[0].some((_, k) => Math.abs(difference(i, k)) > 1e-9));
    const others = noticed.filter((name) => name !== positions[p]);
    frame.note(a === 0 ? "Nothing is changed yet."
      : others.length === 0 ? `Only ${positions[p]} changes.`
        : `${positions[p]} was changed, and with it ${others.join(", ")}.`);
    layer.set(kind);
    token.set(p);
    feature.set(f);
    amount.set(a);
  }
  update(first);
}

export default { render };
