// Chapters 6 and 7: which positions does a change of one token's vector affect?
import { choice, make, show, slider } from "./controls.js";
import { matrix } from "./matrix.js";
import { among, between, controlState, each, figure, upTo } from "./frame.js";
import { layerNorm, linear } from "./forward.js";

// Normalise the rows of a sentence together, each feature over all rows, or each row alone.
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
// Whether entry (r, c) of the input enters the output (i, k).
const ENTER = {
  ffn: (_, i) => (r) => r === i,
  layer: (_, i) => (r) => r === i,
  batch: (_, i, k) => (r, c) => c === k,
  wrong: (sentence, i) => (r) => sentence[r] === sentence[i],
};
const NAMES = {
  ffn: "position-wise feed-forward",
  layer: "add & norm, layer normalisation",
  batch: "add & norm, batch normalisation",
  wrong: "add & norm over steps and features",
};

function render({ model, el }) {
  const { X, Y, positions, sentence, W_1: W1, b_1: b1, W_2: W2, b_2: b2 } = model.get("data");
  const state = controlState(model, update, { layer: among(Object.keys(NAMES)),
    position: upTo(positions.length), amounts: each(between(-4, 4), X[0].length) });
  const first = state.get();
  const layer = choice("Layer", NAMES, first.layer, (value) => state.set({ layer: value }));
  const token = choice("Position", Object.fromEntries(positions.map((name, i) => [i, name])),
    first.position, (value) => state.set({ position: Number(value) }));
  const amounts = X[0].map((_, k) => slider(`Add to feature ${k}`, { min: -4, max: 4, step: 0.1,
    value: first.amounts[k], format: (v) => show(v, 1) }, (value) =>
    state.set({ amounts: state.get().amounts.map((v, f) => (f === k ? value : v)) })));
  const onReach = (text) => frame.explain(text);
  const shown = { rowsAre: "positions", columnsAre: "features", onReach };
  // In the input, frame the numbers from which the output that is pointed at is computed.
  const onLight = (i = state.get().position, k = 0) => input.outline(ENTER[state.get().layer](sentence, i, k));
  const input = matrix({ title: "input", ...shown });
  const output = matrix({ title: "output", ...shown, onLight });
  const change = matrix({ title: "change of the output", ...shown, onLight });
  const frame = figure(model, el, {
    state,
    title: "Which numbers enter the mean",
    controls: [layer, token, ...amounts].map((c) => c.element),
    parts: [make("div", { className: "wide large" }, ...[input, output, change].map((m) => m.element))],
    help: "Framed: the inputs that enter an output; point at another output to see its own.",
  });

  const apply = (kind, rows) => {
    if (kind !== "ffn") {
      return NORMS[kind](rows.map((x, i) => x.map((v, k) => v + Y[i][k])), sentence);
    }
    return linear(linear(rows, W1, b1).map((row) => row.map((v) => Math.max(0, v))), W2, b2);
  };
  // The group whose mean and variance normalise entry (i, k) of the sums, and its name.
  const groups = {
    layer: (sums, i) => [sums[i], `${positions[i]} alone`],
    batch: (sums, i, k) => [sums.map((row) => row[k]), `feature ${k} over all six positions`],
    wrong: (sums, i) => [sums.filter((_, n) => sentence[n] === sentence[i]).flat(),
      `all of sentence ${sentence[i]}`],
  };
  const why = (kind, rows, i, k) => {
    if (kind === "ffn") {
      const [hidden] = linear([rows[i]], W1, b1);
      return `a sum over the ${hidden.filter((v) => v > 0).length} of ${hidden.length} hidden units `
        + `that ${positions[i]} wakes, and a bias; from ${positions[i]} alone`;
    }
    const [group, name] = groups[kind](rows, i, k);
    const mean = group.reduce((sum, v) => sum + v) / group.length;
    const variance = group.reduce((sum, v) => sum + (v - mean) ** 2, 0) / group.length;
    return `(${show(rows[i][k])} − mean ${show(mean)}) / √(variance ${show(variance)}), mean and variance of ${name}`;
  };

  function update({ layer: kind, position: p, amounts: a }) {
    const changed = X.map((row, i) => row.map((v, k) => (i === p ? v + a[k] : v)));
    const before = apply(kind, X);
    const after = apply(kind, changed);
    const labels = { rows: positions, columns: X[0].map((_, k) => k), top: 3 };
    const difference = (i, k) => after[i][k] - before[i][k];
    const added = kind === "ffn" ? 0 : 1; // 1 if there is a Y to add
    const entering = changed.map((row, i) => row.map((v, k) => v + added * Y[i][k]));
    const own = (i, k) => (i === p && a[k] !== 0
      ? `${show(X[i][k])} and ${show(a[k], 1)} more` : show(X[i][k]));
    input.update({ ...labels, mark: p, heading: added ? "input X + Y" : "input X",
      value: (i, k) => entering[i][k],
      explain: (i, k) => (added ? `${show(entering[i][k])}: x is ${own(i, k)}, and y is ${
        show(Y[i][k])}, which stays as it is` : own(i, k)) });
    output.update({ ...labels, mark: p, value: (i, k) => after[i][k],
      explain: (i, k) => `${show(after[i][k], 3)} = ${why(kind, entering, i, k)}` });
    change.update({ ...labels, mark: p, top: 1, value: difference,
      explain: (i, k) => `${show(after[i][k], 3)} − (${show(before[i][k], 3)})` });
    onLight();
    const noticed = positions.filter((_, i) => X[0].some((_, k) => Math.abs(difference(i, k)) > 1e-9));
    const others = noticed.filter((name) => name !== positions[p]);
    const last = noticed.length === 0 ? "no output notices."
      : others.length === 0 ? "no other output notices."
        : `the output changes at ${noticed.join(", ")}.`;
    frame.note(a.every((v) => v === 0) ? "Nothing is changed yet."
      : `${positions[p]} was changed: ${last}`);
    layer.set(kind);
    token.set(p);
    amounts.forEach((control, k) => control.set(a[k]));
  }
  update(first);
}

export default { render };
