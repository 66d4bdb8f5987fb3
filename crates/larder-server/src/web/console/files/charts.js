// Charts over time, with axes, and with the values below the pointer. Arrow keys move the pointer of a chart that has the focus.

import { el, replace, svg } from "/dom.js";

const HEIGHT = 130;
const LEFT = 56;
const BOTTOM = 20;
const TOP = 8;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600];

function timeOf(ms, withSeconds) {
  return new Date(ms).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: withSeconds ? "2-digit" : undefined });
}

/** A number that is round, and not less. */
export function roundUp(max) {
  if (!(max > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(max));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= max * 0.999) ?? max;
}

class Chart {
  constructor(title) {
    this.title = title;
    this.value = el("output", {}, "");
    this.plot = svg("g");
    this.cursor = svg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
    this.picture = svg("svg", { role: "img", tabindex: 0, height: HEIGHT, "aria-label": title }, this.plot, this.cursor);
    this.node = el("figure", { class: "chart" }, el("figcaption", {}, title, " ", this.value), this.picture);
    this.points = [];
    this.at = null;
    this.picture.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.picture.addEventListener("pointerleave", () => this.release());
    this.picture.addEventListener("blur", () => this.release());
    this.picture.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.picture);
  }

  get width() {
    return Math.max(120, this.picture.clientWidth || 400);
  }

  x(at) {
    return LEFT + ((at - this.from) / (this.to - this.from)) * (this.width - LEFT - 4);
  }

  /** Shows points, each `{at, ...}`, of the time from `from` to `to`. */
  set(points, from, to) {
    Object.assign(this, { points, from, to });
    this.draw();
  }

  draw() {
    if (this.from === undefined || this.picture.clientWidth === 0) return;
    this.picture.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    replace(this.plot, ...this.axes(), ...this.shapes());
    this.say(this.at === null ? this.points.length - 1 : this.at);
  }

  axes() {
    const { width } = this;
    const base = HEIGHT - BOTTOM;
    const parts = this.marks().flatMap(([y, text]) => [
      svg("line", { class: "grid", x1: LEFT, x2: width, y1: y, y2: y }),
      svg("text", { class: "axis", x: LEFT - 4, y: y + 4, "text-anchor": "end" }, text),
    ]);
    const step = STEPS.find((one) => ((this.to - this.from) / 1000 / one) * 70 <= width - LEFT) ?? 21600;
    const offset = new Date(this.to).getTimezoneOffset() * 60_000;
    const first = Math.ceil((this.from - offset) / (step * 1000)) * step * 1000 + offset;
    for (let at = first; at <= this.to; at += step * 1000) {
      const x = this.x(at);
      if (x < LEFT + 16 || x > width - 24) continue;
      parts.push(svg("line", { class: "grid", x1: x, x2: x, y1: base, y2: base + 3 }), svg("text", { class: "axis", x, y: HEIGHT - 5, "text-anchor": "middle" }, timeOf(at, step < 60)));
    }
    return parts;
  }

  point(x) {
    if (this.points.length === 0) return;
    let best = 0;
    this.points.forEach((point, at) => {
      if (Math.abs(this.x(point.at) - x) < Math.abs(this.x(this.points[best].at) - x)) best = at;
    });
    this.show(best);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || this.points.length === 0) return;
    event.preventDefault();
    this.show(Math.min(this.points.length - 1, Math.max(0, (this.at ?? this.points.length) + step)));
  }

  show(at) {
    this.at = at;
    const x = this.x(this.points[at].at);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.cursor.setAttribute("visibility", "visible");
    this.say(at);
  }

  /** The words with the colours of the lines. */
  parts(_point, text) {
    return [text];
  }

  release() {
    this.at = null;
    this.cursor.setAttribute("visibility", "hidden");
    this.say(this.points.length - 1);
  }

  say(at) {
    const point = this.points[at];
    const text = point ? this.words(point) : "";
    replace(this.value, point && this.at !== null ? `${timeOf(point.at, true)}: ` : "", ...(point ? this.parts(point, text) : []));
    this.picture.setAttribute("aria-label", `${this.title}: ${text || "no data yet"}`);
  }
}

/** Lines over time. `series` are `{name, text}`: `name` is that of the value in a point, which is a number or null. */
export class Lines extends Chart {
  constructor(title, words, series, max = null) {
    super(title);
    this.format = words;
    this.series = series;
    this.max = max;
  }

  words(point) {
    const known = this.series.filter(({ name }) => point[name] !== null);
    return known.map(({ name, text }) => (this.series.length > 1 ? `${text} ${this.format(point[name])}` : this.format(point[name]))).join(", ");
  }

  parts(point, text) {
    if (this.series.length === 1) return [text];
    return this.series.filter(({ name }) => point[name] !== null).map(({ name, text: label }, at) => el("span", { class: `key line${at}` }, `${label} ${this.format(point[name])}`));
  }

  marks() {
    const values = this.points.flatMap((point) => this.series.map(({ name }) => point[name] ?? 0));
    this.top = this.max ?? roundUp(values.reduce((a, b) => Math.max(a, b), 0));
    return [0, 0.5, 1].map((part) => [this.y(part * this.top), this.format(part * this.top)]);
  }

  y(value) {
    return HEIGHT - BOTTOM - (value / this.top) * (HEIGHT - BOTTOM - TOP);
  }

  shapes() {
    return this.series.flatMap(({ name }, at) => {
      const runs = [[]];
      let before = null;
      for (const point of this.points) {
        const isGap = point[name] === null || (before && point.at - before.at > 3 * point.span);
        if (isGap) runs.push([]);
        if (point[name] !== null) runs[runs.length - 1].push(`${this.x(point.at).toFixed(1)},${this.y(point[name]).toFixed(1)}`);
        before = point;
      }
      return runs.filter((run) => run.length > 0).flatMap((run) => {
        const [first, last] = [run[0], run[run.length - 1]].map((pair) => pair.split(",")[0]);
        const base = HEIGHT - BOTTOM;
        const area = at === 0 ? [svg("polygon", { points: `${first},${base} ${run.join(" ")} ${last},${base}`, class: "area" })] : [];
        const line = run.length === 1 ? svg("circle", { cx: first, cy: run[0].split(",")[1], r: 1.5, class: `dot line${at}` }) : svg("polyline", { points: run.join(" "), class: `line line${at}` });
        return [...area, line];
      });
    });
  }
}

/** Columns over time, rows by latency: the darker, the more commands. Points have `rows`. */
export class HeatMap extends Chart {
  constructor(title, rows, names) {
    super(title);
    this.rows = rows;
    this.names = names;
  }

  y(row) {
    return HEIGHT - BOTTOM - (row / this.rows) * (HEIGHT - BOTTOM - TOP);
  }

  marks() {
    return [0, 10, 20].map((row) => [this.y(row), this.names(row)]);
  }

  shapes() {
    // A column has at least two pixels: points that are closer are one.
    const columns = [];
    for (const point of this.points) {
      const x = this.x(point.at);
      const last = columns[columns.length - 1];
      if (last && x - last.x < 2) point.rows.forEach((count, row) => (last.rows[row] = (last.rows[row] ?? 0) + count));
      else columns.push({ x, rows: [...point.rows] });
    }
    const max = columns.reduce((most, { rows }) => rows.reduce((a, b) => Math.max(a, b), most), 1);
    const width = Math.max(2, this.points.length > 1 ? this.x(this.points[0].at + this.points[0].span) - this.x(this.points[0].at) : 2);
    return columns.flatMap(({ x, rows }) =>
      rows.flatMap((count, row) => {
        if (count === 0) return [];
        // By logarithm: a few slow ones are to be seen among many fast ones.
        const share = Math.log1p(count) / Math.log1p(max);
        const opacity = (0.15 + 0.85 * share).toFixed(2);
        return [svg("rect", { x: x - width, y: this.y(row + 1), width: width + 0.3, height: this.y(row) - this.y(row + 1), class: "heat-cell", "fill-opacity": opacity })];
      }),
    );
  }

  /** The median and the 99th percentile. */
  words({ rows }) {
    const total = rows.reduce((a, b) => a + b, 0);
    if (total === 0) return "no commands";
    const at = (share) => {
      let sum = 0;
      return rows.findIndex((count) => (sum += count) >= total * share);
    };
    return `p50 ≤ ${this.names(at(0.5))}, p99 ≤ ${this.names(at(0.99))}`;
  }
}
