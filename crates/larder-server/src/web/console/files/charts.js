// Charts over time.

import { el, replace, svg } from "/dom.js";

const WIDTH = 400;
const HEIGHT = 110;

/** A line over the last points, with its newest value in words. */
export class Line {
  constructor(title, words, points = 150) {
    this.words = words;
    this.points = points;
    this.values = [];
    this.value = el("output", {}, "");
    this.top = el("span", { class: "top" });
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
    this.node = el("figure", { class: "chart" }, el("figcaption", {}, title, " ", this.value), this.top, this.picture);
  }

  /** Adds a point; `null` where nothing is known. */
  add(value) {
    this.values.push(value);
    if (this.values.length > this.points) this.values.shift();
    const known = this.values.filter((one) => one !== null);
    const max = Math.max(...known, 0) || 1;
    const step = WIDTH / (this.points - 1);
    const from = this.points - this.values.length;
    const place = (one, at) => `${((from + at) * step).toFixed(1)},${(HEIGHT - 2 - (one / max) * (HEIGHT - 6)).toFixed(1)}`;
    const line = this.values.map((one, at) => (one === null ? null : place(one, at))).filter((one) => one !== null);
    this.value.textContent = value === null ? "" : this.words(value);
    this.top.textContent = known.length > 0 ? this.words(max) : "";
    if (line.length === 0) return;
    const [first, last] = [line[0], line[line.length - 1]].map((point) => point.split(",")[0]);
    replace(
      this.picture,
      svg("polygon", { points: `${first},${HEIGHT} ${line.join(" ")} ${last},${HEIGHT}`, class: "area" }),
      svg("polyline", { points: line.join(" "), class: "line" }),
    );
  }
}

/** Columns over time, rows by latency: the darker, the more commands. */
export class HeatMap {
  constructor(title, rows, names, columns = 75) {
    this.rows = rows;
    this.names = names;
    this.columns = columns;
    this.values = [];
    this.value = el("output", {}, "");
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title });
    this.scale = el("span", { class: "top" }, names(rows - 1));
    this.node = el("figure", { class: "chart heat" }, el("figcaption", {}, title, " ", this.value), this.scale, this.picture);
  }

  /** Adds a column: a count for each row. */
  add(column) {
    this.values.push(column);
    if (this.values.length > this.columns) this.values.shift();
    const max = Math.max(1, ...this.values.flat());
    const [w, h] = [WIDTH / this.columns, HEIGHT / this.rows];
    const cells = [];
    const from = this.columns - this.values.length;
    this.values.forEach((counts, at) =>
      counts.forEach((count, row) => {
        if (count === 0) return;
        // By logarithm: a few slow ones are to be seen beside many fast ones.
        const share = Math.log1p(count) / Math.log1p(max);
        cells.push(
          svg("rect", {
            x: (from + at) * w,
            y: HEIGHT - (row + 1) * h,
            width: w,
            height: h,
            class: "heat-cell",
            "fill-opacity": (0.1 + 0.9 * share).toFixed(2),
          }),
        );
      }),
    );
    replace(this.picture, ...cells);
    this.value.textContent = this.words(column);
  }

  /** The median and the 99th percentile of a column. */
  words(column) {
    const total = column.reduce((a, b) => a + b, 0);
    if (total === 0) return "";
    const at = (share) => {
      let sum = 0;
      return column.findIndex((count) => (sum += count) >= total * share);
    };
    return `half below ${this.names(at(0.5))}, 99 % below ${this.names(at(0.99))}`;
  }
}
