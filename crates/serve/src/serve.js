"use strict";
// Without this every view is a page that can be read. With it views follow what happens, long lists scroll, and what was
// chosen, opened, zoomed and scrolled to stays as it is.
(() => {
  const root = document.documentElement;
  const base = root.dataset.base || "";
  const main = () => document.getElementById("numbers");
  const state = document.getElementById("state");
  const changed = () => document.dispatchEvent(new Event("modelmeter:changed"));

  // Makes one node like another, and leaves alone what people did to it: opened, typed, chosen, zoomed.
  const key = (node) => node.nodeType === 1 ? node.dataset?.key || node.id || "" : "";
  const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);
  const like = (old, fresh) => {
    if (old.nodeType !== 1) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    const own = (name) => ["open", "data-dressed", "aria-busy"].includes(name) ||
      (name === "viewBox" && old.closest(".zoomed")) || (name === "class" && (old.classList.contains("zoomed") || old.classList.contains("tall"))) ||
      (["value", "checked", "selected"].includes(name) && ["INPUT", "OPTION"].includes(old.nodeName));
    for (const { name, value } of [...fresh.attributes]) {
      if (!own(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
      if (!own(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    if (old.id === "rows" && old.classList.contains("tall")) return;
    children(old, fresh);
  };
  const children = (old, fresh) => {
    let at = old.firstChild;
    const skip = () => { while (at && at.nodeType === 1 && at.dataset?.added !== undefined) at = at.nextSibling; };
    for (const next of [...fresh.childNodes]) {
      skip();
      // What has a name is found wherever it went, so that nothing that stays is made anew.
      let found = at && alike(at, next) ? at : null;
      if (!found && key(next)) {
        for (let node = at; node; node = node.nextSibling) if (alike(node, next)) { found = node; break; }
      }
      if (found) {
        if (found !== at) old.insertBefore(found, at); else at = at.nextSibling;
        like(found, next);
      } else old.insertBefore(next, at);
    }
    while (at) { const gone = at; at = at.nextSibling; if (gone.dataset?.added === undefined) gone.remove(); }
  };

  // Asks for a view and puts it in the place of this one.
  let asking = null;
  const ask = async (address) => {
    asking?.abort();
    asking = new AbortController();
    const response = await fetch(address, { signal: asking.signal, credentials: "same-origin", redirect: "follow" });
    return { text: await response.text(), status: response.status };
  };
  const parse = (text) => new DOMParser().parseFromString(text, "text/html");
  const place = () => location.pathname + location.search;
  const refresh = async () => {
    if (document.hidden) { stale = true; return; }
    try {
      const { text, status } = await ask(place());
      const page = parse(text), fresh = page.getElementById("numbers");
      if (!fresh || status === 401) return;
      const rows = document.getElementById("rows");
      like(main(), fresh);
      if (rows) list?.renew(page.getElementById("rows"));
      document.title = page.title;
      changed();
    } catch (error) { if (error.name !== "AbortError") away(); }
  };
  const go = async (address, push = true) => {
    main().setAttribute("aria-busy", "true");
    try {
      const { text } = await ask(address);
      const page = parse(text), fresh = page.getElementById("numbers");
      if (!fresh) { location.href = address; return; }
      if (push) history.pushState(null, "", address);
      main().replaceWith(fresh);
      const nav = page.querySelector(".views"), here = document.querySelector(".views");
      if (nav && here) like(here, nav);
      document.title = page.title;
      if (push) { scrollTo(0, 0); fresh.focus({ preventScroll: true }); }
      begin();
    } catch (error) { if (error.name !== "AbortError") location.href = address; }
    main().removeAttribute("aria-busy");
  };
  const ours = (link) => link && link.origin === location.origin && link.pathname.startsWith(base + "/") &&
    !link.pathname.startsWith(base + "/api") && !link.hash && !link.target && !link.hasAttribute("download");
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!ours(link) || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(link.href);
  });
  addEventListener("popstate", () => { if (!location.hash) go(place(), false); });

  // Forms are addresses: what is empty is left out.
  const address = (form) => {
    const pairs = [...new FormData(form)].filter(([name, value]) => value !== "" && name !== "column");
    const shown = [...form.querySelectorAll("input[name=column]")];
    if (shown.length) keepColumns(shown);
    const query = new URLSearchParams(pairs);
    if (form.id === "picking") { query.delete("run"); picked.forEach((run) => query.append("run", run)); }
    const text = query.toString();
    return (form.getAttribute("action") || location.pathname) + (text ? "?" + text : "");
  };
  const keepColumns = (shown) => {
    const names = shown.filter((box) => box.checked).map((box) => box.value).join(".");
    document.cookie = "modelmeter-columns=" + names + "; path=" + root.dataset.cookie + "; max-age=31536000; samesite=strict";
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "get" || form.querySelector("[name=token]")) return;
    event.preventDefault();
    go(address(form));
  });
  let typing = 0;
  const filter = (form) => {
    const next = address(form);
    history.replaceState(null, "", next);
    list?.forget();
    refresh();
  };
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (!form?.classList.contains("filters") || form.querySelector("[name=token]")) return;
    clearTimeout(typing);
    typing = setTimeout(() => filter(form), event.target.nodeName === "INPUT" && event.target.type !== "checkbox" ? 250 : 0);
  });

  // Picked runs stay picked while others scroll by.
  const picked = new Set();
  document.addEventListener("change", (event) => {
    if (event.target.name !== "run") return;
    if (event.target.checked) picked.add(event.target.value); else picked.delete(event.target.value);
  });

  // A long list: as high as all rows, with those in it that can be seen.
  const STEP = 100;
  let HIGH = 38;
  let list = null;
  const makeList = (frame) => {
    const body = frame.querySelector("tbody"), total = () => Number(frame.dataset.total);
    const pad = () => {
      const row = document.createElement("tr"), cell = document.createElement("td");
      row.className = "pad"; row.dataset.added = ""; row.setAttribute("aria-hidden", "true");
      cell.colSpan = 99; row.append(cell);
      return row;
    };
    const before = pad(), after = pad();
    const parts = new Map();
    let shown = "", timer = 0, epoch = 0;
    const keepRows = (offset, rows) => parts.set(offset, rows);
    const offsetOf = (part) => part * STEP;
    // Zoom and fonts decide how high a row is.
    const measure = () => {
      const rows = body.querySelectorAll("tr:not(.pad)");
      if (rows.length < 2) return;
      const high = (rows[rows.length - 1].getBoundingClientRect().top - rows[0].getBoundingClientRect().top) / (rows.length - 1);
      if (high > 10) HIGH = high;
    };
    const wanted = () => {
      const first = Math.floor(frame.scrollTop / HIGH), count = Math.ceil(frame.clientHeight / HIGH);
      const from = Math.max(0, Math.floor((first - 20) / STEP)), to = Math.floor((first + count + 20) / STEP);
      const last = Math.max(0, Math.ceil(total() / STEP) - 1), found = [];
      for (let part = Math.min(from, last); part <= Math.min(to, last); part += 1) found.push(part);
      return found;
    };
    const draw = () => {
      const here = wanted().filter((part) => parts.has(part)), name = here.join() + "/" + epoch + "/" + total();
      if (!here.length || name === shown) return;
      shown = name;
      const first = here[0], last = here[here.length - 1];
      const rows = here.flatMap((part) => parts.get(part));
      before.firstChild.height = offsetOf(first) * HIGH;
      after.firstChild.height = Math.max(0, total() - offsetOf(last) - parts.get(last).length) * HIGH;
      body.replaceChildren(before, ...rows, after);
      rows.forEach((row) => {
        const box = row.querySelector("input[name=run]");
        if (box) box.checked = picked.has(box.value);
      });
    };
    const fetchPart = async (part) => {
      const at = epoch, query = new URLSearchParams(location.search);
      query.set("offset", offsetOf(part)); query.set("limit", STEP);
      const response = await fetch(location.pathname + "?" + query, { credentials: "same-origin" });
      const page = parse(await response.text()), fresh = page.getElementById("rows");
      if (!fresh || at !== epoch) return;
      frame.dataset.total = fresh.dataset.total;
      keepRows(part, [...fresh.querySelectorAll("tbody tr")].map((row) => document.adoptNode(row)));
      while (parts.size > 12) parts.delete([...parts.keys()].find((known) => !wanted().includes(known)) ?? [...parts.keys()][0]);
      draw();
    };
    let busy = new Set();
    const see = () => {
      draw();
      for (const part of wanted()) {
        if (parts.has(part) || busy.has(part)) continue;
        busy.add(part);
        fetchPart(part).catch(away).finally(() => busy.delete(part));
      }
      const query = new URLSearchParams(location.search), first = Math.floor(frame.scrollTop / HIGH);
      if (first > 0) query.set("offset", first); else query.delete("offset");
      const text = query.toString();
      history.replaceState(history.state, "", location.pathname + (text ? "?" + text : ""));
    };
    frame.addEventListener("scroll", () => { clearTimeout(timer); timer = setTimeout(see, 40); draw(); }, { passive: true });
    frame.classList.add("tall");
    const begun = Number(frame.dataset.offset);
    measure();
    body.prepend(before); body.append(after);
    before.firstChild.height = begun * HIGH;
    after.firstChild.height = Math.max(0, total() - begun - body.querySelectorAll("tr:not(.pad)").length) * HIGH;
    if (begun % STEP === 0) keepRows(begun / STEP, [...body.querySelectorAll("tr:not(.pad)")]);
    frame.scrollTop = begun * HIGH;
    see();
    return {
      // The same place with what is there now.
      renew: (fresh) => {
        if (!fresh) return;
        frame.dataset.total = fresh.dataset.total;
        const head = frame.querySelector("thead"), next = fresh.querySelector("thead");
        if (head && next) like(head, next);
        epoch += 1; parts.clear(); busy = new Set();
        see();
      },
      forget: () => { frame.scrollTop = 0; },
    };
  };

  // What goes on. Tabs of one browser share one stream: it has few connections to a server.
  let stale = false, source = null, gone = false;
  const away = () => { gone = true; state.textContent = "The server does not answer. This page goes on by itself when it is back."; };
  const back = () => { if (gone) { gone = false; state.textContent = ""; refresh(); } };
  const channel = "BroadcastChannel" in window ? new BroadcastChannel("modelmeter" + base) : null;
  const hear = (name, data) => {
    if (document.hidden) { stale = true; return; }
    const now = document.getElementById("now"), follows = main().dataset.follows;
    if (name === "now" && now) {
      const fresh = document.createElement("div");
      fresh.id = "now";
      fresh.className = now.className;
      fresh.append(...parse(data).body.childNodes);
      like(now, fresh);
      changed();
    }
    if (name === "data" && follows === "data") refresh();
  };
  if (channel) channel.onmessage = ({ data }) => { if (data.name === "away") away(); else { back(); hear(data.name, data.text); } };
  const tell = (name, text) => { hear(name, text); channel?.postMessage({ name, text }); };
  let release = null;
  const open = () => {
    source = new EventSource(base + "/events");
    for (const name of ["now", "data"]) source.addEventListener(name, (event) => { back(); tell(name, event.data); });
    source.onopen = () => { back(); channel?.postMessage({ name: "back" }); };
    source.onerror = () => {
      away(); channel?.postMessage({ name: "away" });
      // One that was refused does not try again by itself.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (source) { source.close(); open(); } }, 2000);
    };
  };
  const close = () => { source?.close(); source = null; release?.(); release = null; };
  const follow = () => {
    if (document.hidden || source || release) return;
    if (navigator.locks && channel) {
      let isOver = false;
      release = () => { isOver = true; };
      navigator.locks.request("modelmeter" + base, () => isOver ? undefined : new Promise((done) => { release = done; open(); }));
    } else open();
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { close(); return; }
    follow();
    if (stale) { stale = false; refresh(); }
  });

  // A flame graph zooms by clicks, and dims what is not looked for.
  const dress = () => {
    for (const svg of document.querySelectorAll("svg.flame:not([data-dressed])")) {
      svg.dataset.dressed = "";
      const search = flame(svg);
      if (!search) continue;
      const bar = document.createElement("p"), label = document.createElement("label"), field = document.createElement("input");
      bar.className = "note search"; bar.dataset.added = "";
      field.type = "search"; field.placeholder = "module, kind, operator";
      field.addEventListener("input", () => search(field.value));
      label.append("Search ", field);
      bar.append(label, " A click zooms into a frame; a click on the uppermost one or Escape shows all again.");
      svg.closest("figure").prepend(bar);
    }
  };
  document.addEventListener("modelmeter:changed", dress);

  const begin = () => {
    const rows = document.getElementById("rows");
    list = rows && Number(rows.dataset.total) > 0 ? makeList(rows) : null;
    changed();
  };
  if (main()?.dataset.follows) { begin(); follow(); }
})();
