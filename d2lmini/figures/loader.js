// Brings the interactive figures to life in a built page: no kernel, no network, no library.
//
// Jupyter saves the state of each widget in the page. A figure's state holds its own module as
// text; here it is run as anywidget would run it in a notebook. A page that is opened from the
// disk may neither fetch nor import files, but it may import a Blob.
//
// This is done for the book's figures only. An ipywidgets slider needs a kernel to do anything,
// so it is not shown; its cell shows a picture instead.
(() => {
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';

  // The state of a widget, with its binary parts, which are saved apart, put back.
  function readState({ state, buffers = [] }) {
    const complete = { ...state };
    for (const { data, path } of buffers) {
      const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
      complete[path[0]] = new DataView(bytes.buffer);
    }
    return complete;
  }

  // What anywidget hands to a module: the state, and word of its changes.
  function makeModel(state) {
    const listeners = {};
    return {
      get: (name) => state[name],
      set(name, value) {
        state[name] = value;
        for (const listener of listeners[`change:${name}`] ?? []) listener();
      },
      on: (event, listener) => (listeners[event] ??= []).push(listener),
      save_changes() {}, // nobody to tell
    };
  }

  async function start(view, state, modules) {
    const place = document.createElement("div");
    const still = view.parentElement.querySelector(".d2lmini-still");
    modules[state._esm] ??= import(
      URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }))
    );
    const { default: widget } = await modules[state._esm];
    view.after(place);
    try {
      await widget.render({ model: makeModel(state), el: place });
    } catch (error) {
      place.remove(); // and the still picture stays
      throw error;
    }
    // With its frame, which the dark theme gives a light ground.
    (still?.closest(".output") ?? still)?.remove();
  }

  document.addEventListener("DOMContentLoaded", () => {
    const saved = {};
    for (const script of document.querySelectorAll(STATE)) {
      Object.assign(saved, JSON.parse(script.textContent).state);
    }
    const modules = {};
    const styles = new Set();
    for (const view of document.querySelectorAll(VIEW)) {
      const entry = saved[JSON.parse(view.textContent).model_id];
      if (entry?.model_module !== "anywidget") continue;
      const state = readState(entry);
      if (!styles.has(state._css)) {
        styles.add(state._css);
        const style = document.createElement("style");
        style.textContent = state._css;
        document.head.append(style);
      }
      // The still picture stays if the browser is too old to run the module.
      start(view, state, modules).catch((error) => console.error(error));
    }
  });
})();
