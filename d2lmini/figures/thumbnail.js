// A matrix as a small, selectable picture.
import { make } from "./controls.js";

const CELL = 6;

function thumbnail(title, onChoose) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const element = make("button", { type: "button", className: "thumbnail", "aria-label": title,
    title }, canvas);
  element.addEventListener("click", onChoose);
  const update = (weights, { chosen, off, row }) => {
    canvas.width = weights[0].length * CELL;
    canvas.height = weights.length * CELL;
    const pen = canvas.getContext("2d");
    pen.fillStyle = "#2b87c8"; // visible on light and dark pages, since readers may switch
    weights.forEach((numbers, i) => numbers.forEach((weight, j) => {
      pen.globalAlpha = Math.max(0.04, weight);
      pen.fillRect(j * CELL, i * CELL, CELL - 1, CELL - 1);
    }));
    if (row !== null) { // the selected decoding step
      pen.globalAlpha = 1;
      pen.strokeStyle = "#d55e00";
      pen.strokeRect(0.5, row * CELL - 0.5, canvas.width - 1, CELL);
    }
    element.setAttribute("aria-pressed", String(chosen));
    element.classList.toggle("off", off);
  };
  return { element, update };
}

// Thumbnails of all heads: a group for each kind (kind -> its name), a row for each layer.
// Names look like "cross.0.2". update(maps, now): maps[kind][layer][head].weights, and kind, layer,
// head, off and step of the state.
export function headPanel(kinds, numLayers, numHeads, onChoose) {
  const entries = Object.keys(kinds).flatMap((kind) =>
    Array.from({ length: numLayers * numHeads }, (_, n) =>
      ({ kind, layer: Math.floor(n / numHeads), head: n % numHeads })));
  const pictures = entries.map((one) =>
    thumbnail(`${kinds[one.kind]}, layer ${one.layer}, head ${one.head}`, () => onChoose(one)));
  const nameOf = ({ kind, layer, head }) => `${kind}.${layer}.${head}`;
  const groups = Object.entries(kinds).map(([kind, label]) =>
    make("div", { className: "group" }, make("p", { className: "caption" }, label),
      make("div", { className: "thumbnails", style: `--columns: ${numHeads}` },
        ...pictures.filter((_, n) => entries[n].kind === kind).map((p) => p.element))));
  const update = (maps, now) => pictures.forEach((picture, n) => {
    const { kind, layer, head } = entries[n];
    picture.update(maps[kind][layer][head].weights, { chosen: nameOf(entries[n]) === nameOf(now),
      off: now.off.includes(nameOf(entries[n])), row: kind === "encoder" ? null : now.step });
  });
  return { element: make("div", { className: "groups" }, ...groups),
    names: entries.map(nameOf), update };
}
