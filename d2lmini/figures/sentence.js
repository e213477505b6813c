// The front page: type English, read French, see which word attends to which.
import { make, show, textField } from "./controls.js";
import { controlState, figure, isText, player, upTo } from "./frame.js";
import { makeNet, wordsOf } from "./forward.js";
import { wordsAndNumbers } from "./weights.js";
import { inPortions, searching } from "./search.js";
import { languages } from "./languages.js";
import { arcs } from "./arcs.js";

function render({ model, el }) {
  const data = model.get("data");
  const { examples, first, num_steps: numSteps } = data;
  const { shown: bare, textOf, classOf } = languages(data);
  const quoted = (piece) => `“${bare(piece)}”`;
  const state = controlState(model, update, { text: isText,
    chosen: (v) => v === -1 || upTo(numSteps)(v) });
  let [net, lang] = [null, null]; // created when the reader wants a sentence other than the first
  let now = { ...first, text: examples[0] }; // the translation shown
  let wanted = now.text;
  let shown = now.written.length; // number of words written so far

  const text = textField("English", state.get().text,
    (value) => state.set({ text: value, chosen: -1 }));
  text.element.classList.add("long");
  const chips = examples.map((example) => {
    const chip = make("button", { type: "button", className: "chip" }, example);
    chip.addEventListener("click", () => {
      if (state.get().text === example) writer.play();
      else state.set({ text: example, chosen: -1 });
    });
    return chip;
  });
  // Word by word, as the net writes them
  const writer = player("Write it again", 220, () => {
    shown = 0;
    drawAll();
  }, () => {
    shown = Math.min(shown + 1, now.written.length);
    drawAll();
    return shown < now.written.length;
  });
  const translation = make("p", { className: "translation", lang: "fr", "aria-live": "polite" });
  const lines = arcs({ read: "Read, in pieces", written: "Written, in pieces" }, {
    onPoint: (one) => explain(one),
    onChoose: (i) => state.set({ chosen: state.get().chosen === i ? -1 : i }) });
  const frame = figure(model, el, {
    state,
    title: "Where a translator looks",
    controls: [text.element, ...chips],
    parts: [make("div", { className: "wide" },
      make("div", { className: "answer" }, translation, writer.element), lines.element)],
    help: "Point at a word, or choose it, to see where the network looked. The thicker a line, the more attention (last layer, averaged over its heads). <eos> ends a sentence.",
  });

  // Translate a sentence, as pausable work.
  function* translate(typed) {
    const { write, ends } = lang;
    const { tokens, ids, strangers, isCut } = lang.read(typed);
    const encoded = net.encode(ids);
    const [best] = yield* searching(net, encoded, { ...ends, beamSize: 1, shown: first.likely[0].length });
    const last = net.decode(best.ids.slice(0, -1), encoded).cross.at(-1); // heads of (written, read)
    return { text: typed, read: tokens, strangers, isCut, written: write(best.ids.slice(1)),
      weights: last[0].weights.map((row, t) => row.map((_, j) =>
        last.reduce((sum, { weights }) => sum + weights[t][j], 0) / last.length)),
      likely: best.alternatives.map((all) => all.map(({ id, p }) => [...write([id]), p])) };
  }

  async function update(given) {
    text.set(given.text);
    chips.forEach((chip, n) => chip.setAttribute("aria-pressed", String(examples[n] === given.text)));
    if (given.text !== wanted) {
      wanted = given.text;
      writer.stop();
      if (!wordsOf(wanted).length) {
        exhibit({ text: wanted, read: [], written: [], weights: [], likely: [] });
      } else {
        try {
          const bytes = await model.get("weights");
          if (!net) {
            const { words, numbers } = wordsAndNumbers(bytes);
            lang = languages({ ...data, ...words });
            net = makeNet(data, numbers);
          }
        } catch {
          frame.note("The network could not be read; the last translation stays.");
          return;
        }
        const made = await inPortions(translate(given.text), () => wanted === given.text);
        if (!made) return; // the reader went on typing
        exhibit(made);
        if (examples.includes(wanted)) writer.play();
      }
    }
    drawAll();
  }

  function exhibit(made) {
    now = made;
    shown = now.written.length;
    frame.note(!now.read.length ? "Type an English sentence."
      : now.isCut ? `Only the first ${numSteps - 1} pieces are read.`
        : now.strangers.length ? "A character that the net has never seen is read as <unk>." : "");
  }

  function drawAll() {
    const whole = now.written.slice(0, shown).filter((piece) => piece !== "<eos>");
    // French has no space before these; to the net each is a separate word.
    translation.textContent = textOf(whole).replace(/ (?=[.,…])/gu, "");
    lines.update({ ...now, visible: shown, chosen: state.get().chosen, shown: bare, classOf });
  }

  // Explain the word under the pointer, or else the chosen one.
  function explain(pointed) {
    const { chosen } = state.get();
    const one = pointed ?? (chosen >= 0 && chosen < now.written.length ? { side: "written", i: chosen } : null);
    if (one) frame.explain(one.side === "written" ? ofWritten(one.i) : ofRead(one.i));
    else frame.rest();
  }

  function ofWritten(i) {
    const [[, p], ...others] = now.likely[i];
    const best = [...now.weights[i].keys()]
      .sort((a, b) => now.weights[i][b] - now.weights[i][a]).slice(0, 2);
    return `To write ${quoted(now.written[i])} (probability ${show(p)}), it looked at ${
      best.map((j) => `${quoted(now.read[j])} ${show(now.weights[i][j])}`).join(" and ")
    }. Next best: ${others.map(([piece, q]) => `${quoted(piece)} ${show(q)}`).join(", ")}.`;
  }

  function ofRead(i) {
    const column = now.weights.map((row) => row[i]);
    const most = column.indexOf(Math.max(...column));
    return `${quoted(now.read[i])} was looked at most to write ${quoted(now.written[most])}: ${
      show(column[most])}.`;
  }

  drawAll();
  update(state.get());
  writer.play();
}

export default { render };
