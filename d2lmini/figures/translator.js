// Chapter 9: the trained translator, with all of its attention, from one forward pass.
import {
  checkbox, choice, make, matrix, show, slider, strangersNote, textField,
} from "./matrix.js";
import { among, controlState, each, figure, isText, upTo } from "./frame.js";
import { lossOf, makeNet, normalise, RESERVED, search, wordsOf } from "./forward.js";
import { headPanel } from "./thumbnail.js";
import { arcs } from "./arcs.js";
import { hypotheses } from "./hypotheses.js";
import { completions, wordLine } from "./words.js";

const KINDS = {
  encoder: "encoder self-attention",
  decoder: "decoder self-attention",
  cross: "cross-attention",
};
const VIEWS = { arcs: "arcs", weights: "weights", masked: "masked scores", raw: "raw scores" };
const SHOWN = 5; // words that could have come

function render({ model, el }) {
  const data = model.get("data");
  const { src_tokens: srcTokens, tgt_tokens: tgtTokens, examples, num_steps: numSteps } = data;
  const { num_heads: numHeads, num_layers: numLayers } = data;
  const [unk, bos, eos] = ["<unk>", "<bos>", "<eos>"].map((token) => tgtTokens.indexOf(token));
  const srcIds = new Map(srcTokens.map((token, id) => [token, id]));
  // What is typed is words: "<pad>" among them is one that the net does not know.
  const isKnown = (word) => srcIds.has(word) && !RESERVED.includes(word);
  const vocabulary = srcTokens.filter(isKnown).sort((a, b) => a.localeCompare(b));
  const tgtIds = new Map(tgtTokens.map((token, id) => [token, id]));
  const net = makeNet(data, model.get("weights"));
  const heads = headPanel(KINDS, numLayers, numHeads, (one) => state.set(one));
  const { names } = heads;
  const state = controlState(model, update, {
    text: isText, kind: among(Object.keys(KINDS)), layer: upTo(numLayers), head: upTo(numHeads),
    step: upTo(numSteps), view: among(Object.keys(VIEWS)), padding: upTo(5), beam: among([1, 2, 4]),
    hypothesis: upTo(4), off: each((name) => names.includes(name), 0, names.length) });
  const first = state.get();
  const start = { hypothesis: 0, step: 0 }; // of another sentence, or of another search
  const type = (value) => state.set({ text: value, ...start });
  let now = null; // what is shown
  let pointed = null; // { side, i }, the word under the pointer

  const text = textField("English", first.text, type);
  text.element.classList.add("long");
  const dictionary = wordLine("words it knows", { onChoose: (i) => {
    const { words, complete } = completions(vocabulary, state.get().text);
    type(complete(words[i]));
  } });
  const example = choice("Example", { "": "…", ...Object.fromEntries(examples.map(([en]) => [en, en])) },
    "", (value) => value && type(value));
  const beam = choice("Search", { 1: "greedy", 2: "beam of 2", 4: "beam of 4" }, first.beam,
    (value) => state.set({ beam: Number(value), ...start }));
  const padding = slider("Padding", { min: 0, max: 4, value: first.padding },
    (value) => state.set({ padding: value }));
  const view = choice("Show", VIEWS, first.view, (value) => state.set({ view: value }));
  const isOn = checkbox("This head is on", true, (on) => {
    const { off, kind, layer, head } = state.get();
    const name = `${kind}.${layer}.${head}`;
    state.set({ off: on ? off.filter((other) => other !== name) : [...off, name], hypothesis: 0 });
  });
  const everyHead = make("button", { type: "button" });
  everyHead.addEventListener("click", () => {
    const { off } = state.get();
    state.set({ off: off.length ? [] : names.filter((name) => name.startsWith("cross")),
      hypothesis: 0 });
  });
  const another = make("button", { type: "button" }, "Another");
  another.addEventListener("click", () => {
    const others = examples.filter(([en]) => en !== state.get().text);
    type(others[Math.floor(Math.random() * others.length)]?.[0] ?? state.get().text);
  });

  const pointing = (side) => (i) => {
    pointed = i === null ? null : { side, i };
    drawCurves();
  };
  const sides = {
    read: wordLine("looked at", { onPoint: pointing("read") }),
    written: wordLine("looking", { onPoint: pointing("written"),
      onChoose: (i) => now.kind !== "encoder" && state.set({ step: i }) }),
  };
  const lines = arcs(sides.read.element, sides.written.element);
  new ResizeObserver(() => drawCurves()).observe(lines.element);
  const output = wordLine("French", { onChoose: (i) => state.set({ step: i }) });
  const onReach = (said) => frame.explain(said);
  const map = matrix({ title: "attention", rowsAre: "queries", columnsAre: "keys", onReach });
  const heading = make("p", { className: "name" });
  const stage = make("div", { className: "stage" });
  const beside = hypotheses((n) => state.set({ hypothesis: n, step: 0 }));
  const verdict = make("p", { className: "verdict" });
  const frame = figure(model, el, {
    state,
    title: "The translator of this page",
    controls: [text.element,
      make("div", { className: "control long" }, "It knows",
        make("div", { className: "dictionary" }, dictionary.element)),
      make("div", { className: "control" }, example.element, another), beam.element, padding.element],
    parts: [stage, beside.element,
      verdict,
      make("div", { className: "controls wide" }, view.element, isOn.element, everyHead),
      heads.element],
    help: "Point at a word to see its arcs alone; choose a French word to see what else could have come, and a small map to see another head (a row of them is a layer).",
  });

  function update(given) {
    const all = wordsOf(given.text);
    const tokens = all.slice(0, numSteps - 1);
    const real = tokens.length + 1;
    const pads = Array(given.padding).fill("<pad>");
    const ids = [...tokens.map((token) => (isKnown(token) ? srcIds.get(token) : unk)),
      ...["<eos>", ...pads].map((token) => srcIds.get(token))];
    const encoded = net.encode(ids, new Set(given.off), [], real);
    const found = search(net, encoded, { bos, eos, numSteps, beamSize: given.beam, shown: SHOWN });
    const chosen = Math.min(given.hypothesis, found.length - 1);
    const best = found[chosen];
    const decoded = net.decode(best.ids.slice(0, -1), encoded);
    const written = best.ids.slice(1).map((id) => tgtTokens[id]);
    const step = Math.min(given.step, written.length - 1);
    const reads = best.ids.slice(0, -1).map((id) => tgtTokens[id]);
    const source = [...tokens.map((token) => (isKnown(token) ? token : "<unk>")), "<eos>", ...pads];
    const maps = { encoder: encoded.attention, decoder: decoded.self, cross: decoded.cross };
    now = { ...given, step, source, reads, written, real,
      isEmpty: !tokens.length, ...maps[given.kind][given.layer][given.head],
      columns: given.kind === "decoder" ? reads : source,
      isOff: given.off.includes(`${given.kind}.${given.layer}.${given.head}`) };

    heads.update(maps, now);
    drawStage();
    beside.update({ before: now.isEmpty ? "" : reads.slice(0, step + 1).join(" "), chosen, eos,
      likely: now.isEmpty ? [] : best.alternatives[step].map(({ id, p }) =>
        ({ token: tgtTokens[id], p })),
      found: now.isEmpty || given.beam === 1 ? [] : found,
      textOf: (ids) => ids.map((id) => tgtTokens[id]).join(" ") });
    verdict.textContent = now.isEmpty ? "" : judge(given, ids, encoded, best);
    notes(all, tokens);
    dictionary.update(completions(vocabulary, given.text).words);
    everyHead.textContent = given.off.length
      ? "Switch all heads on" : "Switch off all of cross-attention";
    isOn.set(!now.isOff);
    text.set(given.text);
    beam.set(given.beam);
    padding.set(given.padding);
    view.set(given.view);
    example.set(examples.some(([en]) => en === given.text) ? given.text : "");
  }

  const isHidden = (i, j) => (now.kind === "decoder" ? j > i : j >= now.real);

  function drawStage() {
    const { kind, layer, head, reads, written, source, step, columns, raw, weights, isEmpty } = now;
    heading.textContent = `${KINDS[kind]}, layer ${layer}, head ${head}${
      now.isOff ? " (off: what it fetches counts as 0)" : ""}`;
    // What was written already stays in its place, and so does the focus.
    const parts = now.view === "arcs" ? [heading, lines.element] : [output.element, map.element];
    if (stage.lastChild !== parts[1]) stage.replaceChildren(...parts);
    const lower = kind === "encoder" ? source : written;
    const classOf = (word) => (word === "<unk>" ? "unknown" : "");
    sides.read.update(isEmpty ? [] : columns, { classOf });
    sides.written.update(isEmpty ? [] : lower, { classOf, chosen: kind === "encoder" ? -1 : step });
    output.update(isEmpty ? [] : written, { classOf, chosen: step });
    drawCurves();
    if (now.view === "arcs") return;
    const { value, explain } = cellsOf(raw, weights);
    map.update({ heading: heading.textContent, rows: isEmpty ? [] : kind === "encoder" ? source
      : reads.map((word, t) => `${word} → ${written[t]}`),
      columns: isEmpty ? [] : columns, value, explain, top: now.view === "weights" ? 1 : 6,
      mark: kind === "encoder" ? null : step,
      axes: kind === "encoder" ? "rows: queries; columns: keys"
        : "rows: the word read last → the word written next; columns: keys" });
    map.element.classList.toggle("compact", reads.length > 7 || source.length > 8);
  }

  function drawCurves() {
    const { weights, isEmpty, kind, step } = now;
    const one = pointed ?? (kind === "encoder" ? null : { side: "written", i: step });
    lines.update(isEmpty ? [] : weights, (t, j) =>
      !one || (one.side === "written" ? t : j) === one.i);
    if (pointed) frame.explain(lookOf(pointed));
    else frame.rest();
  }

  function lookOf({ side, i }) {
    const lower = now.kind === "encoder" ? now.source : now.written;
    const [from, to] = side === "written" ? [now.weights[i], now.columns]
      : [now.weights.map((row) => row[i]), lower];
    const best = [...from.keys()].sort((a, b) => from[b] - from[a]).slice(0, 3);
    const named = best.filter((k) => to[k] !== undefined)
      .map((k) => `“${to[k]}” ${show(from[k])}`).join(", ");
    return side === "written" ? `“${lower[i]}” looks at ${named}.`
      : `“${now.columns[i]}” is looked at by ${named}.`;
  }

  function cellsOf(raw, weights) {
    const value = { raw: (i, j) => raw[i][j], weights: (i, j) => weights[i][j],
      masked: (i, j) => (isHidden(i, j) ? -Infinity : raw[i][j]) }[now.view];
    const explain = (i, j) => {
      if (isHidden(i, j) && now.view !== "raw") {
        return `${show(value(i, j), 0)}, hidden: ${now.kind === "decoder" ? "a later word" : "padding"}`;
      }
      if (now.view !== "weights") {
        const root = Math.sqrt(net.headSize);
        return `${show(raw[i][j], 3)} = query · key ${show(raw[i][j] * root, 3)} / √${net.headSize}`;
      }
      const largest = Math.max(...raw[i].filter((_, k) => !isHidden(i, k)));
      const e = Math.exp(raw[i][j] - largest);
      return `${show(weights[i][j], 4)} = ${show(e, 4)} / ${show(e / weights[i][j], 4)}, exp(score − largest) over the sum of the row's`;
    };
    return { value, explain };
  }

  function notes(all, tokens) {
    const said = [];
    const strangers = tokens.filter((token) => !isKnown(token));
    if (!all.length) said.push("Type an English sentence, or choose words.");
    if (all.length > tokens.length) {
      said.push(`The model was trained for ${numSteps - 1} words and marks; the rest is cut.`);
    }
    if (strangers.length) said.push(strangersNote(strangers));
    if (now.off.length) said.push(`${now.off.length} of ${names.length} heads are off.`);
    if (now.view === "masked" && now.kind !== "decoder" && !now.padding) {
      said.push("A sentence alone needs no padding, and so nothing is masked here; add some.");
    }
    frame.note(said.join(" "));
  }

  // The loss of the reference, if the sentence has one, else of what all heads together write.
  function judge(given, ids, encoded, best) {
    const whole = given.off.length ? net.encode(ids, undefined, [], ids.length - given.padding) : encoded;
    const known = examples.find(([en]) => normalise(en) === normalise(given.text));
    const target = known
      ? [bos, ...normalise(known[1]).split(" ").map((t) => tgtIds.get(t) ?? unk), eos]
      : search(net, whole, { bos, eos, numSteps, beamSize: 1 })[0].ids;
    const words = target.slice(1).map((id) => tgtTokens[id]).join(" ");
    const nats = (source) => `${lossOf(net, source, target).toPrecision(2)} nats a token`;
    const before = given.off.length ? `; with all heads ${nats(whole)}` : "";
    const rare = best.ids.includes(unk)
      ? " <unk> in the French stands for a word that is not in its vocabulary." : "";
    const cut = best.ids.at(-1) === eos ? "" : ` Stopped at ${numSteps} words without <eos>.`;
    const what = known ? `Reference: ${words}. Loss: ${nats(encoded)}`
      : `No reference is known. Loss of what all heads together write, ${nats(encoded)}`
        + " (how sure the net is, not how right)";
    return `${what}${before}.${cut}${rare}`;
  }
  update(first);
}

export default { render };
