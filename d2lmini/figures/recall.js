// Chapter 1: the two copiers repeat the reader's digits.
import { make, show, slider, textField } from "./controls.js";
import { matrix } from "./matrix.js";
import { controlState, figure, isText, upTo } from "./frame.js";
import { copied } from "./gru.js";
import { lines } from "./lines.js";
import { numbersOf } from "./weights.js";

const NAMES = ["one code", "attention"];
const [LEAST, MOST] = [2, 16]; // lengths in training
const MORE = "3141592653589793"; // digits for longer strings

function render({ model, el }) {
  const data = model.get("data");
  const { right: shares } = data; // by length, over many strings
  const P = numbersOf(data, model.get("weights"));
  const state = controlState(model, update, { digits: isText, place: upTo(MOST) });
  const first = state.get();
  let digits = []; // the last valid ones

  const typed = textField("Digits", first.digits, (value) => state.set({ digits: value }));
  const length = slider("Length", { min: LEAST, max: MOST, value: LEAST },
    (n) => ofLength(n));
  const place = slider("Place", { min: 0, max: MOST - 1, value: first.place },
    (i) => state.set({ place: i }));
  const ofLength = (n) => {
    const text = digits.join("");
    state.set({ digits: (text + MORE.slice(text.length)).slice(0, n) });
  };
  const rows = make("tbody");
  rows.addEventListener("click", ({ target }) => { // like the Place slider for the keyboard
    const cell = target.closest("td");
    if (cell) state.set({ place: cell.cellIndex - 1 });
  });
  const onReach = (text) => frame.explain(text);
  const share = matrix({ title: "right, by place", rowsAre: "networks",
    columnsAre: "places, from 0", onReach });
  const looks = matrix({ title: "where attention looks", rowsAre: "place written",
    columnsAre: "digits read", onReach });
  const digitRows = make("div", { className: "wide" },
    make("table", { className: "repeats" }, rows));
  const curve = lines({ title: "Share of digits that are right", xIs: "length",
    onReach: (i) => ofLength(LEAST + i) });
  for (const m of [share, looks]) m.element.classList.add("compact", "wide");
  const frame = figure(model, el, {
    state,
    title: "Repeat after me",
    controls: [typed, length, place].map((c) => c.element),
    parts: [digitRows, looks.element, share.element, curve.element],
    help: "Struck out: a wrong digit. The two matrices and the curves follow the length.",
    brief: {
      controls: [typed, length].map((c) => c.element),
      parts: [digitRows],
      help: "Struck out: a wrong digit. Both networks had the same short training.",
    },
  });

  function update({ digits: text, place: asked }) {
    const read = [...text].filter((c) => c >= "0" && c <= "9").slice(0, MOST).map(Number);
    if (read.length >= LEAST) digits = read;
    else if (!digits.length) digits = [...MORE].slice(0, LEAST).map(Number);
    const n = digits.length;
    const p = Math.min(asked, n - 1);
    const written = NAMES.map((name) => copied(P, name, digits));
    const cell = (digit, i) => make("td", { className: [i === p ? "chosen" : "",
      digit === digits[i] ? "" : "wrong"].join(" ") },
    digit === digits[i] ? String(digit) : make("s", {}, String(digit)));
    rows.replaceChildren(
      make("tr", {}, make("th", { scope: "row" }, "read"), ...digits.map(cell)),
      ...NAMES.map((name, which) => make("tr", {}, make("th", { scope: "row" }, name),
        ...written[which].map(({ digit }, i) => cell(digit, i)))));
    const { weights } = written[1][p];
    looks.update({ rows: [`place ${p}`], columns: digits, top: 1, value: (_, j) => weights[j],
      explain: (_, j) => `${show(weights[j], 3)}: the weight of place ${j}, a ${
        digits[j]}, while attention writes place ${p}` });
    if (shares) showShares(n);
    const said = NAMES.map((name, which) => {
      const { digit, probabilities } = written[which][p];
      return `${name} writes ${digit} (probability ${show(probabilities[digit])})`;
    });
    const right = written.map((each) => each.filter(({ digit }, i) => digit === digits[i]).length);
    const rest = read.join("") === text ? "" : read.length < [...text].filter((c) => c >= "0" && c <= "9").length
      ? ` Only the first ${n} digits count.` : " Only digits count.";
    frame.note(read.length < LEAST ? "Type two digits at least."
      : data.brief ? `Right of ${n} digits: one code ${right[0]}, attention ${right[1]}.${rest}`
      : `Place ${p} is a ${digits[p]}: ${said.join(", ")}.${rest}`);
    typed.set(text);
    length.set(n);
    place.set(p);
  }

  // Over many strings of n digits
  function showShares(n) {
    const byPlace = NAMES.map((name) => shares[name][n - LEAST]);
    share.update({ rows: NAMES, columns: Array.from({ length: n }, (_, i) => i), top: 1,
      value: (which, i) => byPlace[which][i],
      explain: (which, i) => `${show(byPlace[which][i], 3)}: of 500 strings of ${n} digits, how many `
        + `came back right at place ${i}; mean of five networks` });
    const mean = (numbers) => numbers.reduce((sum, v) => sum + v, 0) / numbers.length;
    const lengths = shares[NAMES[0]].map((_, i) => LEAST + i);
    curve.update({ x: lengths, at: n - LEAST, low: 0, high: 1, series: Object.fromEntries(
      NAMES.map((name) => [name, shares[name].map(mean)])) });
  }
  update(first);
}

export default { render };
