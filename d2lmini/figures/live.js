// PyTorch runs with settings chosen by the reader. A page contains precomputed ones; a running
// notebook computes any other on demand.
import { choice, matrix, show, slider } from "./matrix.js";
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
  const part = same.x
    ? lines({ title: same.y_is, xIs: same.x_is, onReach: (i) => state.set({ at: i }) })
    : matrix({ title: same.title, rowsAre: same.rows_are, columnsAre: same.columns_are,
      onReach: (text) => frame.explain(text) });
  if (!same.x) part.element.classList.add("tall", `by-${same.group}`);
  const frame = figure(model, el, { state, title, controls: inputs.map((c) => c.element),
    parts: [part.element], help });
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
      part.update({ x: same.x, series: run.curves, low: 0, high: same.high ?? Math.max(...all),
        at: now.at, digits: 3 });
      return;
    }
    // Numbers stand in the cells as long as there is room for them.
    const [dense, roomy] = [run.matrix[0].length > 16, run.matrix.length < 6];
    part.element.classList.toggle("dense", dense);
    part.element.classList.toggle("roomy", roomy);
    part.element.classList.toggle("compact", !dense && !roomy);
    const columns = same.columns ?? run.matrix[0].map((_, j) => j % same.group);
    part.update({ rows: same.rows, columns, top: 1, digits: dense ? null : 2,
      value: (i, j) => run.matrix[i][j],
      explain: (i, j) => `${show(run.matrix[i][j], 3)}${
        same.group ? `, of ${same.group_is} ${Math.floor(j / same.group)}` : ""}` });
  }
  update(first);
}

export default { render };
