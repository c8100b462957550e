// What a careful person would look at in a page, as one list of defects.
(() => {
  const defects = [];
  const say = (what, node) => defects.push(what + (node ? ": " + node.outerHTML.slice(0, 160) : ""));
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) say(`the page is ${root.scrollWidth} wide in a window of ${innerWidth}`);

  const ids = new Set();
  for (const node of document.querySelectorAll("[id]")) {
    if (ids.has(node.id)) say("an id twice", node);
    ids.add(node.id);
  }
  for (const svg of document.querySelectorAll("svg:not([aria-hidden])")) {
    if (!svg.querySelector(":scope > title")?.textContent) say("a picture without a name", svg);
  }
  const shown = (node) => node.getClientRects().length > 0;
  for (const svg of [...document.querySelectorAll(".picture svg")].filter(shown)) {
    const box = svg.getBoundingClientRect();
    if (box.width < 200 || box.height < 100) say(`a picture of ${box.width} × ${box.height}`, svg);
    const frame = svg.closest(".picture");
    if (frame.scrollWidth > frame.clientWidth + 1) say("a picture is cut", svg);
    if (svg.querySelectorAll("rect, path, polyline, polygon, circle").length < 3) say("an empty picture", svg);
  }
  for (const table of [...document.querySelectorAll(".scroll > table")].filter(shown)) {
    if (innerWidth >= 1280 && table.scrollWidth > table.parentElement.clientWidth + 1) say(`a table is cut: ${table.scrollWidth} wide in ${table.parentElement.clientWidth}`, table);
  }
  let last = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const level = Number(heading.tagName[1]);
    if (level > last + 1) say(`a heading of level ${level} after ${last}`, heading);
    last = level;
  }
  if (document.querySelectorAll("h1").length !== 1) say("not one heading of the first level");
  for (const cell of document.querySelectorAll("th:not([scope])")) say("a head without a scope", cell);
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption?.textContent) say("a table without a name", table);
  }
  for (const node of document.querySelectorAll("button, a[href], input, [role=region], [role=radiogroup]")) {
    const name = node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.[0]?.textContent;
    if (!name) say("nothing to call it by", node);
  }
  for (const node of document.querySelectorAll("[style], [onclick], [src], link, iframe")) say("not ours", node);

  // Contrast, as the Web Content Accessibility Guidelines define it.
  const parse = (text) => {
    const found = text.match(/[\d.]+/g).map(Number);
    return { rgb: found.slice(0, 3), alpha: found.length > 3 ? found[3] : 1 };
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => part / 255).map((p) => (p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.alpha > 0.99) return colour.rgb;
    }
    return [255, 255, 255];
  };
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(node) || ["TITLE", "DESC", "STYLE", "SCRIPT"].includes(node.tagName.toUpperCase())) continue;
    const style = getComputedStyle(node);
    const inSvg = node instanceof SVGElement;
    const ink = parse(inSvg ? style.fill : style.color).rgb;
    const under = background(inSvg ? node.ownerSVGElement.parentElement : node);
    // Words in the colour of the paper stand on a mark; the drawing room tests those.
    if (inSvg && String(ink) === String(under)) continue;
    const [one, other] = [luminance(ink), luminance(under)].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    texts += 1;
    if (ratio < 4.5) say(`contrast ${ratio.toFixed(2)} of ${style.color} on ${under}`, node);
  }
  if (texts < 40) say(`only ${texts} texts can be seen`);
  // A picture that has another form for phones is one picture.
  const pictures = [...document.querySelectorAll(".picture svg")].filter((svg) => !svg.closest(".for-phones")).length;
  return { defects: defects.slice(0, 12), background: getComputedStyle(document.body).backgroundColor, pictures };
})()
