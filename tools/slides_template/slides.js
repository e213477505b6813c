// Starts a deck, and makes what is on a slide as large as the slide allows.
(() => {
  const slides = [...document.querySelectorAll(".slides > section > section")];

  // The arrow keys of a figure that is operated are its own; Escape gives them back to the slides.
  const ALWAYS = ["PageDown", "PageUp", "Escape"];
  function belongsToSlides(event) {
    const inFigure = event.target.closest?.(".d2lmini-figure");
    if (!inFigure) return true;
    if (event.key === "Escape") event.target.blur();
    return ALWAYS.includes(event.key) && event.key !== "Escape";
  }

  // From the best to the least: pixels of text (code has three quarters, but 16), the least height
  // of a plot, and how often a live figure is as large as in the book.
  const SIZES = [
    [30, 420, 1.7], [28, 420, 1.6], [26, 420, 1.5], [24, 420, 1.4], [24, 360, 1.3], [22, 360, 1.2],
    [22, 300, 1.15], [20, 300, 1.1], [20, 240, 1.05], [20, 200, 1],
  ];
  const fits = (slide) => slide.scrollHeight <= slide.clientHeight
    && slide.scrollWidth <= slide.clientWidth
    && [...slide.querySelectorAll("pre")].every((e) => e.scrollWidth <= e.clientWidth);
  function fit(slide) {
    for (const [text, picture, figure] of SIZES) {
      slide.style.setProperty("--text", `${text}px`);
      slide.style.setProperty("--picture", `${picture}px`);
      slide.style.setProperty("--figure", figure);
      if (fits(slide)) return;
    }
  }

  const figuresStarted = new Promise((resolve) => {
    const begin = Date.now();
    const look = () => document.querySelector(".d2lmini-still") && Date.now() - begin < 5000
      ? setTimeout(look, 20) : resolve();
    look();
  });
  const loaded = new Promise((resolve) => window.addEventListener("load", resolve));

  Reveal.initialize({
    width: 1280,
    height: 720,
    margin: 0,
    maxScale: 4,
    center: false,
    display: "flex",
    hash: true,
    slideNumber: "c/t",
    navigationMode: "linear",
    transition: "none",
    controlsTutorial: false,
    viewDistance: 1000, // what is not laid out cannot be measured
    mobileViewDistance: 1000,
    keyboardCondition: belongsToSlides,
    pdfSeparateFragments: false,
    plugins: [RevealNotes],
  });
  Reveal.on("slidechanged", () => document.activeElement?.blur());
  window.deckReady = Promise.all([MathJax.startup.promise, document.fonts.ready, figuresStarted,
    loaded]).then(() => slides.forEach(fit));
})();
