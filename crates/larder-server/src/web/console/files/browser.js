// The keys of a database, and a look into their values.

import { errorOf, run } from "/api.js";
import { bytes, count, el, replace, seconds, show, table } from "/dom.js";

const COUNT = 200;
const PAGE = 100;
// Of a string, or of one element.
const TEXT_MAX = 2000;

const TYPES = ["string", "list", "hash", "set", "zset", "stream"];

function cut(value) {
  const text = show(value);
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}… (${count(text.length)} characters)` : text;
}

function pairs(list) {
  return Array.from({ length: list.length / 2 }, (_, at) => [list[2 * at], list[2 * at + 1]]);
}

/** How a type is looked into: a page from a place on, as `{heads, rows, next}`; `next` is null at the end. */
const PAGES = {
  async string(key, at = 0) {
    const [text, length] = await run(["GETRANGE", key, String(at), String(at + 16 * 1024 - 1)], ["STRLEN", key]);
    const end = at + 16 * 1024;
    return { heads: [["value"]], rows: [[errorOf(text) ? show(text) : show(text)]], next: end < length ? end : null };
  },
  async list(key, at = 0) {
    const [elements] = await run(["LRANGE", key, String(at), String(at + PAGE - 1)]);
    const rows = elements.map((element, n) => [count(at + n), cut(element)]);
    return { heads: [["place", true], ["element"]], rows, next: elements.length === PAGE ? at + PAGE : null };
  },
  async zset(key, at = 0) {
    const [found] = await run(["ZRANGE", key, String(at), String(at + PAGE - 1), "WITHSCORES"]);
    const rows = found.map(([member, score], n) => [count(at + n), cut(member), show(score)]);
    return { heads: [["rank", true], ["member"], ["score", true]], rows, next: found.length === PAGE ? at + PAGE : null };
  },
  async stream(key, at = "-") {
    const [entries] = await run(["XRANGE", key, at, "+", "COUNT", String(PAGE)]);
    const rows = entries.map(([id, fields]) => [show(id), pairs(fields).map(([name, value]) => `${cut(name)}: ${cut(value)}`).join(", ")]);
    const next = entries.length === PAGE ? `(${entries[PAGE - 1][0]}` : null;
    return { heads: [["id"], ["fields"]], rows, next };
  },
  async hash(key, at = "0") {
    const [[next, found]] = await run(["HSCAN", key, at, "COUNT", String(PAGE)]);
    return { heads: [["field"], ["value"]], rows: pairs(found).map((pair) => pair.map(cut)), next: next === "0" ? null : next };
  },
  async set(key, at = "0") {
    const [[next, found]] = await run(["SSCAN", key, at, "COUNT", String(PAGE)]);
    return { heads: [["member"]], rows: found.map((member) => [cut(member)]), next: next === "0" ? null : next };
  },
};

export class KeysView {
  constructor(section) {
    const options = ["all types", ...TYPES].map((type) => el("option", { value: TYPES.includes(type) ? type : "" }, type));
    this.form = el(
      "form",
      { class: "bar", onsubmit: (event) => this.start(event) },
      el("label", {}, "keys that match ", (this.match = el("input", { name: "match", placeholder: "*" }))),
      el("label", {}, "type ", (this.type = el("select", { name: "type" }, ...options))),
      el("button", {}, "Look"),
    );
    this.rows = el("tbody");
    this.more = el("button", { type: "button", hidden: true, onclick: () => this.look() }, "More keys");
    this.notice = el("p", { class: "notice", role: "status" });
    this.value = el("div", { id: "value" });
    // Which search this is: what comes for one that is over is not shown.
    this.turn = 0;
    const list = el("div", { class: "scroll" }, el("table", { id: "names" }, el("thead", {}, el("tr", {}, el("th", {}, "key"), el("th", {}, "type"))), this.rows), this.more);
    replace(section, this.form, this.notice, el("div", { class: "halves" }, list, this.value));
  }

  enter() {
    if (this.rows.childElementCount === 0) this.start();
  }

  leave() {}

  /** Shows the keys of a pattern. */
  open(pattern) {
    // A pattern that is no text cannot stand in the field.
    this.match.value = typeof pattern === "string" ? pattern : "";
    this.pattern = pattern;
    this.start();
  }

  async start(event) {
    event?.preventDefault();
    if (event) this.pattern = this.match.value;
    this.turn += 1;
    this.cursor = "0";
    replace(this.rows);
    replace(this.value);
    this.total = 0;
    this.more.hidden = true;
    this.notice.textContent = "Looking for keys";
    await this.look();
  }

  /** The next keys: at least one, unless there are no more. */
  async look() {
    const { turn } = this;
    try {
      const before = this.total;
      do {
        const command = ["SCAN", this.cursor, "COUNT", String(COUNT)];
        if (this.pattern) command.push("MATCH", this.pattern);
        if (this.type.value) command.push("TYPE", this.type.value);
        const [reply] = await run(command);
        if (errorOf(reply)) throw new Error(show(reply));
        const [next, keys] = reply;
        const rows = await this.rowsOf(keys);
        if (turn !== this.turn) return;
        this.cursor = next;
        this.total += keys.length;
        this.rows.append(...rows);
      } while (this.cursor !== "0" && this.total < before + COUNT / 4);
      this.more.hidden = this.cursor === "0";
      this.notice.textContent = `${count(this.total)} keys${this.cursor === "0" ? "" : ", and more"}`;
    } catch (error) {
      if (turn === this.turn) this.notice.textContent = error.message;
    }
  }

  /** The rows of keys, with their types. */
  async rowsOf(keys) {
    const rows = [];
    for (let at = 0; at < keys.length; at += 64) {
      const some = keys.slice(at, at + 64);
      const types = await run(...some.map((key) => ["TYPE", key]));
      rows.push(...some.map((key, n) => this.row(key, show(types[n]))));
    }
    return rows;
  }

  row(key, type) {
    const name = el("button", { type: "button", class: "link", onclick: () => this.preview(key, type) }, show(key) || "(empty)");
    return el("tr", {}, el("td", {}, name), el("td", {}, type));
  }

  async preview(key, type) {
    const { turn } = this;
    const [memory, encoding, ttl] = await run(["MEMORY", "USAGE", key], ["OBJECT", "ENCODING", key], ["TTL", key]);
    const facts = [["type", type], ["encoding", show(encoding)], ["bytes", errorOf(memory) ? show(memory) : bytes(memory)], ["expires in", ttl >= 0 ? seconds(ttl) : "never"]];
    if (turn !== this.turn) return;
    const page = el("div", { class: "scroll" });
    replace(this.value, el("h2", {}, show(key) || "(empty)"), el("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])), page);
    await this.page(key, type, page);
  }

  async page(key, type, node, at) {
    try {
      if (!PAGES[type]) throw new Error("The key is gone.");
      const { heads, rows, next } = await PAGES[type](key, at);
      const more = el("button", { type: "button" }, "More");
      more.addEventListener("click", () => {
        more.remove();
        this.page(key, type, node, next);
      });
      node.append(table(heads, rows), ...(next === null ? [] : [more]));
    } catch (error) {
      node.append(el("p", { class: "error" }, error.message));
    }
  }
}
