"use strict";
// Without this everything shows. With it pictures zoom, commands are copied and the theme is remembered.
(() => {
  const root = document.documentElement;
  const make = (text, label, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    if (label) button.setAttribute("aria-label", label);
    button.addEventListener("click", act);
    return button;
  };

  // The theme: the system's, light, dark.
  const themes = ["auto", "light", "dark"];
  const recall = () => { try { return localStorage.getItem("modelmeter-theme"); } catch { return null; } };
  const keep = (name) => { try { localStorage.setItem("modelmeter-theme", name); } catch { /* not here */ } };
  const wear = (name) => {
    if (name === "auto") root.removeAttribute("data-theme"); else root.setAttribute("data-theme", name);
    theme.textContent = "Theme: " + name;
  };
  const theme = make("", "", () => {
    const next = themes[(themes.indexOf(root.dataset.theme || "auto") + 1) % themes.length];
    wear(next);
    keep(next);
  });
  wear(themes.includes(recall()) ? recall() : "auto");
  document.getElementById("tools").append(theme);

  // A link to a run opens it.
  const open = () => {
    const run = location.hash && document.getElementById(location.hash.slice(1));
    if (run && run.tagName === "DETAILS") { run.open = true; run.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();

  // Paper shows every run.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((run) => { run.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((run) => { run.open = false; }));

  // What a script added stays when a part of the page is replaced, and is added only once.
  const added = (node, owner) => { node.dataset.added = ""; owner.dataset.dressed = ""; return node; };
  const dress = () => {
    // Commands are copied.
    for (const pre of navigator.clipboard ? document.querySelectorAll("pre.command:not([data-dressed])") : []) {
      const text = pre.textContent;
      const copy = make("Copy", "Copy the command", () => navigator.clipboard.writeText(text).then(
        () => { copy.textContent = "Copied"; setTimeout(() => { copy.textContent = "Copy"; }, 1500); },
        () => { copy.textContent = "Not allowed"; },
      ));
      copy.className = "copy";
      pre.prepend(added(copy, pre));
    }

    // Pictures zoom by buttons, by the wheel with a key held, and move by dragging or with arrows.
    for (const frame of document.querySelectorAll(".picture:not([data-dressed])")) {
      const svg = frame.querySelector("svg");
      const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
      let scale = 1, x = 0, y = 0;
      const show = () => {
        const w = width / scale, h = height / scale;
        x = Math.min(Math.max(x, 0), width - w);
        y = Math.min(Math.max(y, 0), height - h);
        svg.setAttribute("viewBox", [x, y, w, h].join(" "));
        frame.classList.toggle("zoomed", scale > 1);
      };
      const zoom = (by, at = [0.5, 0.5]) => {
        const next = Math.min(Math.max(scale * by, 1), 16);
        x += at[0] * (width / scale - width / next);
        y += at[1] * (height / scale - height / next);
        scale = next;
        show();
      };
      const move = (dx, dy) => { x += dx; y += dy; show(); };
      const bar = document.createElement("div");
      bar.className = "zoom";
      const name = frame.getAttribute("aria-label");
      bar.append(
        make("+", "Zoom in: " + name, () => zoom(1.6)),
        make("−", "Zoom out: " + name, () => zoom(1 / 1.6)),
      );
      frame.parentElement.append(added(bar, frame));
      frame.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        const box = svg.getBoundingClientRect();
        zoom(event.deltaY < 0 ? 1.25 : 0.8, [(event.clientX - box.x) / box.width, (event.clientY - box.y) / box.height]);
      }, { passive: false });
      frame.addEventListener("keydown", (event) => {
        const step = width / scale / 8;
        const acts = {
          "+": () => zoom(1.6), "=": () => zoom(1.6), "-": () => zoom(1 / 1.6), "0": () => { scale = 1; show(); },
          ArrowLeft: () => move(-step, 0), ArrowRight: () => move(step, 0),
          ArrowUp: () => move(0, -step), ArrowDown: () => move(0, step),
        };
        const arrow = event.key.startsWith("Arrow");
        if (!acts[event.key] || (arrow && scale === 1)) return;
        event.preventDefault();
        acts[event.key]();
      });
      svg.addEventListener("pointerdown", (event) => { if (scale > 1) svg.setPointerCapture(event.pointerId); });
      svg.addEventListener("pointermove", (event) => {
        if (!svg.hasPointerCapture(event.pointerId)) return;
        const box = svg.getBoundingClientRect();
        move(-event.movementX / box.width * width / scale, -event.movementY / box.height * height / scale);
      });
    }
  };
  dress();
  document.addEventListener("modelmeter:changed", dress);
})();
