// Charts by uPlot: lines over run time, and points on logarithmic axes.

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

function axis(label, values, more) {
  return Object.assign({
    stroke: () => colour("muted"), font: FONT, labelFont: FONT, label: label || undefined, labelSize: 20, labelGap: 0, values,
    grid: {stroke: () => colour("line"), width: 1}, ticks: {stroke: () => colour("line"), width: 1},
  }, more);
}

// Keep a chart as wide as its place.
function follow(place, plot, height) {
  let width = place.clientWidth;
  new ResizeObserver(() => {
    if (place.clientWidth === width || !place.clientWidth)
      return;
    width = place.clientWidth;
    plot.setSize({width, height: height(width)});
  }).observe(place);
  redraws.push(() => plot.redraw(false, true));
}

// Seconds since the start of the axis.
const seconds = (s) => duration(s * 1e9);
const narrow = () => innerWidth <= 600;

// Run-time axis: as many decimals as the ticks are apart.
function clock(u, ticks) {
  const apart = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  const [unit, per] = apart >= 0.5 ? ["s", 1] : apart >= 0.5e-3 ? ["ms", 1e3] : ["µs", 1e6];
  const places = Math.max(0, -Math.floor(Math.log10(apart * per) + 1e-9));
  return ticks.map((t) => (t * per).toFixed(Math.min(places, 6)) + " " + unit);
}

/*
 * Lines or areas over run time. options: x (s), series [{label, values, drawn, colour, fill, solid, step, dash, gaps, points}],
 * label and format of y, log, height, top, quiet: no title of the x axis, tip: lines of the tooltip, about: for
 * screen readers; key and group: charts that zoom together.
 */
function timePlot(place, options) {
  const height = options.height || 200;
  const stepped = uPlot.paths.stepped({align: 1});
  const box = el("div", {class: "chart", tabindex: 0, role: "img", "aria-label": options.about});
  place.append(box);
  const plot = new uPlot({
    width: Math.max(260, box.clientWidth), height,
    padding: [10, narrow() ? 26 : 16, 0, 0],
    scales: {x: {time: false}, y: options.log ? {distr: 3, range: (u, low, high) => around([low || 1, high || 10])}
      : {range: (u, low, high) => [0, options.top || (high || 1) * 1.05]}},
    axes: [axis(options.quiet ? null : "time since the first launch", clock, {space: narrow() ? 70 : 90, size: 28}),
      axis(options.label, (u, ticks) => ticks.map((t) => t === null ? "" : options.format(t)), Object.assign({size: 66},
        options.log ? {splits: (u, i, a, b) => decades(u, i, a, b, 4)} : {space: 34}))],
    series: [{}].concat(options.series.map((s) => ({
      label: s.label, stroke: () => colour(s.colour), width: s.fill ? 0.5 : 1.4, dash: s.dash,
      fill: s.fill ? () => colour(s.colour) + (s.solid ? "" : "66") : undefined,
      paths: s.step ? stepped : undefined, spanGaps: Boolean(s.gaps), points: {show: s.points || false, size: 4},
    }))),
    cursor: {drag: {x: true, y: false}, points: {show: false}, y: false,
      sync: options.key ? {key: options.key, scales: ["x", null]} : undefined},
    hooks: {
      setScale: [(u, key) => { if (key === "x") box.dataset.from = u.scales.x.min, box.dataset.to = u.scales.x.max; }],
      setCursor: [(u) => {
        const i = u.cursor.idx;
        if (!u.over.matches(":hover") || i === null || i === undefined)
          return;
        const at = u.over.getBoundingClientRect();
        showTip([seconds(u.data[0][i])].concat(options.tip ? options.tip(i)
          : options.series.filter((s) => known(s.values[i])).map((s) => s.label + ": " + options.format(s.values[i])))
          .join("\n"), at.left + u.cursor.left, at.top + 20);
      }],
    },
  }, [options.x].concat(options.series.map((s) => s.drawn || s.values)), box);
  plot.over.addEventListener("mouseleave", hideTip);
  box.addEventListener("keydown", (event) => zoomByKey(event, options.group || [plot]));
  follow(box, plot, () => height);
  return plot;
}

// + and - zoom, arrows move, 0 or Home shows everything.
function zoomByKey(event, plots) {
  const {min, max} = plots[0].scales.x, x = plots[0].data[0];
  const first = x[0], last = x[x.length - 1], span = max - min;
  let from = min, to = max;
  if (event.key === "+" || event.key === "=")
    [from, to] = [min + span / 4, max - span / 4];
  else if (event.key === "-")
    [from, to] = [min - span / 2, max + span / 2];
  else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    const by = (event.key === "ArrowLeft" ? -1 : 1) * span / 4;
    [from, to] = [min + by, max + by];
    if (from < first)
      [from, to] = [first, first + span];
    if (to > last)
      [from, to] = [last - span, last];
  } else if (event.key === "0" || event.key === "Home")
    [from, to] = [first, last];
  else
    return;
  event.preventDefault();
  setZoom(plots, Math.max(first, from), Math.min(last, to));
}

function setZoom(plots, from, to) {
  plots.forEach((p) => p.setScale("x", {min: from, max: to}));
}

const marks = [
  (c, x, y, r) => c.arc(x, y, r, 0, 7),
  (c, x, y, r) => c.rect(x - r, y - r, 2 * r, 2 * r),
  (c, x, y, r) => { c.moveTo(x, y - r * 1.2); c.lineTo(x + r * 1.2, y + r); c.lineTo(x - r * 1.2, y + r); c.closePath(); },
];

function drawLines(u, lines) {
  const c = u.ctx, x = (v) => u.valToPos(v, "x", true), y = (v) => u.valToPos(v, "y", true);
  lines.forEach((l) => {
    c.beginPath();
    c.strokeStyle = colour(l.colour || "muted");
    c.lineWidth = (l.width || 1.5) * devicePixelRatio;
    c.setLineDash((l.dash || []).map((d) => d * devicePixelRatio));
    c.moveTo(x(l.from[0]), y(l.from[1]));
    c.lineTo(x(l.to[0]), y(l.to[1]));
    c.stroke();
    c.setLineDash([]);
  });
}

// Names of lines, each along its line's end and clear of those before it.
function drawNames(u, lines) {
  const c = u.ctx, taken = [], size = 12 * devicePixelRatio, box = u.bbox;
  c.font = FONT.replace("12px", size + "px");
  c.fillStyle = colour("ink");
  c.textAlign = "left";
  c.textBaseline = "alphabetic";
  lines.filter((l) => l.name).forEach((l) => {
    const width = c.measureText(l.name).width;
    const at = l.at || l.to, ends = u.valToPos(at[0], "x", true);
    let x = Math.max(box.left + 4, Math.min(ends - (l.at ? 0 : width + 6), box.left + box.width - width - 4));
    let y = Math.max(u.valToPos(at[1], "y", true) - 5, box.top + size);
    for (let tries = 0; tries < 8 && taken.some((t) => x < t.x + t.w && t.x < x + width && Math.abs(t.y - y) < size * 1.15); tries++)
      y += size * 1.2;
    taken.push({x, y, w: width});
    c.save();
    c.fillStyle = colour("paper");
    c.globalAlpha = 0.8;
    c.fillRect(x - 2, y - size, width + 4, size * 1.25);
    c.restore();
    c.fillText(l.name, x, y);
  });
}

function drawPoints(u, points, chosen) {
  const c = u.ctx, ratio = devicePixelRatio;
  points.forEach((p, i) => {
    const x = u.valToPos(p.x, "x", true), y = u.valToPos(p.y, "y", true), r = p.size * ratio;
    c.strokeStyle = colour(p.colour);
    c.lineWidth = 1.2 * ratio;
    if (p.low || p.left) {
      c.globalAlpha = i === chosen ? 1 : 0.35;
      c.beginPath();
      if (p.low) {
        c.moveTo(x, u.valToPos(p.low, "y", true));
        c.lineTo(x, u.valToPos(p.high, "y", true));
      }
      if (p.left) {
        c.moveTo(u.valToPos(p.left, "x", true), y);
        c.lineTo(x, y);
      }
      c.stroke();
    }
    c.beginPath();
    marks[p.mark || 0](c, x, y, r);
    c.globalAlpha = 0.55;
    c.fillStyle = colour(p.colour);
    c.fill();
    c.globalAlpha = 1;
    c.lineWidth = (i === chosen ? 3 : 1) * ratio;
    c.strokeStyle = i === chosen ? colour("ink") : colour(p.colour);
    c.stroke();
  });
}

const powers = (unit) => (u, ticks) => ticks.map((t) => t === null ? "" : unit(t));

// The decades: fewer where they stand too close, and 2 and 5 between them where they are few.
function decades(u, axisIndex, min, max, room) {
  const from = Math.ceil(Math.log10(min) - 1e-9), to = Math.floor(Math.log10(max) + 1e-9);
  const every = Math.max(1, Math.ceil((to - from + 1) / room)), ticks = [];
  if (Math.log10(max / min) < 2)
    for (let e = from - 1; e <= to; e++)
      ticks.push(...[1, 2, 5].map((m) => Number((m * Math.pow(10, e)).toPrecision(1))).filter((t) => t >= min && t <= max));
  else
    for (let e = from; e <= to; e += every)
      ticks.push(Math.pow(10, e));
  return ticks;
}

// Whole decades around the values; at least one.
function around(values) {
  const good = values.filter((v) => known(v) && v > 0);
  const low = Math.log10(Math.min(...good)), high = Math.log10(Math.max(...good)), pad = Math.max(0.08 * (high - low), 0.15);
  return [Math.pow(10, low - pad), Math.pow(10, high + pad)];
}

/*
 * Points on logarithmic axes. options: points [{x, y, low, high, left, name, tip, colour, mark, size}], lines, x and y
 * [low, high], labels, formats, square, about.
 */
function pointPlot(place, options) {
  const box = el("div", {class: "chart", tabindex: 0, role: "application", "aria-label": options.about});
  const height = (width) => options.square ? Math.min(width, 560) : Math.min(Math.max(300, width * 0.8), 560);
  let chosen = -1;
  place.append(box);
  const width = Math.max(260, box.clientWidth), side = options.square ? Math.min(width, 560) : width;
  const fixed = (range) => ({distr: 3, time: false, auto: false, range});
  const plot = new uPlot({
    width: side, height: height(width), padding: [14, 14, 0, 0],
    scales: {x: fixed(() => options.x), y: fixed(() => options.y)},
    axes: [axis(options.labels[0], powers(options.formats[0]), {size: 28, splits: (u, i, a, b) => decades(u, i, a, b, narrow() ? 4 : 7)}),
      axis(options.labels[1], powers(options.formats[1]), {size: 66, splits: (u, i, a, b) => decades(u, i, a, b, 9)})],
    series: [{}, {paths: () => null, points: {show: false}}],
    cursor: {drag: {x: false, y: false}, points: {show: false}, x: false, y: false},
    hooks: {draw: [(u) => {
      const c = u.ctx;
      c.save();
      c.beginPath();
      c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      c.clip();
      drawLines(u, options.lines);
      drawPoints(u, options.points, chosen);
      drawNames(u, options.lines);
      c.restore();
    }]},
  }, [options.x, [null, null]], box);
  const choose = (i) => {
    chosen = i;
    plot.redraw(false, false);
    if (i < 0)
      return hideTip();
    const p = options.points[i], at = plot.over.getBoundingClientRect();
    box.dataset.point = p.name;
    showTip(p.tip, at.left + plot.valToPos(p.x, "x"), at.top + plot.valToPos(p.y, "y"));
  };
  plot.over.addEventListener("mousemove", (event) => {
    const at = plot.over.getBoundingClientRect(), x = event.clientX - at.left, y = event.clientY - at.top;
    let best = -1, nearest = 18;
    options.points.forEach((p, i) => {
      const d = Math.hypot(plot.valToPos(p.x, "x") - x, plot.valToPos(p.y, "y") - y);
      if (d < nearest)
        [best, nearest] = [i, d];
    });
    if (best !== chosen)
      choose(best);
  });
  plot.over.addEventListener("mouseleave", () => choose(-1));
  box.addEventListener("blur", () => choose(-1));
  box.addEventListener("keydown", (event) => {
    const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!by || !options.points.length)
      return;
    event.preventDefault();
    choose((chosen + by + options.points.length) % options.points.length);
  });
  if (options.square) {
    let last = side;
    new ResizeObserver(() => {
      const now = Math.min(box.clientWidth, 560);
      if (now && now !== last)
        plot.setSize({width: last = now, height: now});
    }).observe(box);
    redraws.push(() => plot.redraw(false, true));
  } else {
    follow(box, plot, height);
  }
  return plot;
}
