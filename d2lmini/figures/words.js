// A line of selectable words.
import { make } from "./matrix.js";

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
