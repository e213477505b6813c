// The translation of a sentence, with everything that the figure of chapter 11 shows.
import { normalise } from "./forward.js";
import { lossOf, search, searching } from "./search.js";

const SHOWN = 5; // alternatives

// Pausable work. lang: from languages.js; examples: pairs of a sentence and its translation, if known;
// the last argument is the state of the controls.
export function* translation(net, lang, examples, { text, padding, beam, hypothesis, off }) {
  const source = lang.read(text, padding);
  const encode = (switchedOff) => net.encode(source.ids, new Set(switchedOff), [], source.real);
  const encoded = encode(off);
  const how = { ...lang.ends, beamSize: beam, shown: SHOWN };
  const found = yield* searching(net, encoded, how);
  const chosen = Math.min(hypothesis, found.length - 1);
  const best = found[chosen];
  const decoded = net.decode(best.ids.slice(0, -1), encoded);

  // The loss on the reference translation or, without one, on the output of all heads together.
  function judge() {
    const { bos, eos, unk, numSteps } = how;
    const whole = off.length ? encode([]) : encoded;
    const known = examples.find(([en, fr]) => fr && normalise(en) === normalise(text));
    const target = known ? [bos, ...lang.idsOf(normalise(known[1]).split(" ")), eos]
      : beam === 1 && !off.length ? best.ids : search(net, whole, { ...how, beamSize: 1 })[0].ids;
    const nats = (read) => `${lossOf(net, read, target).toPrecision(2)} nats a token`;
    const before = off.length ? `; with all heads ${nats(whole)}` : "";
    const rare = best.ids.includes(unk)
      ? " <unk> in the French stands for a word that is not in its vocabulary." : "";
    const cut = best.ids.at(-1) === eos ? "" : ` Stopped at ${numSteps} tokens without <eos>.`;
    const what = known ? `Reference: ${lang.textOf(lang.write(target.slice(1)))}. Loss: ${nats(encoded)}`
      : `No reference is known. Loss of what all heads together write, ${nats(encoded)}`
        + " (how sure the net is, not how right)";
    return `${what}${before}.${cut}${rare}`;
  }
  yield;
  const isEmpty = source.tokens.length === padding + 1; // nothing but <eos>
  const verdict = isEmpty ? "" : judge();
  yield;
  return { source, found, chosen, best, isEmpty, verdict,
    reads: lang.write(best.ids.slice(0, -1)), written: lang.write(best.ids.slice(1)),
    maps: { encoder: encoded.attention, decoder: decoded.self, cross: decoded.cross } };
}
