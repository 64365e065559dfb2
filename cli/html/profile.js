// A device profile, perhaps beside another: the experimental roofline, the functions, the values.

const profiles = data.profiles, two = profiles.length > 1;
const shades = ["s0", "s1", "s2", "s3", "s4", "s6", "s7", "s5"];
const whose = (i) => two ? " · " + profiles[i].name : "";

function buildHead() {
  $("head").append(el("dt", {}, two ? "Devices" : "Device"), el("dd", {}, profiles.map((p) => p.name).join(" against ")));
  if (two)
    $("head").append(el("dt", {}, "Lines"), el("dd", {}, "solid: " + profiles[0].name + "; dashed: " + profiles[1].name));
  document.title = "gpuwatch device profile: " + profiles.map((p) => cut(p.name, 40)).join(", ");
}

// Curves that share their axes, each with points of its own.
function curvePlot(place, picture) {
  const series = [];
  picture.curves.forEach(([id, name], c) => profiles.forEach((p, i) => {
    if (p.curves[id])
      series.push({label: name + whose(i), colour: shades[c % shades.length], dash: i ? [6, 4] : undefined,
        at: new Map(p.curves[id][0].map((x, k) => [x * picture.x_scale, p.curves[id][1][k] * picture.y_scale]))});
  }));
  if (!series.length)
    return;
  const x = [...new Set(series.flatMap((s) => [...s.at.keys()]))].filter((v) => !picture.log_x || v > 0).sort((a, b) => a - b);
  const values = series.map((s) => x.map((v) => s.at.has(v) && (!picture.log_y || s.at.get(v) > 0) ? s.at.get(v) : null));
  const part = el("div"), box = el("div", {class: "chart", tabindex: 0, role: "img", "aria-label": picture.title, "data-picture": picture.id});
  part.append(el("h3", {}, picture.title), note(picture.subtitle.split("; dashed")[0]), legend(series.filter((s) => !s.dash).map((s) => [s.label.split(" · ")[0], s.colour])), box);
  place.append(part);
  const width = Math.max(260, box.clientWidth), number = (v) => digits(v);
  const plot = new uPlot({
    width, height: 260, padding: [10, 16, 0, 0],
    scales: {x: {time: false, distr: picture.log_x ? 3 : 1, range: picture.log_x ? (u, a, b) => around([a, b]) : undefined},
      y: picture.log_y ? {distr: 3, range: (u, a, b) => around([a || 1, b || 10])} : {range: (u, a, b) => [Math.min(0, a), (b || 1) * 1.05]}},
    axes: [axis(picture.x, powers(number), Object.assign({size: 28, space: 60}, picture.log_x ? {splits: (u, i, a, b) => decades(u, i, a, b, narrow() ? 4 : 7)} : {})),
      axis(picture.y, powers(number), Object.assign({size: 60}, picture.log_y ? {splits: (u, i, a, b) => decades(u, i, a, b, 6)} : {space: 34}))],
    series: [{}].concat(series.map((s) => ({label: s.label, stroke: () => colour(s.colour), width: 1.4, dash: s.dash, spanGaps: true,
      paths: picture.stems ? () => null : undefined, points: {show: picture.stems || x.length < 80, size: picture.stems ? 6 : 4}}))),
    cursor: {drag: {x: true, y: false}, points: {show: false}, y: false},
    hooks: {setCursor: [(u) => {
      const i = u.cursor.idx, at = u.over.getBoundingClientRect();
      if (!u.over.matches(":hover") || i === null || i === undefined)
        return;
      showTip([picture.x + ": " + number(x[i])].concat(series.map((s, k) => known(values[k][i]) ? s.label + ": " + number(values[k][i]) : null)
        .filter(Boolean)).join("\n"), at.left + u.cursor.left, at.top + 20);
    }]},
  }, [x].concat(values), box);
  plot.over.addEventListener("mouseleave", hideTip);
  follow(box, plot, () => 260);
}

function buildCurves() {
  data.pictures.forEach((picture) => curvePlot($("pictures"), picture));
  if (!$("pictures").children.length)
    $("curves").append(note("Not known: these profiles have no measured functions. Data sheets give numbers alone."));
}

// Operations per second against operations per byte: measured points under measured roofs.
function buildRoofline() {
  const section = $("roofline"), points = [], lines = [];
  const roofOf = (sweep, i) => { const p = data.params.find((q) => q.name === sweep.roof); return p ? p.values[i].value : null; };
  profiles.forEach((p, i) => data.sweeps.forEach((sweep, s) => {
    const curve = p.curves[sweep.curve];
    if (curve)
      curve[0].forEach((x, k) => x > 0 && points.push({x, y: curve[1][k], name: sweep.name, colour: shades[s], mark: i, size: 4,
        tip: sweep.name + whose(i) + "\n" + si(x, "op/B") + "\n" + si(curve[1][k], "op/s")}));
  }));
  const bounded = profiles.some((p, i) => known(p.bandwidth) && data.sweeps.some((s) => known(roofOf(s, i))));
  if (!points.length && !bounded)
    return section.append(note("Not known: neither bandwidth nor peaks are in these profiles."));
  const x = points.length ? around(points.map((p) => p.x)) : [0.1, 1000];
  profiles.forEach((p, i) => {
    if (!known(p.bandwidth))
      return;
    let ridge = 0;
    data.sweeps.map((sweep, s) => [sweep, s]).sort((a, b) => roofOf(b[0], i) - roofOf(a[0], i)).forEach(([sweep, s]) => {
      const roof = roofOf(sweep, i);
      if (!known(roof) || !(roof > 0))
        return;
      ridge = Math.max(ridge, roof / p.bandwidth);
      lines.push({from: [Math.max(x[0], roof / p.bandwidth), roof], to: [x[1], roof], colour: shades[s], width: 1.6, dash: i ? [6, 4] : undefined,
        name: two ? undefined : (narrow() ? "" : sweep.roof_name + " ") + si(roof, "op/s")});
    });
    const end = Math.min(ridge || x[1], x[1]);
    lines.push({from: [x[0], x[0] * p.bandwidth], to: [end, end * p.bandwidth], colour: "ink", width: 1.6, dash: i ? [6, 4] : undefined});
  });
  section.append(note("Device memory: " + profiles.map((p) => si(p.bandwidth, "B/s") + (p.measured ? ", the highest that was measured" :
    known(p.bandwidth) ? ", of the data sheet" : "") + (two ? " (" + p.name + ")" : "")).join("; ") + ". Points: a sweep of operational intensity."),
  legend(data.sweeps.map((s, k) => [s.name + ": " + s.roof_name, shades[k]])));
  const all = points.map((p) => p.y).concat(lines.flatMap((l) => [l.from[1], l.to[1]]));
  pointPlot(section, {points, lines, x, y: around(all), labels: ["operations per byte", "operations per second"],
    formats: [(v) => si(v, "").trim(), (v) => si(v, "").trim()],
    about: "Experimental roofline; arrow keys go through the points"});
}

function buildValues() {
  const section = $("values"), body = el("tbody"), status = el("span", {class: "muted", "aria-live": "polite"});
  const search = el("input", {type: "search", placeholder: "Search values", "aria-label": "Search values by name", size: 22});
  const bytes = (v) => { let i = 0; for (; v >= 1024 && i < 4; i++) v /= 1024; return digits(v, 4) + [" B", " KiB", " MiB", " GiB", " TiB"][i]; };
  const shown = (v, unit) => !known(v.value) ? "unknown" : unit === "s" ? duration(v.value * 1e9) : unit === "B" ? bytes(v.value)
    : /\/s$|^Hz$|^W$/.test(unit) ? si(v.value, unit) : digits(v.value, 5) + (unit === "1" ? "" : " " + unit);
  const ratio = (a, b) => known(a) && known(b) && a ? digits(b / a) + "×" : "";
  function fill() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = data.params.filter((p) => words.every((w) => (p.name + " " + p.values.map((v) => v.how).join(" ")).toLowerCase().includes(w)));
    body.replaceChildren(...found.map((p) => el("tr", {}, el("td", {class: "text"}, p.name),
      ...p.values.flatMap((v) => [el("td", {title: v.how}, shown(v, p.unit)), el("td", {class: "text"}, v.method)]),
      two ? el("td", {}, ratio(p.values[0].value, p.values[1].value)) : el("td", {class: "text"}, cut(p.values[0].how, 100)))));
    status.textContent = found.length === data.params.length ? found.length + " values" : found.length + " of " + data.params.length + " values";
  }
  search.addEventListener("input", fill);
  section.append(el("div", {class: "controls"}, search, status), el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Values"},
    el("table", {}, el("thead", {}, el("tr", {}, el("th", {class: "text", scope: "col"}, "Value"),
      ...profiles.flatMap((p) => [el("th", {scope: "col"}, two ? cut(p.name, 40) : ""), el("th", {class: "text", scope: "col"}, "from")]),
      el("th", {class: two ? null : "text", scope: "col"}, two ? "second / first" : "how"))), body)));
  fill();
}

startTheme();
build([["head", buildHead], ["values", buildValues], ["roofline", buildRoofline], ["curves", buildCurves]]);
built();
