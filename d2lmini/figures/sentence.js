// The front page and chapter 9: type English, read French, see which word looked at which.
import { make, show, textField } from "./matrix.js";
import { controlState, figure, isText, player, upTo } from "./frame.js";
import { makeNet, RESERVED, softmax, wordsOf } from "./forward.js";
import { join, makeSubwords, START } from "./subwords.js";
import { arcs } from "./arcs.js";
import { wordLine } from "./words.js";

const breath = () => new Promise((resolve) => setTimeout(resolve)); // the page may do its own work
const quoted = (piece) => `“${piece.replace(START, "")}”`;

function render({ model, el }) {
  const data = model.get("data");
  const { tokens, examples, first, num_steps: numSteps } = data;
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const [unk, bos, eos] = ["<unk>", "<bos>", "<eos>"].map((token) => ids.get(token));
  const state = controlState(model, update, { text: isText,
    chosen: (v) => v === -1 || upTo(numSteps)(v) });
  let pieces = null; // the function, and
  let net = null; // the net; made when a reader wants another sentence than the first
  let now = { ...first, text: examples[0], cut: false }; // what is shown
  let wanted = now.text;
  let pointed = null; // { side, i }, the word under the pointer
  let shown = now.written.length; // how many words are written yet

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
  // Word by word, as the net writes them.
  const writer = player("Write it again", 220, () => {
    shown = 0;
    drawAll();
  }, () => {
    shown = Math.min(shown + 1, now.written.length);
    drawAll();
    return shown < now.written.length;
  });
  const translation = make("p", { className: "translation", lang: "fr", "aria-live": "polite" });
  const pointing = (side) => (i) => {
    pointed = i === null ? null : { side, i };
    drawCurves();
  };
  const sides = {
    read: wordLine("Read, in pieces", { onPoint: pointing("read") }),
    written: wordLine("Written, in pieces", { onPoint: pointing("written"),
      onChoose: (i) => state.set({ chosen: state.get().chosen === i ? -1 : i }) }),
  };
  const lines = arcs(sides.read.element, sides.written.element);
  const frame = figure(model, el, {
    state,
    title: "English to French, in your browser",
    controls: [text.element, ...chips],
    parts: [make("div", { className: "wide" },
      make("div", { className: "answer" }, translation, writer.element), lines.element)],
    help: "Point at a word, or choose it, to see where the network looked. The thicker a line, the more attention (last layer, averaged over its heads). <eos> ends a sentence.",
  });
  new ResizeObserver(() => drawCurves()).observe(lines.element);

  async function getNet() {
    pieces ??= makeSubwords(data.merges);
    net ??= makeNet(data, await model.get("weights"));
    return net;
  }

  // A sentence to what is shown, in small portions; null if another one is wanted by then.
  async function translate(typed) {
    const { encode, decode } = await getNet();
    const all = wordsOf(typed).flatMap(pieces);
    const read = [...all.slice(0, numSteps - 1)
      .map((piece) => (ids.has(piece) && !RESERVED.includes(piece) ? piece : "<unk>")), "<eos>"];
    await breath();
    const encoded = encode(read.map((piece) => ids.get(piece) ?? unk));
    const made = { text: typed, read, cut: all.length >= numSteps, written: [], weights: [], likely: [] };
    let last = bos;
    let past = null;
    while (last !== eos && made.written.length < numSteps) {
      await breath();
      if (wanted !== typed) return null;
      past = decode([last], encoded, past);
      const probabilities = softmax(past.logits[0]);
      const ranked = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
      last = ranked[0];
      const rows = past.cross.at(-1).map(({ weights }) => weights[0]); // (heads, read)
      made.written.push(tokens[last]);
      made.weights.push(read.map((_, j) =>
        rows.reduce((sum, row) => sum + row[j], 0) / rows.length));
      made.likely.push(ranked.slice(0, first.likely[0].length)
        .map((id) => [tokens[id], probabilities[id]]));
    }
    return made;
  }

  async function update(given) {
    text.set(given.text);
    chips.forEach((chip, n) => chip.setAttribute("aria-pressed", String(examples[n] === given.text)));
    if (given.text !== wanted) {
      wanted = given.text;
      writer.stop();
      if (!wordsOf(wanted).length) {
        exhibit({ text: wanted, read: [], written: [], weights: [], likely: [], cut: false });
      } else {
        const made = await translate(wanted).catch(() => "none");
        if (made === "none") frame.note("The network could not be read; the last translation stays.");
        if (!made || made === "none") return; // typed on, or nothing to show
        exhibit(made);
        if (examples.includes(wanted)) writer.play();
      }
    }
    drawAll();
  }

  function exhibit(made) {
    now = made;
    pointed = null;
    shown = now.written.length;
    const strangers = now.read.includes("<unk>") ? "A character that the net has never seen is read as <unk>." : "";
    frame.note(!now.read.length ? "Type an English sentence."
      : now.cut ? `Only the first ${numSteps - 1} pieces are read.` : strangers);
  }

  const chosenOne = () => {
    const { chosen } = state.get();
    return pointed ?? (chosen >= 0 && chosen < now.written.length ? { side: "written", i: chosen } : null);
  };

  function drawAll() {
    const whole = now.written.slice(0, shown).filter((piece) => piece !== "<eos>");
    // French has no space before these; to the net each is a word of its own.
    translation.textContent = join(whole).replace(/ (?=[.,…])/gu, "");
    const begins = (piece) => piece.startsWith(START) || RESERVED.includes(piece);
    for (const [side, line] of Object.entries(sides)) {
      line.update(now[side].map((piece) => piece.replace(START, "")), {
        classOf: (_, i) => (begins(now[side][i]) ? "" : "goes-on"),
        ...(side === "written" ? { visible: shown, chosen: state.get().chosen } : {}),
      });
    }
    drawCurves();
  }

  function drawCurves() {
    const one = chosenOne();
    lines.update(now.weights.slice(0, shown), (t, j) =>
      !one || (one.side === "written" ? t : j) === one.i);
    if (one) frame.explain(explain(one));
    else frame.rest();
  }

  function explain({ side, i }) {
    if (side === "written") {
      const [[, p], ...others] = now.likely[i];
      const best = [...now.weights[i].keys()]
        .sort((a, b) => now.weights[i][b] - now.weights[i][a]).slice(0, 2);
      return `To write ${quoted(now.written[i])} (probability ${show(p)}), it looked at ${
        best.map((j) => `${quoted(now.read[j])} ${show(now.weights[i][j])}`).join(" and ")
      }. Next best: ${others.map(([piece, q]) => `${quoted(piece)} ${show(q)}`).join(", ")}.`;
    }
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
