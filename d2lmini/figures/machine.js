// Chapter 8: a small encoder-decoder; the reader's sentence passes through its blocks.
import { make, show, slider, textField } from "./controls.js";
import { matrix } from "./matrix.js";
import { controlState, figure, isText, player, upTo } from "./frame.js";
import { makeNet, RESERVED, softmax, wordsOf } from "./forward.js";
import { search } from "./search.js";
import { diagram } from "./diagram.js";
import { strangersNote, wordLine } from "./words.js";

const MOST = 5; // maximum number of words

// Explain an entry of the input.
function entering({ shortcut, branch }, i, k, block) {
  if (!shortcut) return `from ${block.from}`;
  return `${show(shortcut[i][k], 3)} from the shortcut + ${show(branch[i][k], 3)} from ${block.from}`;
}

// Explain an entry of the output as a sum: its largest terms, and the number of others.
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

// "Q K^T / √4 and W_o" with subscripts, and with the hues of Q, K, V, their matrices and output
function formula(text) {
  const parts = text.split(/(W_[qkvo]|[QKV](?![a-z])|Y(?= = \[)|[_^]\w+)/u).map((part) => {
    if (/^[QKVY]$/u.test(part)) return make("b", { className: `hue-${part}` }, part);
    if (part.startsWith("W_")) {
      const hue = { q: "Q", k: "K", v: "V", o: "Y" }[part[2]];
      return make("span", { className: `hue-${hue}` }, "W", make("sub", {}, part[2]));
    }
    if (part.startsWith("_")) return make("sub", {}, part.slice(1));
    return part.startsWith("^") ? make("sup", {}, part.slice(1)) : part;
  });
  return make("p", { className: "formula" }, ...parts);
}

function render({ model, el }) {
  const data = model.get("data");
  const { blocks, src_tokens: srcTokens, tgt_tokens: tgtTokens } = data;
  const known = srcTokens.filter((token) => !RESERVED.includes(token));
  const idOf = (word) => srcTokens.indexOf(known.includes(word) ? word : "<unk>");
  const [bos, eos] = ["<bos>", "<eos>"].map((token) => tgtTokens.indexOf(token));
  const net = makeNet(data, model.get("weights"));
  const state = controlState(model, update, { text: isText, block: upTo(blocks.length),
    step: upTo(MOST + 1) });
  const first = state.get();
  let spoken = first.text; // the last text that contained a word

  const write = (value) => state.set({ text: value, step: 0 });
  const text = textField("English", first.text, write);
  text.element.lastChild.size = 14; // five words; known words are listed next to it
  const vocabulary = wordLine("words it knows", { onChoose: (i) => {
    const words = wordsOf(state.get().text);
    // After the end of a sentence, begin a new one.
    write([...(words.at(-1) === "." ? [] : words), known[i]].join(" "));
  } });
  vocabulary.update(known);
  const choose = (block) => {
    playing.stop();
    state.set({ block });
  };
  const step = (by) => choose((state.get().block + by + blocks.length) % blocks.length);
  const back = make("button", { type: "button" }, "Previous block");
  const next = make("button", { type: "button" }, "Next block");
  back.addEventListener("click", () => step(-1));
  next.addEventListener("click", () => step(1));
  const playing = player("Play", 1200, () => state.set({ block: 0 }), () => {
    state.set({ block: state.get().block + 1 });
    return state.get().block < blocks.length - 1;
  });
  const after = slider("Next word after", { min: 0, max: MOST, value: first.step, format: () => "" },
    (value) => state.set({ step: Math.min(value, written.length - 1) }));

  const picture = diagram(blocks, data.brief ? null : choose);
  const about = make("div", { className: "about" });
  const onReach = (said) => frame.explain(said);
  const maps = make("div", { className: "parts looks" });
  const [input, output] = ["input", "output"].map((title) =>
    matrix({ title, rowsAre: "positions", columnsAre: "features", onReach }));
  const all = (m) => m.element.classList.add("compact");
  [input, output].forEach(all);
  // Pointing at a weight highlights the rows of its query and key; other rows are not shown.
  const onLight = (i, j) => {
    const isCross = blocks[state.get().block].part === "cross";
    [...input.element.querySelectorAll("tbody tr")].forEach((row, r) => {
      row.classList.toggle("asks", r === i);
      row.classList.toggle("is-asked", r === j && !isCross);
    });
    output.element.light([output.element.querySelectorAll("tbody tr").length], i);
  };
  let looks = [];
  let written = []; // the input of the decoder; below, with its output
  const words = make("div", { className: "control" }, "It knows", vocabulary.element);
  const writeNext = make("button", { type: "button" }, "Write the next word");
  writeNext.addEventListener("click", () =>
    state.set({ step: Math.min(state.get().step + 1, written.length - 1) }));
  const stepping = data.brief ? [writeNext] : [back, next, playing.element];
  const steps = make("div", { className: "controls" }, ...stepping, after.element);
  const drawing = make("div", { className: "drawing" }, picture.element);
  const frame = figure(model, el, {
    state,
    title: "The machine",
    controls: [text.element, words, steps, about],
    parts: [drawing,
      make("div", { className: "panel" },
        maps, make("div", { className: "parts" }, input.element, output.element))],
    help: "Choose a block, or step from one to the next. Boxes are computed from the bottom up.",
    brief: {
      controls: [text.element, words, steps],
      parts: [drawing],
      help: "Type a sentence, then step from word to word.",
    },
  });

  function update(given) {
    const typed = wordsOf(given.text);
    text.set(given.text);
    if (typed.length) spoken = given.text; // without a word, keep the last sentence
    const words = wordsOf(spoken).slice(0, MOST);
    const ids = [...words.map(idOf), srcTokens.indexOf("<eos>")];
    const source = ids.map((id) => srcTokens[id]);
    const [best] = search(net, net.encode(ids), { bos, eos, numSteps: MOST + 1, beamSize: 1 });
    const targetIds = best.ids.slice(0, -1);
    const trace = [];
    const { logits } = net.decode(targetIds, net.encode(ids, undefined, trace), null, trace);
    written = targetIds.map((id) => tgtTokens[id]);
    const at = Math.min(given.step, written.length - 1);
    // In its small form the figure shows no word before the reader has stepped to it.
    const seen = data.brief ? written.slice(0, at + 1) : written;
    picture.update({ chosen: given.block, source, target: seen, after: written[at],
      likely: softmax(logits[at]).map((p, id) => ({ p, token: tgtTokens[id] }))
        .sort((a, b) => b.p - a.p).slice(0, 4) });

    const block = blocks[given.block];
    const { X, Y, heads = [], inner } = trace[given.block];
    const tokens = block.side === "encoder" ? source : written;
    // A row of the decoder reads one word and writes the next.
    const rows = block.side === "encoder" ? source
      : written.map((token, i) => `${token} → ${tgtTokens[best.ids[i + 1]]}`);
    const columns = (matrix) => matrix[0].map((_, k) => k);
    const idOnly = X[0].length === 1;
    const mark = block.side === "decoder" ? at : null; // the row that writes the next word
    input.element.hidden = heads.length > 0; // room for the weights; it is the output of the block below
    const isOutput = block.part === "output";
    output.element.classList.toggle("dense", isOutput);
    input.update({ mark, heading: idOnly ? "input: ids" : "input X", rows: tokens, columns: columns(X),
      top: idOnly ? Infinity : 3, digits: idOnly ? 0 : 1, value: (i, k) => X[i][k],
      axes: `rows: positions; column${idOnly ? ": the id" : "s: features"}`,
      explain: (i, k) => `${show(X[i][k], idOnly ? 0 : 3)}, ${entering(trace[given.block], i, k, block)}` });
    output.update({ mark, heading: isOutput ? "logits Y" : "output Y", rows: isOutput ? rows : tokens,
      columns: isOutput ? tgtTokens : columns(Y),
      top: isOutput ? 12 : 3, digits: isOutput ? null : 1, value: (i, k) => Y[i][k],
      axes: `rows: positions; columns: ${isOutput ? "words of the vocabulary" : "features"}`,
      explain: (i, k) => `${show(Y[i][k], 3)} = ${leaving(trace[given.block], i, k, block)}${
        isOutput ? `; probability ${show(softmax(Y[i])[k], 3)}` : ""}` });
    // For attention, show the weights.
    const read = block.part === "cross" ? source : tokens;
    if (looks.length !== heads.length) {
      looks = heads.map((_, h) => matrix({ title: `weights A, head ${h}`, rowsAre: "queries",
        columnsAre: "keys", onReach, onLight }));
      looks.forEach(all);
      onLight(); // the weight under the pointer may no longer exist
      maps.replaceChildren(...looks.map((m) => m.element));
    }
    looks.forEach((look, h) => look.update({ mark, rows, columns: read, top: 1,
      value: (i, j) => heads[h].weights[i][j],
      explain: (i, j) => `${show(heads[h].weights[i][j], 4)}, ${heads[h].weights[i][j]
        ? `of the score ${show(heads[h].raw[i][j], 3)}` : "hidden by the mask"}: the share of “${read[j]}” in what “${
        tokens[i]}” gets from head ${h}` }));

    const shape = (matrix) => `(${matrix.length}, ${matrix[0].length})`;
    const by = inner ? ` by way of (${X.length}, ${inner})` : "";
    const memory = block.part === "cross" ? ` and ${shape(trace[picture.top].Y)} from the encoder` : "";
    // A notebook has no pages to link to.
    const link = (to, ...label) => (location.pathname.endsWith(".html")
      ? make("a", { href: to }, ...label) : make("span", {}, ...label));
    about.replaceChildren(
      make("p", {}, make("b", {}, `${block.side}: ${block.name}`), `, ${block.does}.`),
      formula(block.formula),
      make("p", {}, `Shape ${shape(X)}${memory}${by} to ${shape(Y)}, ${
        block.parameters.toLocaleString("en")} parameters; class `,
      link(block.shown, make("code", {}, block.class_name)), ", ",
      link(block.page, `chapter ${block.chapter}`), "."));
    after.element.querySelector("input").max = written.length - 1;
    after.set(at);
    after.element.lastChild.textContent = `“${written[at]}”`;
    const strangers = words.filter((word) => !known.includes(word));
    frame.note(!typed.length ? "Type a sentence, or choose words."
      : typed.length > MOST ? `Only the first ${MOST} words are read.`
        : strangersNote(strangers, known) || (data.brief ? `Written so far: ${seen.slice(1).join(" ") || "nothing"}`
          : `Block ${given.block + 1} of ${blocks.length}, in the order in which they are computed.`));
  }
  update(first);
}

export default { render };
