// The results of a search: sections, each with what it says around the words, which are marked.
//
// Sphinx finds and orders them (searchtools.js); its index comes with the texts of the sections
// (tools/extensions/section_search.py), so that nothing is fetched, which a page from the disk may not do.
(() => {
  const AROUND = 90; // characters before the first word of an excerpt
  const LENGTH = 260; // of an excerpt

  // Places of the words of a text that have one of these stems; or else that contain one.
  function placesOf(text, stems) {
    const stemmer = new Stemmer();
    const words = [...text.matchAll(/[\p{L}\p{N}_]+/gu)].map(({ 0: word, index }) => (
      { word: word.toLowerCase(), start: index, end: index + word.length }));
    const having = (rule) => words.filter(({ word }) => [...stems].some((stem) => rule(word, stem)));
    const whole = having((word, stem) => stemmer.stemWord(word) === stem);
    return whole.length ? whole : having((word, stem) => word.includes(stem));
  }

  // The stretch of a text with the most different words that were looked for, those marked.
  function excerptOf(text, places) {
    const within = (first) => new Set(places
      .filter(({ start, end }) => start >= first.start && end <= first.start + LENGTH - AROUND)
      .map(({ word }) => word)).size;
    const best = places.reduce((a, b) => (a && within(a) >= within(b) ? a : b), null);
    let from = Math.max(0, (best?.start ?? 0) - AROUND);
    if (from > 0) from = text.indexOf(" ", from) + 1;
    let to = text.lastIndexOf(" ", from + LENGTH);
    if (to <= from || from + LENGTH >= text.length) to = text.length;
    const excerpt = document.createElement("p");
    excerpt.className = "context";
    excerpt.append(from > 0 ? "… " : "");
    for (const { start, end } of places.filter((place) => place.start >= from && place.end <= to)) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(start, end);
      excerpt.append(text.slice(from, start), mark);
      from = end;
    }
    excerpt.append(text.slice(from, to), to < text.length ? " …" : "");
    return excerpt;
  }

  function itemOf([name, title], places, text) {
    const page = name.slice(0, name.indexOf("#"));
    const link = document.createElement("a");
    const { LINK_SUFFIX } = DOCUMENTATION_OPTIONS;
    link.href = `${page}${LINK_SUFFIX}${name.slice(page.length).replace(/#$/, "")}`;
    const chapter = Search._index.pagetitles[page];
    link.textContent = title === chapter ? title : `${chapter} › ${title}`;
    const item = document.createElement("li");
    item.append(link, excerptOf(text, places));
    return item;
  }

  // In the place of Sphinx's, which fetches pages.
  Search.query = (query) => {
    const index = Search._index;
    // A word may be called as what every object has: constructor.
    const plain = { __proto__: null, hasOwnProperty: Object.prototype.hasOwnProperty };
    for (const table of [index.terms, index.titleterms]) Object.setPrototypeOf(table, plain);
    const parsed = Search._parseQuery(query);
    localStorage.removeItem("sphinx_highlight_terms"); // else the next page marks parts of words
    const found = Search._performSearch(...parsed).map((result) => {
      const text = index.texts[index.docnames.indexOf(result[0])];
      return { result, text, places: placesOf(text, parsed[1]) };
    });
    // The better first, and of equals the one that says it more often.
    found.sort((a, b) => b.result[4] - a.result[4] || b.places.length - a.places.length);
    Search.output.append(...found.map(({ result, places, text }) => itemOf(result, places, text)));
    Search.stopPulse();
    Search.title.textContent = "Search results";
    Search.status.setAttribute("role", "status");
    Search.status.textContent = found.length
      ? `${found.length} ${found.length === 1 ? "section" : "sections"} of the book`
      : "No section of the book has all these words.";
  };
})();
