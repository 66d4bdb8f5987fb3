// What the server does now.

import { errorOf, every, infoOf, mapOf, run } from "/api.js";
import { HeatMap, Line } from "/charts.js";
import { bytes, count, el, replace, seconds, show, table } from "/dom.js";
import { clusterPicture, fieldsOf, nodesOf, replicationPicture } from "/servers.js";

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
    this.cluster = el("div", { class: "block", hidden: true });
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
    this.cluster.hidden = false;
    const known = nodesOf(nodes);
    const rows = known.map((node) =>
      [node.id.slice(0, 8), node.address, [...node.flags].join(","), node.primary?.slice(0, 8) ?? "", node.isLinked ? "connected" : "disconnected", node.slots.join(" ")].map(show),
    );
    const heads = [["node"], ["address"], ["flags"], ["primary"], ["link"], ["slots"]];
    replace(this.cluster, el("h2", {}, "Cluster"), el("div", { class: "scroll" }, clusterPicture(known)), el("div", { class: "scroll" }, table(heads, rows, { id: "nodes" })));
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
