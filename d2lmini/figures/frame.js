// The frame of a figure, and its state: the values of the controls.
import { make } from "./controls.js";

// Rules for the values of a state, since the address of a page can ask for anything.
export const upTo = (n) => (v) => Number.isInteger(v) && v >= 0 && v < n;
export const between = (low, high) => (v) => Number.isFinite(v) && v >= low && v <= high;
export const among = (values) => (v) => values.includes(v);
export const isText = (v) => typeof v === "string" && v.length <= 2000;
export const isFlag = (v) => typeof v === "boolean";
export const each = (rule, least, most = least) => (v) =>
  Array.isArray(v) && v.length >= least && v.length <= most && v.every((part) => rule(part));

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// The values of the controls, stored in the model, where a running kernel sees them.
//
// rules: name -> function: whether the controls can produce this value in this state.
export function controlState(model, draw, rules) {
  const first = model.get("state");
  const asked = { ...first, ...model.get("asked") };
  const refused = Object.keys(asked).filter((name) => !rules[name]?.(asked[name], asked));
  for (const name of refused) asked[name] = first[name];
  if (!same(asked, first)) model.set("state", asked);
  const get = () => model.get("state");
  model.on("change:state", () => draw(get()));
  const set = (changes) => {
    model.set("state", { ...get(), ...changes }); // triggers draw by the line above
    model.save_changes();
  };
  return { get, set, first, refused };
}

// A play button: step() advances and returns whether more steps follow; begin() goes to the start.
// Not shown with reduced motion; pauses in hidden tabs.
export function player(name, milliseconds, begin, step) {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const element = make("button", { type: "button", disabled: still.matches }, name);
  let timer = null;
  const stop = () => {
    clearTimeout(timer);
    timer = null;
    element.textContent = name;
  };
  const play = () => {
    stop();
    if (still.matches) return;
    element.textContent = "Pause";
    begin();
    const next = () => {
      if (step()) timer = setTimeout(next, milliseconds);
      else stop();
    };
    timer = setTimeout(next, milliseconds);
  };
  element.addEventListener("click", () => (timer ? stop() : play()));
  document.addEventListener("visibilitychange", () => document.hidden && stop());
  still.addEventListener("change", () => {
    element.disabled = still.matches;
    if (still.matches) stop();
  });
  return { element, play, stop };
}

// Help, controls, parts, and the line of explanation.
//
// state: from controlState. The model's data contains tries, { name, set, notice }: each sets the
// state and says what to notice. noteLines: the number of lines reserved for notes.
// brief: what differs in the small form at the head of a chapter.
export function figure(model, el, { brief, ...whole }) {
  const { title, controls, parts, help, state, noteLines = 1 } =
    model.get("data").brief ? { ...whole, ...brief } : whole;
  const note = make("p", { className: "note", role: "status" });
  note.style.minHeight = `${1.35 * noteLines}em`;
  note.style.setProperty("--lines", noteLines);
  const said = make("p", { className: "explanation", "aria-live": "polite" }, help);
  let atRest = help; // shown while nothing is pointed at
  const setUp = (changes, notice) => {
    el.explained = null; // not a cell of a matrix
    atRest = notice;
    state.set({ ...state.first, ...changes });
    said.textContent = notice;
  };
  // What a try says holds for its state: its name stands before it, and its button looks pressed.
  const tries = (model.get("data").tries ?? []).map(({ name, set, notice }) => {
    const button = make("button", { type: "button", className: "chip", "aria-pressed": "false" }, name);
    const text = `${name}: ${notice}`;
    button.addEventListener("click", () => setUp(set, text));
    return { button, text, due: { ...state.first, ...set } };
  });
  const reset = make("button", { type: "button" }, "Reset");
  // Not disabled, which would lose the focus.
  const mark = () => {
    reset.setAttribute("aria-disabled", String(same(state.get(), state.first)));
    for (const { button, text, due } of tries) {
      const holds = same(state.get(), due);
      button.setAttribute("aria-pressed", String(holds));
      if (holds || atRest !== text) continue;
      if (said.textContent === text) said.textContent = help;
      atRest = help;
    }
  };
  reset.addEventListener("click", () => setUp({}, help));
  model.on("change:state", mark);
  mark();
  el.classList.add("d2lmini-figure");
  el.setAttribute("role", "group");
  // Else JupyterLab handles the arrow keys; it checks the focused element.
  el.addEventListener("focusin", ({ target }) =>
    target.setAttribute("data-lm-suppress-shortcuts", "true"));
  el.setAttribute("aria-label", title);
  el.classList.toggle("brief", Boolean(model.get("data").brief));
  el.replaceChildren(make("div", { className: "frame" },
    make("div", { className: "heading" }, make("p", { className: "title" }, title), reset),
    ...(tries.length ? [make("div", { className: "tries" }, "Try this:", ...tries.map(({ button }) => button))] : []),
    make("div", { className: "controls" }, ...controls),
    ...(state.refused.length ? [make("p", { className: "note refused" }, "The address asks for "
      + `what this figure does not have; ignored: ${state.refused.join(", ")}.`)] : []),
    note,
    make("div", { className: "parts" }, ...parts),
    said,
  ));
  return {
    explain: (text) => (said.textContent = text),
    rest: () => (said.textContent = atRest),
    note: (text) => (note.textContent = text),
  };
}
