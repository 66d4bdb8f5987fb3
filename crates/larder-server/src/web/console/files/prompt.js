// A line for commands, with their replies below.

import { run, state } from "/api.js";
import { el, replace, show } from "/dom.js";

const LINES_MAX = 2000;
const ENTRIES_MAX = 50;

/** Bytes as an argument: a text, or hexadecimal digits if it is none. */
function argument(codes) {
  const array = Uint8Array.from(codes);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(array);
  } catch {
    return { hex: [...array].map((code) => code.toString(16).padStart(2, "0")).join("") };
  }
}

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
    if (quote !== null) throw new Error("A quote has no end.");
    args.push(argument(codes));
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

export class PromptView {
  constructor(section) {
    this.history = [];
    this.place = 0;
    this.line = el("input", { name: "line", autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-label": "command", onkeydown: (event) => this.key(event) });
    this.form = el("form", { class: "prompt", onsubmit: (event) => this.run(event) }, el("span", {}, ">"), this.line, el("button", {}, "Run"));
    this.output = el("div", { id: "output", role: "log" });
    this.rules = el("p", { class: "notice" });
    replace(section, this.rules, this.form, this.output);
  }

  enter() {
    this.rules.textContent = state.writable
      ? "Commands may change data: they run with the rights of the user."
      : "Commands that change nothing, with the rights of the user. Others need console-writable.";
    this.line.focus();
  }

  leave() {}

  key(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.place = Math.min(this.history.length, Math.max(0, this.place + step));
    this.line.value = this.history[this.place] ?? "";
  }

  async run(event) {
    event.preventDefault();
    const text = this.line.value.trim();
    if (text === "") return;
    this.history.push(text);
    this.place = this.history.length;
    this.line.value = "";
    let lines;
    let failed = false;
    try {
      const [reply] = await run(split(text));
      lines = linesOf(reply);
      failed = reply !== null && typeof reply === "object" && "error" in reply;
    } catch (error) {
      lines = [error.message];
      failed = true;
    }
    const shown = lines.length > LINES_MAX ? [...lines.slice(0, LINES_MAX), `... ${lines.length - LINES_MAX} more lines`] : lines;
    this.output.prepend(el("div", { class: "entry" }, el("pre", { class: "command" }, `> ${show(text)}`), el("pre", { class: failed ? "error" : "" }, shown.join("\n"))));
    while (this.output.childElementCount > ENTRIES_MAX) this.output.lastElementChild.remove();
  }
}
