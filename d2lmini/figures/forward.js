// The forward pass of chapters 2 to 8, in the order and with the names of the package.
//
// A matrix is an array of rows, a row an array of numbers; computed in double precision.

import { numbersOf } from "./weights.js";

export const dot = (a, b) => {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
};

// X W^T + bias, like nn.Linear
export const linear = (X, W, bias = null) =>
  X.map((x) => W.map((w, o) => dot(x, w) + (bias ? bias[o] : 0)));

// Scores to weights; allowed(j) says whether key j may be attended to. If none may: zeros.
export function maskedSoftmax(scores, allowed = () => true) {
  let largest = -Infinity;
  scores.forEach((score, j) => {
    if (allowed(j) && score > largest) largest = score;
  });
  let sum = 0;
  const weights = scores.map((score, j) => {
    const e = allowed(j) ? Math.exp(score - largest) : 0;
    sum += e;
    return e;
  });
  return weights.map((e) => (sum > 0 ? e / sum : 0));
}

// Weighted sum of the rows of V
export const weightedSum = (weights, V) =>
  Array.from(V[0], (_, k) => {
    let sum = 0;
    for (let j = 0; j < V.length; j++) sum += weights[j] * V[j][k];
    return sum;
  });

// Scaled dot-product attention for all rows of Q; allowed(i, j) is the mask.
export function attend(Q, K, V, allowed = () => true) {
  const root = Math.sqrt(Q[0].length);
  const raw = Q.map((q) => K.map((k) => dot(q, k) / root)); // (queries, keys)
  const weights = raw.map((row, i) => maskedSoftmax(row, (j) => allowed(i, j)));
  return { raw, weights, output: weights.map((row) => weightedSum(row, V)) };
}

export const softmax = (scores) => maskedSoftmax(scores);

export function layerNorm(x, gain, bias, epsilon = 1e-5) {
  const mean = x.reduce((sum, v) => sum + v, 0) / x.length;
  const variance = x.reduce((sum, v) => sum + (v - mean) ** 2, 0) / x.length;
  const scale = 1 / Math.sqrt(variance + epsilon);
  return x.map((v, k) => (v - mean) * scale * (gain ? gain[k] : 1) + (bias ? bias[k] : 0));
}

// Row i of the sinusoidal table
export const sinusoid = (i, width, base = 10000) =>
  Array.from({ length: width }, (_, k) => {
    const angle = i / base ** ((k - (k % 2)) / width);
    return k % 2 ? Math.cos(angle) : Math.sin(angle);
  });

// An encoder-decoder, or an encoder with a classification head, from its state_dict.
//
// tied: pairs of a parameter name and the name of the parameter that it shares.
// off: set of disabled heads, such as "cross.0.2" (kind, layer, head).
export function makeNet(data, bytes) {
  const { num_heads: numHeads, num_layers: numLayers, tied = [] } = data;
  const P = numbersOf(data, bytes);
  for (const [name, other] of tied) P[name] = P[other];
  const numHiddens = P["encoder.stack.blocks.0.addnorm1.norm.weight"].length;
  const headSize = numHiddens / numHeads;

  const split = (X) =>
    Array.from({ length: numHeads }, (_, h) =>
      X.map((x) => x.slice(h * headSize, (h + 1) * headSize)));
  const project = (name, X) => ({
    K: split(linear(X, P[`${name}.W_k.weight`])), // (heads, steps, head size)
    V: split(linear(X, P[`${name}.W_v.weight`])),
  });
  const multiHead = (name, X, { K, V }, isOff, allowed) => {
    const Q = split(linear(X, P[`${name}.W_q.weight`]));
    const heads = Q.map((q, h) => attend(q, K[h], V[h], allowed));
    const joined = X.map((_, i) =>
      heads.flatMap(({ output }, h) => (isOff(h) ? output[i].map(() => 0) : output[i])));
    return { heads, ...last(joined, P[`${name}.W_o.weight`]) };
  };
  // The last linear layer of a part, and the terms whose sum is each output.
  const last = (X, W, bias = null) => ({
    output: linear(X, W, bias),
    terms: (i, o) => [...X[i].map((v, k) => v * W[o][k]), ...(bias ? [bias[o]] : [])],
  });
  const ffn = (name, X) => {
    const hidden = linear(X, P[`${name}.dense1.weight`], P[`${name}.dense1.bias`]);
    const positive = hidden.map((row) => row.map((v) => Math.max(0, v)));
    const { output, terms } = last(positive, P[`${name}.dense2.weight`], P[`${name}.dense2.bias`]);
    return { output, terms, inner: positive[0].length };
  };

  // Add & norm of X and the output of a part of a block; trace records inputs and outputs.
  const close = (name, X, { output, ...more }, trace) => {
    const sum = X.map((x, i) => x.map((v, k) => v + output[i][k]));
    const [gain, bias] = [P[`${name}.norm.weight`], P[`${name}.norm.bias`]];
    const Z = sum.map((x) => layerNorm(x, gain, bias));
    trace.push({ X, Y: output, ...more },
      { X: sum, Y: Z, shortcut: X, branch: output, gain, bias });
    return Z;
  };
  const begin = (side, ids, start, trace) => {
    const learned = P[`${side}.embedding.positions.P`];
    const positions = ids.map((_, i) =>
      (learned ? learned[start + i] : sinusoid(start + i, numHiddens)));
    const terms = (i, k) => [
      P[`${side}.embedding.embedding.weight`][ids[i]][k] * Math.sqrt(numHiddens),
      positions[i][k]];
    const X = ids.map((_, i) => Array.from({ length: numHiddens }, (_, k) =>
      terms(i, k).reduce((sum, v) => sum + v)));
    trace.push({ X: ids.map((id) => [id]), Y: X, terms });
    return X;
  };

  // Ids to the memory, its keys and values for each decoder layer, and the attention weights.
  // Ids from validLen on are padding, which is masked.
  function encode(ids, off = new Set(), trace = [], validLen = ids.length) {
    return encodeVectors(begin("encoder", ids, 0, trace), off, trace, validLen);
  }

  function encodeVectors(X, off = new Set(), trace = [], validLen = X.length) {
    const allowed = (i, j) => j < validLen;
    const attention = [];
    for (let l = 0; l < numLayers; l++) {
      const name = `encoder.stack.blocks.${l}`;
      const part = multiHead(`${name}.attention`, X,
        project(`${name}.attention`, X), (h) => off.has(`encoder.${l}.${h}`), allowed);
      attention.push(part.heads);
      X = close(`${name}.addnorm1`, X, part, trace);
      X = close(`${name}.addnorm2`, X, ffn(`${name}.ffn`, X), trace);
    }
    const projected = "decoder.output.weight" in P
      ? Array.from({ length: numLayers }, (_, l) =>
        project(`decoder.stack.blocks.${l}.cross_attention`, X)) : [];
    return { memory: X, projected, attention, off, allowed };
  }

  // Decode target ids after past, the result of an earlier call; all of them if it is null.
  function decode(ids, encoded, past = null, trace = []) {
    const start = past ? past.steps : 0;
    const allowed = (i, j) => j <= start + i; // causal, by position
    const result = { caches: [], self: [], cross: [], steps: start + ids.length };
    let X = begin("decoder", ids, start, trace);
    for (let l = 0; l < numLayers; l++) {
      const name = `decoder.stack.blocks.${l}`;
      const now = project(`${name}.self_attention`, X);
      const before = past?.caches[l];
      const cache = before
        ? { K: now.K.map((k, h) => [...before.K[h], ...k]),
            V: now.V.map((v, h) => [...before.V[h], ...v]) }
        : now;
      const own = multiHead(`${name}.self_attention`, X, cache,
        (h) => encoded.off.has(`decoder.${l}.${h}`), allowed);
      X = close(`${name}.addnorm1`, X, own, trace);
      const source = multiHead(`${name}.cross_attention`, X, encoded.projected[l],
        (h) => encoded.off.has(`cross.${l}.${h}`), encoded.allowed);
      X = close(`${name}.addnorm2`, X, source, trace);
      X = close(`${name}.addnorm3`, X, ffn(`${name}.ffn`, X), trace);
      result.caches.push(cache);
      result.self.push(own.heads);
      result.cross.push(source.heads);
    }
    const { output, terms } = last(X, P["decoder.output.weight"], P["decoder.output.bias"]);
    result.logits = output;
    trace.push({ X, Y: output, terms });
    return result; // logits (steps, vocabulary); self and cross: [layer][head].weights
  }

  // Pooling by a learned query, and class probabilities: chapter 12.
  function classify(memory) {
    const [query] = P["pooling.query.weight"];
    const weights = softmax(memory.map((x) => dot(query, x)));
    const pooled = weightedSum(weights, memory);
    const [logits] = linear([pooled], P["output.weight"], P["output.bias"]);
    return { weights, logits, probabilities: softmax(logits) };
  }
  return { encode, encodeVectors, decode, classify, headSize, numHiddens, numbers: P };
}

// Like normalise in the package: lower case, one apostrophe, spaces around marks.
export const normalise = (text) =>
  text.toLowerCase().normalize("NFC").replace(/’|(?<=[\p{L}\d])‘(?=[\p{L}\d])/gu, "'")
    .replace(/[.,!?;:…"«»‹›“”„‘‚()¿¡]/gu, " $& ").trim()
    .split(/\s+/u).filter(Boolean).join(" ");

// The words and marks in typed text, without control characters and marks of writing direction
export const wordsOf = (typed) =>
  normalise(typed.slice(0, 2000).replace(/[\p{Cc}\p{Cf}]/gu, " ")).split(" ").filter(Boolean);

// If typed, these are unknown words.
export const RESERVED = ["<pad>", "<unk>", "<bos>", "<eos>"];
