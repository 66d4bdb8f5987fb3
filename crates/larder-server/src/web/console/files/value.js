// A key: what is known of it, its value page by page, and changes to both.

import { call, errorOf, run, state } from "/api.js";
import { decode, FORMATS } from "/decode.js";
import { askFor, bytes, bytesOf, count, el, nameOf, replace, seconds, show, table } from "/dom.js";

const PAGE = 100;
// Of a string: what is loaded at first, and what may be edited.
const STRING_PAGE = 64 * 1024;
const EDIT_MAX = 256 * 1024;
// Of an element in a table.
const TEXT_MAX = 500;

// Elements may have moved since the page was loaded.
const SET_IF_SAME = "if redis.call('LINDEX', KEYS[1], ARGV[1]) ~= ARGV[2] then return false end return redis.call('LSET', KEYS[1], ARGV[1], ARGV[3])";
const CHANGED = "The value has changed since it was loaded. Reload the key.";

function pairs(list) {
  return Array.from({ length: list.length / 2 }, (_, at) => [list[2 * at], list[2 * at + 1]]);
}

function good(reply) {
  const error = errorOf(reply);
  if (error !== null) throw new Error(show(error));
  return reply;
}

/**
 * How each type is looked at and changed. `page(key, at)` returns `{rows, next}`: rows are lists of values of the server, and `next` is null
 * at the end. `add` and `edit` are forms, `remove` is the command that removes a row.
 */
const TYPES = {
  list: {
    heads: ["index", "element"],
    async page(key, at = 0) {
      const found = good((await run(["LRANGE", key, String(at), String(at + PAGE - 1)]))[0]);
      return { rows: found.map((element, n) => [at + n, element]), next: found.length === PAGE ? at + PAGE : null };
    },
    add: { fields: ["element"], command: (key, { element }) => ["RPUSH", key, element] },
    edit: { fields: [["element", 1]], command: (key, { element }, row) => ["EVAL", SET_IF_SAME, "1", key, String(row[0]), row[1], element] },
  },
  zset: {
    heads: ["rank", "member", "score"],
    async page(key, at = 0) {
      const found = good((await run(["ZRANGE", key, String(at), String(at + PAGE - 1), "WITHSCORES"]))[0]);
      return { rows: found.map(([member, score], n) => [at + n, member, score]), next: found.length === PAGE ? at + PAGE : null };
    },
    add: { fields: ["member", "score"], command: (key, { member, score }) => ["ZADD", key, score, member] },
    edit: { fields: [["score", 2]], command: (key, { score }, row) => ["ZADD", key, "XX", score, row[1]] },
    remove: (key, row) => ["ZREM", key, row[1]],
  },
  stream: {
    heads: ["id", "fields"],
    async page(key, at = "-") {
      const found = good((await run(["XRANGE", key, at, "+", "COUNT", String(PAGE)]))[0]);
      const rows = found.map(([id, fields]) => [id, pairs(fields).map(([name, value]) => `${show(name)}: ${show(value)}`).join(", ")]);
      return { rows, next: found.length === PAGE ? `(${found[PAGE - 1][0]}` : null };
    },
    add: { fields: ["field", "value"], command: (key, { field, value }) => ["XADD", key, "*", field, value] },
    remove: (key, row) => ["XDEL", key, row[0]],
  },
  hash: {
    heads: ["field", "value"],
    async page(key, at = "0") {
      const [next, found] = good((await run(["HSCAN", key, at, "COUNT", String(PAGE)]))[0]);
      return { rows: pairs(found), next: next === "0" ? null : next };
    },
    add: { fields: ["field", "value"], command: (key, { field, value }) => ["HSET", key, field, value] },
    edit: { fields: [["value", 1]], command: (key, { value }, row) => ["HSET", key, row[0], value] },
    remove: (key, row) => ["HDEL", key, row[0]],
  },
  set: {
    heads: ["member"],
    async page(key, at = "0") {
      const [next, found] = good((await run(["SSCAN", key, at, "COUNT", String(PAGE)]))[0]);
      return { rows: found.map((member) => [member]), next: next === "0" ? null : next };
    },
    add: { fields: ["member"], command: (key, { member }) => ["SADD", key, member] },
    remove: (key, row) => ["SREM", key, row[0]],
  },
};

/** A box that shows bytes in one of the formats. */
export function viewer(value) {
  const data = bytesOf(value);
  const output = el("pre", { class: "viewer", tabindex: 0 });
  const found = el("span", { class: "notice" });
  const choice = el("select", {}, ...FORMATS.map(([name, text]) => el("option", { value: name }, text)));
  const draw = async () => {
    const { format, text } = await decode(data, choice.value);
    output.textContent = text;
    output.dataset.format = format;
    found.textContent = choice.value === "auto" ? `shown as ${FORMATS.find(([name]) => name === format)[1]}` : "";
  };
  choice.addEventListener("change", draw);
  draw();
  return el("div", {}, el("div", { class: "bar" }, el("label", {}, "Format ", choice), found), output);
}

export class ValueView {
  /** `onChange` is called with the new name when the key was renamed, and with null when it was deleted. */
  constructor(node, onChange) {
    this.node = node;
    this.onChange = onChange;
    this.turn = 0;
  }

  clear() {
    this.turn += 1;
    replace(this.node);
  }

  /** Shows a key. */
  async open(key) {
    this.turn += 1;
    const { turn } = this;
    this.key = key;
    const [type, memory, encoding, ttl] = await run(["TYPE", key], ["MEMORY", "USAGE", key], ["OBJECT", "ENCODING", key], ["PTTL", key]);
    if (turn !== this.turn) return;
    const kind = errorOf(type) ?? type;
    const facts = [
      ["type", show(kind)],
      ["encoding", show(encoding)],
      ["memory", errorOf(memory) === null && memory !== null ? bytes(memory) : show(memory)],
      ["expires in", ttl >= 0 ? seconds(ttl / 1000) : "never"],
    ];
    this.facts = el("dl", { class: "facts" }, ...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
    this.body = el("div", { class: "value-body" });
    this.failure = el("p", { class: "error", role: "alert" });
    // Browsers offer the clipboard only to pages that come by HTTPS or from the same machine.
    const link = navigator.clipboard ? el("button", { type: "button", onclick: () => navigator.clipboard.writeText(location.href) }, "Copy link") : null;
    replace(this.node, el("h2", {}, nameOf(key)), this.facts, el("div", { class: "bar" }, ...(kind === "none" ? [] : this.actions(ttl)), link), this.failure, this.body);
    if (errorOf(type) !== null) this.failure.textContent = show(type);
    else if (kind === "none") this.failure.textContent = "The key does not exist.";
    else if (kind === "string") await this.openString(turn);
    else if (TYPES[kind]) await this.openElements(TYPES[kind], turn);
  }

  button(text, what, options = {}) {
    return el("button", { type: "button", ...options, onclick: () => this.guard(what) }, text);
  }

  async guard(what) {
    this.failure.textContent = "";
    try {
      await what();
    } catch (error) {
      this.failure.textContent = show(error.message);
    }
  }

  actions(ttl) {
    const refresh = this.button("Reload", () => this.open(this.key));
    if (!state.writable) return [refresh];
    return [
      refresh,
      this.button("Time to live", () => this.expire(ttl)),
      this.button("Rename", () => this.rename()),
      this.button("Delete", () => this.remove(), { class: "danger" }),
    ];
  }

  async expire(ttl) {
    const value = ttl >= 0 ? String(Math.ceil(ttl / 1000)) : "";
    const form = await askFor("Time to live", { text: "In seconds. Leave the field empty for a key that never expires.", fields: [{ name: "ttl", label: "Seconds", value, type: "number" }], action: "Set" });
    if (form === null) return;
    await call(...(form.ttl === "" ? ["PERSIST", this.key] : ["EXPIRE", this.key, form.ttl]));
    await this.open(this.key);
  }

  async rename() {
    const fields = [{ name: "name", label: "New name", value: typeof this.key === "string" ? this.key : "" }];
    const form = await askFor(`Rename ${nameOf(this.key)}`, { fields, action: "Rename" });
    if (form === null) return;
    if ((await call("RENAMENX", this.key, form.name)) === 0) throw new Error("A key of that name exists.");
    this.onChange(form.name);
  }

  async remove() {
    const form = await askFor(`Delete ${nameOf(this.key)}?`, { text: "The key and its value are removed. This cannot be undone.", action: "Delete", danger: true });
    if (form === null) return;
    await call("UNLINK", this.key);
    this.onChange(null);
  }

  /** A string: the beginning, and more on demand. */
  async openString(turn, length = STRING_PAGE) {
    const [text, all] = await run(["GETRANGE", this.key, "0", String(length - 1)], ["STRLEN", this.key]);
    if (turn !== this.turn) return;
    if (errorOf(text) !== null) {
      this.failure.textContent = show(text);
      return;
    }
    const isWhole = all <= length;
    const more = isWhole ? null : this.button(`Load more (${bytes(length)} of ${bytes(all)})`, () => this.openString(turn, Math.min(length * 4, 1 << 20)));
    const edit = state.writable && isWhole && all <= EDIT_MAX && typeof text === "string" ? this.button("Edit", () => this.editString(text)) : null;
    replace(this.body, viewer(text), more, edit);
  }

  async editString(text) {
    const form = await askFor(`Edit ${nameOf(this.key)}`, { fields: [{ name: "value", label: "Value", value: text, rows: 14 }], action: "Save" });
    if (form === null) return;
    // Line ends of a form are CRLF, unless the value had them.
    const value = text.includes("\r\n") ? form.value : form.value.replaceAll("\r\n", "\n");
    if ((await call("SET", this.key, value, "IFEQ", text, "KEEPTTL")) === null) throw new Error(CHANGED);
    await this.open(this.key);
  }

  async openElements(type, turn) {
    const rows = el("tbody");
    const detail = el("div", { class: "detail" });
    const heads = type.heads.map((text) => [text, ["index", "rank", "score"].includes(text)]);
    const grid = table([...heads, ...(state.writable ? [["", false]] : [])], [], { id: "elements" });
    grid.tBodies[0].replaceWith(rows);
    const add = state.writable && type.add ? this.button("Add", () => this.change(type.add, null)) : null;
    const more = el("div", { class: "bar" });
    const load = async (at) => {
      const { rows: found, next } = await type.page(this.key, at);
      if (turn !== this.turn) return;
      rows.append(...found.map((row) => this.row(type, heads, row, detail)));
      replace(more, next === null ? null : this.button("More", () => load(next)), add);
    };
    replace(this.body, el("div", { class: "scroll" }, grid), more, detail);
    await this.guard(() => load());
  }

  row(type, heads, row, detail) {
    const cell = (value, at) => {
      if (typeof value === "number" && at === 0) return el("td", { class: "number" }, count(value));
      const text = show(value);
      const isLong = text.length > TEXT_MAX || (value !== null && typeof value === "object" && "hex" in value) || /^[[{]/.test(text);
      const shown = text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
      const inside = isLong ? el("button", { type: "button", class: "link", onclick: () => replace(detail, el("h3", {}, heads[at][0]), viewer(value)) }, shown) : shown;
      return el("td", { class: heads[at][1] ? "number" : null }, inside);
    };
    const buttons = [
      type.edit ? this.button("Edit", () => this.change(type.edit, row)) : null,
      type.remove ? this.button("Remove", () => this.removeRow(type, row)) : null,
    ];
    return el("tr", {}, ...row.map(cell), ...(state.writable ? [el("td", { class: "row-actions" }, ...buttons)] : []));
  }

  async change({ fields, command }, row) {
    const inputs = fields.map((field) => (Array.isArray(field) ? field : [field])).map(([name, at]) => ({
      name,
      label: name,
      value: row && at !== undefined && typeof row[at] !== "object" ? String(row[at]) : "",
      ...(["element", "value"].includes(name) ? { rows: 6 } : {}),
    }));
    const form = await askFor(row ? `Edit in ${nameOf(this.key)}` : `Add to ${nameOf(this.key)}`, { fields: inputs, action: "Save" });
    if (form === null) return;
    const values = Object.fromEntries(Object.entries(form).map(([name, value]) => [name, value.replaceAll("\r\n", "\n")]));
    if ((await call(...command(this.key, values, row))) === null) throw new Error(CHANGED);
    await this.open(this.key);
  }

  async removeRow(type, row) {
    const what = show(type.heads[0] === "rank" ? row[1] : row[0]).slice(0, 100);
    const form = await askFor(`Remove ${what}?`, { text: `From ${nameOf(this.key)}. This cannot be undone.`, action: "Remove", danger: true });
    if (form === null) return;
    await call(...type.remove(this.key, row));
    await this.open(this.key);
  }
}

/** Asks for a new key, and makes it. Returns its name, or null. */
export async function makeKey() {
  const form = await askFor("New key", { text: "The new key is a string. Use the command line for other types.", fields: [{ name: "name", label: "Name" }, { name: "value", label: "Value", rows: 6 }], action: "Create" });
  if (form === null) return null;
  if ((await call("SET", form.name, form.value.replaceAll("\r\n", "\n"), "NX")) === null) throw new Error("A key of that name exists.");
  return form.name;
}
