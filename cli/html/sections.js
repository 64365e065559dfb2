// The other sections, and the start of the page.

function buildHead() {
  const head = $("head"), add = (term, text) => text && head.append(el("dt", {}, term), el("dd", {}, text));
  const processes = report.processes.filter((p) => p.read && p.pid !== undefined);
  const first = processes[0], span = report.runs.to_ns - report.runs.from_ns;
  if (report.stand_in)
    add("Notice", report.notice);
  if (first)
    add("Program", first.command + " · pid " + first.pid + (first.host ? " on " + first.host : "") +
      (processes.length > 1 ? " · and " + (processes.length - 1 + (report.processes_more || 0)) + " more processes" : ""));
  if (report.runs.from_ns)
    add("When", new Date(report.runs.from_ns / 1e6).toISOString().replace("T", " ").slice(0, 19) + " UTC · for " + duration(span) +
      (report.runs.count > 1 ? " · " + report.runs.count + " runs, added up" : ""));
  add("GPU", report.devices.map((d) => d.ordinal + " " + d.name).join(" · "));
  add("Kernels", count(report.launches) + " runs, " + count(report.measured) + " of them measured · " + duration(report.total_ns) +
    " of GPU time");
  document.title = "gpuwatch report" + (first ? ": " + cut(first.command, 60) : "");
}

function bars(rows) {
  const box = el("div", {class: "bars"}), most = Math.max(...rows.map((r) => r[1]), 1e-9);
  rows.forEach(([name, share, text, shade]) => {
    const bar = el("i");
    bar.style.width = 100 * share / most + "%";
    if (shade)
      bar.style.background = "var(--" + shade + ")";
    box.append(el("span", {title: name}, name), el("div", {class: "bar"}, bar), el("span", {class: "num"}, text));
  });
  return box;
}

const states = [["busy", "a kernel ran", "s0"], ["back_to_back", "between kernels already queued", "s6"],
  ["starved", "starved: launched too late", "s1"], ["starved_graphs", "starved: graph launched too late", "s4"],
  ["paused", "pause of more than 1 ms", "pause"]];
const timeOf = (idle, state) => state === "busy" ? idle.busy_ns : idle[state].ns;

function buildTime() {
  const section = $("time"), total = report.total_ns;
  section.append(el("h3", {}, "Each GPU"));
  const unspent = report.devices.filter((d) => !d.spent);
  report.devices.filter((d) => d.spent).forEach((d) => {
    if (report.devices.length > 1)
      section.append(el("p", {}, d.ordinal + " " + d.name));
    const rows = d.spent.rows.filter((r) => r.ns > 0).sort((a, b) => b.ns - a.ns);
    section.append(bars(rows.map((r) => [r.name, r.share, percent(r.share) + " · " + duration(r.ns), r.idle ? "s1" : r.key === "kernels" ? "s0" : "s6"])),
      el("ul", {class: "note"}, ...rows.map((r) => el("li", {}, r.name + ": " + r.meaning + "."))));
    if (!d.spent.copies_recorded)
      section.append(note("Copies are not recorded (GPUWATCH_COUNTERS=off): what they take is in the idle shares."));
  });
  unspent.forEach((d) => {
    const all = states.reduce((sum, [s]) => sum + timeOf(d.idle, s), 0);
    if (all <= 0)
      return section.append(note("GPU " + d.ordinal + ": no launch has a start time, so idle time is not known."));
    if (report.devices.length > 1)
      section.append(el("p", {}, d.ordinal + " " + d.name));
    section.append(bars(states.filter(([s]) => timeOf(d.idle, s) > 0).map(([s, words, shade]) =>
      [words, timeOf(d.idle, s) / all, percent(timeOf(d.idle, s) / all) + " · " + duration(timeOf(d.idle, s)), shade])));
  });
  section.append(note("From the first kernel to the last, summed over processes; shares under To fix first leave pauses out." + (unspent.length ?
    " Copies, memory sets and waits of the host are not recorded in these logs: what they take is in the idle shares." : "")));
  section.append(el("h3", {}, "Kernels, of " + duration(total) + " of GPU time"));
  const top = data.kernels.slice().sort((a, b) => value(b, "share") - value(a, "share")).slice(0, 10);
  const rows = top.filter((k) => known(value(k, "share"))).map((k) => [k.label, value(k, "share"), percent(value(k, "share")) + " · " +
    duration(value(k, "total"))]);
  const rest = total - top.reduce((sum, k) => sum + (value(k, "total") || 0), 0);
  if (rest > total * 5e-4)
    rows.push(["all others", rest / total, percent(rest / total) + " · " + duration(rest), "s5"]);
  section.append(rows.length ? bars(rows) : note("No kernel was measured."));
}

function buildFix() {
  const section = $("fix");
  if (!report.fix_first.length)
    return section.append(note("Nothing with at least 1% to gain is known."));
  section.append(el("ol", {}, ...report.fix_first.map((f) => el("li", {}, ...(f.text + ".").split("`").map((t, i) => i % 2 ? el("code", {}, t) : t)))),
    note("By the most to gain at the peaks of this GPU; #3 is row 3 of the table."));
}

function timelineOf(section, gpu, number, group) {
  const device = report.devices[number], drawn = states.filter(([s]) => gpu[s] && gpu[s].length);
  const n = Math.max(0, ...drawn.map(([s]) => gpu[s].length));
  if (!n)
    return;
  const x = Array.from({length: n}, (_, i) => i * data.axis.bin_ns / 1e9), sums = new Array(n).fill(0);
  const series = drawn.map(([s, label, shade]) => ({label, colour: shade, values: gpu[s].map((v) => v / 1000), fill: true, solid: true,
    step: true, drawn: gpu[s].map((v, i) => sums[i] += v / 1000)}));
  const most = Math.max(1, ...sums);
  section.append(el("h3", {}, "GPU " + device.ordinal + " " + device.name), legend(drawn.map(([, label, shade]) => [label, shade])));
  series.reverse(); // the whole stack first, what lies lower over it
  group.push(timePlot(section, {about: "Timeline of GPU " + device.ordinal + ": share of each bin by what the GPU did; plus and minus zoom, arrows move",
    label: "share of the time", format: (v) => percent(v, 0), x, series, key: "timeline", top: most, group,
    tip: (i) => series.slice().reverse().filter((s) => s.values[i] > 0).map((s) => s.label + ": " + percent(s.values[i]))}));
}

function kernelsOverTime(section, group) {
  const {points, point_ns} = data.axis, shades = ["s0", "s1", "s2", "s3", "s4", "s6", "s7"];
  const top = data.kernels.filter((k) => k.times && k.times.length > 2).slice(0, 7);
  if (!top.length)
    return;
  const x = Array.from({length: points}, (_, i) => i * point_ns / 1e9);
  const series = top.map((k, i) => {
    const values = new Array(points).fill(null);
    timesOf(k).forEach(([at, ns]) => { if (at < points) values[at] = ns; });
    return {label: "#" + (data.kernels.indexOf(k) + 1) + " " + k.label, colour: shades[i], values, gaps: true, points: true, dash: i > 3 ? [5, 3] : undefined};
  });
  section.append(el("h3", {}, "Mean time of the " + top.length + (top.length === 1 ? " kernel" : " kernels") + " with the most GPU time"),
    legend(series.map((s) => [s.label, s.colour])));
  group.push(timePlot(section, {about: "Mean times of kernels over run time", label: "mean time", format: duration, x, series, key: "timeline",
    group, height: 220, log: true}));
}

function buildTimeline() {
  const section = $("timeline"), group = [];
  if (!data.axis)
    return section.append(note("Not recorded: no launch of these logs has a start time."));
  const reset = el("button", {type: "button"}, "Whole run");
  section.append(el("div", {class: "controls"}, reset, el("span", {class: "note"}, "Drag to zoom, double-click for the whole run; with the " +
    "keyboard: + and − zoom, arrows move, 0 shows the whole run. One bin is " + duration(data.axis.bin_ns) + ".")));
  data.axis.gpus.forEach((gpu, i) => timelineOf(section, gpu, i, group));
  kernelsOverTime(section, group);
  reset.addEventListener("click", () => group.length && setZoom(group, group[0].data[0][0], group[0].data[0][group[0].data[0].length - 1]));
}

function buildScatter() {
  const section = $("scatter");
  const most = Math.max(...data.kernels.map((k) => value(k, "share") || 0), 1e-9);
  const points = data.kernels.filter((k) => value(k, "med") > 0 && value(k, "predicted") > 0).map((k) => ({
    x: value(k, "predicted"), y: value(k, "med"), low: k.times_90[0], high: k.times_90[1], name: k.name, colour: "s0",
    size: 3 + 6 * Math.sqrt((value(k, "share") || 0) / most),
    tip: called(k) + "\npredicted " + duration(value(k, "predicted")) + ", measured " + duration(value(k, "med")) + "\n" +
      percent(value(k, "share")) + " of GPU time · median error " + percent(value(k, "error")),
  }));
  if (!points.length)
    return section.append(note("No launch of these logs was predicted."));
  const range = around(points.flatMap((p) => [p.x, p.y, p.low, p.high]));
  section.append(note("Medians of each row; the line through a point spans 90% of its measured times; larger points have more GPU time."));
  pointPlot(section, {points, x: range, y: range, square: true, labels: ["predicted", "measured"], formats: [duration, duration],
    about: "Measured against predicted time of each kernel; arrow keys go through the points",
    lines: [{from: [range[0], range[0]], to: [range[1], range[1]], width: 1.2},
      {from: [range[0], range[0] * 2], to: [range[1], range[1] * 2], dash: [4, 4], width: 1, name: ""},
      {from: [range[0], range[0] / 2], to: [range[1], range[1] / 2], dash: [4, 4], width: 1}]});
  section.append(note("Solid: equal; dashed: twice and half the prediction."));
}

const levels = [["dram", "device memory", 0, "s0"], ["l2", "L2", 1, "s1"], ["l1", "L1", 2, "s2"]];

// Kernels with work in `pipe` and bytes in at least one level.
function rooflinePoints(pipe) {
  const points = [];
  data.kernels.forEach((k) => {
    const work = (k.peaks || {})[pipe], mean = value(k, "avg");
    if (!work || !work[2])
      return;
    levels.forEach(([id, words, mark, shade]) => {
      const bytes = k.peaks[id];
      if (!bytes || !bytes[0])
        return;
      const x = work[0] / bytes[0];
      points.push({x, y: work[0], low: k.shapes === 1 && known(k.times_90[1]) ? work[0] * mean / k.times_90[1] : 0,
        high: k.shapes === 1 && known(k.times_90[0]) ? work[0] * mean / k.times_90[0] : 0, name: k.name, mark, colour: shade, size: 4,
        tip: called(k) + "\n" + words + ": " + si(x, work[3] + "/B") + "\n" + si(work[0], work[3] + "/s") + ", " + ofPeak(work[0] / work[1]) +
          " of peak · " + words + " " + si(bytes[0], "B/s") + ", " + ofPeak(bytes[0] / bytes[1]) + " of peak\n" +
          percent(value(k, "share")) + " of GPU time"});
    });
  });
  return points;
}

function rooflineLines(pipe, points, x) {
  const peakOf = (id) => Math.max(0, ...data.kernels.map((k) => ((k.peaks || {})[id] || [0, 0])[1] || 0));
  const roof = peakOf(pipe), lines = [], unit = Object.values(data.kernels.find((k) => (k.peaks || {})[pipe]).peaks[pipe])[3];
  let ridge = Infinity;
  levels.forEach(([id, words, mark, shade]) => {
    const peak = peakOf(id);
    if (!peak || !points.some((p) => p.mark === mark))
      return;
    const end = roof ? Math.min(roof / peak, x[1]) : x[1];
    ridge = Math.min(ridge, end);
    lines.push({from: [x[0], x[0] * peak], to: [end, end * peak], colour: shade, width: 2, mark, title: words + " " + si(peak, "B/s")});
  });
  if (roof)
    lines.push({from: [Math.min(ridge, x[1]), roof], to: [x[1], roof], colour: "ink", width: 2, name: pipe + " " + si(roof, unit + "/s")});
  return {lines, roof};
}

function drawRoofline(place, pipe) {
  const points = rooflinePoints(pipe);
  const x = around(points.map((p) => p.x));
  const {lines, roof} = rooflineLines(pipe, points, x);
  const y = around(points.flatMap((p) => [p.y, p.low, p.high]).concat(lines.flatMap((l) => [l.to[1]]), roof || []));
  place.replaceChildren(legend(lines.filter((l) => l.title).map((l) => [l.title, l.colour])));
  const unit = data.kernels.find((k) => (k.peaks || {})[pipe]).peaks[pipe][3];
  pointPlot(place, {points, lines, x, y, labels: [unit + " per byte", unit + "/s"], formats: [(v) => si(v, "").trim(), (v) => si(v, "").trim()],
    about: "Roofline: work per byte and per second of each kernel; arrow keys go through the points"});
}

function buildRoofline() {
  const section = $("roofline"), names = new Set(data.kernels.flatMap((k) => Object.keys(k.peaks || {})));
  const pipes = ["tensor", "fma", "fp64", "fp16", "alu", "xu", "issue"].filter((p) => names.has(p) && rooflinePoints(p).length);
  if (!pipes.length)
    return section.append(note("Not known: no kernel of these logs has both its work and its bytes. Mode audit reads them from code and from " +
      "hardware counters."));
  const time = (p) => data.kernels.reduce((sum, k) => sum + ((k.peaks || {})[p] ? value(k, "total") || 0 : 0), 0);
  const best = pipes.includes("fma") && time("fma") > 0.5 * time("issue") ? "fma" : "issue";
  const place = el("div"), words = {issue: "all instructions (issue)", fma: "FP32 multiply-add (fma)", tensor: "tensor cores", alu: "integer (alu)"};
  const choice = el("select", {change: () => drawRoofline(place, choice.value)},
    ...pipes.map((p) => el("option", {value: p, selected: p === best}, words[p] || p)));
  section.append(el("div", {class: "controls"}, el("label", {}, "Work of ", choice)), place,
    note("Work done per byte of each memory level, at the rate reached; vertical lines span 90% of the times of a kernel " +
      "with one launch configuration (--by=config shows all so). Roofs are the calibrated peaks."));
  drawRoofline(place, choice.value);
}

const sampleSeries = [["SM clock", 1, "MHz", "s0"], ["memory clock", 2, "MHz", "s6"], ["temperature", 3, "°C", "s1"], ["power", 4, "W", "s2"]];

function buildClocks() {
  const section = $("clocks"), group = [];
  (data.axis ? data.axis.gpus : []).forEach((gpu, i) => {
    if (!gpu.samples.length)
      return;
    const device = report.devices[i], clocks = device.clocks || {};
    const x = [0].concat(gpu.samples.map((s) => (s[0] + 0.5) * data.axis.point_ns / 1e9), data.axis.points * data.axis.point_ns / 1e9);
    section.append(el("h3", {}, "GPU " + device.ordinal + " " + device.name), note(count(clocks.samples) + " samples, " +
      (clocks.throttled ? count(clocks.throttled) + " of them throttled (" + Object.keys(clocks.throttled_by).join(", ") + ")" : "none throttled") +
      (clocks.other_processes ? " · other processes used the GPU in " + count(clocks.other_processes) : "")));
    sampleSeries.forEach(([label, at, unit, shade]) => {
      const values = [null].concat(gpu.samples.map((s) => s[at]), null);
      if (!values.some(known))
        return;
      section.append(legend([[label + " (" + unit + ")", shade]]));
      group.push(timePlot(section, {about: label + " over run time", height: 110,
          format: (v) => count(Math.round(v)), quiet: at < 4 && gpu.samples.some((s) => known(s[4])),
          x, series: [{label, values, colour: shade, gaps: true, points: values.length < 80}], group, key: "clocks",
          tip: (i) => known(values[i]) ? [label + ": " + count(Math.round(values[i])) + " " + unit]
            .concat(gpu.samples[i - 1][5] ? "clock throttled" : []) : []}));
    });
  });
  if (!group.length)
    section.append(note("Not recorded: these logs have no samples of the GPU's clocks."));
}

function table(titles, rows) {
  return el("div", {class: "scroll", tabindex: 0}, el("table", {}, el("thead", {}, el("tr", {}, ...titles.map((t, i) =>
    el("th", {class: i ? null : "text", scope: "col"}, t)))),
  el("tbody", {}, ...rows.map((r) => el("tr", {}, ...r.map((c, i) => el("td", {class: i ? null : "text"}, c)))))));
}

function originsOf(section, title, tally, missing) {
  section.append(el("h3", {}, title));
  if (!tally)
    return section.append(note(missing));
  const total = report.total_ns;
  section.append(table([title, "Share", "GPU time", "Runs"], tally.rows.map(([name, runs, ns]) =>
    [name, total > 0 ? percent(ns / total) : "", duration(ns), count(runs)])));
  if (tally.more)
    section.append(note(count(tally.more) + " more are not in this page."));
}

function buildOrigins() {
  const section = $("origins");
  originsOf(section, "NVTX range", data.ranges, "Not recorded: the program opened no NVTX range, or the mode records none (audit does).");
  originsOf(section, "Line", data.lines, "Not recorded: no launch of these logs has a stack (mode audit, GPUWATCH_STACKS).");
}

function buildSlow() {
  const section = $("slow"), {episodes} = report.slow, from = data.axis ? data.axis.from_ns : report.runs.from_ns;
  if (!episodes.length)
    return section.append(note("None: no kernel was slower than predicted again and again."));
  section.append(table(["Kernel", "Cause", "At", "Slow", "Predicted", "Ratio", "Beyond the prediction", "SM clock"],
    episodes.map((e) => [cut(e.name, 70), e.cause, "+" + duration(e.since_ns - from), count(e.slow) + " of " + count(e.launches),
      duration(e.predicted_ns), known(e.ratio) ? digits(e.ratio) + "×" : "", duration(e.lost_ns),
      e.sm_khz_before ? Math.round(e.sm_khz_before / 1000) + " → " + Math.round(e.sm_khz_during / 1000) + " MHz" : "unknown"])));
  const more = (report.slow.episodes_more || 0) + report.slow.not_kept;
  if (more)
    section.append(note(count(more) + " more episodes are not in this page."));
}

function basisTable(title, rows) {
  return rows.length ? [el("h3", {}, title), table(["Basis", "Launches", "Median error", "Mean error", "Within 10%", "Within 25%",
    "90% interval held"], rows.map((r) => [r.name, count(r.launches), percent(r.median_error), percent(r.mape), percent(r.within_10),
    percent(r.within_25), r.intervals ? percent(r.coverage) : "no interval"]))] : [];
}

function buildTrust() {
  const section = $("trust"), p = report.prediction, c = report.causality, lines = [];
  section.append(el("p", {}, p.measured ? percent(p.share_predicted) + " of " + count(p.measured) + " measured launches were predicted: " +
    count(p.predicted_before) + " before the call, " + count(p.predicted_late) + " later from the state at the call; " + count(p.unknown) +
    " unknown" + (p.at_least ? ", " + count(p.at_least) + " of them with a lower limit alone" : "") +
    ". Median error " + percent(p.median_error) + "; 90% intervals held " + percent(p.coverage) + "."
    : "No launch was measured."));
  section.append(...basisTable("By what was known of the time", data.basis.times), ...basisTable("By the source of the work", data.basis.work));
  if (c.violations)
    lines.push(count(c.violations) + " predictions used a later measurement: gpuwatch report --verify lists them");
  else if (c.proven)
    lines.push("Causality check: " + count(c.proven) + " predictions were each made before their measurement" +
      (c.unproven ? "; " + count(c.unproven) + " could not be checked" : ""));
  report.degraded.forEach((d) => lines.push("Degraded: " + d.reason + (d.processes > 1 ? " (" + d.processes + " processes)" : "")));
  report.processes.forEach((f) => f.missing.forEach((m) => lines.push(f.path + ": " + m)));
  report.code_analysis.slice(0, 8).forEach((a) => lines.push("Code analysis: " + count(a.launches) + " launches, " + a.meaning +
    (a.reason ? ": " + a.reason : "")));
  if (report.without_name)
    lines.push(count(report.without_name) + " launches without a name");
  section.append(el("h3", {}, "What limits it"), lines.length ? el("ul", {}, ...lines.map((l) => el("li", {}, l))) : note("Nothing was degraded or lost."));
}

startTheme();
build([["head", buildHead], ["time", buildTime], ["fix", buildFix], ["kernels", buildKernels], ["origins", buildOrigins], ["slow", buildSlow], ["trust", buildTrust]]);
// Charts after the first paint.
requestAnimationFrame(() => setTimeout(() => {
  build([["timeline", buildTimeline], ["scatter", buildScatter], ["roofline", buildRoofline], ["clocks", buildClocks]]);
  built();
}));
