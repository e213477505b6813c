// Chapter 11, at its head: where the heads of one layer look while each word is written.
import { choice, make, show } from "./controls.js";
import { controlState, figure, upTo } from "./frame.js";
import { wordLine } from "./words.js";

function render({ model, el }) {
  const { sentences } = model.get("data");
  const state = controlState(model, update, { sentence: upTo(sentences.length),
    word: (v, { sentence }) => upTo(sentences[sentence]?.written.length)(v) });
  const first = state.get();

  const names = Object.fromEntries(sentences.map(({ english }, i) => [i, english]));
  const sentence = choice("Sentence", names, first.sentence, (i) =>
    state.set({ sentence: Number(i), word: 0 }));
  const written = wordLine("French", { onChoose: (word) => state.set({ word }) });
  const heads = sentences[0].weights.map(() => make("p", { className: "tokens tinted" }));
  const rows = heads.map((line, h) => make("div", { className: "head-row" },
    make("span", { className: "name" }, `head ${h}`), line));
  const caption = (text) => make("p", { className: "caption" }, text);
  const frame = figure(model, el, {
    state,
    title: "Four heads",
    controls: [sentence.element],
    parts: [make("div", { className: "wide" }, caption("It writes; choose a word"), written.element,
      caption("Where each head looks while that word is written; the darker, the more weight"), ...rows)],
    help: "Choose a French word. Which heads look where you would?",
  });

  function update(given) {
    const { read, written: words, weights } = sentences[given.sentence];
    sentence.set(given.sentence);
    written.update(words, { chosen: given.word });
    const looks = weights.map((head) => head[given.word]);
    heads.forEach((line, h) => line.replaceChildren(...read.flatMap((word, j) => {
      const token = make("span", { className: "token" }, word);
      token.style.setProperty("--level", looks[h][j]);
      return [token, " "];
    })));
    const hardest = looks.map((row) => row.indexOf(Math.max(...row)));
    frame.note(`For “${words[given.word]}”: ${hardest.map((j, h) =>
      `head ${h} at “${read[j]}” (${show(looks[h][j])})`).join(", ")}.`);
  }
  update(first);
}

export default { render };
