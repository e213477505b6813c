// Chapter 7: signal and gradient in a deep stack with four wirings.
import { make, show, slider } from "./controls.js";
import { among, between, controlState, figure, upTo } from "./frame.js";
import { lines } from "./lines.js";
import { measured, WIRINGS } from "./stack.js";

const DEPTHS = [2, 6, 12, 18, 32, 50, 100];
const MOST = 6; // powers of ten shown, upwards and downwards
const KINDS = {
  spread: "Signal: how far apart the points are",
  gradient: "Gradient: what comes back, right to left",
};

// After so many layers a signal has come this far up, a gradient this far down.
const passed = (kind, layer, depth) => kind === "spread" ? layer : depth - layer;

function render({ model, el }) {
  const { enter, leave, points, targets, width, brief } = model.get("data");
  const wirings = brief ? WIRINGS.slice(0, 2) : WIRINGS;
  const bytes = model.get("weights"); // layer after layer: integers, where 127 is 1/√width
  const layers = Array.from({ length: bytes.byteLength / width ** 2 }, (_, l) =>
    Array.from({ length: width }, (_, o) => Array.from({ length: width }, (_, k) =>
      bytes.getInt8((l * width + o) * width + k) / 127 / Math.sqrt(width))));
  const state = controlState(model, update, { depth: among(DEPTHS), scale: between(0, 3),
    layer: (v, { depth }) => among(DEPTHS)(depth) && upTo(depth + 1)(v) });
  const first = state.get();
  const depth = slider("Layers", { min: 0, max: DEPTHS.length - 1,
    value: DEPTHS.indexOf(first.depth), format: (i) => String(DEPTHS[i]) },
  (i) => state.set({ depth: DEPTHS[i], layer: DEPTHS[i] }));
  const scale = slider("Initial weights, times the usual", { min: 0, max: 3, step: 0.05,
    value: first.scale, format: (v) => show(v) }, (v) => state.set({ scale: v }));
  const plots = Object.entries(KINDS).map(([kind, title]) => [kind, lines({ title,
    xIs: "layer", onReach: (l) => state.set({ layer: passed(kind, l, state.get().depth) }) })]);
  const drawn = plots.map(([, plot]) => plot.element);
  const totals = make("tbody");
  const row = (cell, texts) => make("tr", {}, ...texts.map((text) => make(cell, {}, text)));
  const frame = figure(model, el, {
    state,
    title: "A deep stack",
    controls: [depth, scale].map((c) => c.element),
    parts: [make("div", { className: "stack tall" }, ...drawn), make("table", { className: "totals" },
      make("thead", {}, row("th", ["all the way", "signal ×", "gradient ×"])), totals)],
    help: "Before any training; axes in powers of ten. Move a marker from layer to layer.",
    brief: { parts: drawn },
  });
  for (const plot of drawn) plot.classList.add("four");
  const number = (log) => {
    if (Math.abs(log) >= MOST) return log < 0 ? `≤ 1e−${MOST}` : `≥ 1e${MOST}`;
    const digits = Math.abs(log) < 3 ? String(Number((10 ** log).toPrecision(2)))
      : (10 ** log).toExponential(0);
    return digits.replace("e+", "e").replace("-", "−");
  };
  let shown = null; // the depth and scale of the current numbers
  let found;

  function update({ depth: n, scale: s, layer: l }) {
    if (shown !== `${n} ${s}`) {
      const net = { enter, leave, layers: layers.slice(0, n), scale: s };
      found = wirings.map((wiring) => measured(wiring, net, points, targets));
      shown = `${n} ${s}`;
    }
    for (const [kind, plot] of plots) {
      const logs = found.map((one) => one[kind].map((v) =>
        Math.max(-MOST, Math.min(MOST, Math.log10(v)))));
      plot.update({ x: logs[0].map((_, i) => i), at: passed(kind, l, n),
        label: number,
        low: -MOST, high: MOST, cut: true,
        series: Object.fromEntries(wirings.map((name, i) => [name, logs[i]])) });
    }
    const times = found.map(({ spread, gradient }) =>
      [spread.at(-1) / spread[0], gradient[0] / gradient.at(-1)].map((r) => number(Math.log10(r))));
    totals.replaceChildren(...wirings.map((name, i) => row("td", [name, ...times[i]])));
    const all = (k) => wirings.map((name, i) => `${name} ${times[i][k]}`).join(", ");
    frame.note(brief ? `All the way up, the signal is multiplied by: ${
      all(0)}. All the way down, the gradient: ${all(1)}.`
      : `${n} layers: what passes all of them, before any training.`);
    depth.set(DEPTHS.indexOf(n));
    scale.set(s);
  }
  update(first);
}

export default { render };
