// Listening: the commands that the server executes, and the messages of channels. The server keeps the last lines; the page asks for new ones.

import { ask, call, errorOf, every, run, state } from "/api.js";
import { count, el, nameOf, replace, show, table } from "/dom.js";

const PERIOD_MS = 500;
const LINES_MAX = 1000;

/** A feed of the server: what is shown of it, and how it is started and ended. */
class FeedView {
  constructor(feed, start, line) {
    Object.assign(this, { feed, line, from: 0, lines: 0, end: null });
    this.filter = el("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    this.filter.addEventListener("input", () => this.refilter());
    this.go = el("button", { type: "button", class: "primary", onclick: () => this.start(start()) }, "Start");
    this.stop = el("button", { type: "button", hidden: true, onclick: () => this.finish() }, "Stop");
    this.notice = el("span", { class: "notice", role: "status" });
    this.counts = el("div", { class: "halves" });
    this.output = el("div", { class: "scroll feed", role: "log", "aria-live": "off", tabindex: 0 });
  }

  bar(...before) {
    return el("div", { class: "bar" }, ...before, this.go, this.stop, el("label", {}, "Filter ", this.filter), this.notice);
  }

  async start(body) {
    this.end?.();
    this.from = this.lines = 0;
    replace(this.output);
    replace(this.counts);
    try {
      this.take(await ask("feed/start", { feed: this.feed, db: state.db, ...body }));
    } catch (error) {
      this.notice.textContent = error.message;
    }
  }

  take(answer) {
    const error = errorOf(answer);
    if (error !== null || answer.state === "off") {
      if (error !== null) this.notice.textContent = show(error);
      else if (this.end) this.notice.textContent = `${count(this.lines)} lines; it has ended`;
      this.halt();
      return;
    }
    if (!this.end) {
      this.go.hidden = true;
      this.stop.hidden = false;
      this.end = every(PERIOD_MS, () => true, async () => this.take(await ask("feed/read", { feed: this.feed, from: this.from })));
    }
    // Two answers may be under way: lines that are shown already are not shown again.
    const isNew = Math.max(0, answer.next - this.from);
    this.from = Math.max(this.from, answer.next);
    const lines = isNew === 0 ? [] : answer.lines.slice(-isNew);
    this.lines += lines.length;
    this.missed = answer.missed;
    this.output.prepend(...lines.reverse().map((line) => this.row(line)));
    while (this.output.childElementCount > LINES_MAX) this.output.lastElementChild.remove();
    const missed = answer.missed > 0 ? `, ${count(answer.missed)} missed` : "";
    this.notice.textContent = `${count(this.lines)} lines${missed}; ends in ${answer.left} s`;
    this.showCounts?.(answer);
  }

  row(line) {
    const row = this.line(line);
    row.hidden = !this.fits(row);
    return row;
  }

  fits(row) {
    return row.textContent.toLowerCase().includes(this.filter.value.toLowerCase());
  }

  refilter() {
    for (const row of this.output.children) row.hidden = !this.fits(row);
  }

  halt() {
    this.end?.();
    this.end = null;
    this.go.hidden = false;
    this.stop.hidden = true;
  }

  async finish() {
    this.halt();
    await ask("feed/end", { feed: this.feed }).catch(() => {});
    this.notice.textContent = `${count(this.lines)} lines`;
  }
}

function names(text) {
  return text.split(/[\s,]+/).filter((name) => name !== "");
}

export class ChannelsView {
  constructor(section) {
    this.profile = new FeedView("commands", () => ({}), (line) => el("pre", {}, show(line).replace(/\\\\/g, "\\")));
    this.profile.showCounts = (answer) => this.showCounts(answer);
    this.channels = el("input", { placeholder: "news, chat:*", size: 24, autocomplete: "off", spellcheck: "false" });
    this.messages = new FeedView("channels", () => this.subscription(), (line) => this.message(line));
    this.known = el("p", { class: "notice" });
    this.channel = el("input", { size: 14, autocomplete: "off", required: true });
    this.text = el("input", { size: 24, autocomplete: "off" });
    const publish = el(
      "form",
      { class: "bar", onsubmit: (event) => this.publish(event) },
      el("label", {}, "Channel ", this.channel),
      el("label", {}, "Message ", this.text),
      el("button", {}, "Publish"),
    );
    replace(
      section,
      el(
        "div",
        { class: "halves" },
        el(
          "div",
          { class: "block", id: "profiler" },
          el("h2", {}, "Commands"),
          el("p", { class: "notice" }, "Shows every command that clients send, for at most a minute. The server does extra work for each command while this runs."),
          this.profile.bar(),
          this.profile.counts,
          this.profile.output,
        ),
        el(
          "div",
          { class: "block", id: "messages" },
          el("h2", {}, "Messages"),
          el("p", { class: "notice" }, "Subscribes to channels; names with * or ? are patterns."),
          this.messages.bar(el("label", {}, "Channels ", this.channels)),
          this.known,
          state.writable ? publish : null,
          this.messages.output,
        ),
      ),
    );
  }

  enter() {
    this.end = every(5000, () => !document.hidden, () => this.lookAtChannels());
  }

  leave() {
    this.end?.();
    if (this.profile.end) this.profile.finish();
    if (this.messages.end) this.messages.finish();
  }

  async lookAtChannels() {
    const [channels] = await run(["PUBSUB", "CHANNELS"]);
    if (errorOf(channels) !== null) return;
    const shown = channels.slice(0, 20);
    const button = (channel) => el("button", { type: "button", class: "link", onclick: () => (this.channels.value = typeof channel === "string" ? channel : "") }, nameOf(channel));
    const more = channels.length > shown.length ? ` and ${count(channels.length - shown.length)} more` : "";
    replace(this.known, shown.length > 0 ? "Channels with subscribers: " : "No channel has subscribers.", ...shown.flatMap((channel) => [button(channel), " "]), more);
  }

  subscription() {
    const all = names(this.channels.value || "*");
    const isPattern = (name) => /[*?[]/.test(name);
    return { channels: all.filter((name) => !isPattern(name)), patterns: all.filter(isPattern) };
  }

  message({ at, channel, payload, bytes }) {
    const cut = bytes > show(payload).length * 2 ? ` … (${count(bytes)} bytes)` : "";
    return el("pre", {}, `${new Date(at).toLocaleTimeString("en-GB")} ${nameOf(channel)}: ${show(payload)}${cut}`);
  }

  async publish(event) {
    event.preventDefault();
    try {
      const receivers = await call("PUBLISH", this.channel.value, this.text.value);
      this.messages.notice.textContent = `${count(receivers)} receivers`;
    } catch (error) {
      this.messages.notice.textContent = show(error.message);
    }
  }

  showCounts({ commands, keys }) {
    const top = (title, list, id) => el("div", {}, table([[title], ["times", true]], list.slice(0, 8).map(([name, times]) => [nameOf(name).slice(0, 80), count(times)]), { id }));
    if (commands.length > 0) replace(this.profile.counts, top("command", commands, "top-commands"), top("key", keys, "top-keys"));
  }
}
