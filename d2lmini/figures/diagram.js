// The blocks of an encoder-decoder from the bottom up, and the most likely next words.
import { show } from "./controls.js";
import { draw } from "./lines.js";

const WIDE = 300;
const ROW = 43;
const HIGH = 26; // height of a box
const HALF = 62; // half the width of a box
const MIDDLE = { encoder: 78, decoder: 222 };

// choose(n) is called for the nth block; with null, none can be chosen.
// update({ chosen, source, target, after, likely }): the input words; the last word, and likely next
// ones, { token, p }, most probable first.
export function diagram(blocks, choose) {
  const rows = { encoder: 0, decoder: 0 };
  const places = blocks.map(({ side }) => ({ side, row: rows[side]++ }));
  const height = Math.max(...Object.values(rows)) * ROW + 40;
  const y = ({ row }) => height - 22 - (row + 1) * ROW;
  const boxes = blocks.map((block, n) => {
    const { side } = places[n];
    const button = { role: "button", tabindex: 0, "aria-label": `${block.side}: ${block.name}` };
    const box = draw("g", { class: `block ${block.kind}`, ...(choose && button) },
    draw("rect", { x: MIDDLE[side] - HALF, y: y(places[n]), width: 2 * HALF, height: HIGH, rx: 5 }),
    draw("text", { x: MIDDLE[side], y: y(places[n]) + 17, "text-anchor": "middle" }, block.name));
    if (!choose) return box;
    box.addEventListener("click", () => choose(n));
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(n);
    });
    return box;
  });

  const head = (x, tip, dx, dy) => draw("path", { class: "head",
    d: `M${x},${tip} l${-5 * dx - 3 * dy},${5 * dy - 3 * dx} l${6 * dy},${6 * dx} z` });
  const line = (...points) => draw("polyline", { class: "arrow", points: points.join(" ") });
  const upwards = blocks.flatMap((_, n) => {
    const [x, tip] = [MIDDLE[places[n].side], y(places[n]) + HIGH];
    return [line([x, tip + ROW - HIGH], [x, tip]), head(x, tip, 0, 1)];
  });
  const top = blocks.map((block) => block.side).lastIndexOf("encoder");
  const out = MIDDLE.encoder + HALF;
  const into = MIDDLE.decoder - HALF;
  const cross = blocks.flatMap((block, n) => {
    if (block.part !== "cross") return [];
    const [from, to] = [y(places[top]) + HIGH / 2, y(places[n]) + HIGH / 2];
    const between = (out + into) / 2;
    const brings = draw("text", { x: between, y: to + (to > from ? 13 : -6), class: "small",
      "text-anchor": "middle" }, draw("tspan", { class: "hue-K" }, "K"), " ",
    draw("tspan", { class: "hue-V" }, "V"));
    return [line([out, from], [between, from], [between, to], [into, to]), head(into, to, 1, 0),
      brings];
  });
  // The shortcut around each part, from its input to the add & norm above it.
  const shortcuts = blocks.flatMap(({ kind }, n) => {
    if (kind !== "addnorm") return [];
    const { side } = places[n];
    const away = side === "encoder" ? -1 : 1;
    const x = MIDDLE[side] + away * HALF;
    const [from, to] = [y(places[n - 1]) + HIGH + 8, y(places[n]) + HIGH / 2];
    return [line([MIDDLE[side], from], [x + away * 10, from], [x + away * 10, to], [x, to]),
      head(x, to, -away, 0)];
  });
  const label = (x, at, className = "") =>
    draw("text", { x, y: at, "text-anchor": "middle", class: className });
  const read = { encoder: label(MIDDLE.encoder, height - 6), decoder: label(MIDDLE.decoder, height - 6) };
  const bars = draw("g", {});
  const element = draw("svg", { viewBox: `0 0 ${WIDE} ${height}`, class: "machine" },
    ...upwards, ...cross, ...shortcuts, ...boxes, read.encoder, read.decoder, bars);

  const update = ({ chosen, source, target, after, likely }) => {
    if (choose) boxes.forEach((box, n) => box.setAttribute("aria-pressed", String(n === chosen)));
    read.encoder.textContent = source.join(" ");
    read.decoder.textContent = target.join(" ");
    bars.replaceChildren(draw("text", { x: 10, y: 16, class: "strong" }, `after “${after}”`),
      ...likely.flatMap(({ token, p }, i) => [
        draw("text", { x: 10, y: 35 + 18 * i }, token),
        draw("rect", { class: "share", x: 58, y: 26 + 18 * i, width: 46 * p + 0.5, height: 10 }),
        draw("text", { x: 108, y: 35 + 18 * i }, show(p))]));
  };
  return { element, update, top };
}
