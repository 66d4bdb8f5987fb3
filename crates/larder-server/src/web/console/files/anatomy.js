// Where the memory is: a treemap of the groups of keys, a table of them, and the largest keys.

import { anatomy, ask, errorOf, mapOf, state, toText } from "/api.js";
import { bytes, count, csv, el, nameOf, percent, replace, save, seconds, show, sortHeads, svg, table } from "/dom.js";
import { squarify } from "/treemap.js";

const SEPARATORS = [":", "/", "|", ".", "-", "_"];
const HEAD = 22;
// Smaller groups are not drawn; the table has them.
const SIDE_MIN = 3;
const COLOURS = 8;
const ROWS_MAX = 500;
// What is looked at when the page opens for the first time.
const FIRST_SAMPLE = 100_000;

/** The parts of a pattern, each with its separator. */
function partsOf(pattern) {
  const separator = SEPARATORS.find((one) => pattern.includes(one));
  if (!separator) return [pattern];
  const parts = pattern.split(separator);
  return parts.map((part, at) => (at < parts.length - 1 ? part + separator : part)).filter((part) => part !== "");
}

/** Makes a tree of the groups by the parts of their patterns. A part that holds one part only is joined with it. */
function treeOf(groups) {
  const root = { name: "", value: 0, keys: 0, children: new Map(), group: null };
  for (const group of groups) {
    let node = root;
    for (const part of partsOf(group.pattern)) {
      node.value += group.bytes;
      node.keys += group.keys;
      if (!node.children.has(part)) node.children.set(part, { name: part, value: 0, keys: 0, children: new Map(), group: null });
      node = node.children.get(part);
    }
    node.value += group.bytes;
    node.keys += group.keys;
    node.group = group;
  }
  return { ...root, path: "", children: childrenOf(root, "") };
}

function childrenOf(node, path) {
  return [...node.children.values()].map((child) => joined(child, path)).sort((a, b) => b.value - a.value);
}

function joined(node, before) {
  let only = node;
  let name = node.name;
  while (only.children.size === 1 && !only.group) {
    [only] = only.children.values();
    name += only.name;
  }
  const path = before + name;
  return { name, path, value: only.value, keys: only.keys, group: only.group, children: childrenOf(only, path) };
}

function groupsOf(result) {
  return mapOf(result)
    .get("patterns")
    .map((reply) => {
      const map = mapOf(reply);
      const compression = map.get("compression");
      const cold = map.get("cold");
      return {
        pattern: show(map.get("pattern")),
        raw: map.get("pattern"),
        keys: map.get("keys"),
        elements: map.get("elements"),
        bytes: map.get("bytes"),
        perKey: map.get("bytes-per-key"),
        perElement: map.get("bytes-per-element"),
        encodings: map.get("encodings").map,
        expiring: map.get("expiring"),
        ttl: map.get("ttl-seconds"),
        idle: map.get("idle-seconds"),
        compression: compression ? mapOf(compression) : null,
        cold: cold ? mapOf(cold) : null,
      };
    });
}

const COLUMNS = [
  { text: "pattern", order: "pattern", of: (group) => group.pattern },
  { text: "keys", number: true, order: "keys", of: (group) => group.keys },
  { text: "bytes", number: true, order: "bytes", of: (group) => group.bytes },
  { text: "share", number: true },
  { text: "per key", number: true, order: "per-key", of: (group) => group.perKey },
  { text: "per element", number: true, order: "per-element", of: (group) => group.perElement ?? 0 },
  { text: "encodings" },
  { text: "expiring", number: true, order: "expiring", of: (group) => group.expiring ?? 0 },
  { text: "time to live", number: true, order: "ttl", of: (group) => group.ttl?.[1] ?? Infinity },
  { text: "idle", number: true, order: "idle", of: (group) => group.idle?.[1] ?? 0 },
  { text: "zstd saves", number: true, order: "saves", of: (group) => Number(group.compression?.get("zstd-saves") ?? 0) },
  { text: "compressed saves", number: true, order: "cold-saves", of: (group) => Number(group.cold?.get("saves") ?? 0) },
  { text: "would save", number: true, order: "would-save", of: (group) => Number(group.cold?.get("would-save") ?? 0) },
];

/** A group as plain values, for files. */
function plain(group) {
  const saves = (codec) => (group.compression ? Number(group.compression.get(`${codec}-saves`)) : null);
  return {
    pattern: group.pattern,
    keys: group.keys,
    elements: group.elements,
    bytes: group.bytes,
    bytes_per_key: group.perKey,
    bytes_per_element: group.perElement,
    encodings: group.encodings.map(([name, keys]) => `${name} ${keys}`).join("; "),
    expiring: group.expiring,
    ttl_seconds_median: group.ttl?.[1] ?? null,
    idle_seconds_median: group.idle?.[1] ?? null,
    lzf_saves_bytes: saves("lzf"),
    cold_values: group.cold ? Number(group.cold.get("values")) : null,
    cold_saves_bytes: group.cold ? Number(group.cold.get("saves")) : null,
    cold_would_save_bytes: group.cold ? Number(group.cold.get("would-save") ?? 0) : null,
    zstd_saves_bytes: saves("zstd"),
  };
}

/** The address of the keys of a pattern. */
function keysOf(pattern) {
  return `#keys?${new URLSearchParams({ ...(state.db ? { db: state.db } : {}), match: toText(pattern) })}`;
}

export class AnatomyView {
  constructor(section) {
    this.section = section;
    this.form = el(
      "form",
      { class: "bar", onsubmit: (event) => this.start(event) },
      el("label", {}, "Keys that match ", el("input", { name: "pattern", placeholder: "*", autocomplete: "off", spellcheck: "false" })),
      el("label", {}, "Levels of the names ", el("input", { name: "depth", type: "number", min: 1, max: 16, value: 4 })),
      el("label", {}, "Sample of ", el("input", { name: "sample", type: "number", min: 1, placeholder: "all keys" })),
      (this.go = el("button", { class: "primary" }, "Analyze")),
      (this.stop = el("button", { type: "button", hidden: true, onclick: () => this.end() }, "Stop")),
    );
    this.progress = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "Progress of the analysis" });
    this.notice = el("p", { class: "notice", role: "status" }, "Groups all keys by the patterns of their names, and shows the memory of each group.");
    this.path = el("nav", { class: "path", "aria-label": "Position in the treemap" });
    this.picture = svg("svg", { class: "treemap", role: "group", "aria-label": "Memory by pattern" });
    this.list = el("div", { class: "scroll", tabindex: 0, "aria-label": "Patterns" });
    this.largest = el("div", { class: "block" });
    this.filter = el("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    this.filter.addEventListener("input", () => this.tabulate());
    const tools = el(
      "div",
      { class: "bar" },
      el("label", {}, "Find in the table ", this.filter),
      el("button", { type: "button", onclick: () => this.export("csv") }, "Export CSV"),
      el("button", { type: "button", onclick: () => this.export("json") }, "Export JSON"),
    );
    this.saving = el("p", { class: "notice" });
    this.cold = el("p", { class: "notice" });
    this.body = el("div", { hidden: true }, el("div", { class: "pictures" }, el("div", {}, this.path, this.picture), this.largest), this.saving, this.cold, tools, this.list);
    this.sorted = { order: "bytes", descending: true };
    new ResizeObserver(() => this.zoomed && this.draw(this.node, this.zoomed)).observe(this.path);
    replace(section, this.form, this.progress, this.notice, this.body);
  }

  busy(is) {
    this.go.disabled = is;
    this.stop.hidden = !is;
    this.progress.hidden = !is;
  }

  start(event) {
    event.preventDefault();
    const { pattern, depth, sample } = Object.fromEntries(new FormData(this.form));
    const body = { db: state.db, depth: Number(depth) };
    if (pattern !== "") body.pattern = pattern;
    if (sample !== "") body.sample = Number(sample);
    this.follow(body);
  }

  async end() {
    this.turn = null;
    await ask("anatomy/end").catch(() => {});
    this.notice.textContent = "The analysis was stopped.";
    this.busy(false);
  }

  /** Has the server look at the keys, and shows the result. Returns false if there is nothing to show. */
  async follow(body) {
    const turn = {};
    this.turn = turn;
    const progress = ({ looked, total }) => {
      if (turn !== this.turn) return;
      this.busy(true);
      this.progress.value = total > 0 ? looked / total : 0;
      this.notice.textContent = `${count(looked)} of ${count(total)} keys`;
    };
    let answer = { state: "none" };
    try {
      if (body) progress({ looked: 0, total: 0 });
      answer = await anatomy(body, progress);
      if (turn === this.turn && answer.state === "done") this.show(answer.result);
    } catch (error) {
      this.notice.textContent = error.message;
    }
    if (turn === this.turn) this.busy(false);
    return answer.state === "done";
  }

  show(result) {
    const error = errorOf(result);
    if (error || !result) {
      this.notice.textContent = show(error ?? "The analysis was stopped.");
      return;
    }
    const all = mapOf(result);
    const looked = all.get("keys-looked-at");
    const part = looked < all.get("keys") ? `, estimated from a sample of ${count(looked)}` : "";
    this.groups = groupsOf(result);
    this.notice.textContent = `${count(all.get("keys-matched"))} keys, ${bytes(all.get("bytes"))}, ${count(this.groups.length)} patterns${part}`;
    const saved = (codec) => this.groups.reduce((sum, group) => sum + Number(group.compression?.get(`${codec}-saves`) ?? 0), 0);
    this.saving.textContent = saved("zstd") > 0 ? `Compressing all blocks of lists would save ${bytes(saved("lzf"))} with LZF or ${bytes(saved("zstd"))} with zstd (list-compress-depth, list-compress-codec).` : "";
    const wouldSave = this.groups.reduce((sum, group) => sum + Number(group.cold?.get("would-save") ?? 0), 0);
    this.cold.textContent = wouldSave > 0 ? `Compressing values that are not used would save up to ${bytes(wouldSave)} (compress-idle-time).` : "";
    this.showLargest(all.get("largest-keys") ?? []);
    this.root = treeOf(this.groups);
    this.body.hidden = false;
    this.zoom([this.root]);
  }

  showLargest(keys) {
    const rows = keys.map(mapOf).map((key) => {
      const name = key.get("key");
      const place = new URLSearchParams({ ...(state.db ? { db: state.db } : {}), key: toText(name) });
      return [el("a", { href: `#keys?${place}` }, nameOf(name)), show(key.get("type")), bytes(key.get("bytes"))];
    });
    replace(this.largest, el("h2", {}, "Largest keys"), el("div", { class: "scroll", tabindex: 0 }, table([["key"], ["type"], ["size", true]], rows, { id: "largest" })));
  }

  /** Shows the last node of a path of nodes. */
  zoom(path) {
    const node = path[path.length - 1];
    this.zoomed = path;
    const crumb = (one, at) =>
      el("button", { type: "button", onclick: () => this.zoom(path.slice(0, at + 1)) }, at === 0 ? "all keys" : one.path);
    const hadFocus = this.picture.contains(document.activeElement);
    replace(this.path, ...path.map(crumb));
    if (hadFocus) this.path.lastElementChild.focus();
    this.node = node;
    this.draw(node, path);
    this.tabulate();
  }

  draw(node, path) {
    const children = node.children.length > 0 ? node.children : [node];
    const width = Math.max(200, this.picture.clientWidth);
    const height = Math.round(Math.min(560, Math.max(280, width * 0.4)));
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.picture.setAttribute("height", height);
    const boxes = squarify(children.filter((child) => child.value > 0), 0, 0, width, height);
    replace(this.picture, ...boxes.filter((box) => box.w > SIDE_MIN && box.h > SIDE_MIN).map((box, at) => this.box(box, at, node, path)));
  }

  box({ item, x, y, w, h }, at, node, path) {
    const label = `${item.path}: ${bytes(item.value)}, ${count(item.keys)} keys, ${percent(item.value, node.value)}`;
    const opens = item.children.length > 0 && item !== node;
    const open = () => opens && this.zoom([...path, item]);
    const group = svg(
      "g",
      {
        class: opens ? "box opens" : "box",
        tabindex: opens ? 0 : null,
        role: opens ? "button" : "img",
        "aria-label": label,
        "data-pattern": item.path,
        "data-bytes": item.value,
        onclick: open,
        onkeydown: (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          open();
        },
      },
      svg("title", {}, label),
      svg("rect", { x, y, width: w, height: h, class: `colour${at % COLOURS}` }),
    );
    if (opens && h > 2 * HEAD && w > 2 * HEAD) {
      const inner = squarify(item.children.filter((child) => child.value > 0), x + 3, y + HEAD, w - 6, h - HEAD - 3);
      for (const box of inner.filter((one) => one.w > SIDE_MIN && one.h > SIDE_MIN)) {
        group.append(svg("rect", { x: box.x, y: box.y, width: box.w, height: box.h, class: "inner" }));
        group.append(...this.label(box, box.item.name, 12));
      }
    }
    group.append(...this.label({ x, y, w, h: Math.min(h, opens ? HEAD : h) }, `${item.name} ${bytes(item.value)}`, 14));
    return group;
  }

  /** A text in a rectangle, cut to its width; none if there is no room. */
  label({ x, y, w, h }, text, size) {
    const fits = Math.floor((w - 8) / (size * 0.58));
    if (fits < 3 || h < size + 2) return [];
    const cut = text.length > fits ? `${text.slice(0, fits - 1)}…` : text;
    return [svg("text", { x: x + 4, y: y + size + 1, "font-size": size }, cut)];
  }

  /** The groups of the part of the picture that is shown, filtered and sorted. */
  chosen() {
    const text = this.filter.value.toLowerCase();
    const column = COLUMNS.find(({ order }) => order === this.sorted.order);
    const sign = this.sorted.descending ? -1 : 1;
    const compare = (a, b) => {
      const [x, y] = [column.of(a), column.of(b)];
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    };
    return this.groups.filter(({ pattern }) => pattern.startsWith(this.node.path) && pattern.toLowerCase().includes(text)).sort(compare);
  }

  tabulate() {
    const groups = this.chosen();
    const all = this.root.value;
    const quartiles = (three) => (three ? el("span", { title: `quartiles: ${three.map(seconds).join(", ")}` }, seconds(three[1])) : "");
    const row = (group) => [
      el("a", { href: keysOf(group.raw) }, nameOf(group.raw)),
      count(group.keys),
      bytes(group.bytes),
      percent(group.bytes, all),
      bytes(group.perKey),
      group.perElement === null ? "" : bytes(group.perElement),
      group.encodings.map(([name, keys]) => (group.encodings.length > 1 ? `${name} ${count(keys)}` : name)).join(", "),
      percent(group.expiring ?? 0, 1),
      quartiles(group.ttl),
      quartiles(group.idle),
      group.compression ? el("span", { title: `LZF: ${bytes(group.compression.get("lzf-saves"))}` }, bytes(group.compression.get("zstd-saves"))) : "",
      group.cold?.get("values") > 0 ? el("span", { title: `${count(group.cold.get("values"))} values are compressed` }, bytes(group.cold.get("saves"))) : "",
      group.cold?.get("would-save") > 0 ? bytes(group.cold.get("would-save")) : "",
    ];
    const onSort = (sorted) => {
      this.sorted = sorted;
      this.tabulate();
    };
    const grid = table(COLUMNS.map(({ text, number }) => [text, number]), groups.slice(0, ROWS_MAX).map(row), { id: "patterns" });
    grid.tHead.replaceWith(sortHeads(COLUMNS, this.sorted, onSort));
    const more = groups.length > ROWS_MAX ? el("p", {}, `and ${count(groups.length - ROWS_MAX)} more`) : null;
    replace(this.list, grid, more);
  }

  export(kind) {
    const rows = this.chosen().map(plain);
    const name = `larder-memory-db${state.db}.${kind}`;
    if (kind === "json") save(name, "application/json", JSON.stringify(rows, null, 2));
    else save(name, "text/csv", csv([Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))]));
  }

  /** The first time, shows the last analysis of this login, or begins one with a sample. */
  async enter() {
    if (this.entered) return;
    this.entered = true;
    const isShown = await this.follow(null);
    if (!isShown && this.turn) await this.follow({ db: state.db, depth: 4, sample: FIRST_SAMPLE });
  }

  leave() {}
}
