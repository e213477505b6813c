// Chapter 11: trained translators, with all of their attention, from one forward pass.
import { checkbox, choice, make, show, slider, textField } from "./controls.js";
import { matrix } from "./matrix.js";
import { among, controlState, each, figure, isText, upTo } from "./frame.js";
import { makeNet } from "./forward.js";
import { wordsAndNumbers } from "./weights.js";
import { atOnce, inPortions } from "./search.js";
import { languages } from "./languages.js";
import { translation } from "./translation.js";
import { headPanel } from "./thumbnail.js";
import { arcs } from "./arcs.js";
import { hypotheses } from "./hypotheses.js";
import { dictionary, strangersNote, wordLine } from "./words.js";

const KINDS = {
  encoder: "encoder self-attention",
  decoder: "decoder self-attention",
  cross: "cross-attention",
};
const VIEWS = { arcs: "arcs", weights: "weights", masked: "masked scores", raw: "raw scores" };
const AFRESH = { hypothesis: 0, step: 0 }; // after a new sentence or a new search

function render({ model, el }) {
  const data = model.get("data");
  // For each net: its languages, its examples, and thumbnails of its heads
  const nets = Object.fromEntries(data.nets.map(([name, given]) => {
    const { examples, num_layers: numLayers, num_heads: numHeads } = given;
    const example = choice("Example",
      { "": "…", ...Object.fromEntries(examples.map(([en]) => [en, en])) }, "",
      (value) => value && type(value));
    return [name, { ...given, example, lang: languages(given), net: null,
      heads: headPanel(KINDS, numLayers, numHeads, (one) => state.set(one)) }];
  }));
  const state = controlState(model, update, {
    net: among(Object.keys(nets)), text: isText, kind: among(Object.keys(KINDS)),
    layer: (v, { net }) => upTo(nets[net]?.num_layers)(v),
    head: (v, { net }) => upTo(nets[net]?.num_heads)(v),
    step: (v, { net }) => upTo(nets[net]?.num_steps)(v),
    view: among(Object.keys(VIEWS)), padding: upTo(5), beam: among([1, 2, 4]), hypothesis: upTo(4),
    off: (v, { net }) => each((name) => nets[net]?.heads.names.includes(name), 0, 99)(v) });
  const first = state.get();
  const type = (value) => state.set({ text: value, ...AFRESH });
  const chosenNet = () => nets[state.get().net];
  let now = null; // the translation shown
  let turn = 0; // counts updates, so that a slow one cannot replace a later one

  const which = choice("Network", Object.fromEntries(Object.entries(nets).map(
    ([name, { lang, num_pieces: numPieces }]) => [name, lang.words ? `of this page: ${lang.words.length} words`
      : `large: any word, in ${numPieces.toLocaleString("en")} pieces`])), first.net,
  (net) => state.set({ net, layer: nets[net].num_layers - 1, head: 0, off: [], ...AFRESH }));
  const text = textField("English", first.text, type);
  text.element.classList.add("long");
  const knows = dictionary(type);
  const examples = make("div", { className: "control" });
  const beam = choice("Search", { 1: "greedy", 2: "beam of 2", 4: "beam of 4" }, first.beam,
    (value) => state.set({ beam: Number(value), ...AFRESH }));
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
    state.set({ hypothesis: 0,
      off: off.length ? [] : chosenNet().heads.names.filter((name) => name.startsWith("cross")) });
  });
  const howMany = make("span");
  const banner = make("p", { className: "banner", role: "status" }, howMany, everyHead);
  const another = make("button", { type: "button" }, "Another");
  another.addEventListener("click", () => {
    const others = chosenNet().examples.filter(([en]) => en !== state.get().text);
    type(others[Math.floor(Math.random() * others.length)]?.[0] ?? state.get().text);
  });

  const chooseStep = (i) => now.kind !== "encoder" && state.set({ step: i });
  const lines = arcs({ read: "looked at", written: "looking" }, { onChoose: chooseStep,
    onPoint: (one) => (one ? frame.explain(lookOf(one)) : frame.rest()) });
  const output = wordLine("French", { onChoose: (i) => state.set({ step: i }) });
  const onReach = (said) => frame.explain(said);
  const map = matrix({ title: "attention", rowsAre: "queries", columnsAre: "keys", onReach });
  const heading = make("p", { className: "name" });
  const stage = make("div", { className: "stage" });
  const beside = hypotheses((n) => state.set({ hypothesis: n, step: 0 }));
  const verdict = make("p", { className: "verdict" });
  const heads = make("div", { className: "wide" });
  const frame = figure(model, el, {
    state,
    noteLines: 2,
    title: "Inside the translator",
    controls: [...(Object.keys(nets).length > 1 ? [which.element] : []), text.element,
      knows.element, examples, beam.element, padding.element, view.element, isOn.element],
    parts: [banner, stage, beside.element, verdict, heads],
    help: "Point at a word to see its arcs alone; choose a French word to see what else could have come, and a small map to see another head (a row of them is a layer).",
  });

  function update(given) {
    turn += 1;
    const [mine, one] = [turn, nets[given.net]];
    follow(given, one);
    if (given.net === "small") { // immediately, at each keystroke
      one.net ??= makeNet(one, model.get("weights"));
      exhibit(given, one, atOnce(translation(one.net, one.lang, one.examples, given)));
    } else translateLater(given, one, () => turn === mine);
  }

  async function translateLater(given, one, isWanted) {
    try {
      const bytes = await model.get("large");
      if (!one.net) {
        const { words, numbers } = wordsAndNumbers(bytes);
        one.lang = languages({ ...one, ...words });
        one.net = makeNet(one, numbers);
      }
    } catch {
      frame.note("The large network could not be read; what was shown last stays.");
      return;
    }
    const made = await inPortions(translation(one.net, one.lang, one.examples, given), isWanted);
    if (made) exhibit(given, one, made);
  }

  // Set the controls to the state.
  function follow(given, one) {
    if (examples.firstChild !== one.example.element) { // the net has changed
      examples.replaceChildren(one.example.element, another);
      heads.replaceChildren(one.heads.element);
      knows.element.style.visibility = one.lang.words ? "" : "hidden"; // keeps its line
    }
    knows.update(one.lang.words ?? [], given.text);
    const [off, all] = [given.off.length, one.heads.names.length];
    howMany.textContent = off ? `${off} of ${all} heads are off.` : `All ${all} heads are on.`;
    banner.classList.toggle("warns", off > 0);
    everyHead.textContent = off ? "Switch all heads on" : "Switch off all of cross-attention";
    isOn.set(!given.off.includes(`${given.kind}.${given.layer}.${given.head}`));
    which.set(given.net);
    text.set(given.text);
    beam.set(given.beam);
    padding.set(given.padding);
    view.set(given.view);
    one.example.set(one.examples.some(([en]) => en === given.text) ? given.text : "");
  }

  function exhibit(given, one, made) {
    const { source, reads, written, maps, best, found, chosen, isEmpty, verdict: judged } = made;
    const { lang } = one;
    const step = Math.min(given.step, written.length - 1);
    now = { ...given, ...made, lang, step, headSize: one.net.headSize,
      ...maps[given.kind][given.layer][given.head],
      columns: given.kind === "decoder" ? reads : source.tokens };
    one.heads.update(maps, now);
    drawStage();
    beside.update({ before: isEmpty ? "" : lang.textOf(reads.slice(0, step + 1)), chosen,
      likely: isEmpty ? [] : best.alternatives[step].map(({ id, p }) =>
        ({ token: lang.alone(...lang.write([id])), p })),
      found: isEmpty || given.beam === 1 ? [] : found, eos: lang.ends.eos,
      textOf: (ids) => lang.textOf(lang.write(ids)) });
    verdict.textContent = judged;
    notes();
  }

  const isHidden = (i, j) => (now.kind === "decoder" ? j > i : j >= now.source.real);

  function drawStage() {
    const { kind, layer, head, source, step, lang, isEmpty, view: way, off } = now;
    heading.textContent = `${KINDS[kind]}, layer ${layer}, head ${head}${
      off.includes(`${kind}.${layer}.${head}`) ? " (off: what it fetches counts as 0)" : ""}`;
    // Elements already in place stay there, and keep the focus.
    const parts = way === "arcs" ? [heading, lines.element] : [output.element, map.element];
    if (stage.lastChild !== parts[1]) stage.replaceChildren(...parts);
    const [columns, reads, written] = isEmpty ? [[], [], []] : [now.columns, now.reads, now.written];
    const { shown, classOf } = lang;
    lines.update({ shown, classOf, read: columns, written: kind === "encoder" && !isEmpty ? source.tokens : written,
      weights: isEmpty ? [] : now.weights, chosen: kind === "encoder" ? -1 : step });
    output.update(written.map(shown), { classOf: (_, i) => classOf(written[i]), chosen: step });
    if (way === "arcs") return;
    const names = (tokens) => tokens.map(lang.alone);
    map.update({ heading: heading.textContent, columns: names(columns), ...cells(),
      rows: kind === "encoder" && !isEmpty ? names(source.tokens)
        : names(reads).map((word, t) => `${word} → ${lang.alone(written[t])}`),
      top: way === "weights" ? 1 : 6, mark: kind === "encoder" ? null : step,
      axes: kind === "encoder" ? "rows: queries; columns: keys"
        : "rows: the word read last → the word written next; columns: keys" });
    map.element.classList.toggle("compact", reads.length > 7 || source.tokens.length > 8);
  }

  function lookOf({ side, i }) {
    const { kind, weights, columns, source, written, lang } = now;
    const lower = kind === "encoder" ? source.tokens : written;
    const [from, to] = side === "written" ? [weights[i], columns] : [weights.map((row) => row[i]), lower];
    const best = [...from.keys()].sort((a, b) => from[b] - from[a]).slice(0, 3);
    const named = best.filter((k) => to[k] !== undefined)
      .map((k) => `“${lang.shown(to[k])}” ${show(from[k])}`).join(", ");
    return side === "written" ? `“${lang.shown(lower[i])}” looks at ${named}.`
      : `“${lang.shown(columns[i])}” is looked at by ${named}.`;
  }

  function cells() {
    const { raw, weights, view: way, kind, headSize } = now;
    const value = { raw: (i, j) => raw[i][j], weights: (i, j) => weights[i][j],
      masked: (i, j) => (isHidden(i, j) ? -Infinity : raw[i][j]) }[way];
    const explain = (i, j) => {
      if (isHidden(i, j) && way !== "raw") {
        return `${show(value(i, j), 0)}, hidden: ${kind === "decoder" ? "a later word" : "padding"}`;
      }
      if (way !== "weights") {
        return `${show(raw[i][j], 3)} = query · key ${
          show(raw[i][j] * Math.sqrt(headSize), 3)} / √${headSize}`;
      }
      const largest = Math.max(...raw[i].filter((_, k) => !isHidden(i, k)));
      const e = Math.exp(raw[i][j] - largest);
      return `${show(weights[i][j], 4)} = ${show(e, 4)} / ${show(e / weights[i][j], 4)}, exp(score − largest) over the sum of the row's`;
    };
    return { value, explain };
  }

  function notes() {
    const { source, isEmpty, lang, view: way, kind, padding: pads } = now;
    const said = [];
    if (isEmpty) said.push("Type an English sentence, or choose words.");
    if (source.isCut) {
      said.push(`The model was trained for ${lang.ends.numSteps - 1} tokens; the rest is cut.`);
    }
    if (source.strangers.length) said.push(strangersNote(source.strangers, lang.words ?? []));
    if (way === "masked" && kind !== "decoder" && !pads) {
      said.push("A sentence alone needs no padding, and so nothing is masked here; add some.");
    }
    frame.note(said.join(" "));
  }
  update(first);
}

export default { render };
