// Data, text, colours, tooltip: what every part of the page uses. Text goes into the page as text alone.

const data = JSON.parse(document.getElementById("data").textContent);
const report = data.report;
const column = new Map(data.columns.map((c, i) => [c.id, i]));
const value = (kernel, id) => column.has(id) ? kernel.values[column.get(id)] : null;
// A kernel as tooltips call it: its row, name and, where rows are configurations, its launch.
const called = (kernel) => "#" + (data.kernels.indexOf(kernel) + 1) + " " + kernel.name +
  (value(kernel, "grid") ? " <<<" + value(kernel, "grid") + ", " + value(kernel, "block") + ">>>" : "");
const $ = (id) => document.getElementById(id);

// An element: attributes, then children (texts or elements; null is left out).
function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [key, v] of Object.entries(attributes || {}))
    if (typeof v === "function")
      e.addEventListener(key, v);
    else if (v !== null && v !== false)
      e.setAttribute(key, v === true ? "" : v);
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

const known = (x) => typeof x === "number" && isFinite(x);

function digits(x, n) {
  const text = Number(x.toPrecision(n || 3));
  return Math.abs(text) >= 1000 ? text.toLocaleString("en-US") : String(text);
}

function scaled(x, units, step) {
  let i = 0;
  for (x = Math.abs(x); i + 1 < units.length && x >= step * 0.9995; i++)
    x /= step;
  return digits(x) + units[i];
}

const sign = (x) => x < 0 ? "−" : "";
const duration = (ns) => !known(ns) ? "unknown"
  : Math.abs(ns) < 6e10 ? sign(ns) + scaled(ns, [" ns", " µs", " ms", " s"], 1000)
  : sign(ns) + digits(Math.abs(ns) / 1e9, 4) + " s";
// As in the text of the report, a share that is neither nothing nor all does not read as one of them.
const percent = (x, places = 1) => {
  if (!known(x))
    return "unknown";
  const least = Math.pow(10, -places), text = (100 * x).toFixed(places);
  return (x > 0 && +text === 0 ? "<" + least : x < 1 && +text === 100 ? ">" + (100 - least).toFixed(places) : text) + "%";
};
// A share of a peak; above it the peak is too low, and there is no share of it.
const ofPeak = (x) => x > 1 ? ">100%" : percent(x);
const count = (x) => known(x) ? x.toLocaleString("en-US") : "unknown";
const si = (x, unit) => !known(x) ? "unknown"
  : x !== 0 && Math.abs(x) < 0.1 ? x.toExponential(1) + " " + unit
  : scaled(x, [" ", " k", " M", " G", " T", " P", " E"], 1000) + unit;

// As a cell of the table shows it; unknown is empty.
const formats = {
  time: (x) => known(x) ? duration(x) : "",
  share: (x) => known(x) ? percent(x) : "",
  count: (x) => known(x) ? (x < 1e12 ? count(Math.round(x)) : scaled(x, ["", " k", " M", " G", " T"], 1000)) : "",
  text: (x) => x || "",
};

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

// Drawn again when the theme changes; a chart adds itself.
const redraws = [];

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").setAttribute("aria-pressed", String(dark));
  redraws.forEach((f) => f());
}

function startTheme() {
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  let chosen = false;
  setTheme(prefers.matches);
  prefers.addEventListener("change", () => chosen || setTheme(prefers.matches));
  $("theme").addEventListener("click", () => {
    chosen = true;
    setTheme(document.documentElement.dataset.theme !== "dark");
  });
}

function showTip(text, x, y) {
  const tip = $("tip");
  tip.textContent = text;
  tip.hidden = false;
  const width = tip.offsetWidth, right = document.documentElement.clientWidth;
  tip.style.left = Math.max(4, Math.min(x + 14, right - width - 4)) + scrollX + "px";
  tip.style.top = Math.max(scrollY + 4, y + scrollY - tip.offsetHeight - 12) + "px";
}

function hideTip() {
  $("tip").hidden = true;
}

function legend(entries) {
  return el("div", {class: "legend"}, ...entries.map(([text, name]) => {
    const mark = el("i");
    mark.style.background = "var(--" + name + ")";
    return el("span", {}, mark, text);
  }));
}

const note = (text) => el("p", {class: "note"}, text);
const cut = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;

// Each part is [id of its section, function]; one that fails leaves the others.
const failures = [];

function build(parts) {
  parts.forEach(([id, f]) => {
    try {
      f();
    } catch (error) {
      failures.push(id);
      $(id).append(note("This part could not be drawn: " + error.message));
      console.error(error);
    }
  });
}

function built() {
  document.documentElement.dataset.ready = failures.length ? "failed" : "yes";
}
