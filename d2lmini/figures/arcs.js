// Two lines of words, and a curve for each weight of attention between them; as wide as the weight.
import { make } from "./matrix.js";
import { draw } from "./lines.js";

const LEAST = 0.05; // weights below are not drawn

// read and written: elements whose children are the words, above and below each other; on a narrow
// screen, side by side. update(weights, isOn): rows are what is written, columns what is read;
// isOn(t, j) says which curves stand out.
export function arcs(read, written) {
  const svg = draw("svg", { "aria-hidden": "true" }); // the figure says it in words
  const element = make("div", { className: "arcs" }, read, written, svg);

  const update = (weights, isOn) => {
    const { left, top } = element.getBoundingClientRect();
    Object.assign(svg.style, { width: 0, height: 0 }); // else it would count in what follows
    const [width, height] = [element.scrollWidth, element.scrollHeight];
    Object.assign(svg.style, { width: `${width}px`, height: `${height}px` });
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [dx, dy] = [element.scrollLeft - left, element.scrollTop - top];
    const sideBySide = getComputedStyle(element).flexDirection === "row";
    const boxes = ({ children }) => [...children].map((word) => word.getBoundingClientRect());
    // Where the curves of each word begin, and where they end.
    const starts = boxes(read).map((box) => (sideBySide
      ? [box.right + dx, (box.top + box.bottom) / 2 + dy]
      : [(box.left + box.right) / 2 + dx, box.bottom + dy]));
    const ends = boxes(written).map((box) => (sideBySide
      ? [box.left + dx, (box.top + box.bottom) / 2 + dy]
      : [(box.left + box.right) / 2 + dx, box.top + dy]));
    const curves = weights.flatMap((row, t) => row.flatMap((weight, j) => {
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
    curves.sort((a, b) => a.isOn - b.isOn); // those that stand out above the others
    svg.replaceChildren(...curves.map(({ curve }) => curve));
  };
  return { element, update };
}
