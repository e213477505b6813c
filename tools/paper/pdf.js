// Prepares the document of the PDF, and fills in its page numbers.
const UNKNOWN = "000"; // as wide as most page numbers

// Give formulas their TeX for screen readers, and links a place for the page number.
async function prepare() {
  await document.fonts.ready;
  for (const formula of document.querySelectorAll("math")) {
    formula.setAttribute("role", "img");
    formula.setAttribute("aria-label", formula.getAttribute("alttext"));
  }
  for (const link of document.querySelectorAll("a.with-page"))
    link.insertAdjacentHTML("beforeend", `<span class=page-number>${UNKNOWN}</span>`);
}

function showPages(pages) {
  for (const link of document.querySelectorAll("a.with-page"))
    link.querySelector(".page-number").textContent = pages[link.hash.slice(1)];
}

// Whether a Chinese character is drawn like one that no font has.
function lacksChinese() {
  const drawn = (character) => {
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = "20px sans-serif";
    pen.fillText(character, 0, 40);
    return pen.canvas.toDataURL();
  };
  return drawn("\u6ce8") === drawn("\uffff");
}
