// Chapter 13: forecasts from observed positions, with the names of the package.
//
// A path is an array of [x, y] in metres, one every stepSeconds seconds.
import { linear, sinusoid } from "./forward.js";

const minus = (a, b) => a.map((v, k) => v - b[k]);

// Repeat the last step.
export function constantVelocity(past, numSteps) {
  const last = past.at(-1);
  const step = minus(last, past.at(-2));
  return Array.from({ length: numSteps }, (_, t) => last.map((v, k) => v + (t + 1) * step[k]));
}

// Position in units of 3 m, velocity, acceleration: (steps, 6)
export function motionFeatures(past, stepSeconds) {
  const rate = (X) => {
    const found = X.slice(1).map((x, i) => minus(x, X[i]).map((v) => v / stepSeconds));
    return [found[0], ...found];
  };
  const velocity = rate(past);
  const acceleration = rate(velocity);
  return past.map((x, i) => [...x.map((v) => v / 3), ...velocity[i], ...acceleration[i]]);
}

// Means (steps, 2), standard deviations (steps,), and the attention of the last vector
export function forecast(net, past, stepSeconds) {
  const P = net.numbers;
  const hidden = linear(motionFeatures(past, stepSeconds),
    P["encoder.embedding.dense.weight"], P["encoder.embedding.dense.bias"]);
  const X = hidden.map((row, i) => {
    const place = sinusoid(i, net.numHiddens);
    return row.map((v, k) => Math.max(0, v) + place[k]);
  });
  const { memory, attention } = net.encodeVectors(X);
  const last = [memory.at(-1)];
  const [flat] = linear(last, P["output.weight"], P["output.bias"]);
  const straight = constantVelocity(past, flat.length / 2);
  const inner = linear(last, P["spread.dense1.weight"], P["spread.dense1.bias"])
    .map((row) => row.map((v) => Math.max(0, v)));
  const [logSigmas] = linear(inner, P["spread.dense2.weight"], P["spread.dense2.bias"]);
  return {
    means: straight.map(([x, y], t) => [x + flat[2 * t], y + flat[2 * t + 1]]),
    sigmas: logSigmas.map(Math.exp),
    straight,
    attention: attention.flatMap((heads) => heads.map(({ weights }) => weights.at(-1))),
  };
}
