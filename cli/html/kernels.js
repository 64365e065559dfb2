// The table of kernels: sorted by a click or Enter on a title, searched by name, a row opened by its name.

const SVG = $("svg").namespaceURI;
const shown = ["share", "total", "instances", "med", "predicted", "error", "coverage", "bound", "peak"];
const FIRST_ROWS = 100;

// Mean times of a kernel by point: [index of the point, ns], those without a launch left out.
function timesOf(kernel) {
  const [first, joined, ...means] = kernel.times || [];
  return (means || []).map((v, i) => [(first + i) * joined, v]).filter(([, v]) => v > 0);
}

function spark(kernel) {
  const times = timesOf(kernel);
  if (!times.length)
    return null;
  const svg = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  const end = Math.max(1, data.axis.points - 1), high = Math.max(...times.map((t) => t[1]));
  const step = 3 * Math.max(kernel.times[1], (times[times.length - 1][0] - times[0][0]) / times.length);
  let d = "", before = -Infinity;
  times.forEach(([at, ns]) => {
    const x = (110 * at / end).toFixed(1), y = (21 - 19 * ns / high).toFixed(1);
    d += (at - before > step ? "M" + x + " " + y + "h0.7" : "L" + x + " " + y);
    before = at;
  });
  path.setAttribute("d", d);
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", "0 0 111 22");
  svg.setAttribute("role", "img");
  const means = times.map((t) => t[1]);
  svg.setAttribute("aria-label", "mean time from " + duration(Math.min(...means)) + " to " + duration(high));
  svg.append(path);
  return svg;
}

function partsTable(kernel) {
  const rows = Object.entries(kernel.peaks || {}).sort((a, b) => (b[1][0] / b[1][1] || 0) - (a[1][0] / a[1][1] || 0));
  if (!rows.length)
    return note("Achieved rates are not known: no work of this kernel is in the log.");
  return el("table", {}, el("thead", {}, el("tr", {}, el("th", {class: "text"}, "part of the GPU"), el("th", {}, "reached"),
    el("th", {}, "peak"), el("th", {}, "% of peak"))),
  el("tbody", {}, ...rows.map(([name, [rate, peak, , unit]]) => el("tr", {}, el("td", {class: "text"}, name),
    el("td", {}, si(rate, unit + "/s")), el("td", {}, si(peak, unit + "/s")), el("td", {}, ofPeak(rate / peak))))));
}

function detail(kernel, width) {
  const inner = el("div", {class: "inner"}, el("p", {}, kernel.full));
  if (kernel.text)
    inner.append(el("p", {}, kernel.text + (kernel.why ? ": " + kernel.why : "")));
  inner.append(el("p", {class: "note"}, "90% of the times from " + duration(kernel.times_90[0]) + " to " +
    duration(kernel.times_90[1])));
  for (const [runs, captured, line, frames] of kernel.stacks || [])
    inner.append(el("details", {}, el("summary", {}, "Launched by " + line + ": " + count(runs) +
      (runs === 1 ? " run" : " runs") + (captured ? ", recorded into a graph" : "")),
    el("ol", {class: "stack"}, ...frames.map((f) => el("li", {}, f)))));
  const chart = el("div"), times = timesOf(kernel);
  inner.append(chart, partsTable(kernel));
  if (times.length > 1)
    requestAnimationFrame(() => timePlot(chart, {
      about: "Mean time of the launches over run time", label: "mean time", format: duration, height: 170,
      x: times.map(([at]) => at * data.axis.point_ns / 1e9),
      series: [{label: "mean time", values: times.map((t) => t[1]), colour: "s0", points: times.length < 60}],
    }));
  return el("tr", {class: "detail"}, el("td", {colspan: width}, inner));
}

function buildKernels() {
  const section = $("kernels"), body = el("tbody"), rows = data.kernels.map((k, i) => ({kernel: k, number: i + 1}));
  const status = el("span", {class: "muted", "aria-live": "polite"});
  const search = el("input", {type: "search", placeholder: "Search names", "aria-label": "Search kernels by name", size: 22});
  const all = el("input", {type: "checkbox", id: "all-columns"});
  const more = el("button", {type: "button", hidden: true}, "Show all rows");
  let sort = {id: "number", down: false}, limit = FIRST_ROWS, columns = [];

  const of = (row, id) => id === "number" ? row.number : id === "name" ? row.kernel.name : value(row.kernel, id);
  const used = (id) => rows.some((r) => { const v = of(r, id); return v !== null && v !== "" && v !== undefined; });

  function compare(a, b) {
    const p = of(a, sort.id), q = of(b, sort.id), none = (v) => v === null || v === "";
    if (none(p) || none(q))
      return none(p) - none(q) || a.number - b.number;
    const order = typeof p === "string" ? p.localeCompare(q) : p - q;
    return (sort.down ? -order : order) || a.number - b.number;
  }

  // Where nothing was predicted, what the launches take at least.
  function cellOf(kernel, c) {
    const least = value(kernel, "at_least");
    return c.id === "predicted" && !known(value(kernel, c.id)) && known(least) ? "≥ " + duration(least)
      : (c.id === "peak" ? ofPeak : formats[c.kind])(value(kernel, c.id));
  }

  function rowOf(row) {
    const k = row.kernel, name = el("button", {type: "button", title: k.full, "aria-expanded": "false"}, k.label);
    const tr = el("tr", {}, el("td", {}, String(row.number)), el("td", {class: "name"}, name),
      ...columns.map((c) => el("td", {class: c.kind === "text" ? "text" : null}, cellOf(k, c))),
      el("td", {}, spark(k)));
    name.addEventListener("click", () => {
      const open = tr.classList.toggle("open");
      name.setAttribute("aria-expanded", String(open));
      if (open)
        tr.after(detail(k, columns.length + 3));
      else
        tr.nextSibling.remove();
    });
    return tr;
  }

  function fill() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((r) => words.every((w) => (r.kernel.name + " " + r.kernel.full).toLowerCase().includes(w)));
    found.sort(compare);
    body.replaceChildren(...found.slice(0, limit).map(rowOf));
    more.hidden = found.length <= limit;
    status.textContent = found.length === rows.length ? count(rows.length) + (rows.length === 1 ? " row" : " rows")
      : count(found.length) + " of " + count(rows.length) + " rows";
  }

  const head = el("tr");
  function title(id, text, meaning, kind) {
    const th = el("th", {class: (kind === "text" ? "text" : "") + (id === "name" ? " name" : ""), "data-column": id, scope: "col",
      "aria-sort": sort.id === id ? (sort.down ? "descending" : "ascending") : null});
    th.append(el("button", {type: "button", title: meaning, click: () => {
      sort = {id, down: sort.id === id ? !sort.down : !(kind === "text" || id === "number")};
      heads();
      fill();
      head.querySelector('[data-column="' + id + '"] button').focus();
    }}, text + (sort.id === id ? (sort.down ? " ▾" : " ▴") : "")));
    return th;
  }

  function heads() {
    columns = data.columns.filter((c) => (all.checked || shown.includes(c.id) || c.id === "grid" || c.id === "block" ||
      c.id === "arguments" || c.id === "device") && used(c.id));
    head.replaceChildren(title("number", "#", "by GPU time", "count"), title("name", "Name", "the kernel", "text"),
      ...columns.map((c) => title(c.id, c.title, c.meaning, c.kind)),
      el("th", {scope: "col", title: "mean time of the launches over run time"}, "Over time"));
  }

  search.addEventListener("input", fill);
  all.addEventListener("change", () => { heads(); fill(); });
  more.addEventListener("click", () => { limit = Infinity; fill(); });
  heads();
  fill();
  section.append(el("div", {class: "controls"}, search, el("label", {}, all, " all columns"), status, more),
    el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Kernels"}, el("table", {}, el("thead", {}, head), body)));
  if (report.hidden_rows)
    section.append(note(count(report.hidden_rows) + " rows are left out by --filter or --top."));
  if (data.others.rows)
    section.append(note(count(data.others.rows) + " more rows are not in this page: " + count(data.others.instances) +
      " launches, " + duration(data.others.total_ns) + ". gpuwatch report --json has them."));
}
