// The copiers of chapter 1: two GRUs, optionally with attention between them.
import { dot, linear, softmax, weightedSum } from "./forward.js";

const BEGIN = 10; // the input before the first digit is written
const sigmoid = (v) => 1 / (1 + Math.exp(-v));

// One step of nn.GRU, from an input and the old state to the new one. The rows of both matrices
// belong to the reset gate, the update gate and the new content, in this order.
function step(P, name, x, old) {
  const [given] = linear([x], P[`${name}.weight_ih_l0`], P[`${name}.bias_ih_l0`]);
  const [kept] = linear([old], P[`${name}.weight_hh_l0`], P[`${name}.bias_hh_l0`]);
  const d = old.length;
  return old.map((h, k) => {
    const reset = sigmoid(given[k] + kept[k]);
    const update = sigmoid(given[d + k] + kept[d + k]);
    return (1 - update) * Math.tanh(given[2 * d + k] + reset * kept[2 * d + k]) + update * h;
  });
}

// The output of a copier: for each position the probabilities of the ten digits, the likeliest one,
// and the attention weights, null without attention.
//
// P: parameters by their names in the state_dict, prefixed by the name of the copier.
export function copied(P, copier, digits) {
  const E = P[`${copier}.embedding.weight`];
  const [W, b] = [P[`${copier}.output.weight`], P[`${copier}.output.bias`]];
  const size = P[`${copier}.encoder.weight_hh_l0`][0].length;
  const looksBack = W[0].length === 2 * size;
  let state = new Array(size).fill(0);
  const states = digits.map((digit) => (state = step(P, `${copier}.encoder`, E[digit], state)));
  let read = BEGIN; // the decoder starts from the code
  return digits.map(() => {
    state = step(P, `${copier}.decoder`, E[read], state);
    const weights = looksBack ? softmax(states.map((h) => dot(state, h))) : null;
    const seen = looksBack ? [...state, ...weightedSum(weights, states)] : state;
    const probabilities = softmax(linear([seen], W, b)[0]);
    read = probabilities.indexOf(Math.max(...probabilities));
    return { digit: read, probabilities, weights };
  });
}
