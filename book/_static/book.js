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
  // What the theme says in attributes of these buttons, which the policy of a page does not allow.
  const does = { "download-pdf": () => print(), fullscreen: () => toggleFullScreen() };
  for (const [name, act] of Object.entries(does)) {
    document.querySelector(`.btn-${name}-button`)?.addEventListener("click", act);
  }
});

// A page has a hundred of them; the pointer finds them, and Tab goes from link to figure.
window.addEventListener("load", () => {
  for (const button of document.querySelectorAll(".copybtn")) button.tabIndex = -1;
});

// What has been read is kept, to be read without a network (tools/extensions/sw.js); files are there anyway.
if (location.protocol.startsWith("http") && navigator.serviceWorker) {
  window.addEventListener("load", async () => {
    const { serviceWorker: keeper } = navigator;
    try {
      await keeper.register(`${document.documentElement.dataset.content_root}sw.js`);
      if (keeper.controller) return;
      const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
      (await keeper.ready).active.postMessage([location.href, ...loaded]);
    } catch {
      // A browser that keeps nothing, as in a private window, shows the pages all the same.
    }
  });
}
