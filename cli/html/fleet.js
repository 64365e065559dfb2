// What an engine answered about a fleet: for each question a chart where one helps, and the table.

const shades = ["s0", "s1", "s2", "s3", "s4", "s6", "s7", "s5"];

function buildHead() {
  const add = (term, text) => $("head").append(el("dt", {}, term), el("dd", {}, text));
  add("Store", data.store);
  add("Files", Object.entries(data.files).map(([table, n]) => count(n) + " of " + table).join(" · "));
  add("Engine", data.engine_version + " · " + digits(data.seconds) + " s");
  if (data.refused.length)
    add("Left out", data.refused.slice(0, 20).map((r) => r.file + ": " + r.why).join(" · ") +
      (data.refused.length > 20 ? " · and " + (data.refused.length - 20) + " more" : ""));
}

// Rows as objects, by the names of their columns.
const rowsOf = (q) => q.rows.map((r) => Object.fromEntries(q.columns.map((c, i) => [c, r[i]])));

// A kernel's name without return type, namespaces and parameters; titles have all of it.
function short(name) {
  let depth = 0, end = name.length;
  for (let i = 0; i < end; i++)
    if (name[i] === "<")
      depth++;
    else if (name[i] === ">")
      depth--;
    else if (name[i] === "(" && !depth && i && !name.startsWith("(anonymous namespace)::", i))
      end = i;
  return name.slice(0, end).replace(/^void /, "").replace(/\(anonymous namespace\)::|\b[A-Za-z_]\w*::/g, "") || name;
}

function bars(place, rows) {
  const box = el("div", {class: "bars"}), most = Math.max(...rows.map((r) => r[1]), 1e-9);
  rows.forEach(([name, size, text, title]) => {
    const bar = el("i");
    bar.style.width = 100 * Math.max(0, size) / most + "%";
    box.append(el("span", {title: title || name}, narrow() ? cut(name, 60) : name), el("div", {class: "bar"}, bar), el("span", {class: "num"}, text));
  });
  place.append(box);
}

const hoursBars = (place, rows, name) => bars(place, rows.filter((r) => known(r.gpu_hours)).map((r) =>
  [name(r), r.gpu_hours, digits(r.gpu_hours) + " GPU-hours" + (known(r.share) ? " · " + percent(r.share) : "")]));

// How many GPUs take how long: a line for each model and resource.
function ratioChart(place, rows) {
  const groups = [...new Set(rows.map((r) => r.model + " · " + r.resource))];
  const x = [...new Set(rows.map((r) => r.ratio))].filter(known).sort((a, b) => a - b);
  if (!x.length)
    return;
  const lines = groups.map((g) => {
    const at = new Map(rows.filter((r) => r.model + " · " + r.resource === g).map((r) => [r.ratio, r.gpus]));
    return x.map((v) => at.has(v) ? at.get(v) : null);
  });
  const box = el("div", {class: "chart", tabindex: 0, role: "img", "aria-label": "GPUs by the time they take"});
  place.append(legend(groups.map((g, i) => [g, shades[i % shades.length]])), box);
  const plot = new uPlot({
    width: Math.max(260, box.clientWidth), height: 260, padding: [10, 16, 0, 0],
    scales: {x: {time: false}, y: {distr: 3, range: (u, a, b) => around([a || 1, b || 10])}},
    axes: [axis("time over the median of the model's GPUs", (u, ticks) => ticks.map((t) => digits(t)), {size: 28, space: 60}),
      axis("GPUs", powers((v) => digits(v)), {size: 60, splits: (u, i, a, b) => decades(u, i, a, b, 6)})],
    series: [{}].concat(groups.map((g, i) => ({label: g, stroke: () => colour(shades[i % shades.length]), width: 1.4, spanGaps: true,
      points: {show: x.length < 200, size: 4}}))),
    cursor: {drag: {x: true, y: false}, points: {show: false}, y: false},
    hooks: {setCursor: [(u) => {
      const i = u.cursor.idx, at = u.over.getBoundingClientRect();
      if (u.over.matches(":hover") && i !== null && i !== undefined)
        showTip([digits(x[i])].concat(groups.map((g, k) => known(lines[k][i]) ? g + ": " + count(lines[k][i]) + " GPUs" : null)
          .filter(Boolean)).join("\n"), at.left + u.cursor.left, at.top + 20);
    }]},
  }, [x].concat(lines), box);
  plot.over.addEventListener("mouseleave", hideTip);
  follow(box, plot, () => 260);
}

const charts = {
  lost_hours: (place, rows) => hoursBars(place, rows, (r) => r.loss + ": " + r.cause),
  idle_hours: (place, rows) => hoursBars(place, rows, (r) => r.cause),
  ratios: ratioChart,
  costly_kernels: (place, rows) => bars(place, rows.slice(0, 12).map((r) => [(r.program || "unknown") + " · " + short(r.kernel), (r.hours_over_predicted || 0) + (r.hours_over_fastest || 0),
    digits((r.hours_over_predicted || 0) + (r.hours_over_fastest || 0)) + " GPU-hours", r.kernel])),
  slow_gpus: (place, rows) => bars(place, rows.slice(0, 12).map((r) => [r.host + " · " + r.uuid.slice(0, 12) + " · " + r.resource, r.ratio - 1, percent(r.ratio - 1) + " slower", r.uuid])),
  regressions: (place, rows) => bars(place, rows.filter((r) => r.verdict === "slower").slice(0, 12).map((r) =>
    [(r.program || "unknown") + " " + r.before + " to " + r.build + " · " + short(r.kernel), r.ratio - 1, percent(r.ratio - 1) + " slower", r.kernel])),
};

function table(q) {
  const number = q.columns.map((c, i) => q.rows.some((r) => known(r[i])));
  const shown = (v, c) => v === null ? "unknown" : known(v) ? (c.startsWith("share") ? percent(v) : digits(v, 6))
    : cut(c === "kernel" ? short(v) : v, 120);
  return el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": q.title}, el("table", {},
    el("thead", {}, el("tr", {}, ...q.columns.map((c, i) => el("th", {scope: "col", class: number[i] ? null : "text"}, c.replaceAll("_", " "))))),
    el("tbody", {}, ...q.rows.map((r) => el("tr", {}, ...r.map((v, i) => el("td", {class: number[i] ? null : "text", title: v}, shown(v, q.columns[i]))))))));
}

function buildAnswers() {
  data.questions.forEach((q) => {
    const part = el("section", {id: q.name}), rows = rowsOf(q);
    part.append(el("h2", {}, q.title), note(q.meaning + "."));
    $("answers").append(part);
    if (!rows.length)
      return part.append(note("Unknown: the store has nothing that answers it."));
    if (charts[q.name])
      charts[q.name](part, rows);
    if (q.name !== "ratios")
      part.append(table(q));
  });
}

startTheme();
build([["head", buildHead], ["answers", buildAnswers]]);
built();
