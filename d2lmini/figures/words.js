// Lines of selectable words, and the words that a net knows.
import { make } from "./controls.js";

// Tab focuses one word, arrow keys move to the others. onPoint(i) is called when the pointer or the
// focus enters a word, onPoint(null) when it leaves; onChoose(i) when a word is chosen.
//
// update(words, { chosen, visible, classOf }): the index of the chosen word, or null; the number of
// visible words; classOf(word, i), a class for each; tintOf(i), from -1 to 1, for its background.
export function wordLine(name, { onPoint = () => {}, onChoose = () => {} } = {}) {
  const element = make("div", { className: "tokens", role: "group", "aria-label": name });
  const buttons = element.children;
  let reached = 0; // the word that Tab focuses

  const word = (i) => {
    const button = make("button", { type: "button" });
    button.addEventListener("pointerenter", () => onPoint(i));
    button.addEventListener("pointerleave", () => onPoint(null));
    button.addEventListener("focus", () => {
      reached = i;
      if (button.matches(":focus-visible")) onPoint(i);
    });
    button.addEventListener("blur", () => onPoint(null));
    button.addEventListener("click", () => onChoose(i));
    button.addEventListener("keydown", (event) => {
      const other = buttons[i + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? NaN)];
      if (!other) return;
      event.preventDefault(); // else the page would scroll
      button.tabIndex = -1;
      other.tabIndex = 0;
      other.focus();
    });
    return button;
  };

  // Rebuild the buttons only if their number changes, so that they keep the focus.
  const update = (words, { chosen = null, visible = words.length, classOf = () => "",
    tintOf = () => 0 } = {}) => {
    while (buttons.length > words.length) element.lastChild.remove();
    while (buttons.length < words.length) element.append(word(buttons.length));
    reached = Math.min(reached, Math.max(0, words.length - 1));
    [...buttons].forEach((button, i) => {
      if (button.textContent !== words[i]) button.textContent = words[i]; // avoids a layout
      button.className = `token ${classOf(words[i], i)}`.trim();
      button.tabIndex = i === reached ? 0 : -1;
      button.classList.toggle("against", tintOf(i) < 0);
      button.style.setProperty("--level", Math.abs(tintOf(i)).toFixed(3));
      button.style.visibility = i < visible ? "" : "hidden";
      if (chosen !== null) button.setAttribute("aria-pressed", String(i === chosen));
    });
  };
  return { element, update };
}

// The words of a vocabulary that complete the last one typed; all of them if none does.
// complete(word) is the text with that word in its place.
export function completions(vocabulary, text) {
  const begun = text.match(/[^\s.,!?]*$/u)[0];
  const letters = begun.toLowerCase().replaceAll("’", "'");
  const some = vocabulary.filter((word) => word.startsWith(letters) && word !== letters);
  const kept = (some.length ? text.slice(0, text.length - begun.length) : text).trimEnd();
  return { words: some.length ? some : vocabulary,
    complete: (word) => `${kept}${kept ? " " : ""}${word}` };
}

// A fold with the words that a net knows; onType(text) is called with one of them added.
//
// update(words, text): the vocabulary, and what is typed.
export function dictionary(onType) {
  let now = { words: [], text: "" };
  const line = wordLine("words it knows", { onChoose: (i) => {
    const { words, complete } = completions(now.words, now.text);
    onType(complete(words[i]));
  } });
  const element = make("details", { className: "long" }, make("summary", {}, "It knows …"),
    make("div", { className: "dictionary" }, line.element));
  // Closed, it costs nothing at a keystroke.
  const draw = () => element.open && line.update(completions(now.words, now.text).words);
  element.addEventListener("toggle", draw);
  const update = (words, text) => {
    now = { words, text };
    draw();
  };
  return { element, update };
}

// The number of letters to add, drop or exchange (Levenshtein's distance)
function distance(a, b) {
  let row = [...Array(b.length + 1).keys()];
  for (let i = 1; i <= a.length; i++) {
    const [before, next] = [row, [i]];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(before[j] + 1, next[j - 1] + 1, before[j - 1] + (a[i - 1] !== b[j - 1]));
    }
    row = next;
  }
  return row[b.length];
}

// The known word most like another one, if there is one that is like it.
function nearest(word, known) {
  const most = word.length < 5 ? 1 : 2; // letters
  const some = known.filter((other) => Math.abs(other.length - word.length) <= most)
    .map((other) => ({ other, far: distance(word, other) })).filter(({ far }) => far <= most);
  return some.sort((a, b) => a.far - b.far)[0]?.other;
}

// The note about unknown words: the first few, at most 20 characters each, and the known words
// most like them.
export function strangersNote(strangers, known = []) {
  if (!strangers.length) return "";
  const first = strangers.slice(0, 3).map((word) => {
    const short = [...word].slice(0, 20).join("");
    const near = nearest(short, known);
    return near ? `${short} (is it ${near}?)` : short;
  });
  return `Not in the vocabulary, read as <unk>: ${first.join(", ")}${strangers.length > 3 ? ", …" : ""}.`;
}

// Whether so many words are unknown that what the net says of them is a guess.
export const isGuess = (strangers, words) => 3 * strangers.length >= words.length;
