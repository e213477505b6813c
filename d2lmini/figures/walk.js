// Chapter 13: an observed path to drag, with the forecasts of the net and of constant velocity.
import { choice, make, show, slider } from "./controls.js";
import { matrix } from "./matrix.js";
import { among, between, controlState, each, figure, upTo } from "./frame.js";
import { makeNet } from "./forward.js";
import { forecast } from "./forecast.js";
import { draw, movable } from "./lines.js";

const REACH = 17; // the picture extends from -REACH to REACH, in metres
const EDGE = 13; // handles stay inside, so that a forecast does
const HANDLES = { start: 0, middle: 0.5, end: 1 }; // positions on the path, as fractions of it
const CIRCLES = { 0.5: "one half", 0.9: "nine tenths" };
// How much each point of the path follows each handle: the parabola through the three
const FOLLOWS = [
  (t) => 2 * (t - 0.5) * (t - 1), (t) => 4 * t * (1 - t), (t) => 2 * t * (t - 0.5),
];

function render({ model, el }) {
  const data = model.get("data");
  const { examples, seen, fountain, kiosk, half, step_seconds: dt } = data;
  const { num_heads: numHeads, num_layers: numLayers, num_steps: numSteps } = data;
  const net = makeNet(data, model.get("weights"));
  const state = controlState(model, update, { example: upTo(examples.length),
    moved: each(each(between(-2 * REACH, 2 * REACH), 2), 3), ahead: upTo(numSteps),
    zigzag: between(0, 0.5), probability: among(Object.keys(CIRCLES).map(Number)) });
  const first = state.get();
  const still = [[0, 0], [0, 0], [0, 0]];
  const seconds = (t) => `${show((t + 1) * dt, 1)} s`;

  const example = choice("Example", Object.fromEntries(examples.map((e, i) => [i, e.name])),
    first.example, (i) => state.set({ example: Number(i), moved: still }));
  const ahead = slider("Ahead", { min: 0, max: numSteps - 1, value: first.ahead, format: seconds },
    (t) => state.set({ ahead: t }));
  const circle = choice("Circle for", CIRCLES, first.probability,
    (p) => state.set({ probability: Number(p) }));
  const zigzag = slider("Zigzag", { min: 0, max: 0.5, step: 0.05, value: first.zigzag,
    format: (m) => `${show(m)} m` }, (m) => state.set({ zigzag: m }));
  const reset = make("button", { type: "button" }, "Put the path back");
  reset.addEventListener("click", () => state.set({ moved: still, zigzag: 0 }));
  const scene = draw("g");
  const paths = draw("g");
  const handles = Object.keys(HANDLES).map((name) => draw("circle",
    { class: "handle", r: 0.55, tabindex: 0, role: "application" }));
  // A larger target for a finger
  const around = handles.map(() => draw("circle", { class: "around", r: 1.6, fill: "transparent" }));
  const plane = draw("svg", { viewBox: `${-REACH} ${-REACH} ${2 * REACH} ${2 * REACH}`,
    class: "plane square", role: "group", "aria-label": "The square, seen from above" },
  scene, paths, ...around, ...handles);
  const onReach = (said) => frame.explain(said);
  const looks = matrix({ title: "attention of the last position", rowsAre: "layer.head",
    columnsAre: "observed positions, counted back", onReach });
  looks.element.classList.add("dense");
  const key = (name, i) => [make("span", { className: `key curve-${i}` }), name];
  const happens = make("span", {}, ", ", ...key("what happened", 2));
  const legend = make("p", { className: "axes" }, ...key("forecast", 0), ", ",
    ...key("constant velocity", 1), happens, "; grey: people seen in training");
  const frame = figure(model, el, {
    state,
    noteLines: 2,
    title: "A square with a fountain",
    controls: [example.element, ahead.element, circle.element, zigzag.element, reset],
    parts: [
      make("div", { className: "lines scene" },
        make("p", { className: "caption" },
          "Drag a handle of the observed path, or move it with the arrow keys."),
        plane, legend),
      looks.element,
    ],
    help: "The circle should hold the walker with the chosen probability.",
  });
  const line = (points, kind) => draw("path", { class: kind,
    d: points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${(-y).toFixed(2)}`).join("") });
  scene.append(
    draw("rect", { class: "axis", x: -half, y: -half, width: 2 * half, height: 2 * half }),
    ...seen.map((points) => line(points, "seen")),
    draw("circle", { class: "fountain", r: fountain }),
    draw("text", { class: "name", x: 0, y: 0.4, "text-anchor": "middle" }, "fountain"),
    draw("rect", { class: "kiosk", x: kiosk[0] - 0.5, y: -kiosk[1] - 0.5, width: 1, height: 1 }),
    draw("text", { class: "name", x: kiosk[0] + 0.8, y: -kiosk[1] + 0.4 }, "kiosk"));

  const bent = ({ example: i, moved }) => {
    const { past } = examples[i];
    return past.map((point, s) => point.map((v, k) => v + moved.reduce(
      (sum, by, n) => sum + FOLLOWS[n](s / (past.length - 1)) * by[k], 0)));
  };
  // The places of a bent path, in turn to its left and to its right
  const observedOf = (given) => {
    const path = bent(given);
    return path.map(([x, y], s) => {
      const [from, to] = [path[Math.max(0, s - 1)], path[Math.max(1, s)]];
      const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
      const aside = (s % 2 ? -1 : 1) * given.zigzag / length;
      return [x - aside * (to[1] - from[1]), y + aside * (to[0] - from[0])];
    });
  };
  // Nobody stands in the water.
  const onLand = (x, y) => {
    const far = Math.hypot(x, y);
    return far >= fountain ? [x, y] : far ? [x * fountain / far, y * fountain / far] : [fountain, 0];
  };
  const at = (past, share) => past[Math.round(share * (past.length - 1))];
  function moveTo(n, x, y) {
    const now = state.get();
    const [ox, oy] = at(examples[now.example].past, Object.values(HANDLES)[n]);
    const hold = (v) => Math.round(Math.max(-EDGE, Math.min(EDGE, v)) * 20) / 20;
    const [to, up] = onLand(hold(x), hold(y));
    state.set({ moved: now.moved.map((by, m) => (m === n ? [to - ox, up - oy] : by)) });
  }
  [...around, ...handles].forEach((target, i) => movable(target, plane, { reach: REACH, step: 0.25,
    to: (x, y) => moveTo(i % handles.length, x, y), by: (dx, dy) => {
      const n = i % handles.length;
      const [x, y] = at(bent(state.get()), Object.values(HANDLES)[n]);
      moveTo(n, x + dx, y + dy);
    } }));

  function update(given) {
    const past = observedOf(given);
    const t = given.ahead;
    const { means, sigmas, straight, attention } = forecast(net, past, dt);
    const isReal = !given.zigzag && given.moved.flat().every((v) => v === 0);
    const happened = isReal ? examples[given.example].future : [];
    const radius = sigmas[t] * Math.sqrt(-2 * Math.log(1 - given.probability));
    const last = past.at(-1);
    paths.replaceChildren(
      line(past, "observed"),
      line([last, ...straight], "curve curve-1"),
      ...(happened.length ? [line([last, ...happened], "curve curve-2")] : []),
      line([last, ...means], "curve curve-0"),
      draw("circle", { class: "reach", cx: means[t][0], cy: -means[t][1], r: radius }),
      draw("circle", { class: "dot curve-1", cx: straight[t][0], cy: -straight[t][1], r: 0.3 }),
      ...(happened.length
        ? [draw("circle", { class: "dot curve-2", cx: happened[t][0], cy: -happened[t][1], r: 0.3 })]
        : []),
      draw("circle", { class: "dot curve-0", cx: means[t][0], cy: -means[t][1], r: 0.3 }));
    happens.style.visibility = happened.length ? "" : "hidden";
    Object.entries(HANDLES).forEach(([name, share], n) => {
      const [x, y] = at(bent(given), share);
      for (const target of [around[n], handles[n]]) {
        target.setAttribute("cx", x);
        target.setAttribute("cy", -y);
      }
      handles[n].setAttribute("aria-label",
        `${name} of the observed path, at ${show(x)}, ${show(y)} metres`);
    });
    const names = attention.map((_, n) => `${Math.floor(n / numHeads)}.${n % numHeads}`);
    looks.update({ rows: names, columns: past.map((_, s) => show(s - past.length + 1, 0)),
      top: 1, digits: null,
      value: (i, j) => attention[i][j],
      explain: (i, j) => `${show(attention[i][j], 4)}: in layer ${Math.floor(i / numHeads)}, head ${
        i % numHeads}, what the last position takes from that of ${
        show((past.length - 1 - j) * dt, 1)} s before` });
    const apart = Math.hypot(...means[t].map((v, k) => v - straight[t][k]));
    const missed = happened.length
      ? ` What happened is ${show(Math.hypot(...means[t].map((v, k) => v - happened[t][k])))} m from `
        + `the forecast and ${
          show(Math.hypot(...straight[t].map((v, k) => v - happened[t][k])))} m from constant velocity.`
      : "";
    const fastest = Math.max(...past.slice(1).map((p, s) => Math.hypot(p[0] - past[s][0], p[1] - past[s][1]) / dt));
    frame.note(`After ${seconds(t)} the forecast is ${show(apart)} m from constant velocity; the `
      + `circle for ${CIRCLES[given.probability]} has a radius of ${show(radius)} m.${missed}${
        fastest > 2.5 ? ` Nobody in training walked at ${show(fastest, 1)} m/s.` : ""}`);
    example.set(given.example);
    ahead.set(t);
    circle.set(given.probability);
    zigzag.set(given.zigzag);
    reset.disabled = happened.length > 0;
  }
  update(first);
}

export default { render };
