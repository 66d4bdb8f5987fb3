// A line for commands: completion and help from the server's table of commands, a history, and replies as text, as a table or as JSON.

import { anatomy, ask, errorOf, mapOf, run, state } from "/api.js";
import { count, el, replace, show, valueOf } from "/dom.js";

const LINES_MAX = 2000;
const ENTRIES_MAX = 50;
const HISTORY_MAX = 200;
const SUGGESTIONS_MAX = 10;
const ROWS_MAX = 1000;

/** The arguments of a line, quoted as for redis-cli; throws if a quote has no end. */
export function split(line) {
  const escapes = { n: 10, r: 13, t: 9, b: 8, a: 7 };
  const source = [...line];
  const args = [];
  let at = 0;
  while (at < source.length) {
    while (/\s/.test(source[at] ?? "")) at += 1;
    if (at >= source.length) break;
    const codes = [];
    const put = (text) => codes.push(...new TextEncoder().encode(text));
    let quote = null;
    for (; at < source.length && (quote !== null || !/\s/.test(source[at])); at += 1) {
      const c = source[at];
      if (quote === null && (c === '"' || c === "'")) quote = c;
      else if (c === quote) quote = null;
      else if (c === "\\" && quote === '"' && /^x[0-9a-fA-F]{2}$/.test(source.slice(at + 1, at + 4).join(""))) {
        codes.push(parseInt(source.slice(at + 2, at + 4).join(""), 16));
        at += 3;
      } else if (c === "\\" && quote !== null && at + 1 < source.length) {
        at += 1;
        if (quote === '"' && source[at] in escapes) codes.push(escapes[source[at]]);
        else put(source[at]);
      } else put(c);
    }
    if (quote !== null) throw new Error("A quote is not closed.");
    args.push(valueOf(Uint8Array.from(codes)));
  }
  return args;
}

/** A reply in lines, as redis-cli shows them. */
export function linesOf(reply, indent = "") {
  if (reply === null) return [`${indent}(nil)`];
  if (reply === true || reply === false) return [`${indent}(${reply})`];
  if (typeof reply === "number") return [`${indent}(number) ${reply}`];
  if (typeof reply === "string" && reply.includes("\n")) return reply.split(/\r?\n/).map((line) => indent + show(line));
  if (typeof reply === "string") return [`${indent}"${show(reply)}"`];
  if (Array.isArray(reply)) {
    if (reply.length === 0) return [`${indent}(empty)`];
    return reply.flatMap((one, at) => numbered(linesOf(one, ""), `${at + 1}) `, indent));
  }
  if ("map" in reply) {
    if (reply.map.length === 0) return [`${indent}(empty)`];
    return reply.map.flatMap(([key, value]) => numbered(linesOf(value, ""), `${linesOf(key)[0]} => `, indent));
  }
  if ("error" in reply) return [`${indent}(error) ${show(reply.error)}`];
  return [`${indent}${"hex" in reply ? `"${show(reply)}"` : `(number) ${show(reply)}`}`];
}

function numbered(lines, head, indent) {
  if (lines.length === 1) return [indent + head + lines[0]];
  return [indent + head.trimEnd(), ...lines.map((line) => `${indent}  ${line}`)];
}

/** The syntax of arguments, from COMMAND DOCS. */
function syntaxOf(args) {
  return (args ?? []).map((reply) => {
    const arg = mapOf(reply);
    const flags = arg.get("flags") ?? [];
    const inner = { oneof: " | ", block: " " }[arg.get("type")];
    let text = inner ? arg.get("arguments").map((one) => syntaxOf([one])).join(inner) : (arg.get("display_text") ?? arg.get("name"));
    if (arg.get("type") === "pure-token") text = arg.get("token");
    else if (arg.has("token")) text = `${arg.get("token")} ${text}`;
    if (flags.includes("multiple")) text += ` [${text} ...]`;
    if (flags.includes("optional")) return `[${text}]`;
    return inner && arg.get("type") === "oneof" ? `<${text}>` : text;
  }).join(" ");
}

/** All commands by their full names, with what is known of them. */
export function commandsOf(docs) {
  const all = new Map();
  const add = (name, reply) => {
    const doc = mapOf(reply);
    const subcommands = doc.get("subcommands")?.map ?? [];
    const full = name.replace("|", " ").toUpperCase();
    const syntax = syntaxOf(doc.get("arguments"));
    all.set(full, { name: full, syntax, summary: doc.get("summary") ?? "", group: doc.get("group") ?? "", complexity: doc.get("complexity") ?? "", isContainer: subcommands.length > 0 });
    subcommands.forEach(([sub, docs]) => add(sub, docs));
  };
  docs.map.forEach(([name, reply]) => add(name, reply));
  return all;
}

/** A reply as a table, or null if it is none: a map, a list of lists of the same length, or a list of scalars. */
export function gridOf(reply) {
  const isScalar = (value) => value === null || typeof value !== "object" || "hex" in value || "int" in value || "double" in value;
  const text = (value) => (value === null ? "(nil)" : isScalar(value) ? show(value) : linesOf(value).join("\n"));
  if (reply === null || typeof reply !== "object") return null;
  if ("map" in reply) return { heads: ["key", "value"], rows: reply.map.map((pair) => pair.map(text)) };
  if (!Array.isArray(reply) || reply.length === 0) return null;
  if (reply.every((one) => one !== null && typeof one === "object" && "map" in one)) {
    const heads = [...new Set(reply.flatMap(({ map }) => map.map(([name]) => show(name))))];
    return { heads, rows: reply.map((one) => { const map = new Map(one.map.map(([name, value]) => [show(name), value])); return heads.map((name) => text(map.get(name) ?? null)); }) };
  }
  if (reply.every((one) => Array.isArray(one) && one.length === reply[0].length)) return { heads: reply[0].map((_, at) => String(at + 1)), rows: reply.map((row) => row.map(text)) };
  return { heads: ["#", "value"], rows: reply.map((value, at) => [String(at + 1), text(value)]) };
}

export class PromptView {
  constructor(section) {
    this.history = [];
    this.place = 0;
    this.commands = null;
    this.chosen = -1;
    this.line = el("input", {
      name: "line", autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-label": "Command", role: "combobox", "aria-expanded": "false", "aria-controls": "suggestions", "aria-autocomplete": "list",
      onkeydown: (event) => this.key(event), oninput: () => this.suggest(), onblur: () => this.hide(),
    });
    this.suggestions = el("ul", { id: "suggestions", role: "listbox", "aria-label": "Commands", hidden: true });
    this.form = el("form", { class: "prompt", onsubmit: (event) => this.run(event) }, el("span", { "aria-hidden": "true" }, ">"), el("div", { class: "combo" }, this.line, this.suggestions), el("button", { class: "primary" }, "Run"));
    this.help = el("div", { class: "help", role: "note" });
    this.format = el("select", {}, ...[["text", "text"], ["table", "table"], ["json", "JSON"]].map(([value, text]) => el("option", { value }, text)));
    this.format.addEventListener("change", () => this.redraw());
    this.stop = el("button", { type: "button", hidden: true, onclick: () => ask("anatomy/end").catch(() => {}) }, "Stop");
    this.output = el("div", { id: "output", role: "log" });
    this.rules = el("p", { class: "notice" });
    const clear = el("button", { type: "button", onclick: () => replace(this.output) }, "Clear");
    replace(section, this.rules, this.form, this.help, el("div", { class: "bar" }, el("label", {}, "Replies as ", this.format), clear, this.stop), this.output);
  }

  enter() {
    this.rules.textContent = state.writable
      ? "Commands run with your rights and may change data. Up and Down go through the history, Tab completes."
      : "Commands run with your rights and may only read: set console-writable to allow changes. Up and Down go through the history, Tab completes.";
    this.line.focus();
    if (this.commands === null) this.loadCommands().catch(() => {});
  }

  leave() {}

  async loadCommands() {
    this.commands = new Map();
    const [docs] = await run(["COMMAND", "DOCS"]);
    if (errorOf(docs) === null) this.commands = commandsOf(docs);
    this.suggest();
  }

  /** The command that a line begins with. */
  commandOf(line) {
    const words = line.trim().toUpperCase().split(/\s+/);
    return this.commands?.get(words.slice(0, 2).join(" ")) ?? this.commands?.get(words[0]) ?? null;
  }

  suggest() {
    const text = this.line.value.trimStart().toUpperCase().replace(/\s+/g, " ");
    const isName = text !== "" && !/ .* /.test(text);
    const found = isName && this.commands ? [...this.commands.values()].filter(({ name }) => name.startsWith(text) && name !== text) : [];
    this.found = found.slice(0, SUGGESTIONS_MAX);
    this.chosen = -1;
    const item = (command, at) =>
      el("li", { role: "option", id: `suggestion${at}`, "aria-selected": "false", onpointerdown: (event) => this.accept(event, command) }, el("b", {}, command.name), el("span", { class: "soft" }, ` ${command.summary}`));
    replace(this.suggestions, ...this.found.map(item));
    this.suggestions.hidden = this.found.length === 0;
    this.line.setAttribute("aria-expanded", String(this.found.length > 0));
    this.line.removeAttribute("aria-activedescendant");
    this.explain();
  }

  explain() {
    const command = this.found?.[this.chosen] ?? this.commandOf(this.line.value);
    if (!command) {
      replace(this.help);
      return;
    }
    replace(this.help, el("code", {}, `${command.name} ${command.syntax}`), el("p", {}, `${command.summary} (${command.group}${command.complexity ? `, ${command.complexity}` : ""})`));
  }

  hide() {
    this.suggestions.hidden = true;
    this.line.setAttribute("aria-expanded", "false");
  }

  choose(at) {
    this.chosen = at;
    [...this.suggestions.children].forEach((item, n) => item.setAttribute("aria-selected", String(n === at)));
    if (at >= 0) this.line.setAttribute("aria-activedescendant", `suggestion${at}`);
    this.explain();
  }

  accept(event, command) {
    event.preventDefault();
    this.line.value = `${command.name} `;
    this.suggest();
  }

  key(event) {
    const isOpen = !this.suggestions.hidden;
    if (event.key === "Tab" && isOpen && !event.shiftKey) {
      this.accept(event, this.found[Math.max(0, this.chosen)]);
      return;
    }
    if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      this.hide();
      return;
    }
    if (event.key === "Enter" && isOpen && this.chosen >= 0) {
      this.accept(event, this.found[this.chosen]);
      return;
    }
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const isOfHistory = this.line.value === (this.history[this.place] ?? "");
    if (isOpen && !isOfHistory) {
      this.choose(Math.min(this.found.length - 1, Math.max(-1, this.chosen + step)));
      return;
    }
    this.place = Math.min(this.history.length, Math.max(0, this.place + step));
    this.line.value = this.history[this.place] ?? "";
    this.hide();
    this.explain();
  }

  async run(event) {
    event.preventDefault();
    const text = this.line.value.trim();
    if (text === "") return;
    if (this.history[this.history.length - 1] !== text) this.history.push(text);
    this.history = this.history.slice(-HISTORY_MAX);
    this.place = this.history.length;
    this.line.value = "";
    this.hide();
    const begun = performance.now();
    let reply;
    try {
      reply = await this.execute(split(text));
    } catch (error) {
      reply = { error: error.message };
    }
    const entry = el("div", { class: "entry" }, el("pre", { class: "command" }, `> ${show(text).replaceAll("\\\\", "\\")}`), el("span", { class: "took" }, `${Math.round(performance.now() - begun)} ms`), el("div"));
    entry.reply = reply;
    this.draw(entry);
    this.output.prepend(entry);
    while (this.output.childElementCount > ENTRIES_MAX) this.output.lastElementChild.remove();
    this.explain();
  }

  /** The reply to a command. A walk for MEMORY ANATOMY takes long: the page asks until it is done. */
  async execute(args) {
    const words = args.slice(0, 2).map((word) => String(word).toUpperCase());
    if (words[0] !== "MEMORY" || words[1] !== "ANATOMY") return (await run(args))[0];
    this.stop.hidden = false;
    try {
      const progress = ({ looked, total }) => (this.rules.textContent = `MEMORY ANATOMY: ${count(looked)} of ${count(total)} keys`);
      const answer = await anatomy({ db: state.db, args: args.slice(2) }, progress);
      return answer.result ?? { error: "The analysis was stopped." };
    } finally {
      this.stop.hidden = true;
      this.enter();
    }
  }

  redraw() {
    for (const entry of this.output.children) this.draw(entry);
  }

  draw(entry) {
    const { reply } = entry;
    const form = this.format.value;
    const failed = reply !== null && typeof reply === "object" && "error" in reply;
    const grid = form === "table" && !failed ? gridOf(reply) : null;
    if (grid) {
      const more = grid.rows.length > ROWS_MAX ? el("p", {}, `${count(grid.rows.length - ROWS_MAX)} more rows`) : null;
      const cells = (tag, row) => el("tr", {}, ...row.map((text) => el(tag, {}, text)));
      replace(entry.lastElementChild, el("div", { class: "scroll" }, el("table", {}, el("thead", {}, cells("th", grid.heads)), el("tbody", {}, ...grid.rows.slice(0, ROWS_MAX).map((row) => cells("td", row))))), more);
      return;
    }
    const lines = form === "json" && !failed ? JSON.stringify(reply, null, 2).split("\n").map((line) => show(line).replaceAll("\\\\", "\\")) : linesOf(reply);
    const shown = lines.length > LINES_MAX ? [...lines.slice(0, LINES_MAX), `... ${lines.length - LINES_MAX} more lines`] : lines;
    replace(entry.lastElementChild, el("pre", { class: failed ? "error" : "" }, shown.join("\n")));
  }
}
