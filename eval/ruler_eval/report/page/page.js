/* What moves on the page: charts, sorting, which models are shown, and the rows behind a cell.
   Text of runs is put in by textContent alone. */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const hiddenModels = new Set();
  const chosenPublished = new Set();
  let printing = false;

  /* An element with a class and text. */
  function element(tag, name = "", text = null) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== null) made.textContent = text;
    return made;
  }
  /* The compressed content of a script element. */
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
    if (datum.published) return chosenPublished.has(datum.model);
    const known = datum.runs ? data.series.filter((one) => datum.runs.includes(one.run)) : [];
    return ![datum.series, ...known.map((one) => one.id)].some((id) => hiddenModels.has(id));
  }
  function keepShown(part) {
    if (part.data && part.data.values) part.data.values = part.data.values.filter(isShown);
    for (const layer of part.layer || []) keepShown(layer);
    /* An empty layer would be a picture without a name. */
    if (part.layer) part.layer = part.layer.filter((layer) => !layer.data || !layer.data.values || layer.data.values.length);
  }
  function withoutLegend(part) {
    for (const [name, channel] of Object.entries(part.encoding || {})) {
      if (["color", "shape"].includes(name) && channel.field && channel.scale !== null) channel.legend = null;
    }
    for (const layer of part.layer || []) withoutLegend(layer);
  }
  async function draw(place) {
    const spec = structuredClone(data.charts[place.dataset.chart]);
    keepShown(spec);
    /* The names of the models stand above the sections, those of the kinds beside their bars. */
    if (!/^(differences|complexity|correlation)/.test(place.dataset.chart)) withoutLegend(spec);
    if (spec.layer && place.clientWidth < 560 && !printing) {  // no room beside the lines
      spec.layer = spec.layer.filter((layer) => layer.name !== "labels");
      spec.padding = 4;
    }
    const save = { export: true, source: false, compiled: false, editor: false };
    const settings = { actions: save, ast: true, renderer: "svg", config: theme(), defaultStyle: false,
      tooltip: { disableDefaultStyle: true } };
    if (place.result) place.result.finalize();
    place.result = await window.vegaEmbed(place, spec, settings);
    const menu = element("details"), summary = element("summary", "", "Save");
    summary.setAttribute("aria-label", "Save this chart");
    menu.append(summary, place.querySelector(".vega-actions"));
    place.append(menu);
    place.result.view.addEventListener("click", (event, item) => {
      const cell = item && item.datum && behind(place.dataset.chart, item.datum);
      if (cell && cell.configs.length) open(cell, item.datum.kind || "");
    });
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
    for (const row of all("tr.published")) row.hidden = !chosenPublished.has(row.dataset.modelName);
    for (const part of all("p.published")) part.hidden = !chosenPublished.size;
  }
  for (const box of all("[data-model]")) {
    box.addEventListener("change", () => {
      hiddenModels[box.checked ? "delete" : "add"](Number(box.dataset.model));
      filter();
      drawAll();
    });
  }
  const published = document.getElementById("published"), named = all("[data-published]");
  function choosePublished(boxes, checked) {
    for (const box of boxes) {
      box.checked = checked;
      chosenPublished[checked ? "add" : "delete"](box.dataset.published);
    }
    published.checked = chosenPublished.size === named.length;
    for (const header of all(".scores th[aria-sort$='cending']")) order(header);
    filter();
    drawAll();
  }
  if (published) published.addEventListener("change", () => choosePublished(named, published.checked));
  for (const box of named) box.addEventListener("change", () => choosePublished([box], box.checked));

  /* Categories of the table. */
  const tabs = all(".tabs button");
  function choose(group) {
    for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.group === group));
    for (const part of all(".group")) part.hidden = part.dataset.group !== group;
  }
  for (const tab of tabs) tab.addEventListener("click", () => choose(tab.dataset.group));
  if (tabs.length) choose("0");

  /* Tables as CSV files. */
  function csv(table) {
    const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    return [...table.rows].map((row) => [...row.cells].map((cell) => quoted(cell.textContent.trim())).join(",")).join("\n");
  }
  for (const button of all("button.csv")) {
    button.addEventListener("click", () => {
      const table = button.parentNode.querySelector("table"), link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([csv(table) + "\n"], { type: "text/csv" }));
      link.download = table.caption.textContent.trim().replace(/[^\w.-]+/g, "-") + ".csv";
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  /* Sorting. */
  function value(row, column) {
    const text = row.cells[column].dataset.value;
    return column === 0 ? text : Number(text);
  }
  function sort(header) {
    const before = header.getAttribute("aria-sort");
    const down = before !== "descending" && !(header.cellIndex === 0 && before === "none");
    for (const other of all("thead th", header.closest("table"))) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    order(header);
    say(`Sorted by ${header.textContent.trim()}, ${down ? "descending" : "ascending"}`);
  }
  /* The rows of a table in the order that its header says. */
  function order(header) {
    const column = header.cellIndex, down = header.getAttribute("aria-sort") === "descending";
    const body = header.closest("table").tBodies[0], rows = [...body.rows];
    rows.sort((a, b) => {
      const x = value(a, column), y = value(b, column);
      const sign = column === 0 ? x.localeCompare(y) : x - y;
      return down ? -sign : sign;
    });
    body.append(...rows);
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
    button.title ||= button.getAttribute("aria-label");
    button.addEventListener("click", () => open(data.cells[Number(button.dataset.cell)]));
  }
  for (const square of all("[data-colour]")) {
    square.style.background = square.dataset.colour;
    square.style.color = square.dataset.ink;
  }
  for (const table of all("table[data-task]")) {
    table.addEventListener("click", (event) => {
      const cell = event.target.closest("td:not(.hatched)");
      if (!cell) return;
      const bin = cell.parentNode.rowIndex - 1, at = table.rows[0].cells[cell.cellIndex].textContent;
      const known = some(Number(table.dataset.series), table.dataset.task, (one) => one.of === "task" && one.name === table.dataset.task && one.at === at);
      open({ ...known, name: `${table.dataset.task}, depth ${10 * bin} to ${10 * bin + 10} %`, at, depth: bin });
    });
  }

  /* The cell that a mark of a chart stands for: the configurations of all cells that pass a test. */
  function some(series, name, test) {
    const configs = data.cells.filter((one) => one.series === series && test(one)).flatMap((one) => one.configs);
    return { series, name, configs: [...new Set(configs)] };
  }
  function behind(chart, datum) {
    const series = datum.series !== undefined ? datum.series : data.series.findIndex((one) => datum.runs && one.run === datum.runs[0]);
    const at = datum.length, here = (one) => !at || one.at === at;
    if (series < 0 || datum.published) return null;
    const group = data.groups[Number((/^category-(\d+)$/.exec(chart) || [0, 0])[1])];
    let found;
    if (datum.languages && !["*", "en"].includes(datum.languages)) {
      found = some(series, datum.languages, (one) => one.of === "language" && one.name === datum.languages && here(one));
      if (data.tasks.includes(datum.task)) found.configs = found.configs.filter((name) => name.startsWith(`${datum.task}_`));
      if (data.tasks.includes(datum.task)) found.name = `${datum.task}, ${datum.languages}`;
    } else if (datum.language) {
      found = some(series, datum.language, (one) => one.of === "language" && one.name === datum.language && here(one));
    } else if (datum.place) {
      found = some(series, datum.place, (one) => one.of === "language" && `${one.name} ${one.at}` === datum.place);
    } else if (data.tasks.includes(datum.task)) {
      found = some(series, datum.task, (one) => one.of === "task" && one.name === datum.task && here(one));
    } else {
      const tasks = datum.group ? data.groups.find((one) => one.name === datum.group).members : group.members;
      const all = !tasks.length || datum.task;
      found = some(series, datum.group || group.name, (one) => one.of === "task" && (all || tasks.includes(one.name)) && here(one));
    }
    return { ...found, at };
  }

  /* The rows behind a cell. */
  const get = (id) => document.getElementById(id);
  const dialog = get("rows"), list = get("rows-list");
  const most = 20;
  let unpacked = null, shownCell = null, besideModel = null;
  function titleOf(cell) { return cell.at ? `${cell.name} at ${cell.at}` : cell.name; }
  function address(cell) { return `#rows/${[data.series[cell.series].label, cell.of || "", titleOf(cell)].map(encodeURIComponent).join("/")}`; }
  function alike(cell) { return data.cells.filter((one) => one.series === cell.series && one.of === cell.of); }
  async function rowsOf(series, configs) {
    unpacked ||= unpack("page-rows").then((rows) => rows.json());
    const known = (await unpacked)[series] || {};
    return configs.filter((name) => known[name]).map((name) => ({ name, ...known[name] }));
  }
  function choices(select, options, value) {
    select.replaceChildren(...options.map(([key, text]) => new Option(text, key)));
    select.value = options.some(([key]) => key === String(value)) ? value : options[0][0];
    select.parentNode.hidden = options.length < 2;
  }
  async function open(cell, kind = "") {
    shownCell = cell;
    get("rows-title").textContent = `${data.series[cell.series].label}: ${titleOf(cell)}`;
    const parts = await rowsOf(cell.series, cell.configs);
    const cells = cell.of ? alike(cell) : [cell], place = cells.indexOf(cell);
    choices(get("cell"), cells.map((one, number) => [String(number), titleOf(one)]), place);
    get("before").disabled = place < 1;
    get("next").disabled = place + 1 >= cells.length;
    const rows = parts.flatMap((part) => part.rows.map((row) => ({ ...row, config: part.name, others: {} })));
    const models = [];
    for (const one of data.series.filter((other) => other.id !== cell.series)) {
      const theirs = (await rowsOf(one.id, cell.configs)).flatMap((part) => part.rows.map((row) => [`${part.name} ${row.index}`, row]));
      const known = new Map(theirs);
      for (const row of rows) row.others[one.id] = known.get(`${row.config} ${row.index}`);
      if (rows.some((row) => row.others[one.id])) models.push([String(one.id), one.label]);
    }
    const kinds = [...new Set(rows.map((row) => row.kind).filter(Boolean))].sort();
    choices(get("by-kind"), [["", "all"], ["right", "right"], ["wrong", "wrong"],
      ...kinds.map((name) => [name, name])], kind);
    choices(get("by-depth"), [["", "all"], ...[...Array(10).keys()].map((bin) => [String(bin), `${10 * bin} to ${10 * bin + 10} %`])], cell.depth ?? "");
    get("by-depth").parentNode.hidden = !rows.some((row) => row.evidence.some((span) => span.answer));
    choices(get("beside"), [...models, ["", "no other model"]], besideModel ?? models[0]?.[0] ?? "");
    choices(get("which"), models.length ? [["", "all rows"], ["only here", "right here, wrong beside"], ["only there", "wrong here, right beside"]] : [["", ""]], "");
    show(rows, parts);
    for (const id of ["by-kind", "by-depth", "beside", "which"]) {
      get(id).onchange = () => { if (id === "beside") besideModel = get(id).value; show(rows, parts); };
    }
    if (!dialog.open) dialog.showModal();
    history.replaceState(null, "", address(cell));
  }
  function at(row, bin) {
    return row.evidence.some((span) => span.answer && Math.min(9, Math.floor(10 * span.depth + 1e-6)) === bin);
  }
  function show(rows, parts) {
    const kind = get("by-kind").value, depth = get("by-depth").value, beside = get("beside").value, which = get("which").value;
    const right = (row) => row.score >= 1, other = (row) => (beside ? row.others[beside] : undefined);
    const ofKind = (row) => !kind || (kind === "right" ? right(row) : kind === "wrong" ? !right(row) : row.kind === kind);
    const ofPair = (row) => !which || (other(row) && right(row) !== right(other(row)) && right(row) === (which === "only here"));
    const passed = rows.filter((row) => ofKind(row) && (depth === "" || at(row, Number(depth))) && ofPair(row));
    const differs = (row) => (other(row) && right(other(row)) !== right(row) ? 0 : 1);
    passed.sort((a, b) => differs(a) - differs(b) || right(a) - right(b));
    const shown = passed.slice(0, most), left = passed.slice(most), n = parts.reduce((sum, part) => sum + part.n, 0);
    const wrong = parts.reduce((sum, part) => sum + part.wrong, 0);
    const about = `${n.toLocaleString("en")} rows, ${wrong.toLocaleString("en")} without the full score; ${passed.length.toLocaleString("en")} of them below`;
    get("rows-about").textContent = !n ? "The rows behind this number are not in the page: the files of the answers were not found."
      : beside ? `${about}, first those that one of the two models got right.` : `${about}, those first.`;
    const drawn = (some) => some.map((row) => article(row, parts.length > 1, beside, other(row)));
    list.replaceChildren(...drawn(shown));
    list.scrollTop = 0;
    const more = get("more");
    const count = () => { more.hidden = !left.length; more.textContent = `Show ${Math.min(most, left.length)} more of ${left.length.toLocaleString("en")}`; };
    more.onclick = () => {
      const added = drawn(left.splice(0, most));
      list.append(...added);
      count();
      added[0].tabIndex = -1;
      added[0].focus();
    };
    count();
  }
  function step(by) {
    const cells = alike(shownCell), next = cells[cells.indexOf(shownCell) + by];
    if (next) open(next, get("by-kind").value);
  }
  get("before").addEventListener("click", () => step(-1));
  get("next").addEventListener("click", () => step(1));
  get("cell").addEventListener("change", () => open(alike(shownCell)[Number(get("cell").value)], get("by-kind").value));
  get("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => history.replaceState(null, "", location.href.split("#")[0]));
  /* A link to a cell opens it. */
  function follow() {
    if (!location.hash.startsWith("#rows/")) return;
    const found = data.cells.find((cell) => address(cell) === location.hash);
    if (found && !(dialog.open && shownCell === found)) open(found);
  }
  addEventListener("hashchange", follow);

  function verdict(row) {
    const right = row.score >= 1, share = row.score > 0 && !right ? ` ${Math.round(100 * row.score)} %` : "";
    return element("span", right ? "verdict right" : "verdict wrong", right ? "right" : share ? `partly right${share}` : "wrong");
  }
  function article(row, named, beside, other) {
    const made = element("article", "row"), head = element("h3");
    head.append(element("span", "", named ? `${row.config}, row ${row.index}` : `Row ${row.index}`), verdict(row));
    if (row.kind) {
      const why = element("span", "why");
      why.append(element("b", "", row.kind), ` ${data.kinds[row.kind] || ""}`);
      head.append(why);
    }
    if (row.state !== "ended") head.append(element("span", "why", row.state));
    const details = element("dl");
    if (row.question) define(details, "Question", element("span", "text", row.question));
    const references = element("ul", "references");
    for (const text of row.references) references.append(element("li", "", text));
    if (row.references.length) define(details, row.references.length > 1 ? "References" : "Reference", references);
    if (row.answer !== null && other && other.answer !== null) {
      const both = element("div", "both");
      both.append(answered(data.series[shownCell.series].label, row), answered(data.series[beside].label, other));
      define(details, "Answers", both);
    } else if (row.answer !== null) {
      define(details, "Answer", answerText(row));
    }
    if (row.evidence.length) define(details, "Evidence", evidence(row.evidence));
    const prompt = wholePrompt(row, beside);
    if (prompt) define(details, "Whole prompt", prompt);
    made.append(head, details);
    return made;
  }
  /* The command that makes a page of the row's whole prompt. */
  function wholePrompt(row, beside) {
    const here = data.show[shownCell.series], there = data.show[beside];
    if (!here) return null;
    const runs = [here, ...(there && there.release === here.release ? [there] : [])].map((one) => one.run).filter(Boolean);
    const command = ["ruler show", row.config, row.index, here.release, ...runs, `--html ${row.config}-${row.index}.html`].join(" ");
    const made = element("div", "command"), copy = element("button", "", "Copy");
    copy.type = "button";
    copy.addEventListener("click", () => navigator.clipboard.writeText(command).then(() => { copy.textContent = "Copied"; }));
    made.append(element("code", "", command), copy);
    return made;
  }
  function answered(label, row) {
    const made = element("div"), head = element("p");
    head.append(element("bdi", "", label), " ", element("b", "", verdict(row).textContent));
    made.append(head, answerText(row));
    return made;
  }
  function answerText(row) {
    const answer = element("span", "text answer");
    answer.append(...marked(row.answer, row.references));
    if (!row.answer) answer.append(element("em", "", "an empty answer"));
    return answer;
  }
  function define(list, term, content) {
    const description = element("dd");
    description.append(content);
    list.append(element("dt", "", term), description);
  }
  /* The answer's text with every reference in it marked. */
  function marked(text, references) {
    const low = text.toLowerCase(), found = new Uint8Array(text.length);
    if (low.length === text.length) {
      for (const one of references.map((part) => part.toLowerCase()).filter(Boolean)) {
        for (let at = low.indexOf(one); at >= 0; at = low.indexOf(one, at + one.length)) {
          found.fill(1, at, at + one.length);
        }
      }
    }
    const pieces = [];
    for (let at = 0; at < text.length;) {
      let end = at + 1;
      while (end < text.length && found[end] === found[at]) end += 1;
      pieces.push(found[at] ? element("mark", "", text.slice(at, end)) : text.slice(at, end));
      at = end;
    }
    return pieces;
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
  addEventListener("beforeprint", () => { printing = true; get("run-facts").open = true; for (const part of all(".group")) part.hidden = false; drawAll(); });
  addEventListener("afterprint", () => { printing = false; if (tabs.length) choose("0"); drawAll(); });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawAll(); } });
  filter();
  follow();
  window.pageDrawn = drawAll();
})();
