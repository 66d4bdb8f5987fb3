// Elements and texts. What comes from the server gets into the page as text, by textContent and nothing else.

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

/** Makes an HTML element; children are elements or texts. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Replaces all children of a node. */
export function replace(node, ...children) {
  node.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

// Control characters, and those that turn the direction of a text or are invisible.
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

/** Shows bytes of the server, a text or `{hex}`, as a text in which all of them are visible. */
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

/** The name of a key, or a word for the empty name. */
export function nameOf(key) {
  return show(key) || "(empty)";
}

/** The bytes of a value of the server. */
export function bytesOf(value) {
  if (value !== null && typeof value === "object" && "hex" in value) {
    return Uint8Array.from(value.hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  }
  return new TextEncoder().encode(String(value ?? ""));
}

/** Bytes as a value for the server: a text, or hexadecimal digits if they are no UTF-8. */
export function valueOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { hex: [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
  }
}

const BYTE_UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

/** Bytes with a unit, in powers of ten. */
export function bytes(count) {
  let n = Number(count);
  let unit = 0;
  while (n >= 999.5 && unit < BYTE_UNITS.length - 1) {
    n /= 1000;
    unit += 1;
  }
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

/** A number with separators. */
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
  return n > 0 && n < 10 ? `${Number(n.toFixed(1))} s` : `${Math.round(n)} s`;
}

/** A table. Heads are `[text, isNumber]`, rows are lists of texts or elements, or rows that are made already. */
export function table(heads, rows, attributes = {}) {
  const cell = (tag) => (value, at) => el(tag, { class: heads[at]?.[1] ? "number" : null, scope: tag === "th" ? "col" : null }, value);
  return el(
    "table",
    attributes,
    el("thead", {}, el("tr", {}, ...heads.map(([text]) => text).map(cell("th")))),
    el("tbody", {}, ...rows.map((row) => (row instanceof Node ? row : el("tr", {}, ...row.map(cell("td")))))),
  );
}

/**
 * The heads of a table that is sorted by a click. Columns are `{name, text, number, order}`; those without `order` are not sorted by.
 * `sorted` is `{order, descending}`, and `onSort` gets the new one.
 */
export function sortHeads(columns, sorted, onSort) {
  const head = ({ text, number, order }) => {
    const is = order !== undefined && sorted.order === order;
    const turn = () => onSort({ order, descending: is ? !sorted.descending : Boolean(number) });
    return el(
      "th",
      { class: number ? "number" : null, scope: "col", "aria-sort": is ? (sorted.descending ? "descending" : "ascending") : null },
      order === undefined ? text : el("button", { type: "button", class: "sort", onclick: turn }, text, el("span", { "aria-hidden": "true" }, is ? (sorted.descending ? " ▼" : " ▲") : "")),
    );
  };
  return el("thead", {}, el("tr", {}, ...columns.map(head)));
}

/** Asks a question in a dialog. Returns the values of its fields, or null if it is cancelled. `danger` marks what cannot be undone. */
export function askFor(title, { text = "", fields = [], action = "OK", danger = false } = {}) {
  return new Promise((done) => {
    const inputs = fields.map(({ name, label, value = "", type = "text", rows }) => {
      const input = rows ? el("textarea", { name, rows, spellcheck: "false" }) : el("input", { name, type, autocomplete: "off", spellcheck: "false", step: type === "number" ? "any" : null });
      input.value = value;
      return el("label", {}, label, input);
    });
    const form = el(
      "form",
      { method: "dialog" },
      el("h2", {}, title),
      text ? el("p", {}, text) : null,
      ...inputs,
      el("div", { class: "bar" }, el("button", { value: "ok", class: danger ? "danger" : "primary" }, action), el("button", { value: "", type: "button", onclick: () => dialog.close("") }, "Cancel")),
    );
    const dialog = el("dialog", { "aria-label": title }, form);
    dialog.addEventListener("close", () => {
      const values = Object.fromEntries(new FormData(form));
      dialog.remove();
      done(dialog.returnValue === "ok" ? values : null);
    });
    document.body.append(dialog);
    dialog.returnValue = "";
    dialog.showModal();
  });
}

/** Has the browser save a text as a file. */
export function save(name, kind, text) {
  const url = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Rows of texts and numbers as CSV. A text that a spreadsheet would take for a formula gets a quote before it. */
export function csv(rows) {
  const cell = (value) => {
    if (typeof value === "number") return String(value);
    const text = String(value ?? "");
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
