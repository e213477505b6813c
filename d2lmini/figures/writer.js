// Chapter 15: a small language model writes, and its cache grows.
import { choice, make, show, slider, steady, textField } from "./controls.js";
import { matrix } from "./matrix.js";
import { between, controlState, each, figure, isText, upTo } from "./frame.js";
import { dot, normalise, RESERVED } from "./forward.js";
import { mistakeIn } from "./story.js";
import { chance, drawn, makeWriter, probabilitiesOf } from "./today.js";
import { dictionary, strangersNote } from "./words.js";

const SHOWN = 8; // candidates listed
const LEAST = 0.0005; // smaller probabilities are not listed
const ALL = 20; // the last value of the slider: no limit
const NAMES = { K: "key", V: "value" };

function render({ model, el }) {
  const data = model.get("data");
  const { tokens: vocabulary, prompts, max_len: maxLen, num_layers: numLayers } = data;
  const { num_heads: numHeads, num_kv_heads: numKvHeads } = data;
  const [unk, bos, eos] = ["<unk>", "<bos>", "<eos>"].map((token) => vocabulary.indexOf(token));
  const ids = new Map(vocabulary.map((token, i) => [token, i]));
  RESERVED.forEach((token) => ids.delete(token));
  const known = [...ids.keys()];
  const net = makeWriter(data, model.get("weights"));
  const state = controlState(model, update, { prompt: isText,
    written: each(upTo(vocabulary.length), 0, maxLen), temperature: between(0.1, 3),
    top_k: (v) => upTo(ALL + 1)(v) && v > 0, seed: upTo(1e6) });
  const first = state.get();

  const prompt = textField("Prompt", first.prompt, (value) =>
    state.set({ prompt: value, written: [] }));
  prompt.element.classList.add("long");
  const knows = dictionary((value) => state.set({ prompt: value, written: [] }));
  const example = choice("Example",
    { "": "…", ...Object.fromEntries(prompts.map((text) => [text, text || "(nothing)"])) },
    first.prompt, (text) => state.set({ prompt: text, written: [] }));
  const temperature = slider("Temperature", { min: 0.1, max: 3, step: 0.1,
    value: first.temperature, format: (t) => show(t, 1) }, (t) => state.set({ temperature: t }));
  const topK = slider("Top-k", { min: 1, max: ALL, value: first.top_k,
    format: (k) => (k === ALL ? "all" : String(k)) }, (k) => state.set({ top_k: k }));
  const button = (name, onClick) => {
    const made = make("button", { type: "button" }, name);
    made.addEventListener("click", onClick);
    return made;
  };
  const word = button("Write a word", () => write(1));
  const toTheEnd = button("Write to the end", () => write(maxLen));
  const back = button("Take a word back", () =>
    state.set({ written: state.get().written.slice(0, -1) }));
  const again = button("Begin again, with other luck", () =>
    state.set({ written: [], seed: state.get().seed + 1 }));
  const read = make("p", { className: "tokens story" });
  const verdict = make("p", { className: "caption", role: "status" });
  // Always the same buttons, so that they keep the focus.
  const candidates = Array.from({ length: Math.min(SHOWN, vocabulary.length) }, () => {
    const candidate = { take: make("button", { type: "button" }), share: make("span"),
      bar: make("span", { className: "bar" }) };
    candidate.take.addEventListener("click", () =>
      state.set({ written: [...state.get().written, candidate.id] }));
    candidate.item = make("li", {}, make("div", { className: "candidate" },
      candidate.take, candidate.share, candidate.bar));
    return candidate;
  });
  const onReach = (said) => frame.explain(said);
  const kept = matrix({ title: "the cache", rowsAre: "tokens", columnsAre: "what is kept", onReach });
  const looks = matrix({ title: "attention of the last token", rowsAre: "tokens",
    columnsAre: "layer.head", onReach });
  [kept, looks].forEach(({ element }) => element.classList.add("dense"));
  const frame = figure(model, el, {
    state,
    noteLines: 2,
    title: "A writer",
    controls: [prompt.element, knows.element, example.element, temperature.element, topK.element,
      make("div", { className: "buttons" }, word, toTheEnd, back, again)],
    parts: [
      make("div", { className: "wide" }, read, verdict,
        make("p", { className: "caption" }, "What could come next; choose one to write it"),
        make("ol", { className: "hypotheses" }, ...candidates.map(({ item }) => item))),
      steady(kept.element, 15.5),
      steady(looks.element, 15.5),
    ],
    help: "Write a word, and see what is added to the cache.",
  });

  // One pass per token; results for the same prefix are reused.
  let passes = [];
  function run(tokens) {
    const same = tokens.findIndex((id, i) => passes[i]?.id !== id);
    passes = passes.slice(0, same < 0 ? tokens.length : same);
    const computed = tokens.length - passes.length;
    for (const id of tokens.slice(passes.length)) {
      passes.push({ id, ...net.step(id, passes.at(-1)) });
    }
    return { now: passes.at(-1), computed };
  }
  const wordsOf = (text) => normalise(text.slice(0, 2000).replace(/[?]/gu, " ? ")).split(" ")
    .filter(Boolean);
  const readOf = ({ prompt: text, written }) => {
    const words = wordsOf(text);
    const begun = words.slice(0, maxLen - 1).map((w) => ids.get(w) ?? unk);
    return { words, tokens: [bos, ...begun, ...written].slice(0, maxLen) };
  };
  const limitOf = ({ top_k: k }) => (k === ALL ? vocabulary.length : k);
  const isFull = (tokens) => tokens.length >= maxLen || tokens.at(-1) === eos;

  function write(count) {
    const given = state.get();
    const written = [...given.written];
    for (let n = 0; n < count; n++) {
      const { tokens } = readOf({ ...given, written });
      if (isFull(tokens)) break;
      const { now } = run(tokens);
      const p = probabilitiesOf(now.logits, given.temperature, limitOf(given));
      written.push(drawn(p, chance(given.seed, tokens.length)));
    }
    state.set({ written });
  }

  function update(given) {
    const { words, tokens } = readOf(given);
    const { now, computed } = run(tokens);
    const full = isFull(tokens);
    const p = probabilitiesOf(now.logits, given.temperature, limitOf(given));
    const names = tokens.map((id) => vocabulary[id]);
    const begun = tokens.length - given.written.length;
    const story = names.slice(1);
    const [from, to] = mistakeIn(story, data.pronouns) ?? [Infinity, Infinity];
    read.replaceChildren(...story.flatMap((name, i) => [/^[.?]$/u.test(name) ? "" : " ",
      make("span", { className: ["token", i + 1 >= begun && "written",
        i >= from && i < to && "untrue"].filter(Boolean).join(" ") }, name)]));
    verdict.textContent = from < to ? `“${story.slice(from, to).join(" ")}” is untrue, or no sentence.`
      : story.includes(".") ? "All that has been said so far can be true."
        : "No sentence has ended yet.";
    const ranked = p.map((_, id) => id).sort((a, b) => p[b] - p[a]).slice(0, SHOWN);
    candidates.forEach((candidate, n) => {
      candidate.id = ranked[n];
      candidate.take.disabled = full || p[candidate.id] < LEAST;
      candidate.item.style.visibility = candidate.take.disabled ? "hidden" : "";
      candidate.take.textContent = vocabulary[candidate.id];
      candidate.share.textContent = show(p[candidate.id], 3);
      candidate.bar.style.setProperty("--share", p[candidate.id]);
    });
    const kinds = Array.from({ length: numLayers * numKvHeads * 2 }, (_, c) => ({
      layer: Math.floor(c / (2 * numKvHeads)), group: Math.floor(c / 2) % numKvHeads,
      part: c % 2 ? "V" : "K",
    }));
    const vector = (t, c) => now.caches[kinds[c].layer][kinds[c].part][kinds[c].group][t];
    const length = (x) => Math.sqrt(dot(x, x));
    const most = kinds.map((_, c) => Math.max(...tokens.map((_, t) => length(vector(t, c)))));
    kept.update({ rows: names, top: 1, digits: null,
      columns: kinds.map(({ layer, group, part }) => `${layer}.${group} ${NAMES[part]}`),
      axes: "rows: tokens; columns: layer.head; a cell is a vector: the deeper its colour, the longer",
      value: (t, c) => length(vector(t, c)) / most[c],
      explain: (t, c) => `${NAMES[kinds[c].part]} of “${names[t]}” in layer ${kinds[c].layer}, head ${
        kinds[c].group}, ${net.headSize} numbers: ${
        vector(t, c).slice(0, 4).map((v) => show(v)).join(", ")}, …` });
    const heads = Array.from({ length: numLayers * numHeads }, (_, n) =>
      [Math.floor(n / numHeads), n % numHeads]);
    const look = (t, n) => now.attention[heads[n][0]][heads[n][1]][t];
    looks.update({ rows: names, columns: heads.map(([l, h]) => `${l}.${h}`), top: 1, digits: null,
      value: look,
      explain: (t, n) => `${show(look(t, n), 4)}: what “${names.at(-1)}” takes from “${
        names[t]}” in layer ${heads[n][0]}, head ${heads[n][1]}` });
    const strangers = [...new Set(words.filter((w) => !ids.has(w)))];
    const numbers = kinds.length * net.headSize;
    frame.note([
      `The cache holds ${tokens.length} token${tokens.length === 1 ? "" : "s"} of ${numbers} numbers each: ${
        tokens.length * numbers} numbers. ${computed
        ? `Computed just now: ${computed} of ${tokens.length} tokens.` : "Nothing had to be computed."}`,
      words.length > maxLen - 1
        ? `The text (${words.length} words) is longer than the model's context: it reads ${maxLen - 1}.` : "",
      strangersNote(strangers, known),
      tokens.at(-1) === eos ? "The story has ended." : "",
      tokens.at(-1) !== eos && full ? `No training text had more than ${maxLen} tokens.` : "",
    ].filter(Boolean).join(" "));
    prompt.set(given.prompt);
    knows.update(known, given.prompt);
    example.set(prompts.includes(given.prompt) ? given.prompt : "");
    temperature.set(given.temperature);
    topK.set(given.top_k);
    word.disabled = full;
    toTheEnd.disabled = full;
    back.disabled = !given.written.length;
    const { activeElement: at } = document; // a button that is switched off would lose the focus
    if (el.contains(at) && at.disabled) (full ? back : candidates[0].take).focus();
  }
  update(first);
}

export default { render };
