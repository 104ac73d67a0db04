/* What moves on the page: charts, sorting, which models are shown, and the rows behind a cell.
   Text of runs is put in by textContent alone. */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const hiddenModels = new Set();
  let showPublished = false;
  let printing = false;

  /* An element with a class and text. */
  function element(tag, name = "", text = null) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== null) made.textContent = text;
    return made;
  }
  /* What stands compressed in a script element. */
  async function unpack(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  }
  function say(text) { document.getElementById("status").textContent = text; }

  /* Charts. */
  function theme() {
    const night = dark.matches && !printing;
    const ink = night ? "#e8eaee" : "#1b1f26", soft = night ? "#a3abb8" : "#59616d";
    const line = night ? "#313741" : "#e1e4e9";
    const font = getComputedStyle(document.body).fontFamily;
    return {
      background: null, font, padding: 4,
      view: { stroke: null },
      axis: { labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line,
        labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelPadding: 6,
        labelOverlap: true },
      axisQuantitative: { tickCount: 5 },
      header: { labelColor: soft, labelFontSize: 12 },
      legend: { labelColor: ink, labelFontSize: 12, titleColor: ink },
      bar: { stroke: night ? "#14171c" : "#ffffff" },
    };
  }
  function isShown(datum) {
    if (datum.published) return showPublished;
    const known = datum.runs ? data.series.filter((one) => datum.runs.includes(one.run)) : [];
    return ![datum.series, ...known.map((one) => one.id)].some((id) => hiddenModels.has(id));
  }
  function keepShown(part) {
    if (part.data) part.data.values = part.data.values.filter(isShown);
    for (const layer of part.layer || []) keepShown(layer);
  }
  function withoutLegend(part) {
    for (const [name, channel] of Object.entries(part.encoding || {})) {
      if (["color", "shape"].includes(name) && channel.scale !== null) channel.legend = null;
    }
    for (const layer of part.layer || []) withoutLegend(layer);
  }
  async function draw(place) {
    const spec = structuredClone(data.charts[place.dataset.chart]);
    keepShown(spec);
    /* The names of the models stand above the sections, those of the kinds beside their bars. */
    if (!/^(differences|complexity)-/.test(place.dataset.chart)) withoutLegend(spec);
    const settings = { actions: false, ast: true, renderer: "svg", config: theme(), defaultStyle: false,
      tooltip: { disableDefaultStyle: true } };
    if (place.result) place.result.finalize();
    place.result = await window.vegaEmbed(place, spec, settings);
  }
  /* Vega's runtime; the page's policy lets this text run and no other. */
  let runtime = null;
  async function load() {
    const script = document.createElement("script");
    script.textContent = await (await unpack("page-runtime")).text();
    document.head.append(script);
  }
  async function drawAll() {
    await (runtime ||= load());
    return Promise.all(all(".vega").map(draw));
  }

  /* Models. */
  function filter() {
    for (const part of all("[data-series]:not(button)")) {
      part.hidden = hiddenModels.has(Number(part.dataset.series));
    }
    for (const part of all("[data-runs]")) {
      const runs = part.dataset.runs.split(" ").map(Number);
      part.hidden = data.series.some((one) => runs.includes(one.run) && hiddenModels.has(one.id));
    }
    for (const part of all(".published")) part.hidden = !showPublished;
  }
  for (const box of all("[data-model]")) {
    box.addEventListener("change", () => {
      hiddenModels[box.checked ? "delete" : "add"](Number(box.dataset.model));
      filter();
      drawAll();
    });
  }
  const published = document.getElementById("published");
  if (published) {
    published.addEventListener("change", () => { showPublished = published.checked; filter(); drawAll(); });
  }

  /* Categories of the table. */
  const tabs = all(".tabs button");
  function choose(group) {
    for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.group === group));
    for (const part of all(".group")) part.hidden = part.dataset.group !== group;
  }
  for (const tab of tabs) tab.addEventListener("click", () => choose(tab.dataset.group));
  if (tabs.length) choose("0");

  /* Sorting. */
  function value(row, column) {
    const text = row.cells[column].dataset.value;
    return column === 0 ? text : Number(text);
  }
  function sort(header) {
    const table = header.closest("table"), column = header.cellIndex;
    const down = header.getAttribute("aria-sort") !== "descending" && !(column === 0 && header.getAttribute("aria-sort") === "none");
    for (const other of all("thead th", table)) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const x = value(a, column), y = value(b, column);
      const order = column === 0 ? x.localeCompare(y) : x - y;
      return down ? -order : order;
    });
    table.tBodies[0].append(...rows);
    say(`Sorted by ${header.textContent.trim()}, ${down ? "descending" : "ascending"}`);
  }
  for (const button of all(".sort")) button.addEventListener("click", () => sort(button.closest("th")));

  /* Heat maps: one tab stop each, arrow keys within. */
  for (const table of all(".heat")) {
    const first = table.querySelector("td button");
    if (first) first.tabIndex = 0;
    table.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      const cell = event.target.closest("td");
      if (!step || !cell) return;
      event.preventDefault();
      let row = cell.parentNode.rowIndex + step[0], column = cell.cellIndex + step[1];
      while (table.rows[row] && table.rows[row].cells[column]) {
        const next = table.rows[row].cells[column].querySelector("button");
        if (next) {
          event.target.tabIndex = -1;
          next.tabIndex = 0;
          next.focus();
          return;
        }
        row += step[0];
        column += step[1];
      }
    });
  }
  for (const button of all("[data-cell]")) {
    button.title = button.getAttribute("aria-label");
    button.addEventListener("click", () => open(data.cells[Number(button.dataset.cell)]));
  }
  for (const square of all("[data-colour]")) square.style.background = square.dataset.colour;

  /* The rows behind a cell. */
  let unpacked = null;
  async function rowsOf(cell) {
    unpacked ||= unpack("page-rows").then((rows) => rows.json());
    const known = (await unpacked)[cell.series] || {};
    return cell.configs.filter((name) => known[name]).map((name) => ({ name, ...known[name] }));
  }
  const dialog = document.getElementById("rows"), list = document.getElementById("rows-list");
  async function open(cell) {
    const model = data.series[cell.series].label;
    document.getElementById("rows-title").textContent = `${model}: ${cell.title}`;
    const parts = await rowsOf(cell);
    const rows = parts.flatMap((part) => part.rows.map((row) => ({ ...row, config: part.name })));
    rows.sort((a, b) => (a.score >= 1) - (b.score >= 1));
    const shown = rows.slice(0, 20), n = parts.reduce((sum, part) => sum + part.n, 0);
    const wrong = parts.reduce((sum, part) => sum + part.wrong, 0);
    document.getElementById("rows-about").textContent = n
      ? `${n.toLocaleString("en")} rows, ${wrong.toLocaleString("en")} without the full score; ${shown.length} of them below, those first.`
      : "The rows behind this number are not in the page: the answers were not at hand.";
    list.replaceChildren(...shown.map((row) => article(row, parts.length > 1)));
    dialog.showModal();
    list.scrollTop = 0;
  }
  document.getElementById("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

  function article(row, named) {
    const made = element("article", "row"), head = element("h3");
    const right = row.score >= 1;
    head.append(element("span", "", named ? `${row.config}, row ${row.index}` : `Row ${row.index}`));
    const share = row.score > 0 && !right ? ` ${Math.round(100 * row.score)} %` : "";
    head.append(element("span", right ? "verdict right" : "verdict wrong", right ? "right" : share ? `partly right${share}` : "wrong"));
    if (row.kind) {
      const why = element("span", "why");
      why.append(element("b", "", row.kind), ` ${data.kinds[row.kind] || ""}`);
      head.append(why);
    }
    if (row.state !== "ok") head.append(element("span", "why", row.state));
    const details = element("dl");
    if (row.question) define(details, "Question", element("span", "text", row.question));
    const references = element("ul", "references");
    for (const text of row.references) references.append(element("li", "", text));
    if (row.references.length) define(details, row.references.length > 1 ? "References" : "Reference", references);
    if (row.answer !== null) {
      const answer = element("span", "text answer");
      answer.append(...marked(row.answer, row.references));
      if (!row.answer) answer.append(element("em", "", "an empty answer"));
      define(details, "Answer", answer);
    }
    if (row.evidence.length) define(details, "Evidence", evidence(row.evidence));
    made.append(head, details);
    return made;
  }
  function define(list, term, content) {
    const description = element("dd");
    description.append(content);
    list.append(element("dt", "", term), description);
  }
  /* The answer's text with every reference in it marked. */
  function marked(text, references) {
    const parts = [], low = text.toLowerCase();
    const wanted = references.map((one) => one.toLowerCase()).filter(Boolean);
    if (low.length !== text.length) return [text];
    let at = 0;
    while (at < text.length) {
      let from = -1, size = 0;
      for (const one of wanted) {
        const found = low.indexOf(one, at);
        if (found >= 0 && (from < 0 || found < from || (found === from && one.length > size))) {
          from = found;
          size = one.length;
        }
      }
      if (from < 0) break;
      parts.push(text.slice(at, from), element("mark", "", text.slice(from, from + size)));
      at = from + size;
    }
    parts.push(text.slice(at));
    return parts;
  }
  function evidence(spans) {
    const made = element("div"), track = element("div", "track");
    const depths = spans.map((span) => `${Math.round(100 * span.depth)} %${span.answer ? "" : " (another)"}`);
    track.setAttribute("role", "img");
    track.setAttribute("aria-label", `Evidence at ${depths.join(", ")} of the context`);
    for (const span of spans) {
      const tick = element("i", span.answer ? "" : "other");
      tick.style.left = `${100 * span.depth}%`;
      track.append(tick);
    }
    made.append(track);
    for (const span of spans.filter((one) => one.text && one.answer)) {
      const text = element("p", "around text");
      const [before, needle, after] = span.text;
      text.append(element("b", "", `${Math.round(100 * span.depth)} %  `), before, element("mark", "", needle), after);
      made.append(text);
    }
    return made;
  }

  /* Both colour schemes, and paper. */
  dark.addEventListener("change", drawAll);
  addEventListener("beforeprint", () => { printing = true; for (const part of all(".group")) part.hidden = false; drawAll(); });
  addEventListener("afterprint", () => { printing = false; if (tabs.length) choose("0"); drawAll(); });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawAll(); } });
  filter();
  window.pageDrawn = drawAll();
})();
