// What the server does, and what it has done in the last day.

import { ask, errorOf, every, infoOf, run, setPlace, state, toText } from "/api.js";
import { HeatMap, Lines } from "/charts.js";
import { bytes, count, el, nameOf, percent, replace, seconds, show, table } from "/dom.js";
import { sortedSearch } from "/search.js";
import { clusterPicture, fieldsOf, nodesOf, replicationPicture } from "/servers.js";

const PERIOD_MS = 2000;
// Latencies by powers of two: from 1 microsecond to 16.8 seconds.
const LATENCIES = 25;
const CLIENTS_MAX = 200;
const HOT_MAX = 20;
const RANGES = [[300, "5 minutes"], [900, "15 minutes"], [7200, "2 hours"], [86400, "24 hours"]];

function latencyName(row) {
  const us = 2 ** row;
  if (us < 1000) return `${us} µs`;
  return us < 1e6 ? `${Math.round(us / 1e3)} ms` : `${(us / 1e6).toFixed(1)} s`;
}

/** The points of an answer, with rates a second. */
export function pointsOf({ points, latencies }) {
  return points.at.map((at, n) => {
    const span = points.span[n];
    const rate = (name) => (points[name][n] * 1000) / span;
    const lookups = points.hits[n] + points.misses[n];
    const rows = Array.from({ length: LATENCIES }, (_, row) => latencies[n][row] ?? 0);
    return {
      at,
      span,
      rows,
      operations: rate("commands"),
      used: points.used[n],
      resident: points.resident[n],
      hits: lookups > 0 ? (100 * points.hits[n]) / lookups : null,
      clients: points.clients[n],
      keys: points.keys[n],
      in: rate("in"),
      out: rate("out"),
      cpu: (100 * points.cpu[n]) / span,
      expired: rate("expired"),
      evicted: rate("evicted"),
    };
  });
}

const ONE = (name) => [{ name, text: name }];
const SHARE = (share) => `${Math.round(share)} %`;
const RATE = (n) => `${bytes(n)}/s`;
const SHORT = (n) => (n >= 10_000 ? bytes(n).replace("B", "").replace("K", "k").trim() : count(Math.round(n * 10) / 10));

export class LiveView {
  constructor(section) {
    this.charts = [
      new Lines("Commands per second", SHORT, ONE("operations")),
      new HeatMap("Latency of commands", LATENCIES, latencyName),
      new Lines("Memory", bytes, [{ name: "used", text: "in use" }, { name: "resident", text: "resident" }]),
      new Lines("Hit rate", SHARE, ONE("hits"), 100),
      new Lines("Keys", SHORT, ONE("keys")),
      new Lines("Clients", SHORT, ONE("clients")),
      new Lines("Network", RATE, [{ name: "in", text: "in" }, { name: "out", text: "out" }]),
      new Lines("Processor time", SHARE, ONE("cpu")),
      new Lines("Keys removed per second", SHORT, [{ name: "expired", text: "expired" }, { name: "evicted", text: "evicted" }]),
    ];
    this.range = el("select", {}, ...RANGES.map(([length, text]) => el("option", { value: length }, text)));
    this.range.value = "900";
    this.range.addEventListener("change", () => this.reload());
    this.facts = el("dl", { class: "facts" });
    this.replication = el("div", { class: "scroll" });
    this.cluster = el("div", { class: "block", hidden: true });
    this.slow = el("div", { class: "scroll", tabindex: 0 });
    this.list = el("div", { class: "scroll", tabindex: 0 });
    this.hot = el("div", { class: "scroll", tabindex: 0 }, el("p", { class: "notice" }, "Finds the keys that are used most, or were used last. It looks at every key once."));
    this.notice = el("p", { class: "error", role: "status" });
    const block = (title, node, ...more) => el("div", { class: "block" }, el("h2", {}, title, ...more), node);
    const find = el("button", { type: "button", class: "small", onclick: () => this.findHot() }, "Find");
    replace(
      section,
      this.notice,
      el("div", { class: "bar" }, el("label", {}, "Show the last ", this.range)),
      this.facts,
      el("div", { class: "charts" }, ...this.charts.map((chart) => chart.node)),
      el("div", { class: "halves" }, block("Slow commands", this.slow), block("Clients", this.list)),
      el("div", { class: "halves" }, block("Hot keys ", this.hot, find), block("Replication", this.replication), this.cluster),
    );
    this.points = [];
  }

  enter() {
    this.end = every(PERIOD_MS, () => !document.hidden, () => this.look());
  }

  leave() {
    this.end?.();
    this.search?.cancel();
  }

  visit(parameters) {
    const range = parameters.get("range");
    if (range && range !== this.range.value && RANGES.some(([length]) => String(length) === range)) {
      this.range.value = range;
      this.reload();
    }
  }

  reload() {
    this.points = [];
    setPlace("live", { range: this.range.value === "900" ? "" : this.range.value });
    this.lookAtHistory().catch(() => {});
  }

  async look() {
    const faults = await Promise.all([this.lookAtHistory(), this.lookAtServer()]);
    this.notice.textContent = [...new Set(faults.flat())].join("; ");
  }

  async lookAtHistory() {
    const range = Number(this.range.value);
    const after = this.points.length > 0 ? this.points[this.points.length - 1].at : 0;
    const answer = await ask("history", { seconds: range, after });
    if (errorOf(answer) !== null) return [show(answer)];
    if (range !== Number(this.range.value)) return [];
    this.points.push(...pointsOf(answer));
    const last = this.points[this.points.length - 1]?.at ?? Date.now();
    const from = last - range * 1000;
    this.points = this.points.filter((point) => point.at > from);
    this.charts.forEach((chart) => chart.set(this.points, from, last));
    return [];
  }

  async lookAtServer() {
    const [info, slow, clients] = await run(["INFO", "everything"], ["SLOWLOG", "GET", "20"], ["CLIENT", "LIST"]);
    if (errorOf(info) === null) this.showInfo(infoOf(info));
    if (errorOf(slow) === null) this.showSlow(slow);
    if (errorOf(clients) === null) this.showClients(clients);
    return [info, slow, clients].map(errorOf).filter((text) => text !== null).map(show);
  }

  showInfo(info) {
    const number = (name) => Number(info.get(name) ?? 0);
    const keys = [...info].filter(([name]) => /^db\d+$/.test(name)).map(([name, line]) => `${name}: ${count(fieldsOf(line).get("keys"))}`);
    const [hits, misses] = [number("keyspace_hits"), number("keyspace_misses")];
    const facts = [
      ["Larder", state.version],
      ["compatible with", `Valkey ${info.get("valkey_version") ?? ""}`],
      ["up for", seconds(number("uptime_in_seconds"))],
      ["memory", `${bytes(number("used_memory"))}, peak ${bytes(number("used_memory_peak"))}${number("maxmemory") > 0 ? `, limit ${bytes(number("maxmemory"))}` : ""}`],
      ["keys", keys.join(", ") || "none"],
      ["hit rate", percent(hits, hits + misses) || "no lookups"],
      ["expired", count(number("expired_keys"))],
      ["evicted", count(number("evicted_keys"))],
      ["role", info.get("role") === "slave" ? "replica" : "primary"],
      ["unsaved changes", count(number("rdb_changes_since_last_save"))],
    ];
    replace(this.facts, ...facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, show(value)))));
    replace(this.replication, replicationPicture(info));
    if (info.get("cluster_enabled") === "1") this.lookAtCluster().catch(() => {});
  }

  async lookAtCluster() {
    const [nodes] = await run(["CLUSTER", "NODES"]);
    if (errorOf(nodes) !== null) return;
    this.cluster.hidden = false;
    const known = nodesOf(nodes);
    const rows = known.map((node) =>
      [node.id.slice(0, 8), node.address, [...node.flags].join(","), node.primary?.slice(0, 8) ?? "", node.isLinked ? "connected" : "disconnected", node.slots.join(" ")].map(show),
    );
    const heads = [["node"], ["address"], ["flags"], ["primary"], ["link"], ["slots"]];
    replace(this.cluster, el("h2", {}, "Cluster"), el("div", { class: "scroll" }, clusterPicture(known)), el("div", { class: "scroll", tabindex: 0 }, table(heads, rows, { id: "nodes" })));
  }

  showSlow(entries) {
    const rows = entries.map(([, at, us, args, addr]) => [
      new Date(at * 1000).toLocaleTimeString("en-GB"),
      `${(us / 1000).toFixed(1)} ms`,
      args.map(show).join(" ").slice(0, 200),
      show(addr),
    ]);
    replace(this.slow, rows.length > 0 ? table([["time"], ["duration", true], ["command"], ["client"]], rows, { id: "slow" }) : el("p", {}, "None."));
  }

  showClients(text) {
    const rows = (text.hex ? show(text) : text).split("\n").filter((line) => line !== "").slice(0, CLIENTS_MAX).map((line) => {
      const fields = fieldsOf(line);
      return ["id", "addr", "name", "user", "age", "idle", "db", "cmd", "tot-mem"].map((name) => show(fields.get(name)));
    });
    const shown = rows.map((row) => [...row.slice(0, 4), seconds(Number(row[4])), seconds(Number(row[5])), row[6], row[7], bytes(row[8])]);
    replace(this.list, table([["id", true], ["address"], ["name"], ["user"], ["age", true], ["idle", true], ["db", true], ["command"], ["memory", true]], shown, { id: "clients" }));
  }

  /** The keys with the highest frequency, or that were used last. */
  async findHot() {
    this.search?.cancel();
    let best = [];
    const search = sortedSearch({ order: "use", descending: true }, HOT_MAX, (keys) => (best = keys));
    this.search = search;
    const notice = el("p", { class: "notice", role: "status" });
    replace(this.hot, notice);
    try {
      await search.run(({ looked, total }) => (notice.textContent = `${count(looked)} of ${count(total)} keys`));
    } catch (error) {
      notice.textContent = error.message;
      return;
    }
    if (search.cancelled) return;
    const isLfu = best.length > 0 && best[0].used < 1000;
    const rows = best.map((key) => [
      el("a", { href: `#keys?${new URLSearchParams({ db: state.db, key: toText(key.name) })}` }, nameOf(key.name)),
      key.type,
      bytes(key.bytes),
      isLfu ? String(key.used) : `${seconds(2 ** 32 - key.used)} ago`,
    ]);
    replace(this.hot, table([["key"], ["type"], ["size", true], [isLfu ? "frequency" : "last used", true]], rows, { id: "hot" }));
  }
}
