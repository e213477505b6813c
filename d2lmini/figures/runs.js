// Runs of words that a translation shares with a reference, and BLEU.
const runsOf = (list, n) =>
  Array.from({ length: Math.max(0, list.length - n + 1) }, (_, i) => list.slice(i, i + n).join(" "));

// Whether each run of n words is found; one that stands in the reference twice counts twice.
export function found(said, due, n) {
  const left = new Map();
  for (const run of runsOf(due, n)) left.set(run, (left.get(run) ?? 0) + 1);
  return runsOf(said, n).map((run) => {
    const more = left.get(run) ?? 0;
    left.set(run, more - 1);
    return more > 0;
  });
}

// The shares of runs found, as [found, all]; the penalty for shortness; and the score up to longest.
export function bleu(said, due, longest) {
  const counts = Array.from({ length: longest }, (_, i) => {
    const runs = found(said, due, i + 1);
    return [runs.filter(Boolean).length, runs.length];
  });
  const product = counts.reduce((sum, [hits, all]) => sum * (all ? hits / all : 0), 1);
  const brevity = said.length ? Math.exp(Math.min(0, 1 - due.length / said.length)) : 0;
  return { counts, brevity, score: product ** (1 / longest) * brevity };
}
