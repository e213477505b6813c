// Two lines of words, joined by a curve for each attention weight, as wide as the weight.
import { make } from "./controls.js";
import { draw } from "./lines.js";
import { wordLine } from "./words.js";

const LEAST = 0.05; // smaller weights are not drawn

// The source above the output; on a narrow screen, side by side. The curves of one word stand out:
// the word under the pointer, or else the chosen one.
//
// names: of the two lines. onPoint({ side, i }) is called when the pointer enters a word,
// onPoint(null) when it leaves; onChoose(i) when a written word is chosen.
// update({ read, written, weights, chosen, ... }) takes tokens; weights with a row for each written
// token; visible, the number of written tokens shown; and shown and classOf of languages.js.
export function arcs(names, { onPoint, onChoose }) {
  let now = { weights: [] };
  let pointed = null;
  const pointing = (side) => (i) => {
    pointed = i === null ? null : { side, i };
    onPoint(pointed);
    redraw();
  };
  const read = wordLine(names.read, { onPoint: pointing("read") });
  const written = wordLine(names.written, { onPoint: pointing("written"), onChoose });
  const svg = draw("svg", { "aria-hidden": "true" }); // the figure describes it in words
  const element = make("div", { className: "arcs" }, read.element, written.element, svg);

  function redraw() {
    const one = pointed ?? (now.chosen >= 0 ? { side: "written", i: now.chosen } : null);
    const isOn = (t, j) => !one || (one.side === "written" ? t : j) === one.i;
    Object.assign(svg.style, { width: 0, height: 0 }); // else it would affect the measurements below
    const place = element.getBoundingClientRect();
    const scale = place.width / element.offsetWidth || 1; // of a slide scaled to the screen
    const [width, height] = [element.scrollWidth, element.scrollHeight];
    const sideBySide = getComputedStyle(element).flexDirection === "row";
    const boxes = ({ children }) => [...children].map((word) => {
      const { x, y, width, height } = word.getBoundingClientRect();
      return { left: (x - place.x) / scale + element.scrollLeft, width: width / scale,
        top: (y - place.y) / scale + element.scrollTop, height: height / scale };
    });
    const middle = ({ left, width, top, height }) => [left + width / 2, top + height / 2];
    // Where the curves of each word begin, and where they end.
    const starts = boxes(read.element).map((box) => (sideBySide
      ? [box.left + box.width, middle(box)[1]] : [middle(box)[0], box.top + box.height]));
    const ends = boxes(written.element).map((box) => (sideBySide
      ? [box.left, middle(box)[1]] : [middle(box)[0], box.top]));
    // Measurements end here; changes begin.
    Object.assign(svg.style, { width: `${width}px`, height: `${height}px` });
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const curves = now.weights.slice(0, now.visible).flatMap((row, t) => row.flatMap((weight, j) => {
      if (weight < LEAST) return [];
      const [[x, y], [u, v]] = [starts[j], ends[t]];
      const bend = sideBySide ? `${(x + u) / 2} ${y} ${(x + u) / 2} ${v}`
        : `${x} ${(y + v) / 2} ${u} ${(y + v) / 2}`;
      const curve = draw("path", { class: `curve${isOn(t, j) ? "" : " faint"}`,
        d: `M${x} ${y} C${bend} ${u} ${v}` });
      curve.style.strokeWidth = `${(0.5 + 6 * weight).toFixed(2)}px`;
      if (isOn(t, j)) curve.style.opacity = (0.3 + 0.5 * weight).toFixed(2);
      return [{ curve, isOn: isOn(t, j) }];
    }));
    curves.sort((a, b) => a.isOn - b.isOn); // highlighted ones on top
    svg.replaceChildren(...curves.map(({ curve }) => curve));
  }

  const update = (given) => {
    now = given;
    if (pointed && pointed.i >= now[pointed.side].length) pointed = null; // its word no longer exists
    const { shown, classOf, visible, chosen } = now;
    read.update(now.read.map(shown), { classOf: (_, i) => classOf(now.read[i]) });
    written.update(now.written.map(shown), { classOf: (_, i) => classOf(now.written[i]), visible, chosen });
    redraw();
    onPoint(pointed);
  };
  new ResizeObserver(redraw).observe(element);
  document.fonts.addEventListener("loadingdone", redraw); // word widths change
  return { element, update };
}
