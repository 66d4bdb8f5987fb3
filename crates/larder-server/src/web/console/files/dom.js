// Elements and texts. Whatever comes from the server gets into the page as text, by textContent and nothing else.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** An HTML element; children are elements or texts. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same of SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Takes the place of all that a node has. */
export function replace(node, ...children) {
  node.replaceChildren(...children);
}

// Control characters, and those that turn the direction of a text or are not seen.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

function escapeUnseen(text) {
  return text.replace(/\\/g, "\\\\").replace(UNSEEN, (c) => {
    const code = c.codePointAt(0);
    if (c === "\n") return "\\n";
    if (c === "\r") return "\\r";
    if (c === "\t") return "\\t";
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}

/** Bytes of the server, a text or `{hex}`, as a text that shows all of them. */
export function show(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "object" && "hex" in value) {
    return value.hex.replace(/../g, (pair) => {
      const code = parseInt(pair, 16);
      return code > 31 && code < 127 && code !== 92 ? String.fromCharCode(code) : `\\x${pair}`;
    });
  }
  if (typeof value === "object" && "error" in value) return show(value.error);
  if (typeof value === "object") return String(value.int ?? value.double ?? "");
  return escapeUnseen(String(value));
}

const BYTE_UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

/** Bytes with a unit. */
export function bytes(count) {
  let n = Number(count);
  let unit = 0;
  while (n >= 1024 && unit < BYTE_UNITS.length - 1) {
    n /= 1024;
    unit += 1;
  }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

/** A number with separators, or a short one. */
export function count(n) {
  const number = Number(n);
  return Number.isInteger(number) ? number.toLocaleString("en") : number.toLocaleString("en", { maximumFractionDigits: 1 });
}

/** A part in percent. */
export function percent(part, whole) {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "";
}

/** Seconds in the unit that fits. */
export function seconds(n) {
  if (n === null || n === undefined) return "";
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (n >= 2 * length) return `${Math.round(n / length)} ${unit}`;
  }
  return `${Math.round(n)} s`;
}

/** A table: heads are `[text, isNumber]`, rows are lists of texts or elements. */
export function table(heads, rows, attributes = {}) {
  const cell = (tag) => (value, at) => el(tag, heads[at]?.[1] ? { class: "number" } : {}, value);
  return el(
    "table",
    attributes,
    el("thead", {}, el("tr", {}, ...heads.map(([text]) => text).map(cell("th")))),
    el("tbody", {}, ...rows.map((row) => (row instanceof Node ? row : el("tr", {}, ...row.map(cell("td")))))),
  );
}
