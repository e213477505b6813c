// A matrix as a small picture that can be chosen.
import { make } from "./matrix.js";

const CELL = 6;

export function thumbnail(title, onChoose) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const element = make("button", { type: "button", className: "thumbnail", "aria-label": title,
    title }, canvas);
  element.addEventListener("click", onChoose);
  const update = (weights, { chosen, off, row }) => {
    canvas.width = weights[0].length * CELL;
    canvas.height = weights.length * CELL;
    const pen = canvas.getContext("2d");
    pen.fillStyle = "#2b87c8"; // to be seen on a light and a dark page, between which one may switch
    weights.forEach((numbers, i) => numbers.forEach((weight, j) => {
      pen.globalAlpha = Math.max(0.04, weight);
      pen.fillRect(j * CELL, i * CELL, CELL - 1, CELL - 1);
    }));
    if (row !== null) { // the decoding step that the reader looks at
      pen.globalAlpha = 1;
      pen.strokeStyle = "#d55e00";
      pen.strokeRect(0.5, row * CELL - 0.5, canvas.width - 1, CELL);
    }
    element.setAttribute("aria-pressed", String(chosen));
    element.classList.toggle("off", off);
  };
  return { element, update };
}
