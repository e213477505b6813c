// Chapter 2: two sentences, two masks; scores, masked scores and weights side by side.
import { checkbox, make, show, slider, steady, textField, words } from "./controls.js";
import { matrix } from "./matrix.js";
import { controlState, each, figure, isFlag, isText, upTo } from "./frame.js";
import { maskedSoftmax } from "./forward.js";

const LIMIT = 8;

// The characters that two words share. Their number is the score: not a model yet, but a similarity
// that readers can count, and that padding also has.
const shared = (a, b) => [...new Set(a)].filter((letter) => b.includes(letter));

function render({ model, el }) {
  const rows = ["first", "second"].map((name) => ["scores", "masked scores", "weights"].map(
    (title) => matrix({
      title: `${title}, ${name}`, rowsAre: "queries", columnsAre: "keys",
      onReach: (text) => frame.explain(text),
    })));
  const state = controlState(model, draw, { sentences: each(isText, 2),
    valid_lens: each(upTo(LIMIT + 1), 2), padding: isFlag, causal: isFlag });
  const start = state.get();
  const replaced = (list, b, value) => list.map((other, i) => (i === b ? value : other));
  const count = (text) => words(text, LIMIT).tokens.length;
  // The length follows its sentence until the reader sets a different one.
  const texts = [0, 1].map((b) => textField(
    `${b ? "Second" : "First"} sentence`, start.sentences[b], (value) => {
      const { sentences, valid_lens: now } = state.get();
      const follows = now[b] === count(sentences[b]);
      state.set({ sentences: replaced(sentences, b, value),
        valid_lens: follows ? replaced(now, b, count(value)) : now });
    }));
  const lens = [0, 1].map((b) => slider(
    `Valid length ${b + 1}`, { min: 0, max: LIMIT, value: start.valid_lens[b] },
    (value) => state.set({ valid_lens: replaced(state.get().valid_lens, b, value) })));
  const padding = checkbox("Padding mask", start.padding, (value) => state.set({ padding: value }));
  const causal = checkbox("Causal mask", start.causal, (value) => state.set({ causal: value }));
  // Sentences keep their length in the small form.
  const roomy = (element) => (model.get("data").brief ? element : steady(element, 16.6));
  const frame = figure(model, el, {
    state,
    title: "Masks",
    controls: [texts[0], lens[0], texts[1], lens[1], padding, causal].map((c) => c.element),
    parts: rows.map((three) =>
      make("div", { className: "wide parts stretched" }, ...three.map((m) => roomy(m.element)))),
    help: "Point at a number, or reach it by Tab and the arrow keys, to see where it comes from.",
    brief: {
      controls: [padding, causal].map((c) => c.element),
      parts: rows.map(([, , weights]) => weights.element),
    },
  });

  function draw({ sentences, valid_lens: validLens, padding: pad, causal: hide }) {
    const read = sentences.map((text) => words(text, LIMIT));
    const steps = Math.max(1, ...read.map(({ tokens }) => tokens.length));
    frame.note(read.flatMap(({ tokens, note }, b) => {
      const extra = Math.min(validLens[b], steps) - tokens.length;
      const wrong = validLens[b] > steps ? `Of ${steps} positions, ${validLens[b]} cannot be real.`
        : extra > 0 && tokens.length ? `The valid length counts ${extra} <pad> as real.` : "";
      const notes = [note, wrong];
      return notes.filter(Boolean).map((text) => `${b ? "Second" : "First"} sentence: ${text}`);
    }).join(" "));
    // Keeps the three matrices side by side
    rows.flat().forEach((m) => {
      m.element.classList.toggle("compact", steps > 5);
      m.element.classList.toggle("tight", steps > 6);
    });
    rows.forEach(([scores, masked, weights], b) => {
      const own = read[b].tokens;
      const tokens = Array.from({ length: steps }, (_, i) => own[i] ?? "<pad>");
      const length = Math.min(validLens[b], steps);
      const why = (i, j) => {
        const reasons = [];
        if (pad && j >= length) reasons.push(`key ${j} is not below the valid length ${length}`);
        if (hide && j > i) reasons.push(`key ${j} is later than query ${i}`);
        return reasons.join(" and ");
      };
      const raw = tokens.map((q) => tokens.map((k) => shared(q, k).length));
      const normalised = raw.map((row, i) => maskedSoftmax(row, (j) => !why(i, j)));
      const labels = { rows: tokens, columns: tokens };
      scores.update({ ...labels, top: 6, digits: 0, value: (i, j) => raw[i][j],
        explain: (i, j) => `${raw[i][j]}, the characters that both have: ${
          shared(tokens[i], tokens[j]).join(" ") || "none"}` });
      masked.update({ ...labels, top: 6, digits: 0,
        value: (i, j) => (why(i, j) ? -Infinity : raw[i][j]),
        explain: (i, j) => (why(i, j) ? `−∞, since ${why(i, j)}` : `${raw[i][j]}, as it was`) });
      weights.update({ ...labels, top: 1, value: (i, j) => normalised[i][j],
        explain: (i, j) => {
          const open = raw[i].filter((_, k) => !why(i, k));
          if (!open.length) return "0, since this query may attend to nothing";
          if (why(i, j)) return `0, since ${why(i, j)}`;
          const sum = open.map((s) => `exp(${s})`).join(" + ");
          return `exp(${raw[i][j]}) / (${sum}) = ${show(normalised[i][j], 4)}`;
        } });
      texts[b].set(sentences[b]);
      lens[b].set(validLens[b]);
    });
    padding.set(pad);
    causal.set(hide);
  }
  draw(start);
}

export default { render };
