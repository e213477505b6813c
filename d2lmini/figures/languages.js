// How a net reads what is typed and writes: in words of two vocabularies, or in pieces of words,
// which both languages share.
import { RESERVED, wordsOf } from "./forward.js";
import { join, makeSubwords, START } from "./subwords.js";

// Of a net's data: src_tokens and tgt_tokens by id, or tokens and merges; num_steps, the longest
// sentence with its <eos>. Before tokens and merges have come, nothing can be read or written.
export function languages({ src_tokens: src, tgt_tokens: tgt, tokens = [], merges = [],
  num_steps: numSteps }) {
  const [source, target] = src ? [src, tgt] : [tokens, tokens];
  const [ids, targetIds] = [source, target].map((all) => new Map(all.map((token, id) => [token, id])));
  const [unk, bos, eos] = ["<unk>", "<bos>", "<eos>"].map((token) => targetIds.get(token));
  // What is typed is words: "<pad>" among them is one that the net does not know.
  const isKnown = (token) => ids.has(token) && !RESERVED.includes(token);
  const goesOn = (token) => !src && !token.startsWith(START) && !RESERVED.includes(token);
  let split = null; // made when it is needed

  // What the net reads of a text: tokens and ids, with padding behind; those that it does not know;
  // and whether there was more.
  function read(text, padding = 0) {
    if (!src) split ??= makeSubwords(merges);
    const all = wordsOf(text).flatMap((word) => (split ? split(word) : [word]));
    const some = all.slice(0, numSteps - 1);
    const whole = [...some.map((token) => (isKnown(token) ? token : "<unk>")), "<eos>",
      ...Array(padding).fill("<pad>")];
    return { tokens: whole, ids: whole.map((token) => ids.get(token)), real: some.length + 1,
      strangers: some.filter((token) => !isKnown(token)), isCut: all.length > some.length };
  }

  const idsOf = (words) => words.map((word) => targetIds.get(word) ?? unk);
  const write = (given) => given.map((id) => target[id]);
  // A token that others stand before and behind, and one that stands alone
  const shown = (token) => token.replace(START, "");
  const alone = (token) => (goesOn(token) ? `-${token}` : shown(token));
  const textOf = (some) => (src ? some.join(" ") : join(some));
  const classOf = (token) => (token === "<unk>" ? "unknown" : goesOn(token) ? "goes-on" : "");
  return { read, write, idsOf, shown, alone, textOf, classOf, ends: { bos, eos, unk, numSteps },
    words: src ? source.filter(isKnown).sort((a, b) => a.localeCompare(b)) : null };
}
