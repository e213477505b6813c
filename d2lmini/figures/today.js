// The forward pass of chapter 15's language model, token by token, with the names of modern.py.
import { attend, dot, linear, maskedSoftmax } from "./forward.js";
import { numbersOf } from "./weights.js";

export const rmsNorm = (x, gain, epsilon = 1e-5) => {
  const scale = 1 / Math.sqrt(dot(x, x) / x.length + epsilon);
  return x.map((v, k) => v * scale * gain[k]);
};

// Rotate features 2j and 2j + 1 like hand j from position 0.
export const rotate = (x, position) => x.map((v, k) => {
  const angle = position * 10000 ** -((k - (k % 2)) / x.length);
  return k % 2 ? v * Math.cos(angle) + x[k - 1] * Math.sin(angle)
    : v * Math.cos(angle) - x[k + 1] * Math.sin(angle);
});

export function makeWriter(data, bytes) {
  const { num_heads: numHeads, num_kv_heads: numKvHeads, num_layers: numLayers } = data;
  const P = numbersOf(data, bytes);
  const table = P["embedding.weight"];
  const headSize = table[0].length / numHeads;
  const apply = (name, x) => linear([x], P[`${name}.weight`])[0];
  const split = (x) => Array.from({ length: x.length / headSize }, (_, h) =>
    x.slice(h * headSize, (h + 1) * headSize));
  const add = (x, y) => x.map((v, k) => v + y[k]);

  // Process the token after past, the result of an earlier call; the first token if it is null.
  function step(id, past = null) {
    const position = past ? past.steps : 0;
    const result = { steps: position + 1, caches: [], attention: [] };
    let x = Array.from(table[id]);
    for (let l = 0; l < numLayers; l++) {
      const name = `blocks.${l}`;
      const read = rmsNorm(x, P[`${name}.norm1.weight`]);
      const [Q, K, V] = ["q", "k", "v"].map((part) =>
        split(apply(`${name}.attention.W_${part}`, read)));
      const before = past?.caches[l];
      const grow = (part, now) => now.map((row, g) => [...(before ? before[part][g] : []), row]);
      const cache = { K: grow("K", K.map((k) => rotate(k, position))), V: grow("V", V) };
      const heads = Q.map((q, h) => {
        const group = Math.floor((h * numKvHeads) / numHeads);
        return attend([rotate(q, position)], cache.K[group], cache.V[group]);
      });
      x = add(x, apply(`${name}.attention.W_o`, heads.flatMap(({ output }) => output[0])));
      const normed = rmsNorm(x, P[`${name}.norm2.weight`]);
      const [gate, up] = ["gate", "up"].map((part) => apply(`${name}.ffn.W_${part}`, normed));
      x = add(x, apply(`${name}.ffn.W_down`, gate.map((z, k) => (z / (1 + Math.exp(-z))) * up[k])));
      result.caches.push(cache); // K and V: [head][step], vectors
      result.attention.push(heads.map(({ weights }) => weights[0])); // [layer][head][step]
    }
    const last = rmsNorm(x, P["norm.weight"]);
    result.logits = table.map((row) => dot(row, last));
    return result;
  }
  return { step, headSize };
}

// Probabilities of the next token: logits divided by the temperature, only the topK largest.
export function probabilitiesOf(logits, temperature, topK) {
  const ranked = [...logits].sort((a, b) => b - a);
  const least = ranked[Math.min(topK, ranked.length) - 1];
  return maskedSoftmax(logits.map((v) => v / temperature), (j) => logits[j] >= least);
}

// Sample an index by its probability, from a number between 0 and 1.
export function drawn(probabilities, number) {
  let sum = 0;
  const found = probabilities.findIndex((p) => {
    sum += p;
    return number < sum;
  });
  return found >= 0 ? found : probabilities.findLastIndex((p) => p > 0);
}

// A pseudorandom number between 0 and 1, determined by seed and place.
export function chance(seed, place) {
  let t = (seed * 0x9e3779b1 + place * 0x85ebca6b + 0x6d2b79f5) >>> 0;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
