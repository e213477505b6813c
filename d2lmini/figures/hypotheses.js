// The alternatives at a step, as bars, and the hypotheses of a beam.
import { make, show } from "./controls.js";

// onChoose(n) is called when the nth hypothesis is chosen. update({ before, likely, found, chosen,
// textOf, eos }): the words before the next one; likely next ones, { token, p }, most probable
// first; the results of search (search.js), or none; the chosen one; textOf(ids).
export function hypotheses(onChoose) {
  const likely = make("div", { className: "likely" });
  const others = make("ol", { className: "hypotheses" });
  const element = make("div", { className: "beside" }, likely, others);

  const update = ({ before, likely: candidates, found, chosen, textOf, eos }) => {
    likely.replaceChildren(
      make("p", { className: "name" }, before ? `What comes after “${before}”?` : ""),
      ...candidates.map(({ token, p }) => {
        const bar = make("span", { className: "bar" });
        bar.style.setProperty("--share", p);
        return make("div", { className: "candidate" },
          make("span", {}, token), make("span", {}, show(p, 4)), bar);
      }));
    others.replaceChildren(...found.map((hypothesis, n) => {
      const { ids, logProb } = hypothesis;
      const button = make("button", { type: "button", "aria-pressed": String(n === chosen) },
        textOf(ids.slice(1)));
      button.addEventListener("click", () => {
        onChoose(n);
        others.querySelectorAll("button")[n].focus();
      });
      return make("li", {}, button, ` ${show(-logProb / (ids.length - 1), 3)} nats a token${
        ids.at(-1) === eos ? "" : ", not ended"}; p ${show(Math.exp(logProb), 3)}`);
    }));
  };
  return { element, update };
}
