// Chapter 10, at its head: which runs of words a translation shares with the reference, and BLEU.
import { make, show, slider, textField, words } from "./controls.js";
import { between, controlState, figure, isText } from "./frame.js";
import { bleu, found } from "./runs.js";

const MOST = 24; // words of the reader's translation

function render({ model, el }) {
  const { reference, others, most } = model.get("data");
  const due = reference.split(" ");
  const state = controlState(model, update, { longest: (v) => Number.isInteger(v) && between(1, most)(v),
    yours: isText });
  const first = state.get();
  const longest = slider("Longest run", { min: 1, max: most, value: first.longest },
    (n) => state.set({ longest: n }));
  const yours = textField("Yours", first.yours, (text) => state.set({ yours: text }));
  yours.element.classList.add("long");
  const rows = [...others.map(([name]) => name), "yours"].map((name) => {
    const [line, counts] = [make("p", { className: "tokens" }), make("p", { className: "axes" })];
    const [score, bar] = [make("span"), make("span", { className: "bar" })];
    return { name, line, counts, score, bar, element: make("div", { className: "scored" },
      make("p", { className: "name" }, name), line, make("div", { className: "candidate" },
        counts, score, bar)) };
  });
  const frame = figure(model, el, {
    state,
    title: "What BLEU counts",
    controls: [longest, yours].map((c) => c.element),
    parts: [make("div", { className: "wide runs" },
      make("p", { className: "caption" }, `Reference: ${reference}`),
      ...rows.map(({ element }) => element))],
    help: "Marked: words of a run of that length that stands in the reference. Bars: the score.",
  });

  function update({ longest: n, yours: text }) {
    const typed = words(text, MOST);
    const all = [...others.map(([, said]) => said.split(" ")), typed.tokens];
    rows.forEach(({ line, counts, score, bar }, k) => {
      const said = all[k];
      const runs = found(said, due, n);
      line.replaceChildren(...said.flatMap((word, i) => {
        const inRun = runs.some((hit, start) => hit && start <= i && i < start + n);
        const joined = runs.some((hit, start) => hit && start <= i && i + 1 < start + n);
        return [make("span", { className: inRun ? "in-run" : "" }, word, joined ? " " : ""),
          joined ? "" : " "];
      }));
      const result = bleu(said, due, n);
      const mean = result.brevity ? result.score / result.brevity : 0;
      counts.textContent = `${result.counts.map(([hits, of]) => `${hits}/${of}`).join(", ")
        }; mean ${show(mean)} × ${show(result.brevity)}`;
      score.textContent = show(result.score);
      bar.style.setProperty("--share", result.score);
    });
    frame.note(typed.note || (n === 1 ? "Found: single words. Score: their share × a penalty for being short."
      : `Found, of the runs of 1 to ${n} words. Score: the geometric mean × a penalty for being short.`));
    longest.set(n);
    yours.set(text);
  }
  update(first);
}

export default { render };
