// Chapter 5: the input features that each head reads.
import { choice, make, show, slider, steady } from "./controls.js";
import { draw } from "./lines.js";
import { matrix } from "./matrix.js";
import { among, between, controlState, figure, upTo } from "./frame.js";
import { attend, linear } from "./forward.js";

// Features above, heads below, and between them a line as thick as what a head reads of a feature.
//
// choose(g) is called for the gth feature. update({ word, values, strength, chosen, notices }):
// strength(h, g) and notices[h] for head h; chosen: the feature that is changed, or null.
function flow(width, choose) {
  const [WIDE, HIGH, CELL, BOX] = [760, 180, 66, 78];
  const at = (i, n) => ((i + 0.5) * WIDE) / n;
  const box = (x, y, half, text, attributes) => draw("g", attributes,
    draw("rect", { x: x - half, y, width: 2 * half, height: 30, rx: 4 }),
    draw("text", { x, y: y + 20, "text-anchor": "middle" }, text));
  const element = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "flow" });
  const update = ({ word, values, strength, chosen, notices }) => {
    const all = (part) => values.flatMap((_, g) => notices.map((_, h) => part(h, g)));
    const wires = all((h, g) => (strength(h, g) === 0 ? [] : [draw("path", {
      class: `wire ${g === chosen ? "changed" : ""}`, "stroke-width": show(1.8 * strength(h, g), 1),
      d: `M${at(g, width)},38 C${at(g, width)},95 ${at(h, notices.length)},85 ${at(h, notices.length)},142`,
    }, draw("title", {}, `head ${h} reads feature ${g}: ${show(strength(h, g))}`))])).flat();
    wires.sort((a, b) => a.classList.contains("changed") - b.classList.contains("changed"));
    const features = values.map((v, g) => {
      const cell = box(at(g, width), 8, CELL / 2, show(v, 1), { role: "button", tabindex: 0,
        "aria-label": `feature ${g} of ${word}`, "aria-pressed": String(g === chosen),
        class: `feature ${g === chosen ? "changed" : ""}` });
      cell.addEventListener("click", () => choose(g));
      cell.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(g);
        element.querySelectorAll(".feature")[g].focus();
      });
      return cell;
    });
    element.replaceChildren(...wires, ...features, ...notices.map((is, h) =>
      box(at(h, notices.length), 142, BOX / 2, `head ${h}`, { class: is ? "changed" : "" })));
  };
  return { element, update };
}

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
  const reads = flow(width, (g) => state.set({ feature: g }));
  const name = make("p", { className: "name" });
  const place = make("div", { className: "heads" });
  const frame = figure(model, el, {
    state,
    title: "Heads",
    controls: [heads, order, feature, amount].map((c) => c.element),
    parts: [make("div", { className: "wide" }, name, reads.element), steady(place, 11)],
    help: "Change a feature, and see which heads notice. A line is as thick as what a head reads.",
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
    const changed = X.map((row, i) => row.map((v, g) => (i === 0 && g === f ? v + a : v)));
    const weightsOf = (input, [q, k, v]) =>
      attend(linear(input, q), linear(input, k), linear(input, v)).weights;
    if (maps.length !== n) {
      maps = names.map((name) => matrix({ title: name, rowsAre: "queries",
        columnsAre: "keys", onReach }));
      maps.forEach((map) => map.element.classList.toggle("compact", n > 4));
      place.classList.toggle("many", n > 4);
      place.style.setProperty("--columns", n);
      place.replaceChildren(...maps.map((m) => m.element));
    }
    const noticed = [];
    maps.forEach((map, h) => {
      const before = weightsOf(X, parts[h]);
      const now = weightsOf(changed, parts[h]);
      const differs = (i, j) => Math.abs(now[i][j] - before[i][j]) > 1e-9;
      const notices = now.some((row, i) => row.some((_, j) => differs(i, j)));
      noticed.push(notices);
      map.update({ rows: words, columns: words, top: 1, value: (i, j) => now[i][j],
        remark: notices && n <= 4 ? ": notices" : "",
        explain: (i, j) => (differs(i, j)
          ? `${show(now[i][j], 3)}; it was ${show(before[i][j], 3)} before the change`
          : `${show(now[i][j], 3)}, as before the change`) });
      map.outline(differs);
      map.element.classList.toggle("notices", notices);
    });
    name.textContent = `The features of “${words[0]}”, and what the heads read`;
    reads.update({ word: words[0], values: changed[0], strength, chosen: a ? f : null, notices: noticed });
    frame.note(a === 0 ? "Nothing is changed yet."
      : `Feature ${f} of “${words[0]}” is changed by ${show(a, 1)}: ${noticed.filter(Boolean).length} of ${n} heads notice.`);
    heads.set(n);
    order.set(way);
    feature.set(f);
    amount.set(a);
  }
  update(first);
}

export default { render };
