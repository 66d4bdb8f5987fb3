// The keys of a database: a search over all of them, or the tree that a delimiter makes of their names.

import { errorOf, fromText, run, setPlace, state, toText } from "/api.js";
import { bytes, count, el, nameOf, replace, seconds, show, sortHeads } from "/dom.js";
import { keyOf, Search, sortedSearch } from "/search.js";
import { makeKey, ValueView } from "/value.js";

const LIMIT = 500;
const BRANCHES_MAX = 2000;
const TYPES = ["string", "list", "hash", "set", "zset", "stream"];
const COLUMNS = [
  { text: "key", order: "name" },
  { text: "type" },
  { text: "encoding" },
  { text: "elements", number: true, order: "elements" },
  { text: "size", number: true, order: "bytes" },
  { text: "expires in", number: true, order: "ttl" },
  { text: "used", number: true, order: "use" },
];

/** A text without meaning as a pattern. */
function literal(text) {
  return text.replace(/[*?[\]\\^]/g, "\\$&");
}

/** The seconds since a key was used, or how often it is used with an LFU policy. */
function usedOf(used) {
  return used > 1000 ? `${seconds(2 ** 32 - used)} ago` : `frequency ${used}`;
}

export class KeysView {
  constructor(section) {
    this.section = section;
    const options = ["all types", ...TYPES].map((type) => el("option", { value: TYPES.includes(type) ? type : "" }, type));
    this.match = el("input", { name: "match", type: "search", placeholder: "name, part of a name, or pattern*", autocomplete: "off", spellcheck: "false", size: 30 });
    this.type = el("select", { name: "type" }, ...options);
    this.view = el("select", { name: "view" }, el("option", { value: "list" }, "list"), el("option", { value: "tree" }, "tree"));
    this.delimiter = el("input", { name: "delimiter", value: ":", size: 3, required: true });
    this.stop = el("button", { type: "button", hidden: true, onclick: () => this.cancel() }, "Stop");
    this.form = el(
      "form",
      { class: "bar", role: "search", onsubmit: (event) => this.submit(event) },
      el("label", {}, "Search ", this.match),
      el("label", {}, "Type ", this.type),
      el("label", {}, "View ", this.view),
      (this.delimiterLabel = el("label", { hidden: true }, "Delimiter ", this.delimiter)),
      el("button", { class: "primary" }, "Search"),
      this.stop,
      state.writable ? el("button", { type: "button", onclick: () => this.make() }, "New key") : null,
    );
    this.view.addEventListener("change", () => this.submit());
    this.type.addEventListener("change", () => this.submit());
    this.progress = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "Progress of the search" });
    this.notice = el("p", { class: "notice", role: "status" });
    this.list = el("div", { class: "scroll", tabindex: 0, "aria-label": "Keys found" });
    this.more = el("button", { type: "button", hidden: true, onclick: () => this.resume() }, "More keys");
    this.value = el("div", { id: "value" });
    this.values = new ValueView(this.value, (name) => this.changed(name));
    replace(section, this.form, this.progress, this.notice, el("div", { class: "halves keys" }, el("div", {}, this.list, this.more), this.value));
    this.sorted = { order: null, descending: false };
    this.pattern = undefined;
    this.key = null;
    this.search = null;
    this.started = null;
  }

  enter() {}

  leave() {
    this.cancel();
  }

  /** Shows what the address says. Without parameters, it is the search that was shown last. */
  visit(parameters) {
    if (this.started !== null && [...parameters.keys()].every((name) => name === "db")) {
      this.place();
      if (this.search?.cancelled) this.start();
      return;
    }
    const [match, type, view] = ["match", "type", "view"].map((name) => parameters.get(name) ?? "");
    const wanted = JSON.stringify([match, type, view, parameters.get("delimiter") ?? ":", parameters.get("order") ?? "", parameters.get("down") ?? ""]);
    if (wanted !== this.started) {
      const raw = fromText(match);
      this.pattern = typeof raw === "string" ? undefined : raw;
      this.match.value = typeof raw === "string" ? raw : "";
      this.type.value = TYPES.includes(type) ? type : "";
      this.view.value = view === "tree" ? "tree" : "list";
      this.delimiter.value = parameters.get("delimiter") || ":";
      this.sorted = { order: parameters.get("order") || null, descending: parameters.has("down") };
      this.start();
    }
    const key = parameters.has("key") ? fromText(parameters.get("key")) : null;
    if (JSON.stringify(key) !== JSON.stringify(this.key)) this.open(key, false);
  }

  place() {
    const isTree = this.view.value === "tree";
    const match = this.pattern === undefined ? this.match.value : toText(this.pattern);
    const place = { match, type: this.type.value, view: isTree ? "tree" : "", delimiter: isTree && this.delimiter.value !== ":" ? this.delimiter.value : "", order: this.sorted.order ?? "", down: this.sorted.descending ? "1" : "" };
    this.started = JSON.stringify([place.match, place.type, place.view, place.delimiter || ":", place.order, place.down]);
    setPlace("keys", { ...place, key: this.key === null ? null : toText(this.key) });
  }

  submit(event) {
    event?.preventDefault();
    this.pattern = undefined;
    this.start();
  }

  cancel() {
    this.search?.cancel();
    this.busy(false);
  }

  busy(is) {
    this.progress.hidden = this.stop.hidden = !is;
  }

  /** The filter of the form. A text without `*`, `?`, `[` and `\` is looked for as a name, and as a part of names. */
  filter() {
    const text = this.match.value;
    const filter = this.type.value ? { type: this.type.value } : {};
    if (this.pattern !== undefined) return { filter: { ...filter, pattern: this.pattern }, exact: null };
    if (text === "") return { filter, exact: null };
    if (/[*?[\\]/.test(text)) return { filter: { ...filter, pattern: text }, exact: null };
    return { filter: { ...filter, pattern: `*${literal(text)}*` }, exact: text };
  }

  start() {
    this.search?.cancel();
    const isTree = this.view.value === "tree";
    this.delimiterLabel.hidden = !isTree;
    this.more.hidden = true;
    this.notice.textContent = "Searching";
    this.place();
    if (isTree) this.startTree();
    else this.startList();
  }

  async startList() {
    const { filter, exact } = this.filter();
    const rows = el("tbody");
    const onSort = (sorted) => {
      this.sorted = sorted;
      this.start();
    };
    replace(this.list, el("table", { id: "names" }, sortHeads(COLUMNS, this.sorted, onSort), rows));
    let first = exact === null ? null : await this.exactly(exact);
    if (first) rows.append(first);
    // The search knows more of the first key.
    const rowOf = (key) => {
      if (!first || key.name !== exact) return this.row(key);
      const row = this.row(key);
      first.replaceWith(row);
      first = row;
      return null;
    };
    const draw = (keys) => {
      const others = keys.map(rowOf).filter((row) => row !== null);
      replace(rows, first, ...others);
    };
    if (this.sorted.order) {
      this.search = sortedSearch({ ...filter, ...this.sorted }, LIMIT, draw);
    } else {
      let wanted = LIMIT;
      this.search = new Search("keys/search", { ...filter, limit: 200 }, (answer) => {
        rows.append(...answer.keys.map(keyOf).map(rowOf).filter((row) => row !== null));
        if (rows.childElementCount < wanted) return false;
        wanted += LIMIT;
        return true;
      });
    }
    await this.resume();
  }

  /** The row of the key of this very name, if there is one. */
  async exactly(name) {
    const [type, encoding, memory, ttl] = await run(["TYPE", name], ["OBJECT", "ENCODING", name], ["MEMORY", "USAGE", name], ["PTTL", name]);
    if (errorOf(type) !== null || type === "none" || (this.type.value && this.type.value !== type)) return null;
    return this.row({ name, type, encoding: show(encoding), bytes: errorOf(memory) === null ? memory : 0, elements: 0, ttl: ttl >= 0 ? ttl : null, used: null });
  }

  async resume() {
    const { search } = this;
    this.more.hidden = true;
    this.busy(true);
    try {
      await search.run((state, held) => {
        if (search !== this.search) return;
        this.progress.value = state.total > 0 ? state.looked / state.total : 1;
        this.notice.textContent = held ? "A script or a long command locks the keys; waiting for it." : this.words(state);
      });
      if (search === this.search) this.notice.textContent = this.words(search);
    } catch (error) {
      if (search === this.search) this.notice.textContent = error.message;
    }
    if (search !== this.search) return;
    this.busy(false);
    this.more.hidden = search.done || search.cancelled || this.view.value === "tree";
  }

  words(search) {
    const { looked, total, matched, done } = search;
    const found = matched === 1 ? "1 key found" : `${count(matched)} keys found`;
    const shown = this.sorted.order && matched > LIMIT ? `, the first ${count(LIMIT)} shown` : "";
    if (done) return `${found}${shown}; all ${count(looked)} keys searched`;
    return `${found}${shown}; ${count(looked)} of ${count(total)} keys searched${search.cancelled ? ", then stopped" : ""}`;
  }

  row(key) {
    const name = el("button", { type: "button", class: "link", onclick: () => this.open(key.name, true) }, nameOf(key.name));
    const cells = [
      el("td", {}, name),
      el("td", {}, key.type),
      el("td", {}, key.encoding),
      el("td", { class: "number" }, key.elements > 0 ? count(key.elements) : ""),
      el("td", { class: "number" }, bytes(key.bytes)),
      el("td", { class: "number" }, key.ttl === null ? "" : seconds(key.ttl / 1000)),
      el("td", { class: "number" }, key.used === null ? "" : usedOf(key.used)),
    ];
    return el("tr", {}, ...cells);
  }

  /** Shows a key, and puts it into the address. */
  async open(key, isNew) {
    this.key = key;
    if (isNew) history.pushState(null, "", location.href);
    if (isNew) this.place();
    if (key === null) {
      this.values.clear();
      return;
    }
    for (const row of this.list.querySelectorAll("tr")) row.classList.toggle("chosen", row.querySelector("button.link")?.textContent === nameOf(key));
    await this.values.open(key).catch((error) => replace(this.value, el("p", { class: "error" }, error.message)));
    if (isNew) this.value.scrollIntoView({ block: "nearest" });
  }

  changed(name) {
    this.open(name, true);
    this.start();
  }

  async make() {
    try {
      const name = await makeKey();
      if (name !== null) this.changed(name);
    } catch (error) {
      this.notice.textContent = show(error.message);
    }
  }

  startTree() {
    const root = el("ul", { class: "tree", "aria-label": "Keys by the parts of their names" });
    replace(this.list, root);
    this.level(root, "");
  }

  /** Fills a level of the tree. The prefix is a value of the server. */
  async level(node, prefix) {
    const { filter } = this.filter();
    const branches = new Map();
    let leaves = [];
    let leafCount = 0;
    const search = new Search("keys/branches", { ...filter, prefix, delimiter: this.delimiter.value }, (answer) => {
      for (const [part, keys, size] of answer.branches) {
        const name = JSON.stringify(part);
        const known = branches.get(name) ?? { part, keys: 0, size: 0 };
        branches.set(name, { part, keys: known.keys + keys, size: known.size + size });
      }
      leaves = [...leaves, ...answer.leaves].slice(0, LIMIT);
      leafCount += answer.leaf_count;
      return branches.size > BRANCHES_MAX;
    });
    this.search?.cancel();
    this.search = search;
    await this.resume();
    const sorted = [...branches.values()].sort((a, b) => b.size - a.size);
    const items = [
      ...sorted.slice(0, BRANCHES_MAX).map((branch) => this.branch(branch, prefix)),
      ...leaves.map(keyOf).map((key) => this.leaf(key)),
      leafCount > leaves.length ? el("li", { class: "notice" }, `and ${count(leafCount - leaves.length)} more keys: search for them in the list`) : null,
      !search.done && !search.cancelled ? el("li", { class: "notice" }, `More than ${count(BRANCHES_MAX)} branches: the counts are those of the first ${count(search.looked)} keys.`) : null,
      search.done && sorted.length + leaves.length === 0 ? el("li", { class: "notice" }, "No keys.") : null,
    ];
    replace(node, ...items);
  }

  branch({ part, keys, size }, prefix) {
    const inner = el("ul", { hidden: true });
    const toggle = el("button", { type: "button", class: "link", "aria-expanded": "false" }, nameOf(part));
    toggle.addEventListener("click", () => {
      inner.hidden = !inner.hidden;
      toggle.setAttribute("aria-expanded", String(!inner.hidden));
      if (!inner.hidden && inner.childElementCount === 0) this.level(inner, join(prefix, part));
    });
    return el("li", {}, toggle, el("span", { class: "soft" }, ` ${count(keys)} keys, ${bytes(size)}`), inner);
  }

  leaf(key) {
    const name = el("button", { type: "button", class: "link", onclick: () => this.open(key.name, true) }, nameOf(key.name));
    return el("li", {}, name, el("span", { class: "soft" }, ` ${key.type}, ${bytes(key.bytes)}`));
  }
}

/** Two values of the server one after the other. */
function join(a, b) {
  if (typeof a === "string" && typeof b === "string") return a + b;
  const hex = (value) => (typeof value === "string" ? [...new TextEncoder().encode(value)].map((byte) => byte.toString(16).padStart(2, "0")).join("") : value.hex);
  return { hex: hex(a) + hex(b) };
}
