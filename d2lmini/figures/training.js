// Chapter 9: the training run of the page, epoch by epoch.
import { choice, make, show, slider, steady } from "./controls.js";
import { matrix } from "./matrix.js";
import { controlState, figure, player, upTo } from "./frame.js";
import { lines } from "./lines.js";

function render({ model, el }) {
  const { losses, checkpoints, sentences, head_names: heads } = model.get("data");
  const state = controlState(model, update, { checkpoint: upTo(checkpoints.length),
    sentence: upTo(sentences.length), head: upTo(heads.length) });
  const first = state.get();
  const at = slider("Epoch", { min: 0, max: checkpoints.length - 1, value: first.checkpoint,
    format: (i) => String(checkpoints[i].epoch) }, (i) => state.set({ checkpoint: i }));
  const which = choice("Sentence", Object.fromEntries(sentences.map((s, i) => [i, s.english])),
    first.sentence, (i) => state.set({ sentence: Number(i) }));
  const head = choice("Cross-attention", Object.fromEntries(heads.map((name, i) => [i, name])),
    first.head, (i) => state.set({ head: Number(i) }));
  // A logarithmic axis shows differences in late epochs as well as in early ones.
  const curve = lines({ title: "Training loss, nats a token (logarithmic scale)", xIs: "epoch",
    onReach: (epoch, step) => {
      if (step) { // from one checkpoint to the next
        const next = state.get().checkpoint + step;
        if (checkpoints[next]) state.set({ checkpoint: next });
        return;
      }
      const distance = (i) => Math.abs(checkpoints[i].epoch - (epoch + 1));
      const [nearest] = checkpoints.map((_, i) => i).sort((a, b) => distance(a) - distance(b));
      state.set({ checkpoint: nearest });
    } });
  const film = player("Play", 700, () => {
    if (state.get().checkpoint === checkpoints.length - 1) state.set({ checkpoint: 0 });
  }, () => {
    const next = state.get().checkpoint + 1;
    if (checkpoints[next]) state.set({ checkpoint: next });
    return next + 1 < checkpoints.length;
  });
  const table = make("tbody");
  const translations = make("div", { className: "wide" }, make("table", { className: "translations" },
    make("thead", {}, make("tr", {}, ...["English", "by the net", "reference"].map((name) =>
      make("th", { scope: "col" }, name)))), table));
  const map = matrix({ title: "weights", rowsAre: "the word read → the word written", columnsAre: "English",
    onReach: (text) => frame.explain(text) });
  const frame = figure(model, el, {
    state,
    title: "A training run",
    controls: [at, film, which, head].map((c) => c.element),
    parts: [curve.element, steady(map.element, 18), translations],
    help: "Move through the epochs: what is learned first, and what last?",
    brief: {
      controls: [film.element, at.element],
      parts: [translations],
    },
  });

  function update({ checkpoint, sentence, head: h }) {
    const { epoch, outputs } = checkpoints[checkpoint];
    const logs = losses.map((loss) => Math.log10(loss));
    curve.update({ x: losses.map((_, i) => i + 1), series: { loss: logs }, at: epoch - 1,
      low: Math.floor(Math.min(...logs)), high: Math.ceil(Math.max(...logs)),
      label: (log) => String(Number((10 ** log).toPrecision(3))) });
    table.replaceChildren(...sentences.map((s, i) => {
      const { text } = outputs[i];
      const row = make("tr", { className: i === sentence ? "chosen" : "" }, make("td", {}, s.english),
        make("td", {}, text || "(nothing)"), make("td", {}, text === s.french ? "the same" : s.french));
      row.addEventListener("click", () => state.set({ sentence: i })); // like the Sentence control for the keyboard
      return row;
    }));
    const { text: said, reads, weights } = outputs[sentence];
    // A row reads one word and writes the next.
    const writes = [...(said ? said.split(" ") : []), "<eos>"];
    const rows = reads.map((word, i) => `${word} → ${writes[i]}`);
    map.update({ heading: `weights, ${heads[h]}`, rows, columns: sentences[sentence].tokens,
      top: 1, value: (i, j) => weights[h][i][j],
      explain: (i, j) => `${show(weights[h][i][j], 3)} after epoch ${epoch}, while the net writes `
        + `what follows “${reads[i]}”` });
    frame.note(`After epoch ${epoch}: training loss ${show(losses[epoch - 1], 3)} nats a token, ${
      sentences.filter((s, i) => outputs[i].text === s.french).length} of ${sentences.length} `
      + "translations as in the reference.");
    at.set(checkpoint);
    which.set(sentence);
    head.set(h);
  }
  update(first);
}

export default { render };
