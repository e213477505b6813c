// Shared by the figures: elements, and labelled controls.

// An element with properties and children: make("p", { className: "note" }, "text", child).
// Text is inserted as text, so that a token such as <b> stays three characters.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

// A slider between its name and its value. onChange(value) is called at every move.
export function slider(name, { min, max, step = 1, value, format = String }, onChange) {
  const shown = make("output", {}, format(value));
  const input = make("input", { type: "range", min, max, step, value });
  const set = (next) => {
    input.value = next;
    shown.textContent = format(Number(input.value));
  };
  input.addEventListener("input", () => {
    set(input.value);
    onChange(Number(input.value));
  });
  return control(input, set, name, input, shown);
}

function control(input, set, ...parts) {
  const element = make("label", { className: "control" }, ...parts);
  return { element, set, disable: (off) => (input.disabled = off) };
}

export function checkbox(name, checked, onChange) {
  const input = make("input", { type: "checkbox", checked });
  input.addEventListener("change", () => onChange(input.checked));
  const set = (next) => (input.checked = next);
  return control(input, set, input, name);
}

// options: value -> label
export function choice(name, options, value, onChange) {
  const entries = Object.entries(options);
  const input = make(
    "select", {}, ...entries.map(([key, text]) => make("option", { value: key }, text)),
  );
  input.value = value;
  input.addEventListener("change", () => onChange(input.value));
  const set = (next) => (input.value = next);
  return control(input, set, name, input);
}

export function textField(name, value, onChange) {
  const input = make("input", { type: "text", value, dir: "auto", spellcheck: false, size: 24 });
  input.addEventListener("input", () => onChange(input.value));
  const set = (next) => {
    if (input.value !== next) input.value = next; // setting it always would move the caret
  };
  return control(input, set, name, input);
}

// The words of a text, at most limit words of at most 20 characters; and what was left out.
export function words(text, limit) {
  // Words exclude control characters and marks of writing direction.
  const clean = text.slice(0, 2000).replace(/[\p{Cc}\p{Cf}]/gu, " ").trim();
  const all = clean === "" ? [] : clean.split(/\s+/u);
  const tokens = all.slice(0, limit).map((word) => [...word].slice(0, 20).join(""));
  let note = "";
  if (all.length > limit) note = `Only the first ${limit} words are used.`;
  else if (tokens.some((token, i) => token !== all[i])) note = "A long word was cut.";
  else if (all.length === 0) note = "Type a word.";
  return { tokens, note };
}

// Colour the words for query, key, value and output in a text.
export const hued = (text) =>
  text.split(/\b(quer(?:y|ies)|keys?|values?|output)\b/u).map((part, n) =>
    (n % 2 ? make("span", { className: `hue-${{ q: "Q", k: "K", v: "V", o: "Y" }[part[0]]}` }, part)
      : part));

// Format a number, with a minus sign instead of a hyphen.
export function show(number, digits = 2) {
  if (number === -Infinity) return "−∞";
  return number.toFixed(digits).replace("-", "−").replace(/^−(0\.?0*)$/, "$1");
}

// Fix the height of an element, in rem, so that nothing below it jumps.
export function steady(element, height) {
  element.classList.add("steady");
  element.style.setProperty("--high", `${height}rem`);
  return element;
}
