// Chapter 7: a stack of ReLU layers with four wirings, forward and backward.
import { dot } from "./forward.js";

export const WIRINGS = ["plain", "shortcuts", "post-norm", "pre-norm"];

const add = (a, b) => a.map((v, k) => v + b[k]);
const meanOf = (x) => x.reduce((sum, v) => sum + v, 0) / x.length;
const times = (W, x) => W.map((row) => dot(row, x));
const backThrough = (W, g) => g.map((_, k) => W.reduce((sum, row, o) => sum + row[k] * g[o], 0));
const relu = (x) => x.map((v) => Math.max(0, v));
// The gradient behind a ReLU whose input was x
const gate = (x, g) => g.map((v, k) => (x[k] > 0 ? v : 0));

// Layer normalisation without scale and shift, and the standard deviation
function norm(x) {
  const mean = meanOf(x);
  const size = Math.sqrt(meanOf(x.map((v) => (v - mean) ** 2)) + 1e-5);
  return { y: x.map((v) => (v - mean) / size), size };
}
function backThroughNorm({ y, size }, g) {
  const [mean, along] = [meanOf(g), meanOf(g.map((v, k) => v * y[k]))];
  return g.map((v, k) => (v - mean - y[k] * along) / size);
}

// For one point, layer by layer: the stream, and the gradient of (answer - target)^2 with respect to
// it.
function through(wiring, { enter, leave, layers, scale }, point, target) {
  const weights = layers.map((W) => W.map((row) => row.map((v) => v * scale)));
  const stream = [times(enter, point)];
  const back = []; // for each layer: from the gradient of its output to that of its input
  for (const W of weights) {
    const h = stream.at(-1);
    if (wiring === "pre-norm") {
      const inner = norm(h);
      stream.push(add(h, times(W, relu(inner.y))));
      back.push((g) => add(g, backThroughNorm(inner, gate(inner.y, backThrough(W, g)))));
      continue;
    }
    const made = times(W, relu(h));
    if (wiring === "plain") {
      stream.push(made);
      back.push((g) => gate(h, backThrough(W, g)));
    } else if (wiring === "shortcuts") {
      stream.push(add(h, made));
      back.push((g) => add(g, gate(h, backThrough(W, g))));
    } else {
      const outer = norm(add(h, made));
      stream.push(outer.y);
      back.push((g) => {
        const within = backThroughNorm(outer, g);
        return add(within, gate(h, backThrough(W, within)));
      });
    }
  }
  const last = norm(stream.at(-1)); // pre-norm has one more norm before the end
  const seen = wiring === "pre-norm" ? last.y : stream.at(-1);
  const g = leave.map((v) => 2 * (dot(leave, seen) - target) * v);
  const gradients = [wiring === "pre-norm" ? backThroughNorm(last, g) : g];
  for (const step of back.toReversed()) gradients.unshift(step(gradients[0]));
  return { stream, gradients };
}

// The norm of several vectors together
const size = (vectors) => Math.sqrt(vectors.reduce((sum, x) => sum + dot(x, x), 0));

// At each depth, over all points: the spread of their streams (root mean square of the distance from
// their mean, per feature) and the size of the gradient of the mean squared error.
export function measured(wiring, net, points, targets) {
  const runs = points.map((point, n) => through(wiring, net, point, targets[n]));
  const places = runs[0].stream.map((_, l) => l);
  return {
    spread: places.map((l) => {
      const all = runs.map(({ stream }) => stream[l]);
      const middle = all[0].map((_, k) => meanOf(all.map((x) => x[k])));
      const away = all.map((x) => x.map((v, k) => v - middle[k]));
      return size(away) / Math.sqrt(all.length * middle.length);
    }),
    gradient: places.map((l) => size(runs.map((run) => run.gradients[l])) / runs.length),
  };
}
