// How a net reads and writes text: as words of two vocabularies, or as subwords shared by both
// languages.
import { RESERVED, wordsOf } from "./forward.js";
import { join, makeSubwords, START } from "./subwords.js";

// From a net's data: src_tokens and tgt_tokens by id, or tokens and merges; num_steps, the maximum
// length with <eos>. Until tokens and merges have loaded, nothing can be read or written.
export function languages({ src_tokens: src, tgt_tokens: tgt, tokens = [], merges = [],
  num_steps: numSteps }) {
  const [source, target] = src ? [src, tgt] : [tokens, tokens];
  const [ids, targetIds] = [source, target].map((all) => new Map(all.map((token, id) => [token, id])));
  const [unk, bos, eos] = ["<unk>", "<bos>", "<eos>"].map((token) => targetIds.get(token));
  // A typed "<pad>" is an unknown word.
  const isKnown = (token) => ids.has(token) && !RESERVED.includes(token);
  const goesOn = (token) => !src && !token.startsWith(START) && !RESERVED.includes(token);
  let split = null; // created on demand

  // The net's input for a text: padded tokens and ids; the unknown words; and whether the text was
  // cut.
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
  // A token within a text, and on its own
  const shown = (token) => token.replace(START, "");
  const alone = (token) => (goesOn(token) ? `-${token}` : shown(token));
  const textOf = (some) => (src ? some.join(" ") : join(some));
  const classOf = (token) => (token === "<unk>" ? "unknown" : goesOn(token) ? "goes-on" : "");
  return { read, write, idsOf, shown, alone, textOf, classOf, ends: { bos, eos, unk, numSteps },
    words: src ? source.filter(isKnown).sort((a, b) => a.localeCompare(b)) : null };
}
