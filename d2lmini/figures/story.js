// Chapter 15: which sentence of a story cannot be true.

// The places [from, to) of the first sentence that cannot be true or is none, or null: mistake_in of
// d2lmini/data/texts.py. A sentence counts once its full stop is written.
export function mistakeIn(tokens, pronouns) {
  const has = new Map();
  let named = null;

  function isPossible(words) {
    const [who, , , thing] = words;
    const is = (...wanted) => words.length === wanted.length &&
      wanted.every((word, i) => word === null || word === words[i]);
    if (is(null, "has", "a", null) && who in pronouns && !has.has(thing)) {
      has.set(thing, who);
    } else if (is(null, "gives", "the", null, "to", null) && words[5] in pronouns &&
      has.get(thing) === who && who !== words[5]) {
      named = words[5];
      has.set(thing, named);
    } else if (is(null, "goes", "to", "the", null) && who in pronouns) {
      named = who;
    } else if (who === "he" || who === "she") {
      return pronouns[named] === who;
    } else {
      return is("who", "has", "the", null, "?", null) && has.get(thing) === words[5];
    }
    return true;
  }

  for (let from = 0, to; (to = tokens.indexOf(".", from)) >= 0; from = to + 1) {
    if (!isPossible(tokens.slice(from, to))) return [from, to + 1];
  }
  return null;
}
