// PyTorch runs with settings chosen by the reader. A page contains precomputed ones; a running
// notebook computes any other on demand.
import { choice, make, show, slider } from "./controls.js";
import { matrix } from "./matrix.js";
import { among, controlState, figure, upTo } from "./frame.js";
import { lines } from "./lines.js";

function render({ model, el }) {
  const { title, help, controls, same } = model.get("data");
  const runs = () => model.get("runs");
  const canRun = typeof model.send === "function"; // a page has no kernel
  const offered = controls.map(({ values, ready }) =>
    values.filter((v) => canRun || ready.includes(v)));
  const rules = Object.fromEntries(controls.map(({ name }, i) => [name, among(offered[i])]));
  const state = controlState(model, update, same.x ? { ...rules, at: upTo(same.x.length) } : rules);
  const first = state.get();
  const inputs = controls.map(({ name, description }, i) => {
    const values = offered[i];
    const at = values.indexOf(first[name]);
    const set = (n) => state.set({ [name]: values[n] });
    return values.length > 4
      ? slider(description, { min: 0, max: values.length - 1, value: at,
        format: (n) => String(values[n]) }, set)
      : choice(description, Object.fromEntries(values.map((v, n) => [n, v])), at, set);
  });
  const curves = same.x
    && lines({ title: same.y_is, xIs: same.x_is, onReach: (i) => state.set({ at: i }) });
  // A matrix for each group of columns, side by side
  const row = make("div", { className: same.group ? "panels grouped" : "panels" });
  const legend = make("p", { className: "axes" }, same.group
    ? `rows: ${same.rows_are}; columns: ${same.columns_are}; colours: 0 to 1` : "");
  const panels = [];
  const panel = (g) => (panels[g] ??= matrix({ title: same.title, rowsAre: same.rows_are,
    columnsAre: same.columns_are, onReach: (text) => frame.explain(text) }));
  const frame = figure(model, el, { state, title, controls: inputs.map((c) => c.element),
    parts: [curves ? curves.element : make("div", { className: "wide" }, row, legend)], help });
  model.on("change:runs", () => update(state.get()));

  function update(now) {
    const places = controls.map(({ name, values }) => values.indexOf(now[name]));
    inputs.forEach((input, i) => input.set(offered[i].indexOf(now[controls[i].name])));
    const run = runs()[places.join(" ")];
    if (!run) {
      frame.note("Computing …");
      return;
    }
    frame.note(run.note);
    if (same.x) {
      const all = Object.values(runs()).flatMap(({ curves }) => Object.values(curves).flat());
      curves.update({ x: same.x, series: run.curves, low: 0, high: same.high ?? Math.max(...all),
        at: now.at, digits: same.digits ?? 3 });
      return;
    }
    const columns = same.columns ?? Array.from({ length: same.group }, (_, j) => j);
    const groups = run.matrix[0].length / columns.length;
    row.style.setProperty("--groups", groups);
    row.replaceChildren(...Array.from({ length: groups }, (_, g) => panel(g).element));
    panels.slice(0, groups).forEach(({ element, update: draw }, g) => {
      element.classList.toggle("roomy", run.matrix.length < 6);
      draw({ rows: same.rows, columns, top: 1,
        digits: groups > 4 ? null : 2, // there is no room for numbers
        heading: same.group ? `${same.group_is} ${g}` : same.title,
        value: (i, j) => run.matrix[i][g * columns.length + j],
        explain: (i, j) => show(run.matrix[i][g * columns.length + j], 3) });
    });
  }
  update(first);
}

export default { render };
