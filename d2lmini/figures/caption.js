// Chapter 14: a German caption, its translation, and a line for each attention weight.
import { choice, make, show, steady, textField } from "./controls.js";
import { among, controlState, figure, isText, upTo } from "./frame.js";
import { makeNet, normalise, RESERVED, wordsOf } from "./forward.js";
import { search } from "./search.js";
import { dictionary, isGuess, strangersNote } from "./words.js";

const LEAST = { on: 0.04, faint: 0.15 }; // smaller weights are not drawn
const BESIDE = 0.12; // gap between the lines of two heads, in rows
const ALL = "all heads";
const nameOf = (h) => `head ${h}`;

function render({ model, el }) {
  const data = model.get("data");
  const { src_tokens: srcTokens, tgt_tokens: tgtTokens, examples, num_steps: numSteps } = data;
  const { num_heads: numHeads, num_layers: numLayers } = data;
  const [unk, srcEos] = ["<unk>", "<eos>"].map((token) => srcTokens.indexOf(token));
  const [bos, eos] = ["<bos>", "<eos>"].map((token) => tgtTokens.indexOf(token));
  const known = srcTokens.filter((token) => !RESERVED.includes(token));
  const ids = new Map(known.map((token) => [token, srcTokens.indexOf(token)]));
  const net = makeNet(data, model.get("weights"));
  const heads = Array.from({ length: numHeads }, (_, h) => h);
  const state = controlState(model, update, { text: isText, layer: upTo(numLayers),
    head: among([ALL, ...heads.map(nameOf)]), side: among(["german", "english"]),
    chosen: upTo(numSteps) });
  const first = state.get();

  const text = textField("German", first.text, (value) => state.set({ text: value }));
  text.element.classList.add("long");
  const knows = dictionary((value) => state.set({ text: value }));
  const example = choice("Example",
    { "": "…", ...Object.fromEntries(examples.map((caption) => [caption, caption])) }, "",
    (caption) => caption && state.set({ text: caption, side: "german", chosen: 0 }));
  const layer = choice("Layer", Array.from({ length: numLayers }, (_, l) => l), first.layer,
    (l) => state.set({ layer: Number(l) }));
  const head = choice("Lines of", Object.fromEntries([ALL, ...heads.map(nameOf)]
    .map((name) => [name, name])), first.head, (name) => state.set({ head: name }));
  const place = make("span");
  const instead = choice("put",
    { "": "…", ...Object.fromEntries([...known].sort().map((word) => [word, word])) }, "",
    (word) => word && put([word]));
  const leaveOut = make("button", { type: "button" }, "Leave it out");
  leaveOut.addEventListener("click", () => put([]));
  const [order, key] = [make("p"), make("p", { className: "caption" })];
  const columns = { german: make("ol"), english: make("ol") };
  const lines = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  lines.setAttribute("preserveAspectRatio", "none");
  lines.setAttribute("aria-hidden", "true"); // the sentence below describes it
  const links = steady(make("div", { className: "links" }, columns.german, lines, columns.english), 24.5);
  const frame = figure(model, el, {
    state,
    noteLines: 3,
    title: "From German",
    controls: [text.element, knows.element, example.element, layer.element, head.element],
    parts: [
      make("div", { className: "wide" }, order, key),
      links,
      make("div", { className: "wide controls instead" }, place, instead.element, leaveOut),
    ],
    help: "Point at a word to see its lines; choose it to keep them.",
  });

  let german = []; // the last valid caption
  let now = null; // the net's result for it
  let before = []; // the previous translation
  let pointed = null; // { side, i }, under the pointer

  function put(words) {
    const { i } = chosenOf(state.get());
    state.set({ text: [...german.slice(0, i), ...words, ...german.slice(i + 1)].join(" ") });
  }

  function chosenOf({ side, chosen }) {
    const number = sides[side]().length;
    return { side, i: Math.min(chosen, number - 1) };
  }

  function translate(words) {
    const encoded = net.encode([...words.map((word) => ids.get(word) ?? unk), srcEos]);
    const [best] = search(net, encoded, { bos, eos, numSteps, beamSize: 1 });
    return {
      read: [...words.map((word) => (ids.has(word) ? word : "<unk>")), "<eos>"],
      written: best.ids.slice(1).map((id) => tgtTokens[id]),
      probabilities: best.alternatives.map(([likeliest]) => likeliest.p),
      weights: best.steps[0].cross.map((layer, l) => layer.map((_, h) =>
        best.steps.map(({ cross }) => cross[l][h].weights[0]))), // [layer][head] (written, read)
    };
  }

  // Whether each written word is new: not in the longest common subsequence of both texts.
  function newWords(old, text) {
    const longest = old.map(() => text.map(() => 0));
    const at = (i, j) => longest[i]?.[j] ?? 0;
    for (let i = old.length - 1; i >= 0; i--) {
      for (let j = text.length - 1; j >= 0; j--) {
        longest[i][j] = old[i] === text[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
      }
    }
    const isNew = text.map(() => true);
    for (let i = 0, j = 0; i < old.length && j < text.length;) {
      if (old[i] === text[j]) {
        isNew[j] = false;
        i++;
        j++;
      } else if (at(i + 1, j) >= at(i, j + 1)) i++;
      else j++;
    }
    return isNew;
  }

  const shownHeads = ({ head: name }) => heads.filter((h) => [ALL, nameOf(h)].includes(name));
  const weightsOf = (h) => now.weights[state.get().layer][h]; // (written, read)

  function explain({ side, i }) {
    const given = state.get();
    const quoted = (word) => `“${word}”`;
    if (side === "english") {
      const some = shownHeads(given);
      const looks = some.map((h) => {
        const row = weightsOf(h)[i];
        const best = row.map((_, j) => j).sort((a, b) => row[b] - row[a]).slice(0, some.length > 1 ? 1 : 2);
        return `${nameOf(h)} at ${best.map((j) => `${quoted(now.read[j])} ${show(row[j])}`).join(" and ")}`;
      });
      return `To write ${quoted(now.written[i])} (probability ${show(now.probabilities[i], 3)}), layer ${
        given.layer} looks: ${looks.join("; ")}.`;
    }
    const most = shownHeads(given).map((h) => {
      const column = weightsOf(h).map((row) => row[i]);
      const t = column.indexOf(Math.max(...column));
      return `${nameOf(h)} to write ${quoted(now.written[t])} ${show(column[t])}`;
    });
    return `${quoted(now.read[i])} is read most, in layer ${given.layer}: by ${most.join("; by ")}.`;
  }

  function draw() {
    const given = state.get();
    const { side, i } = pointed ?? chosenOf(given);
    const [rows, keys] = [now.written.length, now.read.length];
    const height = Math.max(rows, keys);
    links.style.setProperty("--rows", height); // long captions have lower rows
    lines.setAttribute("viewBox", `0 0 100 ${height}`);
    lines.style.height = `calc(${height} * var(--row))`;
    const drawn = [];
    for (const h of shownHeads(given)) {
      weightsOf(h).forEach((row, t) => row.forEach((weight, j) => {
        const isOn = (side === "english" ? t : j) === i;
        if (weight < (isOn ? LEAST.on : LEAST.faint)) return;
        const beside = 0.5 + BESIDE * (h - (numHeads - 1) / 2);
        const [from, to] = [j + beside, t + beside];
        const path = document.createElementNS(lines.namespaceURI, "path");
        path.setAttribute("d", `M0 ${from} C40 ${from} 60 ${to} 100 ${to}`);
        path.setAttribute("class", `curve curve-${h % 4}${isOn ? "" : " faint"}`);
        path.style.strokeWidth = `${(0.6 + 3.4 * weight).toFixed(2)}px`;
        drawn.push({ isOn, path });
      }));
    }
    drawn.sort((a, b) => a.isOn - b.isOn); // those of the word on top
    lines.replaceChildren(...drawn.map(({ path }) => path));
    frame.explain(explain({ side, i }));
  }

  const sides = { german: () => now.read, english: () => now.written };
  // Rebuild the buttons only if their number changes, so that they keep the focus.
  function list(side) {
    const words = sides[side]();
    const column = columns[side];
    while (column.children.length > words.length) column.lastChild.remove();
    while (column.children.length < words.length) {
      const i = column.children.length;
      const button = make("button", { type: "button" });
      button.addEventListener("click", () => state.set({ side, chosen: i }));
      button.addEventListener("pointerenter", () => {
        pointed = { side, i };
        draw();
      });
      button.addEventListener("pointerleave", () => {
        pointed = null;
        draw();
      });
      column.append(make("li", {}, button));
    }
    return [...column.children].map((item, i) => {
      item.firstChild.textContent = words[i];
      return item.firstChild;
    });
  }

  // The number of pairs of written words that attend to German words in the opposite order.
  function crossings(given) {
    const looksAt = now.written.slice(0, -1).map((_, t) => {
      const sums = now.read.map((_, j) =>
        shownHeads(given).reduce((sum, h) => sum + weightsOf(h)[t][j], 0));
      return sums.indexOf(Math.max(...sums));
    });
    let crossed = 0;
    looksAt.forEach((a, t) => looksAt.slice(t + 1).forEach((b) => (crossed += a > b)));
    return { crossed, pairs: looksAt.length * (looksAt.length - 1) / 2 };
  }

  function update(given) {
    const all = wordsOf(given.text);
    const strangers = all.filter((word) => !ids.has(word));
    const isReadable = all.slice(0, numSteps - 1).some((word) => ids.has(word));
    if (isReadable && all.slice(0, numSteps - 1).join(" ") !== german.join(" ")) {
      german = all.slice(0, numSteps - 1);
      before = now ? now.written : null;
      now = translate(german);
      pointed = null;
    }
    frame.note(!all.length ? "Type a German caption."
      : !isReadable ? "No word of this is in the vocabulary; the last translation stays."
        : [all.length > german.length ? `Only the first ${numSteps - 1} words are read.` : "",
          strangersNote(strangers, known),
        ].filter(Boolean).join(" "));
    text.set(given.text);
    knows.update(known, given.text);
    example.set(examples.find((caption) => normalise(caption) === normalise(given.text)) ?? "");
    layer.set(given.layer);
    head.set(given.head);
    instead.set("");
    const chosen = chosenOf(given);
    const isNew = before ? newWords(before, now.written) : now.written.map(() => false);
    for (const side of Object.keys(columns)) {
      list(side).forEach((button, i) => {
        const isChosen = side === chosen.side && i === chosen.i;
        button.setAttribute("aria-pressed", String(isChosen));
        button.className = ["token", side === "english" && isNew[i] ? "written" : "",
          button.textContent === "<unk>" ? "unknown" : ""].filter(Boolean).join(" ");
      });
    }
    const onGerman = chosen.side === "german" && chosen.i < german.length;
    place.textContent = onGerman ? `In place of “${german[chosen.i]}”`
      : "Choose a German word to put another in its place.";
    instead.disable(!onGerman);
    leaveOut.disabled = !onGerman || german.length < 2;
    const { crossed, pairs } = crossings(given);
    const unread = german.filter((word) => !ids.has(word));
    order.textContent = isGuess(unread, german)
      ? `A guess: it does not know ${unread.length} of these ${german.length} words.`
      : `Word order: of the ${pairs} pairs of English words, ${crossed} look at the German in the other order.`;
    key.replaceChildren(...shownHeads(given).flatMap((h) => [
      make("span", { className: `key curve-${h % 4}` }), `${nameOf(h)} `]));
    draw();
  }
  update(first);
}

export default { render };
