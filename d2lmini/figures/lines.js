// Curves, with a marker moved by the pointer or the arrow keys.
import { make, show } from "./controls.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 300;
const HEIGHT = 150;
const LEFT = 38;
const BOTTOM = 28;
const TOP = 8;
const LONGEST_NAME = 20; // a longer one stands in the legend alone

export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Heights as near to these as a line of text of 10 allows, none outside of the plot.
function apart(heights) {
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  const found = [];
  order.forEach((i, n) => { found[i] = Math.max(heights[i], TOP, (found[order[n - 1]] ?? -99) + 10); });
  order.reverse().forEach((i, n) => {
    found[i] = Math.min(found[i], n ? found[order[n - 1]] - 10 : HEIGHT - BOTTOM);
  });
  return found;
}

// update({ x, series, low, high, at, label }): series name -> numbers, or null for gaps; at is the
// index of the marker; with cut, a curve ends where it leaves the plot. onReach(index, step) is
// called when the reader moves the marker; step is 1 or -1 for an arrow key, 0 for the pointer.
export function lines({ title, xIs, onReach }) {
  const plot = draw("g");
  const marker = draw("line", { class: "marker", y1: TOP, y2: HEIGHT - BOTTOM });
  const svg = draw("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "slider", tabindex: 0, "aria-label": title,
  }, plot, marker);
  const legend = make("p", { className: "axes" });
  const element = make("div", { className: "lines" },
    make("p", { className: "caption" }, make("span", { className: "name" }, title)), svg, legend);
  let state = { x: [0], at: 0 };
  let end = WIDTH - 8; // where the curves end; names may stand behind it

  const place = (i) => LEFT + ((end - LEFT) * i) / Math.max(1, state.x.length - 1);
  const move = (i, step = 0) => onReach(Math.max(0, Math.min(state.x.length - 1, i)), step);
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    move(state.at + step, step);
  });
  const follow = (event) => {
    const { left, width } = svg.getBoundingClientRect();
    const across = ((event.clientX - left) / width) * WIDTH - LEFT;
    move(Math.round((across / (end - LEFT)) * (state.x.length - 1)));
  };
  svg.addEventListener("pointerdown", follow);
  svg.addEventListener("pointermove", (event) => event.buttons && follow(event));

  const update = ({ x, series, low, high, at, cut, digits = 2, label = (v) => show(v, digits) }) => {
    state = { x, at };
    const height = (v) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - v)) / (high - low || 1);
    const names = Object.keys(series);
    const longest = Math.max(...names.map((name) => name.length));
    const named = names.length > 1 && longest <= LONGEST_NAME;
    end = WIDTH - (named ? 8 + 5.2 * longest : 8);
    const path = (numbers) => {
      let pen = "M";
      let out = false;
      return numbers.map((v, i) => {
        const beyond = cut && (v >= high || v <= low);
        const hidden = v === null || !Number.isFinite(v) || (beyond && out);
        out = beyond;
        if (hidden) {
          pen = "M";
          return "";
        }
        const piece = `${pen}${place(i).toFixed(1)} ${height(v).toFixed(1)}`;
        pen = "L";
        return piece;
      }).join("");
    };
    plot.replaceChildren(
      draw("line", { class: "axis", x1: LEFT, x2: LEFT, y1: TOP, y2: HEIGHT - BOTTOM }),
      draw("line", { class: "axis", x1: LEFT, x2: end,
        y1: height(Math.max(low, Math.min(high, 0))), y2: height(Math.max(low, Math.min(high, 0))) }),
      draw("text", { x: LEFT - 4, y: TOP + 6, "text-anchor": "end" }, label(high)),
      draw("text", { x: LEFT - 4, y: HEIGHT - BOTTOM, "text-anchor": "end" }, label(low)),
      ...(low < 0 && high > 0
        ? [draw("text", { x: LEFT - 4, y: height(0) + 3, "text-anchor": "end" }, label(0))] : []),
      draw("text", { x: LEFT, y: HEIGHT - BOTTOM + 12 }, String(x[0])),
      draw("text", { x: end, y: HEIGHT - BOTTOM + 12, "text-anchor": "end" },
        String(x.at(-1))),
      draw("text", { x: (end + LEFT) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, xIs),
      ...(named ? apart(names.map((name) => height(series[name].findLast(Number.isFinite) ?? low)))
        .map((y, i) => draw("text", { x: end + 5, y: y + 3, class: "name" }, names[i])) : []),
      ...names.map((name, i) => draw("path", { class: `curve curve-${i}`, d: path(series[name]) })),
      ...names.flatMap((name, i) => series[name].flatMap((v, k, all) => // a point without neighbours
        Number.isFinite(v) && ![all[k - 1], all[k + 1]].some(Number.isFinite)
          ? [draw("circle", { class: `curve curve-${i}`, cx: place(k), cy: height(v), r: 2 })] : [])),
    );
    marker.setAttribute("x1", place(at));
    marker.setAttribute("x2", place(at));
    const here = names.map((name) => {
      const v = series[name][at];
      return `${name} ${v === null || v === undefined ? "none" : label(v)}`;
    }).join(", ");
    svg.setAttribute("aria-valuemin", 0);
    svg.setAttribute("aria-valuemax", x.length - 1);
    svg.setAttribute("aria-valuenow", at);
    svg.setAttribute("aria-valuetext", `${xIs} ${x[at]}: ${here}`);
    legend.replaceChildren(`at ${x[at]}: `, ...names.flatMap((name, i) => [i ? ", " : "",
      make("span", { className: "pair" },
        make("span", { className: `key curve-${i}` }), here.split(", ")[i])]));
  };
  return { element, update };
}

// Let the pointer drag an element over an svg with the origin at its centre and its border at reach,
// and the arrow keys move it by step, through to(x, y) and by(dx, dy); y points up.
export function movable(element, svg, { reach, step, to, by }) {
  const follow = (event) => {
    const { left, top, width, height } = svg.getBoundingClientRect();
    to(((event.clientX - left) / width) * 2 * reach - reach,
      reach - ((event.clientY - top) / height) * 2 * reach);
  };
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    follow(event);
  });
  element.addEventListener("pointermove", (event) => event.buttons && follow(event));
  element.addEventListener("keydown", (event) => {
    const way = {
      ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step],
    }[event.key];
    if (!way) return;
    event.preventDefault(); // else the page would scroll
    by(...way);
  });
}
