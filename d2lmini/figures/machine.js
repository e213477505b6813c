// Chapter 7: the whole encoder-decoder; a sentence steps through its blocks.
import { choice, make, matrix, show } from "./matrix.js";
import { controlState, figure, upTo } from "./frame.js";
import { makeNet } from "./forward.js";
import { draw } from "./lines.js";

const SPAN = 620;
const ROW = 46;

// What a number of the input is made of.
function entering({ shortcut, branch }, i, k, block) {
  if (!shortcut) return `from ${block.from}`;
  return `${show(shortcut[i][k], 3)} from the shortcut + ${show(branch[i][k], 3)} from ${block.from}`;
}

// The sum that a number of the output is: its largest terms, and how many more there are.
function leaving({ X, Y, terms, gain, bias }, i, k, block) {
  if (gain) {
    const mean = X[i].reduce((sum, v) => sum + v) / X[i].length;
    const variance = X[i].reduce((sum, v) => sum + (v - mean) ** 2, 0) / X[i].length;
    return `(${show(X[i][k], 3)} − mean ${show(mean, 3)}) / √(variance ${
      show(variance, 3)}) · ${show(gain[k], 2)} + ${show(bias[k], 2)}`;
  }
  const all = terms(i, k).filter((term) => term !== 0);
  const largest = all.sort((a, b) => Math.abs(b) - Math.abs(a)).slice(0, 3);
  const rest = all.length > 3 ? ` + ${all.length - 3} smaller ones` : "";
  const sum = largest.map((term) => (term < 0 ? ` − ${show(-term, 3)}` : ` + ${show(term, 3)}`)).join("");
  return `${sum.replace(/^ \+ /, "").replace(/^ − /, "−")}${rest}: ${block.sums}`;
}

function render({ model, el }) {
  const data = model.get("data");
  const { blocks, sentences } = data;
  const net = makeNet(data, model.get("weights"));
  const state = controlState(model, update, { block: upTo(blocks.length),
    sentence: upTo(sentences.length) });
  const first = state.get();
  const pair = choice("Sentence", Object.fromEntries(sentences.map((s, i) => [i, s.source.join(" ")])),
    first.sentence, (i) => state.set({ sentence: Number(i) }));
  const step = (by) => state.set({
    block: (state.get().block + by + blocks.length) % blocks.length });
  const back = make("button", { type: "button" }, "Previous block");
  const next = make("button", { type: "button" }, "Next block");
  back.addEventListener("click", () => step(-1));
  next.addEventListener("click", () => step(1));

  // Encoder on the left, decoder on the right; both from the bottom upwards, as in the preface.
  const rows = { encoder: 0, decoder: 0 };
  const places = blocks.map(({ side }) => ({ side, row: rows[side]++ }));
  const height = Math.max(...Object.values(rows)) * ROW + 10;
  const middle = { encoder: SPAN * 0.24, decoder: SPAN * 0.76 };
  const y = ({ row }) => height - (row + 1) * ROW;
  const boxes = blocks.map((block, n) => {
    const place = places[n];
    const box = draw("g", { role: "button", tabindex: 0, class: `block ${block.kind}`,
      "aria-label": `${block.side}: ${block.name}` },
    draw("rect", { x: middle[place.side] - 125, y: y(place), width: 250, height: ROW - 14, rx: 5 }),
    draw("text", { x: middle[place.side], y: y(place) + 20, "text-anchor": "middle" }, block.name));
    const choose = () => state.set({ block: n });
    box.addEventListener("click", choose);
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    });
    return box;
  });
  const head = (x, tip, dx, dy) => draw("path", { class: "head",
    d: `M${x},${tip} l${-6 * dx - 4 * dy},${6 * dy - 4 * dx} l${8 * dy},${8 * dx} z` });
  const arrows = blocks.flatMap((_, n) => {
    const [x, tip] = [middle[places[n].side], y(places[n]) + ROW - 14];
    return places[n].row === 0 ? [] : [
      draw("line", { class: "arrow", x1: x, x2: x, y1: tip + 14, y2: tip }), head(x, tip, 0, 1)];
  });
  const top = blocks.map((b) => b.side).lastIndexOf("encoder");
  const cross = blocks.flatMap((block, n) => (block.part !== "cross" ? [] : [
    draw("polyline", { class: "arrow", points: [
      [middle.encoder + 125, y(places[top]) + 16], [SPAN / 2, y(places[top]) + 16],
      [SPAN / 2, y(places[n]) + 16], [middle.decoder - 125, y(places[n]) + 16]].join(" ") }),
    head(middle.decoder - 125, y(places[n]) + 16, 1, 0)]));
  // Around each part, from its input to the add & norm above it: the shortcut.
  const shortcuts = blocks.flatMap(({ kind }, n) => {
    if (kind !== "addnorm") return [];
    const x = middle[places[n].side] + (places[n].side === "encoder" ? -125 : 125);
    const out = x + (places[n].side === "encoder" ? -16 : 16);
    const [from, to] = [y(places[n - 1]) + ROW - 7, y(places[n]) + 16];
    return [draw("polyline", { class: "arrow", points: [[middle[places[n].side], from], [out, from],
      [out, to], [x, to]].join(" ") }), head(x, to, places[n].side === "encoder" ? 1 : -1, 0)];
  });
  const picture = draw("svg", { viewBox: `0 0 ${SPAN} ${height}`, class: "machine" },
    ...arrows, ...cross, ...shortcuts, ...boxes);

  const about = make("p");
  const onReach = (text) => frame.explain(text);
  const maps = make("div", { className: "wide parts" });
  let looks = [];
  const [input, output] = ["input", "output"].map((title) =>
    matrix({ title, rowsAre: "positions", columnsAre: "features", onReach }));
  const frame = figure(model, el, {
    state,
    title: "The machine",
    controls: [pair.element, back, next],
    parts: [make("div", { className: "wide scrolls" }, picture),
      make("div", { className: "wide" }, about), input.element, output.element, maps],
    help: "Choose a block, or step from one to the next.",
  });

  function update({ sentence, block: n }) {
    const { source, target, source_ids: sourceIds, target_ids: targetIds } = sentences[sentence];
    const trace = [];
    net.decode(targetIds, net.encode(sourceIds, undefined, trace), null, trace);
    const block = blocks[n];
    const tokens = block.side === "encoder" ? source : target;
    const { X, Y } = trace[n];
    const wide = Y[0].length > 16;
    const columns = (matrix) => matrix[0].map((_, k) => k);
    const idOnly = X[0].length === 1;
    input.update({ heading: idOnly ? "input: ids" : "input", rows: tokens, columns: columns(X),
      top: idOnly ? 1000 : 3, digits: idOnly ? 0 : 1, value: (i, k) => X[i][k],
      axes: `rows: positions; column${idOnly ? ": the id" : "s: features"}`,
      explain: (i, k) => `${show(X[i][k], idOnly ? 0 : 3)}, ${entering(trace[n], i, k, block)}` });
    output.update({ rows: tokens, columns: block.part === "output" ? data.tgt_tokens : columns(Y),
      top: 3, digits: 1, value: (i, k) => Y[i][k],
      axes: `rows: positions; columns: ${block.part === "output" ? "words of the vocabulary" : "features"}`,
      explain: (i, k) => `${show(Y[i][k], 3)} = ${leaving(trace[n], i, k, block)}` });
    output.element.classList.toggle("wide", wide);
    const shape = (matrix) => `(${matrix.length}, ${matrix[0].length})`;
    // An attention shows where it looks.
    const heads = trace[n].heads ?? [];
    const read = block.part === "cross" ? source : tokens;
    if (looks.length !== heads.length) {
      looks = heads.map((_, h) => matrix({ title: `weights, head ${h}`, rowsAre: "queries",
        columnsAre: "keys", onReach }));
      maps.replaceChildren(...looks.map((m) => m.element));
    }
    looks.forEach((look, h) => look.update({ rows: tokens, columns: read, top: 1,
      value: (i, j) => heads[h].weights[i][j],
      explain: (i, j) => `${show(heads[h].weights[i][j], 4)}, the share of “${read[j]}” in what “${
        tokens[i]}” gets from head ${h}` }));
    const inner = block.kind === "ffn" ? ` by way of (${X.length}, ${trace[n].inner})` : "";
    const memory = block.part === "cross" ? ` and ${shape(trace[top].Y)} from the encoder` : "";
    // In a notebook there are no pages to go to.
    const link = (to, ...text) => (location.pathname.endsWith(".html")
      ? make("a", { href: to }, ...text) : make("span", {}, ...text));
    about.replaceChildren(make("b", {}, `${block.side}: ${block.name}`), `, ${block.does}. `,
      `Shape ${shape(X)}${memory}${inner} to ${shape(Y)}, ${
        block.parameters.toLocaleString("en")} parameters; `,
      "class ", link(block.shown, make("code", {}, block.class_name)), ", ",
      link(block.page, `chapter ${block.chapter}`), ".");
    boxes.forEach((box, i) => box.setAttribute("aria-pressed", String(i === n)));
    // On a narrow screen the picture is wider than its place; bring the chosen side into it.
    const place = picture.parentElement;
    place.scrollLeft = (picture.clientWidth * middle[block.side]) / SPAN - place.clientWidth / 2;
    pair.set(sentence);
    frame.note(`Block ${n + 1} of ${blocks.length}, in the order in which they are computed.`);
  }
  update(first);
}

export default { render };
