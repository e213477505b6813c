// Starts the interactive figures in a built page: no kernel, no network, no library.
//
// Jupyter saves the state of each widget in the page. A figure's state holds its own module as
// text; here it is run as anywidget would run it in a notebook. A page opened from the disk may
// neither fetch nor import files, but it may import a Blob.
//
// Only the book's figures are started. An ipywidgets slider needs a kernel, so it is not shown.
(() => {
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';

  // A plain loop: Uint8Array.from takes 25 times as long, most of a second for a network.
  const bytesOf = (data) => {
    const text = atob(data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new DataView(bytes.buffer);
  };

  // The inverse of Python's base64.b85encode, used by the build: four bytes in five characters.
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

  // Bytes from their own script, once the page is readable: a page from the disk may load no other
  // kind of file.
  const fromFile = (file) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = file;
    script.onload = () => resolve(bytesOf(window.d2lminiBytes[file.split("/").at(-1)]));
    script.onerror = () => reject(new Error(`${file} cannot be read`));
    const ask = () => setTimeout(() => document.head.append(script));
    if (document.readyState === "complete") ask();
    else window.addEventListener("load", ask);
  });

  // The state of a widget, with its module and its binary parts, which are saved separately, put
  // back; a promise for those in a file of their own, so that the page need not wait. What another
  // figure of the page has as well is saved there.
  function readState({ state, module, buffers = [] }, all) {
    const complete = { ...state, _esm: all[module]?.state._esm ?? state._esm };
    for (const { same, path, ...own } of buffers) {
      const { data, encoding, file } = same ? all[same[0]].buffers[same[1]] : own;
      complete[path[0]] = file ? fromFile(file)
        : encoding === "base85" ? packedBytesOf(data) : bytesOf(data);
    }
    return complete;
  }

  // The state that the address requests for a figure: ?masks.causal=false, values as JSON.
  function askedOf(name) {
    const asked = {};
    for (const [key, text] of new URLSearchParams(location.search)) {
      const [figure, ...field] = key.split(".");
      if (figure !== name) continue;
      try {
        asked[field.join(".")] = JSON.parse(text);
      } catch {
        asked[field.join(".")] = undefined; // which every figure rejects
      }
    }
    return asked;
  }

  // Write the changes from the first state into the address when the reader pauses.
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

  // The model that anywidget passes to a module: the state, and notice of its changes.
  function makeModel(state) {
    const listeners = {};
    return {
      get: (name) => state[name],
      set(name, value) {
        state[name] = value;
        for (const listener of listeners[`change:${name}`] ?? []) listener();
      },
      on: (event, listener) => (listeners[event] ??= []).push(listener),
      save_changes() {}, // no kernel to notify
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
      place.remove(); // leaving the still picture
      throw error;
    }
    // The target of links. The picture is removed with its frame, to which the dark theme gives
    // a light background.
    place.id = still?.id ?? "";
    if (name) keepInAddress(name, state.state, model);
    (still?.closest(".output") ?? still)?.remove();
    if (place.id && location.hash === `#${place.id}`) place.scrollIntoView();
  }

  // Skip links to the figures, next to the theme's own, visible when focused. They focus the figure,
  // so that the next Tab enters it.
  function offerToSkip() {
    const places = document.querySelectorAll(".d2lmini-place[id^=figure-]");
    for (const place of places) {
      const link = document.createElement("a");
      link.href = `#${place.id}`;
      link.textContent = places.length === 1 ? "Skip to figure"
        : `Skip to figure: ${place.getAttribute("aria-label")}${
          place.classList.contains("brief") ? ", in short" : ""}`;
      link.addEventListener("click", () => {
        place.tabIndex = -1;
        place.focus();
        place.addEventListener("blur", () => place.removeAttribute("tabindex"), { once: true });
      });
      document.getElementById("pst-skip-link")?.append(" ", link);
    }
  }

  // A wide figure covers the contents of the page, which disappear while it is in sight.
  function makeRoom() {
    const inSight = new Set();
    const watcher = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) inSight.add(target);
        else inSight.delete(target);
      }
      document.documentElement.classList.toggle("yields", inSight.size > 0);
    });
    document.querySelectorAll(".d2lmini-place:not(.brief)").forEach((place) => watcher.observe(place));
  }

  // This script is in the head, after the states: the modules are loaded while the page is being
  // parsed, and each figure starts as soon as its place exists.
  const states = {};
  const modules = {};
  for (const script of document.querySelectorAll(STATE)) {
    const all = JSON.parse(script.textContent).state;
    for (const [id, entry] of Object.entries(all)) {
      if (entry.model_module !== "anywidget") continue;
      states[id] = readState(entry, all);
      const { _esm: text } = states[id];
      modules[text] ??= import(
        URL.createObjectURL(new Blob([text], { type: "text/javascript" }))
      );
    }
  }
  const started = new Map(); // view element -> promise of its figure
  function startArrived() {
    for (const view of document.querySelectorAll(VIEW)) {
      const text = view.textContent.trimEnd();
      if (started.has(view) || !text.endsWith("}")) continue; // not complete yet
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
    Promise.all(started.values()).then(offerToSkip).then(makeRoom);
  });
})();
