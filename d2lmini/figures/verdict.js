// Chapter 12: a review classifier, and the effect of each word on its verdict.
import { choice, make, show, steady, textField } from "./controls.js";
import { matrix } from "./matrix.js";
import { controlState, figure, isText, upTo } from "./frame.js";
import { makeNet, RESERVED, wordsOf } from "./forward.js";
import { headPanel } from "./thumbnail.js";
import { dictionary, isGuess, strangersNote, wordLine } from "./words.js";

const SHOWN = 6; // replacements listed

// What the colours of the words mean
const keyOf = (labels) => ["A word is tinted by what it does: ",
  make("span", { className: "tinted" }, make("span", { className: "token", style: "--level: 0.7" }, labels.at(-1))), " or ",
  make("span", { className: "tinted" }, make("span", { className: "token against", style: "--level: 0.7" }, labels[0])),
  ". The thicker the line below it, the larger its share in the pooling."];

function render({ model, el }) {
  const data = model.get("data");
  const { tokens: vocabulary, examples, labels, num_steps: numSteps } = data;
  const { num_heads: numHeads, num_layers: numLayers } = data;
  const [unk, eos] = ["<unk>", "<eos>"].map((token) => vocabulary.indexOf(token));
  const known = vocabulary.filter((token) => !RESERVED.includes(token));
  const ids = new Map(known.map((token) => [token, vocabulary.indexOf(token)]));
  const net = makeNet(data, model.get("weights"));
  const state = controlState(model, update, { text: isText, chosen: upTo(numSteps),
    layer: upTo(numLayers), head: upTo(numHeads) });
  const first = state.get();
  const positive = labels.length - 1; // the class whose probability is shown

  const text = textField("Review", first.text, (value) => state.set({ text: value }));
  text.element.classList.add("long");
  const example = choice("Example",
    { "": "…", ...Object.fromEntries(examples.map((review) => [review, review])) }, "",
    (value) => value && state.set({ text: value, chosen: 0 }));
  const knows = dictionary((value) => state.set({ text: value }));
  const verdict = make("p");
  const read = wordLine("words of the review", { onChoose: (i) => state.set({ chosen: i }),
    onPoint: (i) => (i === null ? frame.rest() : frame.explain(effectOf(i))) });
  read.element.classList.add("tinted");
  let effectOf = () => "";
  const place = make("span");
  const instead = choice("put",
    { "": "…", ...Object.fromEntries([...known].sort().map((word) => [word, word])) }, "",
    (word) => word && put(word));
  const leaveOut = make("button", { type: "button" }, "Leave it out");
  leaveOut.addEventListener("click", () => put(""));
  const tryAll = make("button", { type: "button" }, "Try every known word here");
  tryAll.addEventListener("click", tryEveryWord);
  const found = make("ol", { className: "hypotheses inline" });
  const onReach = (said) => frame.explain(said);
  const map = matrix({ title: "attention", rowsAre: "queries", columnsAre: "keys", onReach });
  const heads = headPanel({ self: "self-attention" }, numLayers, numHeads,
    ({ layer, head }) => state.set({ layer, head }));
  const frame = figure(model, el, {
    state,
    title: "A verdict",
    controls: [text.element, knows.element, example.element],
    parts: [
      make("div", { className: "wide" }, verdict, steady(read.element, 6),
        make("p", { className: "axes" }, ...keyOf(labels)),
        make("div", { className: "controls" }, place, instead.element, leaveOut, tryAll),
        steady(found, 3.6)),
      heads.element,
      steady(map.element, 20.5),
    ],
    help: "Point at a word to see what it does, or choose it and put another in its place. Choose a small map to see it whole.",
  });

  const idsOf = (words) => [...words.map((word) => ids.get(word) ?? unk), eos];
  const judge = (tokens) => {
    const encoded = net.encode(tokens);
    return { ...encoded, ...net.classify(encoded.memory) };
  };
  const chosenOf = ({ chosen }) => Math.min(chosen, words.length - 1);
  let words = wordsOf(first.text).slice(0, numSteps - 1); // the last valid review

  function put(word) {
    const chosen = chosenOf(state.get());
    const next = [...words.slice(0, chosen), ...(word ? [word] : []), ...words.slice(chosen + 1)];
    state.set({ text: next.join(" ") });
  }

  // The words that change the verdict most in place of the chosen word
  function tryEveryWord() {
    const chosen = chosenOf(state.get());
    const now = judge(idsOf(words)).probabilities[positive];
    const tried = known.filter((word) => word !== words[chosen]).map((word) => {
      const changed = words.map((old, i) => (i === chosen ? word : old));
      return { word, p: judge(idsOf(changed)).probabilities[positive] };
    });
    tried.sort((a, b) => Math.abs(b.p - now) - Math.abs(a.p - now));
    found.replaceChildren(...tried.slice(0, SHOWN).map(({ word, p }) => {
      const button = make("button", { type: "button" }, word);
      button.addEventListener("click", () => put(word));
      return make("li", {}, button, ` ${labels[positive]} ${show(p, 3)}`);
    }));
  }

  function update(given) {
    const all = wordsOf(given.text);
    const strangers = all.filter((word) => !ids.has(word));
    const isReadable = all.slice(0, numSteps - 1).some((word) => ids.has(word));
    if (isReadable) words = all.slice(0, numSteps - 1);
    frame.note(!all.length ? "Type a review."
      : !isReadable ? "No word of this is in the vocabulary; the last verdict stays."
        : [all.length > words.length ? `Only the first ${numSteps - 1} words are read.` : "",
          strangersNote(strangers, known),
        ].filter(Boolean).join(" "));
    text.set(given.text);
    knows.update(known, given.text);
    example.set(examples.includes(given.text) ? given.text : "");
    instead.set("");
    found.replaceChildren();
    const chosen = chosenOf(given);
    const tokens = idsOf(words);
    const { weights, probabilities, attention } = judge(tokens);
    const best = probabilities.indexOf(Math.max(...probabilities));
    const unread = words.filter((word) => !ids.has(word));
    verdict.replaceChildren("Verdict: ", ...(isGuess(unread, words)
      ? [make("strong", {}, "none"), `. It does not know ${unread.length} of these ${words.length} words.`]
      : [make("strong", {}, labels[best]), ` (${
        labels.map((label, c) => `${label} ${show(probabilities[c], 3)}`).join(", ")})`]));
    place.textContent = `In place of “${words[chosen]}”`;
    leaveOut.disabled = words.length < 2;

    const labelled = [...words.map((word) => (ids.has(word) ? word : "<unk>")), "<eos>"];
    const without = tokens.map((_, i) =>
      judge(tokens.filter((_, k) => k !== i)).probabilities[positive]);
    const odds = (p) => Math.log(Math.max(p, 1e-6) / Math.max(1 - p, 1e-6));
    // In log odds, since near 0 and 1 a probability hardly moves
    const change = without.map((p) => Math.max(-1, Math.min(1, (odds(probabilities[positive]) - odds(p)) / 6)));
    effectOf = (i) => `“${words[i]}”: without it ${labels[positive]} ${show(without[i], 3)}, with it ${
      show(probabilities[positive], 3)}; its share in the pooled vector is ${show(weights[i], 3)}.`;
    read.update(words, { chosen, classOf: (word) => (ids.has(word) ? "" : "unknown"),
      tintOf: (i) => change[i] });
    [...read.element.children].forEach((word, i) => word.style.setProperty("--pooled", weights[i]));
    heads.update({ self: attention }, { ...given, kind: "self", off: [], step: chosen });
    map.element.classList.toggle("compact", labelled.length > 7);
    const many = labelled.length > 12;
    map.element.classList.toggle("dense", many);
    const chosenMap = attention[given.layer][given.head].weights;
    map.update({ heading: `layer ${given.layer}, head ${given.head}`, rows: labelled,
      columns: labelled, top: 1, mark: chosen, digits: many ? null : 2, value: (i, j) => chosenMap[i][j],
      explain: (i, j) => `${show(chosenMap[i][j], 4)}: how much “${labelled[i]}” takes from “${
        labelled[j]}”` });
  }
  update(first);
}

export default { render };
