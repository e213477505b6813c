// Chapter 17: a writer trained, round after round, on those of its stories that a reward keeps.
import { choice, make, show, slider } from "./controls.js";
import { controlState, figure, player, upTo } from "./frame.js";
import { lines } from "./lines.js";

function render({ model, el }) {
  const { rewards } = model.get("data");
  const rounds = rewards[0].stories.length;
  const state = controlState(model, update, { reward: upTo(rewards.length), round: upTo(rounds) });
  const first = state.get();
  const which = choice("Kept", Object.fromEntries(rewards.map(({ name }, i) => [i, name])),
    first.reward, (i) => state.set({ reward: Number(i) }));
  const at = slider("Round", { min: 0, max: rounds - 1, value: first.round },
    (round) => state.set({ round }));
  const film = player("Play", 900, () => {
    if (state.get().round === rounds - 1) state.set({ round: 0 });
  }, () => {
    const next = state.get().round + 1;
    if (next < rounds) state.set({ round: next });
    return next + 1 < rounds;
  });
  const curve = lines({ title: "Share of what is written", xIs: "round",
    onReach: (round) => state.set({ round }) });
  const list = make("ol", { className: "stories" });
  const frame = figure(model, el, {
    state,
    title: "Write, keep, train",
    controls: [which, at, film].map((c) => c.element),
    parts: [curve.element, make("div", { className: "wide" },
      make("p", { className: "caption" }, "Six of the stories. Underlined: the first sentence that is untrue, or none."), list)],
    help: "Choose what is kept, then move through the rounds: what grows, and what goes?",
  });

  // The story, with its first mistake marked; the mistake is the text of a whole sentence.
  function marked(story, mistake) {
    const from = mistake ? story.indexOf(mistake) : -1;
    if (from < 0) return [make("span", {}, story)];
    return [story.slice(0, from), make("mark", {}, mistake), story.slice(from + mistake.length)];
  }

  function update({ reward, round }) {
    const { name, curves, stories } = rewards[reward];
    // Only as far as the reader has come: what follows is to be foreseen.
    const series = Object.fromEntries(Object.entries(curves.shares).map(([key, numbers]) =>
      [key, numbers.map((v, i) => (i <= round ? v : null))]));
    curve.update({ x: stories.map((_, i) => i), low: 0, high: 1, at: round, series });
    list.replaceChildren(...stories[round].map(([story, mistake]) =>
      make("li", { className: mistake ? "false" : "true" }, make("b", {}, mistake ? "false: " : "true: "),
        ...marked(story, mistake))));
    frame.note(`${round ? `After round ${round}, kept if ${name}` : "Before the first round"}: ${
      show(curves.words[round], 1)} words a story; real stories cost ${show(curves.loss[round], 2)} nats a word.`);
    which.set(reward);
    at.set(round);
  }
  update(first);
}

export default { render };
