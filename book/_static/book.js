// The theme of this machine at once: the theme's own script comes when all is read, and a dark page
// would be light until then.
if (document.documentElement.dataset.theme === "auto") {
  document.documentElement.dataset.theme =
    matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

// Small repairs of the theme. Everything here works from the disk and without a network.

document.addEventListener("DOMContentLoaded", () => {
  // On a phone the contents open as a dialog, and stayed open over the place one had chosen.
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => {
      if (event.target.closest('a[href^="#"]')) dialog.close();
    });
  }
  // Sources are downloaded, not shown as text in a new tab.
  for (const link of document.querySelectorAll("a.btn-download-source-button")) {
    link.download = "";
    link.removeAttribute("target");
  }
});

// A page has a hundred of them; the pointer finds them, and Tab goes from link to figure.
window.addEventListener("load", () => {
  for (const button of document.querySelectorAll(".copybtn")) button.tabIndex = -1;
});
