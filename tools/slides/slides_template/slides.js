// Starts a deck, and makes the content of each slide as large as fits.
(() => {
  const slides = [...document.querySelectorAll(".slides section:not(:has(> section))")];

  // A focused figure handles the arrow keys. Escape returns them to the slides; the keys of a
  // presenter leave the figure and turn the page.
  function belongsToSlides(event) {
    // A key pressed in the speaker's window arrives as an event without a target.
    if (!event.target?.closest?.(".d2lmini-figure")) return true;
    const turns = ["PageDown", "PageUp"].includes(event.key);
    if (turns || event.key === "Escape") {
      event.preventDefault();
      event.target.blur(); // reveal.js ignores keys while an input has the focus
    }
    return turns;
  }

  // From best to worst: text size in pixels (code has three quarters of it, but at least 16), and
  // the minimum height of a plot.
  const TEXTS = [
    [30, 420], [28, 420], [26, 420], [24, 420], [24, 360], [22, 360], [22, 300], [20, 300],
    [20, 240], [20, 200],
  ];
  // The size of a live figure relative to the book, in per cent; its parts may be in two columns.
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
    controls: false, // figures have a class of that name: make_slides.py removes its rules
    viewDistance: 1000, // slides must be laid out to be measured
    mobileViewDistance: 1000,
    keyboardCondition: belongsToSlides,
    pdfSeparateFragments: false,
    plugins: [RevealNotes, RevealZoom],
  });
  Reveal.on("slidechanged", () => document.activeElement?.blur());
  // Keep Tab on the current slide: the others exist too, see viewDistance.
  function closeOthers() {
    const all = Reveal.isOverview() || Reveal.isPrintView();
    slides.forEach((slide) => { slide.inert = !all && slide !== Reveal.getCurrentSlide(); });
  }
  for (const event of ["ready", "slidechanged", "overviewshown", "overviewhidden"])
    Reveal.on(event, closeOthers);
  // The speaker's window copies the notes without the style that hides text for screen readers.
  MathJax.startup.promise.then(() =>
    document.querySelectorAll("aside.notes mjx-assistive-mml").forEach((copy) => copy.remove()));
  window.deckReady = Promise.all([MathJax.startup.promise, document.fonts.ready, figuresStarted,
    loaded]).then(() => slides.forEach((slide) =>
    (slide.querySelector(".d2lmini-figure") ? fitFigure : fit)(slide)));
})();
