// Where the memory is: a treemap of the groups of keys, and a table beside it.

import { ask, errorOf, mapOf, state } from "/api.js";
import { bytes, count, el, percent, replace, seconds, show, svg, table } from "/dom.js";
import { squarify } from "/treemap.js";

const SEPARATORS = [":", "/", "|", ".", "-", "_"];
const WIDTH = 1000;
const HEIGHT = 620;
const HEAD = 28;
// What is smaller is not drawn, but stands in the table.
const SIDE_MIN = 3;
const COLOURS = 8;
const ROWS_MAX = 500;
const LOOK_MS = 400;

/** The parts of a pattern, each with its separator. */
function partsOf(pattern) {
  const separator = SEPARATORS.find((one) => pattern.includes(one));
  if (!separator) return [pattern];
  const parts = pattern.split(separator);
  return parts.map((part, at) => (at < parts.length - 1 ? part + separator : part)).filter((part) => part !== "");
}

/** A tree of the groups by the parts of their patterns; a part with one part in it is one with that. */
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
      };
    });
}

export class AnatomyView {
  constructor(section, onKeys) {
    this.section = section;
    this.onKeys = onKeys;
    this.form = el(
      "form",
      { class: "bar", onsubmit: (event) => this.start(event) },
      el("label", {}, "keys that match ", el("input", { name: "pattern", placeholder: "*" })),
      el("label", {}, "parts of a name ", el("input", { name: "depth", type: "number", min: 1, max: 16, value: 4 })),
      el("label", {}, "sample of ", el("input", { name: "sample", type: "number", min: 1, placeholder: "all keys" })),
      (this.go = el("button", {}, "Look")),
      (this.stop = el("button", { type: "button", hidden: true, onclick: () => this.end() }, "Stop")),
    );
    this.progress = el("progress", { max: 1, value: 0, hidden: true });
    this.notice = el("p", { class: "notice", role: "status" }, "Groups all keys by the patterns of their names, and shows what each group takes.");
    this.path = el("nav", { class: "path", "aria-label": "place in the picture" });
    this.picture = svg("svg", { class: "treemap", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "memory by pattern" });
    this.list = el("div", { class: "scroll" });
    this.body = el("div", { class: "halves", hidden: true }, el("div", {}, this.path, this.picture), this.list);
    replace(section, this.form, this.progress, this.notice, this.body);
  }

  busy(is) {
    this.go.disabled = is;
    this.stop.hidden = !is;
    this.progress.hidden = !is;
  }

  async start(event) {
    event.preventDefault();
    const { pattern, depth, sample } = Object.fromEntries(new FormData(this.form));
    const body = { db: state.db, depth: Number(depth) };
    if (pattern !== "") body.pattern = pattern;
    if (sample !== "") body.sample = Number(sample);
    this.progress.value = 0;
    this.busy(true);
    this.follow(() => ask("anatomy/start", body));
  }

  async end() {
    await ask("anatomy/end").catch(() => {});
    this.busy(false);
  }

  /** Asks, and again until there is a result. */
  async follow(first) {
    try {
      let answer = await first();
      while (answer.state === "running") {
        this.busy(true);
        if (answer.total > 0) this.progress.value = answer.looked / answer.total;
        this.notice.textContent = `${count(answer.looked)} of ${count(answer.total)} keys`;
        await new Promise((done) => setTimeout(done, LOOK_MS));
        answer = await ask("anatomy/look");
      }
      if (answer.state === "done") this.show(answer.result);
    } catch (error) {
      this.notice.textContent = error.message;
    }
    this.busy(false);
  }

  show(result) {
    const error = errorOf(result);
    if (error || !result) {
      this.notice.textContent = show(error ?? "The walk was ended.");
      return;
    }
    const all = mapOf(result);
    const looked = all.get("keys-looked-at");
    const part = looked < all.get("keys") ? `, estimated from ${count(looked)}` : "";
    this.groups = groupsOf(result);
    this.notice.textContent = `${count(all.get("keys-matched"))} keys, ${bytes(all.get("bytes"))}, ${count(this.groups.length)} patterns${part}`;
    this.root = treeOf(this.groups);
    this.body.hidden = false;
    this.zoom([this.root]);
  }

  /** Shows the last node of a path of nodes. */
  zoom(path) {
    const node = path[path.length - 1];
    const crumb = (one, at) =>
      el("button", { type: "button", onclick: () => this.zoom(path.slice(0, at + 1)) }, at === 0 ? "all keys" : one.path);
    replace(this.path, ...path.map(crumb));
    this.draw(node, path);
    this.tabulate(node);
  }

  draw(node, path) {
    const children = node.children.length > 0 ? node.children : [node];
    const boxes = squarify(children.filter((child) => child.value > 0), 0, 0, WIDTH, HEIGHT);
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
        onkeydown: (event) => (event.key === "Enter" || event.key === " ") && open(),
      },
      svg("title", {}, label),
      svg("rect", { x, y, width: w, height: h, class: `colour${at % COLOURS}` }),
    );
    if (opens && h > 2 * HEAD && w > 2 * HEAD) {
      const inner = squarify(item.children.filter((child) => child.value > 0), x + 3, y + HEAD, w - 6, h - HEAD - 3);
      for (const box of inner.filter((one) => one.w > SIDE_MIN && one.h > SIDE_MIN)) {
        group.append(svg("rect", { x: box.x, y: box.y, width: box.w, height: box.h, class: "inner" }));
        group.append(...this.label(box, box.item.name, 14));
      }
    }
    group.append(...this.label({ x, y, w, h: Math.min(h, opens ? HEAD : h) }, `${item.name} ${bytes(item.value)}`, 18));
    return group;
  }

  /** A text in a rectangle, cut to its width; none if there is no room. */
  label({ x, y, w, h }, text, size) {
    const fits = Math.floor((w - 8) / (size * 0.58));
    if (fits < 3 || h < size + 2) return [];
    const cut = text.length > fits ? `${text.slice(0, fits - 1)}…` : text;
    return [svg("text", { x: x + 4, y: y + size + 1, "font-size": size }, cut)];
  }

  tabulate(node) {
    const groups = this.groups.filter((group) => group.pattern.startsWith(node.path));
    const heads = [["pattern"], ["keys", true], ["bytes", true], ["share", true], ["a key", true], ["an element", true], ["encodings"], ["expire", true], ["time to live", true], ["idle", true], ["zstd saves", true]];
    const all = this.root.value;
    const quartiles = (three) => (three ? el("span", { title: `quartiles: ${three.map(seconds).join(", ")}` }, seconds(three[1])) : "");
    const rows = groups.slice(0, ROWS_MAX).map((group) => [
      el("button", { type: "button", class: "link", onclick: () => this.onKeys(group.raw) }, group.pattern),
      count(group.keys),
      bytes(group.bytes),
      percent(group.bytes, all),
      bytes(group.perKey),
      group.perElement === null ? "" : `${count(group.perElement)} B`,
      group.encodings.map(([name, keys]) => (group.encodings.length > 1 ? `${name} ${count(keys)}` : name)).join(", "),
      percent(group.expiring ?? 0, 1),
      quartiles(group.ttl),
      quartiles(group.idle),
      group.compression ? el("span", { title: `LZF: ${bytes(group.compression.get("lzf-saves"))}` }, bytes(group.compression.get("zstd-saves"))) : "",
    ]);
    const more = groups.length > ROWS_MAX ? el("p", {}, `and ${count(groups.length - ROWS_MAX)} more`) : null;
    replace(this.list, table(heads, rows, { id: "patterns" }), ...(more ? [more] : []));
  }

  /** The first time, shows what was asked for before the page was loaded again. */
  enter() {
    if (this.entered) return;
    this.entered = true;
    this.follow(() => ask("anatomy/look"));
  }

  leave() {}
}
