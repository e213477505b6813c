// Brings the interactive figures to life in a built page: no kernel, no network, no library.
//
// Jupyter saves the state of each widget in the page. A figure's state holds its own module as
// text; here it is run as anywidget would run it in a notebook. A page that is opened from the
// disk may neither fetch nor import files, but it may import a Blob.
//
// This is done for the book's figures only. An ipywidgets slider needs a kernel to do anything,
// so it is not shown.
(() => {
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';

  // In a plain loop: Uint8Array.from takes 25 times as long, most of a second for a network.
  const bytesOf = (data) => {
    const text = atob(data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new DataView(bytes.buffer);
  };

  // The same of Python's base64.b85encode, which the build writes: four bytes in five characters.
  const DIGITS = new Uint8Array(128);
  [..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"]
    .forEach((character, n) => (DIGITS[character.charCodeAt(0)] = n));
  const packedBytesOf = (data) => {
    const missing = (5 - (data.length % 5)) % 5;
    const whole = data + "~".repeat(missing);
    const bytes = new DataView(new ArrayBuffer((whole.length / 5) * 4));
    for (let i = 0; i < whole.length; i += 5) {
      let number = 0;
      for (let k = i; k < i + 5; k++) number = number * 85 + DIGITS[whole.charCodeAt(k)];
      bytes.setUint32((i / 5) * 4, number);
    }
    return new DataView(bytes.buffer, 0, bytes.byteLength - missing);
  };

  // Bytes from a script of their own, once the page can be read: no other file may be asked for
  // by a page that was opened from the disk.
  const fromFile = (file) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = file;
    script.onload = () => resolve(bytesOf(window.d2lminiBytes[file.split("/").at(-1)]));
    script.onerror = () => reject(new Error(`${file} cannot be read`));
    const ask = () => setTimeout(() => document.head.append(script));
    if (document.readyState === "complete") ask();
    else window.addEventListener("load", ask);
  });

  // The state of a widget, with its binary parts, which are saved apart, put back. Of one that
  // has a file of its own, the promise: a page is not kept waiting.
  function readState({ state, buffers = [] }) {
    const complete = { ...state };
    for (const { data, encoding, file, path } of buffers) {
      complete[path[0]] = file ? fromFile(file)
        : encoding === "base85" ? packedBytesOf(data) : bytesOf(data);
    }
    return complete;
  }

  // What the address asks of the figure of a name: ?masks.causal=false, values as JSON.
  function askedOf(name) {
    const asked = {};
    for (const [key, text] of new URLSearchParams(location.search)) {
      const [figure, ...field] = key.split(".");
      if (figure !== name) continue;
      try {
        asked[field.join(".")] = JSON.parse(text);
      } catch {
        asked[field.join(".")] = undefined; // which no figure takes
      }
    }
    return asked;
  }

  // Notes in the address in what a figure differs from its first state, when the reader rests.
  function keepInAddress(name, first, model) {
    let timer = null;
    model.on("change:state", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const query = new URLSearchParams(location.search);
        for (const [field, value] of Object.entries(model.get("state"))) {
          const text = JSON.stringify(value);
          if (text === JSON.stringify(first[field])) query.delete(`${name}.${field}`);
          else query.set(`${name}.${field}`, text);
        }
        const search = query.toString();
        try {
          history.replaceState(null, "", `${location.pathname}${search && `?${search}`}#figure-${name}`);
        } catch {
          // A page that may not change its address has none to share.
        }
      }, 300);
    });
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

  async function start(view, state, module) {
    const place = document.createElement("div");
    place.className = "d2lmini-place";
    const still = view.parentElement.querySelector(".d2lmini-still");
    const { default: widget } = await module;
    view.after(place);
    const name = still?.id.replace("figure-", "");
    const model = makeModel({ ...state, asked: name ? askedOf(name) : {} });
    try {
      await widget.render({ model, el: place });
    } catch (error) {
      place.remove(); // and the still picture stays
      throw error;
    }
    // The name by which links find it. The picture goes with its frame, which the dark theme
    // gives a light ground.
    place.id = still?.id ?? "";
    if (name) keepInAddress(name, state.state, model);
    (still?.closest(".output") ?? still)?.remove();
    if (place.id && location.hash === `#${place.id}`) place.scrollIntoView();
  }

  // Links to the figures beside the theme's own to the text, which are seen when they have the
  // focus. They give it to the figure, so that the next Tab leads into it.
  function offerToSkip() {
    const places = document.querySelectorAll(".d2lmini-place[id^=figure-]");
    for (const place of places) {
      const link = document.createElement("a");
      link.href = `#${place.id}`;
      link.textContent = places.length === 1 ? "Skip to figure"
        : `Skip to figure: ${place.getAttribute("aria-label")}`;
      link.addEventListener("click", () => {
        place.tabIndex = -1;
        place.focus();
        place.addEventListener("blur", () => place.removeAttribute("tabindex"), { once: true });
      });
      document.getElementById("pst-skip-link")?.append(" ", link);
    }
  }

  // This script stands in the head, after the states: while the page is still read, the modules
  // are, too, and each figure starts as soon as its place is there.
  const states = {};
  const modules = {};
  for (const script of document.querySelectorAll(STATE)) {
    for (const [id, entry] of Object.entries(JSON.parse(script.textContent).state)) {
      if (entry.model_module !== "anywidget") continue;
      states[id] = readState(entry);
      const { _esm: text } = states[id];
      modules[text] ??= import(
        URL.createObjectURL(new Blob([text], { type: "text/javascript" }))
      );
    }
  }
  const started = new Map(); // place of a view -> the promise of its figure
  function startArrived() {
    for (const view of document.querySelectorAll(VIEW)) {
      const text = view.textContent.trimEnd();
      if (started.has(view) || !text.endsWith("}")) continue; // the rest is still to come
      const state = states[JSON.parse(text).model_id];
      // The still picture stays if the browser is too old to run the module.
      if (state) started.set(view, start(view, state, modules[state._esm]).catch(console.error));
    }
  }
  const arrivals = new MutationObserver(startArrived);
  arrivals.observe(document, { childList: true, subtree: true });
  document.addEventListener("DOMContentLoaded", () => {
    arrivals.disconnect();
    startArrived();
    Promise.all(started.values()).then(offerToSkip);
  });
})();
