// The search for a translation, and pausable work: generators that yield now and then.

// Run work to its end.
export function atOnce(work) {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

const LONGEST = 12; // milliseconds, less than a frame at 60 Hz

// Run work in portions, between which the page stays responsive; null once isWanted() is false.
export async function inPortions(work, isWanted) {
  let began = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (performance.now() - began < LONGEST) continue;
    await new Promise((resolve) => setTimeout(resolve));
    if (!isWanted()) return null;
    began = performance.now();
  }
}

const logSoftmax = (logits) => {
  const largest = Math.max(...logits);
  const logSum = largest + Math.log(logits.reduce((sum, v) => sum + Math.exp(v - largest), 0));
  return logits.map((v) => v - logSum);
};

// The beamSize most probable translations, best first; greedy search if beamSize is 1.
//
// Each is { ids, logProb, alternatives, steps }: the candidates at each step, most probable first,
// and the result of decode there.
export const search = (...given) => atOnce(searching(...given));

// The same as pausable work, with a pause before each step.
export function* searching(net, encoded, { bos, eos, numSteps, beamSize, shown = 5 }) {
  let growing = [{ ids: [bos], logProb: 0, past: null, alternatives: [], steps: [] }];
  const ended = [];
  while (growing.length && ended.length < beamSize && growing[0].ids.length <= numSteps) {
    yield;
    const extended = growing.flatMap((hypothesis) => {
      const past = net.decode(hypothesis.ids.slice(-1), encoded, hypothesis.past);
      const logProbs = logSoftmax(past.logits[0]);
      const ranked = logProbs.map((_, id) => id).sort((a, b) => logProbs[b] - logProbs[a]);
      const likely = ranked.slice(0, shown).map((id) => ({ id, p: Math.exp(logProbs[id]) }));
      return ranked.slice(0, beamSize).map((id) => ({
        ids: [...hypothesis.ids, id], logProb: hypothesis.logProb + logProbs[id], past,
        alternatives: [...hypothesis.alternatives, likely], steps: [...hypothesis.steps, past],
      }));
    });
    extended.sort((a, b) => b.logProb - a.logProb);
    const best = extended.slice(0, beamSize);
    ended.push(...best.filter(({ ids }) => ids.at(-1) === eos));
    growing = best.filter(({ ids }) => ids.at(-1) !== eos);
  }
  const perToken = ({ ids, logProb }) => logProb / (ids.length - 1);
  const byTokens = (a, b) => perToken(b) - perToken(a);
  return [...ended.sort(byTokens), ...growing.sort(byTokens)].slice(0, beamSize);
}

// The mean loss in nats per token on given target ids, bos first.
export function lossOf(net, encoded, ids) {
  const { logits } = net.decode(ids.slice(0, -1), encoded);
  const losses = logits.map((row, i) => -logSoftmax(row)[ids[i + 1]]);
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}
