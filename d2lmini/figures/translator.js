// Chapter 9: the trained translator, with all of its attention, from one forward pass.
import { checkbox, choice, make, matrix, show, slider, textField } from "./matrix.js";
import { among, controlState, each, figure, isText, upTo } from "./frame.js";
import { lossOf, makeNet, normalise, RESERVED, search, wordsOf } from "./forward.js";
import { thumbnail } from "./thumbnail.js";

const KINDS = {
  encoder: "encoder self-attention",
  decoder: "decoder self-attention",
  cross: "cross-attention",
};
const VIEWS = { raw: "raw scores", masked: "masked scores", weights: "weights" };

function render({ model, el }) {
  const data = model.get("data");
  const { src_tokens: srcTokens, tgt_tokens: tgtTokens, examples, num_steps: numSteps } = data;
  const { num_heads: numHeads, num_layers: numLayers } = data;
  const [unk, bos, eos] = ["<unk>", "<bos>", "<eos>"].map((token) => tgtTokens.indexOf(token));
  const srcIds = new Map(srcTokens.map((token, id) => [token, id]));
  // What is typed is words: "<pad>" among them is one that the net does not know.
  const isKnown = (word) => srcIds.has(word) && !RESERVED.includes(word);
  const tgtIds = new Map(tgtTokens.map((token, id) => [token, id]));
  const net = makeNet(data, model.get("weights"));
  const names = Object.keys(KINDS).flatMap((kind) =>
    Array.from({ length: numLayers * numHeads }, (_, n) =>
      `${kind}.${Math.floor(n / numHeads)}.${n % numHeads}`));
  const state = controlState(model, update, {
    text: isText, kind: among(Object.keys(KINDS)), layer: upTo(numLayers), head: upTo(numHeads),
    step: upTo(numSteps), view: among(Object.keys(VIEWS)), padding: upTo(5), beam: among([1, 2, 4]),
    hypothesis: upTo(4), off: each((name) => names.includes(name), 0, names.length) });
  const first = state.get();
  const start = { hypothesis: 0, step: 0 }; // of another sentence, or of another search
  let spoken = first.text; // the last text that had a word in it

  const text = textField("English", first.text, (value) => state.set({ text: value, ...start }));
  const example = choice("Example", { "": "…", ...Object.fromEntries(examples.map(([en]) => [en, en])) },
    "", (value) => value && state.set({ text: value, ...start }));
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
  const thumbnails = names.map((name) => {
    const [kind, layer, head] = name.split(".");
    return thumbnail(`${KINDS[kind]}, layer ${layer}, head ${head}`, () =>
      state.set({ kind, layer: Number(layer), head: Number(head) }));
  });
  const source = make("p", { className: "tokens" });
  const output = make("p", { className: "tokens" });
  const verdict = make("p");
  const ranking = make("p");
  const others = make("ol", { className: "hypotheses" });
  const alternatives = matrix({ title: "what could have come", rowsAre: "step",
    columnsAre: "the most probable words",
    onReach: (said) => frame.explain(said) });
  const map = matrix({ title: "attention", rowsAre: "queries", columnsAre: "keys",
    onReach: (said) => frame.explain(said) });
  const groups = Object.entries(KINDS).map(([kind, label]) =>
    make("div", { className: "group" }, make("p", { className: "caption" }, label),
      make("div", { className: "thumbnails", style: `--columns: ${numHeads}` },
        ...thumbnails.filter((_, n) => names[n].startsWith(kind)).map((t) => t.element))));
  const frame = figure(model, el, {
    state,
    title: "The translator of this page",
    controls: [text.element, example.element, padding.element, beam.element],
    parts: [
      make("div", { className: "wide" }, source, output, verdict, ranking, others),
      alternatives.element,
      make("div", { className: "wide groups" }, ...groups),
      make("div", { className: "stack" },
        make("div", { className: "controls" }, view.element, isOn.element, everyHead), map.element),
    ],
    help: "Choose a French word to see what else could have come; choose a small map to see it whole (a row of them is a layer).",
  });

  // What was read, and what had to be left out of it.
  function read(typed) {
    const all = wordsOf(typed);
    const tokens = all.slice(0, numSteps - 1);
    const strangers = tokens.filter((token) => !isKnown(token));
    const notes = [];
    if (!all.length) notes.push("Type an English sentence.");
    if (all.length > tokens.length) {
      notes.push(`The model was trained for ${numSteps - 1} words and marks; the rest is cut.`);
    }
    if (strangers.length) {
      notes.push(`Not in the vocabulary, read as <unk>: ${
        strangers.map((token) => [...token].slice(0, 20).join("")
          + ([...token].length > 20 ? "…" : "")).join(", ")}.`);
    }
    return { tokens, note: notes.join(" ") };
  }

  function update(given) {
    const { tokens: typed, note } = read(given.text);
    text.set(given.text);
    if (typed.length) spoken = given.text;
    const now = { ...given, text: spoken }; // without a word, the last translation stays
    const { tokens } = read(spoken);
    const real = tokens.length + 1;
    const pads = Array(now.padding).fill("<pad>");
    const ids = [...tokens.map((token) => (isKnown(token) ? srcIds.get(token) : unk)),
      ...["<eos>", ...pads].map((token) => srcIds.get(token))];
    const encoded = net.encode(ids, new Set(now.off), [], real);
    const found = search(net, encoded, { bos, eos, numSteps, beamSize: now.beam });
    const chosen = Math.min(now.hypothesis, found.length - 1);
    const best = found[chosen];
    const decoded = net.decode(best.ids.slice(0, -1), encoded);
    const written = best.ids.slice(1).map((id) => tgtTokens[id]);
    const step = Math.min(now.step, written.length - 1);

    const sourceLabels = [...tokens.map((token) => (isKnown(token) ? token : "<unk>")), "<eos>", ...pads];
    const targetLabels = best.ids.slice(0, -1).map((id) => tgtTokens[id]);
    source.replaceChildren("English: ", ...sourceLabels.flatMap((label) => [
      make("span", { className: label === "<unk>" ? "token unknown" : "token" }, label), " "]));
    output.replaceChildren("French: ", ...written.flatMap((token, t) => {
      const button = make("button", { type: "button", 
        className: token === "<unk>" ? "token unknown" : "token",
        "aria-pressed": String(t === step) }, token);
      button.addEventListener("click", () => {
        state.set({ step: t });
        output.querySelectorAll("button")[t].focus();
      });
      return [button, " "];
    }));
    verdict.textContent = judge(now, ids, encoded, best);
    others.replaceChildren(...(now.beam > 1 ? found : []).map((hypothesis, n) => {
      const button = make("button", { type: "button", "aria-pressed": String(n === chosen) },
        hypothesis.ids.slice(1).map((id) => tgtTokens[id]).join(" "));
      button.addEventListener("click", () => {
        state.set({ hypothesis: n, step: 0 });
        others.querySelectorAll("button")[n].focus();
      });
      const ended = hypothesis.ids.at(-1) === eos;
      return make("li", {}, button, ` ${show(-hypothesis.logProb / (hypothesis.ids.length - 1), 3)
        } nats a token${ended ? "" : ", not ended"}; probability ${show(Math.exp(hypothesis.logProb), 4)}`);
    }));
    ranking.textContent = now.beam > 1
      ? "Hypotheses, ended ones first, by nats a token; choose one to see its attention" : "";

    const likely = best.alternatives[step];
    alternatives.update({ rows: [`step ${step}`], columns: likely.map(({ id }) => tgtTokens[id]),
      top: 1, digits: 4, value: (i, j) => likely[j].p, explain: (i, j) =>
        `the probability of “${tgtTokens[likely[j].id]}” after “${
          targetLabels.slice(0, step + 1).join(" ")}”: ${show(likely[j].p, 4)}` });

    const labels = { encoder: [sourceLabels, sourceLabels], decoder: [targetLabels, targetLabels],
      cross: [targetLabels, sourceLabels] };
    const maps = { encoder: encoded.attention, decoder: decoded.self, cross: decoded.cross };
    thumbnails.forEach((small, n) => {
      const [kind, layer, head] = names[n].split(".");
      small.update(maps[kind][layer][head].weights, {
        chosen: kind === now.kind && Number(layer) === now.layer && Number(head) === now.head,
        off: now.off.includes(names[n]), row: kind === "encoder" ? null : step });
    });
    const { raw, weights } = maps[now.kind][now.layer][now.head];
    const [rows, columns] = labels[now.kind];
    const hidden = (i, j) => (now.kind === "decoder" ? j > i : j >= real);
    const value = {
      raw: (i, j) => raw[i][j],
      masked: (i, j) => (hidden(i, j) ? -Infinity : raw[i][j]),
      weights: (i, j) => weights[i][j],
    }[now.view];
    const isOff = now.off.includes(`${now.kind}.${now.layer}.${now.head}`);
    map.update({ heading: `${KINDS[now.kind]}, layer ${now.layer}, head ${now.head}`,
      remark: isOff ? " (off: what it fetches counts as 0)" : "", rows, columns, value,
      mark: now.kind === "encoder" ? null : step, top: now.view === "weights" ? 1 : 6,
      axes: now.kind === "encoder" ? "rows: queries; columns: keys"
        : `rows: the word read last, with which the next is decided (marked: “${written[step]}”); columns: keys`,
      explain: (i, j) => {
        if (hidden(i, j) && now.view !== "raw") {
          return `${show(value(i, j), 0)}, hidden: ${now.kind === "decoder" ? "a later word" : "padding"}`;
        }
        const root = Math.sqrt(net.headSize);
        if (now.view !== "weights") {
          return `${show(raw[i][j], 3)} = query · key ${show(raw[i][j] * root, 3)} / √${net.headSize}`;
        }
        const largest = Math.max(...raw[i].filter((_, k) => !hidden(i, k)));
        const e = Math.exp(raw[i][j] - largest);
        return `${show(weights[i][j], 4)} = ${show(e, 4)} / ${show(e / weights[i][j], 4)}, exp(score − largest) over the sum of the row's`;
      } });
    frame.note(note || (now.view === "masked" && now.kind !== "decoder" && !now.padding
      ? "A sentence alone needs no padding, and so nothing is masked here; add some." : ""));
    everyHead.textContent = now.off.length
      ? "Switch all heads on" : "Switch off all of cross-attention";
    isOn.set(!isOff);
    beam.set(now.beam);
    padding.set(now.padding);
    view.set(now.view);
    example.set(examples.some(([en]) => en === now.text) ? now.text : "");
  }

  // The loss of the reference, if the sentence has one, else of what all heads together write.
  function judge(now, ids, encoded, best) {
    const whole = now.off.length ? net.encode(ids, undefined, [], ids.length - now.padding) : encoded;
    const known = examples.find(([en]) => normalise(en) === normalise(now.text));
    const target = known
      ? [bos, ...normalise(known[1]).split(" ").map((t) => tgtIds.get(t) ?? unk), eos]
      : search(net, whole, { bos, eos, numSteps, beamSize: 1 })[0].ids;
    const words = target.slice(1).map((id) => tgtTokens[id]).join(" ");
    const nats = (source) => `${lossOf(net, source, target).toPrecision(2)} nats a token`;
    const before = now.off.length ? `; with all heads ${nats(whole)}` : "";
    const offs = now.off.length ? ` Heads that are off: ${now.off.length}.` : "";
    const rare = best.ids.includes(unk)
      ? " <unk> in the French stands for a word that is not in its vocabulary." : "";
    const cut = best.ids.at(-1) === eos ? "" : ` Stopped at ${numSteps} words without <eos>.`;
    const what = known ? `Reference: ${words}. Loss: ${nats(encoded)}`
      : `No reference is known. Loss of what all heads together write, ${nats(encoded)}`
        + " (how sure the net is, not how right)";
    return `${what}${before}.${offs}${cut}${rare}`;
  }
  update(first);
}

export default { render };
