// What the server does now.

import { errorOf, every, infoOf, mapOf, run } from "/api.js";
import { HeatMap, Line } from "/charts.js";
import { bytes, count, el, replace, seconds, show, svg, table } from "/dom.js";

const PERIOD_MS = 2000;
// Latencies by powers of two: from 1 microsecond to 16.8 seconds.
const LATENCIES = 25;
const CLIENTS_MAX = 200;

function latencyName(row) {
  const us = 2 ** row;
  if (us < 1000) return `${us} µs`;
  return us < 1e6 ? `${Math.round(us / 1e3)} ms` : `${(us / 1e6).toFixed(1)} s`;
}

/** Commands by latency of all that there were: rows as in the heat map. */
function latencies(histogram) {
  const rows = Array(LATENCIES).fill(0);
  for (const [, command] of histogram?.map ?? []) {
    let below = 0;
    for (const [limit, total] of mapOf(command).get("histogram_usec")?.map ?? []) {
      const row = Math.min(LATENCIES - 1, Math.max(0, Math.ceil(Math.log2(Math.max(1, Number(limit))))));
      rows[row] += total - below;
      below = total;
    }
  }
  return rows;
}

function fieldsOf(line) {
  return new Map(line.split(/[ ,]/).map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
}

/** The server, whom it follows and who follows it, as boxes. */
function replicationPicture(info) {
  const replicas = [...info].filter(([name]) => /^slave\d+$/.test(name)).map(([, line]) => fieldsOf(line));
  const isReplica = info.get("role") === "slave";
  const rows = Math.max(1, replicas.length);
  const box = (x, y, title, text, kind) =>
    svg("g", { class: `server ${kind}` }, svg("rect", { x, y, width: 190, height: 44, rx: 4 }), svg("text", { x: x + 8, y: y + 18, "font-size": 13 }, title), svg("text", { x: x + 8, y: y + 35, "font-size": 11 }, text));
  const middle = (rows * 56) / 2 - 28;
  const parts = [];
  const link = (x, from, to) => parts.push(svg("line", { x1: x, y1: from + 22, x2: x + 60, y2: to + 22, class: "link" }));
  if (isReplica) {
    const up = info.get("master_link_status") === "up";
    link(190, middle, middle);
    parts.push(box(0, middle, `${info.get("master_host")}:${info.get("master_port")}`, up ? "primary, connected" : "primary, not connected", up ? "ok" : "bad"));
  }
  parts.push(box(250, middle, "this server", isReplica ? "replica" : "primary", "self"));
  replicas.forEach((replica, at) => {
    const y = at * 56;
    link(440, middle, y);
    const lag = `${replica.get("state")}, ${bytes(Math.max(0, Number(info.get("master_repl_offset")) - Number(replica.get("offset"))))} behind`;
    parts.push(box(500, y, `${replica.get("ip")}:${replica.get("port")}`, lag, replica.get("state") === "online" ? "ok" : "bad"));
  });
  return svg("svg", { class: "replication", viewBox: `0 0 700 ${rows * 56}`, role: "img", "aria-label": "replication" }, ...parts);
}

export class LiveView {
  constructor(section) {
    this.operations = new Line("Operations a second", count);
    this.memory = new Line("Memory", bytes);
    this.hits = new Line("Hit rate", (share) => `${share.toFixed(1)} %`);
    this.clients = new Line("Clients", count);
    this.network = new Line("Network", (n) => `${bytes(n)}/s`);
    this.heat = new HeatMap("Latency of commands", LATENCIES, latencyName);
    this.facts = el("dl", { class: "facts" });
    this.replication = el("div");
    this.cluster = el("div");
    this.slow = el("div", { class: "scroll" });
    this.list = el("div", { class: "scroll" });
    this.notice = el("p", { class: "error", role: "status" });
    const block = (title, node) => el("div", { class: "block" }, el("h2", {}, title), node);
    replace(
      section,
      this.notice,
      this.facts,
      el("div", { class: "charts" }, ...[this.operations, this.heat, this.memory, this.hits, this.clients, this.network].map((chart) => chart.node)),
      el("div", { class: "halves" }, block("Slow commands", this.slow), block("Clients", this.list)),
      el("div", { class: "halves" }, block("Replication", this.replication), this.cluster),
    );
    this.last = null;
  }

  enter() {
    this.end = every(PERIOD_MS, () => !document.hidden, () => this.look());
  }

  leave() {
    this.end?.();
  }

  async look() {
    const [info, histogram, slow, clients] = await run(["INFO", "everything"], ["LATENCY", "HISTOGRAM"], ["SLOWLOG", "GET", "20"], ["CLIENT", "LIST"]);
    this.notice.textContent = [info, histogram, slow, clients].map(errorOf).filter((text) => text !== null).map(show).join("; ");
    if (!errorOf(info)) this.showInfo(infoOf(info), latencies(errorOf(histogram) ? null : histogram));
    if (!errorOf(slow)) this.showSlow(slow);
    if (!errorOf(clients)) this.showClients(clients);
  }

  showInfo(info, rows) {
    const number = (name) => Number(info.get(name) ?? 0);
    const now = { at: performance.now(), commands: number("total_commands_processed"), hits: number("keyspace_hits"), misses: number("keyspace_misses"), bytes: number("total_net_input_bytes") + number("total_net_output_bytes"), rows };
    const { last } = this;
    this.last = now;
    this.memory.add(number("used_memory"));
    this.clients.add(number("connected_clients"));
    // After CONFIG RESETSTAT counters are smaller than before.
    if (last && now.commands >= last.commands) {
      const period = (now.at - last.at) / 1000;
      const [hits, misses] = [now.hits - last.hits, now.misses - last.misses];
      this.operations.add((now.commands - last.commands) / period);
      this.network.add((now.bytes - last.bytes) / period);
      this.hits.add(hits + misses > 0 ? (100 * hits) / (hits + misses) : null);
      this.heat.add(rows.map((total, row) => Math.max(0, total - last.rows[row])));
    }
    const keys = [...info].filter(([name]) => /^db\d+$/.test(name)).map(([name, line]) => `${name}: ${count(fieldsOf(line).get("keys"))}`);
    const facts = [
      ["version", info.get("valkey_version") ?? info.get("redis_version")],
      ["up for", seconds(number("uptime_in_seconds"))],
      ["memory", `${bytes(number("used_memory"))}, peak ${bytes(number("used_memory_peak"))}${number("maxmemory") > 0 ? `, limit ${bytes(number("maxmemory"))}` : ""}`],
      ["keys", keys.join(", ") || "none"],
      ["expired", count(number("expired_keys"))],
      ["evicted", count(number("evicted_keys"))],
      ["role", info.get("role") === "slave" ? "replica" : "primary"],
      ["unsaved changes", count(number("rdb_changes_since_last_save"))],
    ];
    replace(this.facts, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, show(value))]));
    replace(this.replication, replicationPicture(info));
    if (info.get("cluster_enabled") === "1") this.lookAtCluster();
  }

  async lookAtCluster() {
    const [nodes] = await run(["CLUSTER", "NODES"]);
    if (errorOf(nodes)) return;
    const rows = nodes.split("\n").filter((line) => line !== "").map((line) => {
      const [id, address, flags, primary, , , , link, ...slots] = line.split(" ");
      return [id.slice(0, 8), address, flags, primary === "-" ? "" : primary.slice(0, 8), link, slots.join(" ")].map(show);
    });
    replace(this.cluster, el("h2", {}, "Cluster"), table([["node"], ["address"], ["flags"], ["primary"], ["link"], ["slots"]], rows));
  }

  showSlow(entries) {
    const rows = entries.map(([, at, us, args, addr]) => [
      new Date(at * 1000).toLocaleTimeString(),
      `${(us / 1000).toFixed(1)} ms`,
      args.map(show).join(" ").slice(0, 200),
      show(addr),
    ]);
    replace(this.slow, rows.length > 0 ? table([["at"], ["took", true], ["command"], ["client"]], rows, { id: "slow" }) : el("p", {}, "None."));
  }

  showClients(text) {
    const rows = (text.hex ? show(text) : text).split("\n").filter((line) => line !== "").slice(0, CLIENTS_MAX).map((line) => {
      const fields = fieldsOf(line);
      return ["id", "addr", "name", "user", "age", "idle", "db", "cmd", "tot-mem"].map((name) => show(fields.get(name)));
    });
    const shown = rows.map((row) => [...row.slice(0, 4), seconds(Number(row[4])), seconds(Number(row[5])), row[6], row[7], bytes(row[8])]);
    replace(this.list, table([["id", true], ["address"], ["name"], ["user"], ["age", true], ["idle", true], ["db", true], ["command"], ["memory", true]], shown, { id: "clients" }));
  }
}
