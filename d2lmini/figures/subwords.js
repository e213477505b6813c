// Splits words into pieces like d2lmini/data/subwords.py.

export const START = "▁"; // marks pieces that begin a word

// A function from a word to its pieces; merges are pairs of pieces in the order learned.
export function makeSubwords(merges) {
  const ranks = new Map(merges.map(([left, right], rank) => [`${left} ${right}`, rank]));
  const rankOf = (pieces, i) => ranks.get(`${pieces[i]} ${pieces[i + 1]}`) ?? Infinity;
  return (word) => {
    let [first, ...pieces] = word.replaceAll(START, "_");
    pieces = [START + first, ...pieces];
    for (;;) {
      let best = 0;
      pieces.forEach((_, i) => {
        if (rankOf(pieces, i) < rankOf(pieces, best)) best = i;
      });
      if (rankOf(pieces, best) === Infinity) return pieces;
      const [left, right] = pieces.slice(best, best + 2);
      const merged = [];
      for (const piece of pieces) {
        if (merged.at(-1) === left && piece === right) merged[merged.length - 1] += piece;
        else merged.push(piece);
      }
      pieces = merged;
    }
  };
}

// Join pieces into a text.
export const join = (pieces) => pieces.join("").replaceAll(START, " ").trim();
