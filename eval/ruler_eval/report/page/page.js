/* The interactive parts of the page: charts, sorting, the choice of models, the rows behind a cell.
   A figure's records have the series and configurations that a click opens (figure.py).
   Text from runs is inserted by textContent only. */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const get = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const hiddenModels = new Set();
  const chosenPublished = new Set();
  let printing = false;

  /* Make an element with a class and text. */
  function element(tag, name = "", text = null) {
    const node = document.createElement(tag);
    if (name) node.className = name;
    if (text !== null) node.textContent = text;
    return node;
  }
  /* Decompress the content of a script element. */
  async function unpack(id) {
    const bytes = Uint8Array.from(atob(get(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  }

  /* Charts. */
  function theme() {
    const night = dark.matches && !printing;
    const ink = night ? "#e8eaee" : "#1b1f26", soft = night ? "#a3abb8" : "#59616d";
    const line = night ? "#313741" : "#e1e4e9";
    return {
      background: null, font: getComputedStyle(document.body).fontFamily, padding: 4,
      view: { stroke: null },
      axis: { labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line,
        labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelPadding: 6, labelOverlap: true },
      axisQuantitative: { tickCount: 5 },
      header: { labelColor: soft, labelFontSize: 12 },
      legend: { labelColor: ink, labelFontSize: 12, titleColor: ink },
      bar: { stroke: night ? "#14171c" : "#ffffff" },
    };
  }
  function isShown(record) {
    if (record.published) return chosenPublished.has(record.published);
    return !(record.series || []).some((id) => hiddenModels.has(id));
  }
  async function draw(place) {
    const figure = data.figures[place.dataset.chart], spec = structuredClone(figure.spec);
    spec.datasets = { ...spec.datasets, records: figure.records };
    for (const [name, records] of Object.entries(spec.datasets)) spec.datasets[name] = records.filter(isShown);
    const space = place.closest(".scroll").clientWidth;
    const narrow = space < 560 && !printing;  // no space next to the lines
    if (narrow && spec.datasets.labels) {
      spec.datasets.labels = [];
      spec.padding = 4;
    }
    if (spec.layer) {  // an empty layer would be a picture without a name
      spec.layer = spec.layer.filter((layer) => !layer.data || spec.datasets[layer.data.name].length);
    }
    const actions = { export: true, source: false, compiled: false, editor: false };
    const config = theme();
    config.legend.labelLimit = Math.max(120, space - 190);  // the names of tasks are left of a legend
    const settings = { actions, ast: true, renderer: "svg", config, defaultStyle: false,
      tooltip: { disableDefaultStyle: true } };
    if (place.result) place.result.finalize();
    place.result = await window.vegaEmbed(place, spec, settings);
    const menu = element("details"), summary = element("summary", "", "Save");
    summary.setAttribute("aria-label", "Save this chart");
    menu.append(summary, place.querySelector(".vega-actions"));
    place.append(menu);
    place.result.view.addEventListener("click", (event, item) => {
      if (!item || ["line", "area"].includes(item.mark.marktype)) return;  // these are many records
      const record = item.datum;
      if (record && record.configs && record.configs.length) openRows(figure, record);
    });
  }
  /* Vega's runtime; the page's policy allows exactly this text to run. */
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
  function hideAndShow() {
    for (const part of all("[data-series]")) {
      part.hidden = part.dataset.series.split(" ").some((id) => hiddenModels.has(Number(id)));
    }
    for (const row of all("tr.published")) row.hidden = !chosenPublished.has(row.dataset.modelName);
    for (const part of all("p.published")) part.hidden = !chosenPublished.size;
  }
  for (const box of all("[data-model]")) {
    box.addEventListener("change", () => {
      hiddenModels[box.checked ? "delete" : "add"](Number(box.dataset.model));
      hideAndShow();
      drawAll();
    });
  }
  const published = get("published"), named = all("[data-published]");
  function choosePublished(boxes, checked) {
    for (const box of boxes) {
      box.checked = checked;
      chosenPublished[checked ? "add" : "delete"](box.dataset.published);
    }
    published.checked = chosenPublished.size === named.length;
    for (const header of all(".scores th[aria-sort$='cending']")) reorder(header);
    hideAndShow();
    drawAll();
  }
  if (published) published.addEventListener("change", () => choosePublished(named, published.checked));
  for (const box of named) box.addEventListener("change", () => choosePublished([box], box.checked));

  /* Categories of the table. */
  const tabs = all(".tabs button");
  function showGroup(group) {
    for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.group === group));
    for (const part of all(".group")) part.hidden = part.dataset.group !== group;
  }
  for (const tab of tabs) tab.addEventListener("click", () => showGroup(tab.dataset.group));
  if (tabs.length) showGroup("0");

  /* Tables as CSV files; a score with an interval has columns for its two ends. */
  function csv(table) {
    const text = (cell) => (cell.querySelector("b, bdi, button") || cell).textContent.trim();
    const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const heads = [...table.rows[0].cells];
    const values = (cell, column) => {
      if (!("interval" in heads[column].dataset)) return [text(cell)];
      const ends = cell.tagName === "TH" ? [`${text(cell)} low`, `${text(cell)} high`]
        : [cell.dataset.low || "", cell.dataset.high || ""];
      return [text(cell), ...ends];
    };
    return [...table.rows].filter((row) => !row.hidden)
      .map((row) => [...row.cells].flatMap(values).map(quoted).join(",") + "\n").join("");
  }
  for (const button of all("button.csv")) {
    button.addEventListener("click", () => {
      const table = button.parentNode.querySelector("table"), link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv" }));
      link.download = table.caption.textContent.trim().slice(0, 80).replace(/[^\w.-]+/g, "-") + ".csv";
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  /* Sorting. */
  function sortBy(header) {
    const before = header.getAttribute("aria-sort");
    const down = before !== "descending" && !(header.cellIndex === 0 && before === "none");
    for (const column of all("thead th", header.closest("table"))) column.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    reorder(header);
    get("status").textContent = `Sorted by ${header.textContent.trim()}, ${down ? "descending" : "ascending"}`;
  }
  /* Put the rows of a table in the order that its header names. */
  function reorder(header) {
    const column = header.cellIndex, sign = header.getAttribute("aria-sort") === "descending" ? -1 : 1;
    const value = (row) => row.cells[column].dataset.value;
    const body = header.closest("table").tBodies[0], rows = [...body.rows];
    rows.sort((a, b) => sign * (column === 0 ? value(a).localeCompare(value(b)) : value(a) - value(b)));
    body.append(...rows);
  }
  for (const button of all(".sort")) button.addEventListener("click", () => sortBy(button.closest("th")));

  /* Grids: one tab stop each, arrow keys within. */
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
  for (const button of all("[data-record]")) {
    button.title ||= button.getAttribute("aria-label");
    button.addEventListener("click", () => {
      const figure = data.figures[button.dataset.figure];
      openRows(figure, figure.records[Number(button.dataset.record)], button.dataset.depth ?? "");
    });
  }
  for (const square of all("[data-colour]")) {
    square.style.background = square.dataset.colour;
    square.style.color = square.dataset.ink;
  }

  /* The rows behind a record of a figure. */
  const dialog = get("rows"), list = get("rows-list"), batch = 20;  // rows drawn at once
  let unpacked = null, current = null, compared = null;
  for (const [name, figure] of Object.entries(data.figures)) figure.name = name;
  /* A cell's name in its figure: with its kind, and with its model if the figure shows several. */
  function cellName(figure, record) {
    const name = record.kind ? `${record.label}: ${record.kind}` : record.label;
    const several = figure.records.some((item) => item.series[0] !== record.series[0]);
    return several ? `${name} (${data.series[record.series[0]].label})` : name;
  }
  const address = (figure, record) => `#rows/${figure.name}/${encodeURIComponent(cellName(figure, record))}`;
  const runOf = (series) => data.runs[data.series[series].run];
  const isRight = (answer) => answer.score >= 1;
  function fillSelect(select, options, value) {
    select.replaceChildren(...options.map(([key, text]) => new Option(text, key)));
    select.value = options.some(([key]) => key === value) ? value : options[0][0];
    select.parentNode.hidden = options.length < 2;
  }
  async function openRows(figure, record, depth = "", kind = record.kind || "") {
    const cells = figure.records.filter((item) => item.configs && item.configs.length);
    const place = cells.findIndex((item) => item.label === record.label && item.kind === record.kind
      && item.series[0] === record.series[0]);
    const label = runOf(record.series[0]).label;
    current = { figure, record, cells, place, label };
    get("rows-title").textContent = `${data.series[record.series[0]].label}: ${record.label}`;
    unpacked ||= unpack("page-rows").then((rows) => rows.json());
    const packed = await unpacked;
    const rows = record.configs.flatMap((name) => (packed[name] || []).filter((row) => row.answers[label])
      .map((row) => ({ ...row, config: name, several: record.configs.length > 1 })));
    fillSelect(get("cell"), cells.map((item, number) => [String(number), cellName(figure, item)]), String(place));
    get("before").disabled = place < 1;
    get("next").disabled = place + 1 >= cells.length;
    const models = data.runs.map((run) => run.label)
      .filter((model) => model !== label && rows.some((row) => row.answers[model]));
    const second = record.series.length > 1 ? runOf(record.series[1]).label : null;
    const kinds = [...new Set(rows.map((row) => row.answers[label].kind).filter(Boolean))].sort();
    fillSelect(get("by-kind"), [["", "all"], ["right", "right"], ["wrong", "wrong"],
      ...kinds.map((item) => [item, item])], kind);
    const bins = [...Array(10).keys()].map((bin) => [String(bin), `${10 * bin} to ${10 * bin + 10} %`]);
    fillSelect(get("by-depth"), [["", "all"], ...bins], depth);
    get("by-depth").parentNode.hidden = !rows.some((row) => row.evidence.some((span) => span.answer));
    fillSelect(get("compare-with"), [...models.map((model) => [model, model]), ["", "no other model"]],
      second ?? compared ?? models[0] ?? "");
    fillSelect(get("which"), models.length ? [["", "all rows"], ["only here", "right here, wrong there"],
      ["only there", "wrong here, right there"]] : [["", ""]], "");
    showRows(rows);
    for (const id of ["by-kind", "by-depth", "compare-with", "which"]) {
      get(id).onchange = () => { compared = get("compare-with").value; showRows(rows); };
    }
    if (!dialog.open) dialog.showModal();
    history.replaceState(null, "", address(figure, record));
  }
  function hasDepth(row, bin) {
    return row.evidence.some((span) => span.answer && Math.min(9, Math.floor(10 * span.depth + 1e-6)) === bin);
  }
  function showRows(rows) {
    const kind = get("by-kind").value, depth = get("by-depth").value;
    const secondLabel = get("compare-with").value, which = get("which").value;
    const differs = (row) => Boolean(row.answers[secondLabel])
      && isRight(row.answers[secondLabel]) !== isRight(row.answers[current.label]);
    const passes = (row) => {
      const answer = row.answers[current.label];
      if (kind === "right" && !isRight(answer)) return false;
      if (kind === "wrong" && isRight(answer)) return false;
      if (!["", "right", "wrong"].includes(kind) && answer.kind !== kind) return false;
      if (depth !== "" && !hasDepth(row, Number(depth))) return false;
      return !which || (differs(row) && isRight(answer) === (which === "only here"));
    };
    const passed = rows.filter(passes);
    passed.sort((a, b) => differs(b) - differs(a)
      || isRight(a.answers[current.label]) - isRight(b.answers[current.label]));
    let n = 0, wrong = 0;
    const counts = runOf(current.record.series[0]).counts;
    for (const [total, without] of current.record.configs.map((name) => counts[name] || [0, 0])) {
      n += total;
      wrong += without;
    }
    const number = (value) => value.toLocaleString("en");
    const first = secondLabel ? "those that only one of the two models got right" : "wrong ones";
    get("rows-about").textContent = n
      ? `${number(passed.length)} of ${number(n)} rows, first ${first}. ${number(wrong)} lack the full score.`
      : "The rows behind this number are not in the page: the files that were scored were not found.";
    const rest = passed.slice(batch), rowArticles = (part) => part.map((row) => rowArticle(row, secondLabel));
    list.replaceChildren(...rowArticles(passed.slice(0, batch)));
    list.scrollTop = 0;
    const more = get("more");
    const count = () => {
      more.hidden = !rest.length;
      more.textContent = `Show ${Math.min(batch, rest.length)} more of ${number(rest.length)}`;
    };
    more.onclick = () => {
      const added = rowArticles(rest.splice(0, batch));
      list.append(...added);
      count();
      added[0].tabIndex = -1;
      added[0].focus();
    };
    count();
  }
  function goTo(place) {
    const kind = current.cells[place].kind || get("by-kind").value;
    openRows(current.figure, current.cells[place], "", kind);
  }
  get("before").addEventListener("click", () => goTo(current.place - 1));
  get("next").addEventListener("click", () => goTo(current.place + 1));
  get("cell").addEventListener("change", () => goTo(Number(get("cell").value)));
  get("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => history.replaceState(null, "", location.href.split("#")[0]));
  /* A link to a cell opens it. */
  function openLinkedRows() {
    const [kind, name] = location.hash.split("/"), figure = data.figures[name];
    if (kind !== "#rows" || !figure) return;
    const record = figure.records.find((item) => address(figure, item) === location.hash);
    if (record && !(dialog.open && current.record === record)) openRows(figure, record);
  }
  addEventListener("hashchange", openLinkedRows);

  function verdict(answer) {
    const share = answer.score > 0 ? `partly right ${Math.round(100 * answer.score)} %` : "wrong";
    return isRight(answer) ? element("span", "verdict right", "right") : element("span", "verdict wrong", share);
  }
  function rowArticle(row, secondLabel) {
    const node = element("article", "row"), head = element("h3"), answer = row.answers[current.label];
    const title = row.several ? `${row.config}, row ${row.index}` : `Row ${row.index}`;
    head.append(element("span", "", title), verdict(answer));
    if (answer.kind) {
      const why = element("span", "why");
      why.append(element("b", "", answer.kind), ` ${data.kinds[answer.kind] || ""}`);
      head.append(why);
    }
    if (answer.state !== "ended") head.append(element("span", "why", answer.state));
    const details = element("dl");
    if (row.question) define(details, "Question", element("span", "text", row.question));
    const references = element("ul", "references");
    for (const text of row.references) references.append(element("li", "", text));
    if (row.references.length) define(details, row.references.length > 1 ? "References" : "Reference", references);
    const second = row.answers[secondLabel];
    if (answer.text !== null && second && second.text !== null) {
      const both = element("div", "both");
      for (const label of [current.label, secondLabel]) {
        const part = element("div"), caption = element("p");
        caption.append(element("bdi", "", label), " ", element("b", "", verdict(row.answers[label]).textContent));
        part.append(caption, answerText(row.answers[label].text, row.references));
        both.append(part);
      }
      define(details, "Answers", both);
    } else if (answer.text !== null) {
      define(details, "Answer", answerText(answer.text, row.references));
    }
    if (row.evidence.length) define(details, "Evidence", evidence(row.evidence));
    const prompt = wholePrompt(row, secondLabel);
    if (prompt) define(details, "Whole prompt", prompt);
    node.append(head, details);
    return node;
  }
  /* The command that makes a page of the row's whole prompt. */
  function wholePrompt(row, secondLabel) {
    const first = runOf(current.record.series[0]).show;
    const second = data.runs.find((run) => run.label === secondLabel)?.show;
    if (!first) return null;
    const runs = [first.run, second && second.release === first.release ? second.run : ""].filter(Boolean);
    const file = `${row.config}-${row.index}.html`;
    const command = ["ruler show", row.config, row.index, first.release, ...runs, `--html ${file}`].join(" ");
    const node = element("div", "command"), copy = element("button", "", "Copy");
    copy.type = "button";
    copy.addEventListener("click", () => navigator.clipboard.writeText(command)
      .then(() => { copy.textContent = "Copied"; }));
    node.append(element("code", "", command), copy);
    return node;
  }
  function answerText(text, references) {
    const node = element("span", "text answer");
    node.append(...marked(text, references));
    if (!text) node.append(element("em", "", "an empty answer"));
    return node;
  }
  function define(details, term, content) {
    const description = element("dd");
    description.append(content);
    details.append(element("dt", "", term), description);
  }
  /* The answer's text with every reference marked. */
  function marked(text, references) {
    const low = text.toLowerCase(), inReference = new Uint8Array(text.length);
    if (low.length === text.length) {
      for (const reference of references.map((part) => part.toLowerCase()).filter(Boolean)) {
        for (let at = low.indexOf(reference); at >= 0; at = low.indexOf(reference, at + reference.length)) {
          inReference.fill(1, at, at + reference.length);
        }
      }
    }
    const pieces = [];
    for (let at = 0; at < text.length;) {
      let end = at + 1;
      while (end < text.length && inReference[end] === inReference[at]) end += 1;
      pieces.push(inReference[at] ? element("mark", "", text.slice(at, end)) : text.slice(at, end));
      at = end;
    }
    return pieces;
  }
  function evidence(spans) {
    const node = element("div"), track = element("div", "track");
    const percent = (span) => `${Math.round(100 * span.depth)} %`;
    const depths = spans.map((span) => percent(span) + (span.answer ? "" : " (a distractor)"));
    track.setAttribute("role", "img");
    track.setAttribute("aria-label", `Evidence at ${depths.join(", ")} of the context`);
    for (const span of spans) {
      const tick = element("i", span.answer ? "" : "other");
      tick.style.left = `${100 * span.depth}%`;
      track.append(tick);
    }
    node.append(track);
    for (const span of spans.filter((item) => item.text && item.answer)) {
      const text = element("p", "around text");
      const [before, needle, after] = span.text;
      text.append(element("b", "", `${percent(span)}  `), before, element("mark", "", needle), after);
      node.append(text);
    }
    return node;
  }

  /* Both colour schemes, and paper. */
  dark.addEventListener("change", drawAll);
  addEventListener("beforeprint", () => {
    printing = true;
    get("run-facts").open = true;
    for (const part of all(".group")) part.hidden = false;
    drawAll();
  });
  addEventListener("afterprint", () => { printing = false; if (tabs.length) showGroup("0"); drawAll(); });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawAll(); } });
  hideAndShow();
  openLinkedRows();
  window.pageDrawn = drawAll();
})();
