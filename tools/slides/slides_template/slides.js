// Starts a deck, and makes what is on a slide as large as the slide allows.
(() => {
  const slides = [...document.querySelectorAll(".slides section:not(:has(> section))")];

  // The arrow keys of a figure that is operated are its own. Escape gives them back to the slides;
  // the keys of a presenter leave the figure and turn the page.
  function belongsToSlides(event) {
    // A key pressed in the speaker's window comes as an event without a target.
    if (!event.target?.closest?.(".d2lmini-figure")) return true;
    const turns = ["PageDown", "PageUp"].includes(event.key);
    if (turns || event.key === "Escape") {
      event.preventDefault();
      event.target.blur(); // reveal.js does not listen while an input has the focus
    }
    return turns;
  }

  // From the best to the least. Pixels of text (code has three quarters, but at least 16), and the
  // least height of a plot.
  const TEXTS = [
    [30, 420], [28, 420], [26, 420], [24, 420], [24, 360], [22, 360], [22, 300], [20, 300],
    [20, 240], [20, 200],
  ];
  // A live figure is so much larger than in the book, in per cent, or smaller; its parts may stand
  // in two columns.
  const [LARGEST, SMALLEST, STEP] = [170, 75, 5];

  const fits = (slide) => slide.scrollHeight <= slide.clientHeight
    && slide.scrollWidth <= slide.clientWidth
    && [...slide.querySelectorAll("pre, .matrix")].every((e) => e.scrollWidth <= e.clientWidth);

  function fit(slide) {
    for (const [text, picture] of TEXTS) {
      slide.style.setProperty("--text", `${text}px`);
      slide.style.setProperty("--picture", `${picture}px`);
      if (fits(slide)) return;
    }
  }

  function fitFigure(slide) {
    for (let size = LARGEST; size >= SMALLEST; size -= STEP) {
      slide.style.setProperty("--figure", `${size}%`);
      for (const columns of [false, true]) {
        slide.classList.toggle("columns", columns);
        if (fits(slide)) return;
      }
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
    controls: false, // figures have a class of that name: slides.py takes away its rules
    viewDistance: 1000, // what is not laid out cannot be measured
    mobileViewDistance: 1000,
    keyboardCondition: belongsToSlides,
    pdfSeparateFragments: false,
    plugins: [RevealNotes, RevealZoom],
  });
  Reveal.on("slidechanged", () => document.activeElement?.blur());
  // Tab stays on the slide that is shown: the others are there too, see viewDistance.
  function closeOthers() {
    const all = Reveal.isOverview() || Reveal.isPrintView();
    slides.forEach((slide) => { slide.inert = !all && slide !== Reveal.getCurrentSlide(); });
  }
  for (const event of ["ready", "slidechanged", "overviewshown", "overviewhidden"])
    Reveal.on(event, closeOthers);
  // The speaker's window copies the notes without the style that hides what screen readers are told.
  MathJax.startup.promise.then(() =>
    document.querySelectorAll("aside.notes mjx-assistive-mml").forEach((copy) => copy.remove()));
  window.deckReady = Promise.all([MathJax.startup.promise, document.fonts.ready, figuresStarted,
    loaded]).then(() => slides.forEach((slide) =>
    (slide.querySelector(".d2lmini-figure") ? fitFigure : fit)(slide)));
})();
