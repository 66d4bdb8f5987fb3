// Pictures of servers: who follows whom, and who has which slots.

import { bytes, count, svg } from "/dom.js";

const SLOTS = 16384;
const WIDTH = 700;
// A box for a server, and what a row of them takes.
const BOX = { width: 190, height: 44 };
const ROW = 56;
const COLOURS = 8;

/** The fields of a line `a=b,c=d`, or with spaces. */
export function fieldsOf(line) {
  return new Map(line.split(/[ ,]/).map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
}

function box(x, y, title, text, kind) {
  return svg(
    "g",
    { class: `server ${kind}` },
    svg("rect", { x, y, ...BOX, rx: 4 }),
    svg("text", { x: x + 8, y: y + 18, "font-size": 13 }, title),
    svg("text", { x: x + 8, y: y + 35, "font-size": 11 }, text),
  );
}

function link(x, from, to) {
  return svg("line", { x1: x, y1: from + BOX.height / 2, x2: x + 60, y2: to + BOX.height / 2, class: "link" });
}

/** The server, whom it follows and who follows it, from INFO. */
export function replicationPicture(info) {
  const replicas = [...info].filter(([name]) => /^slave\d+$/.test(name)).map(([, line]) => fieldsOf(line));
  const isReplica = info.get("role") === "slave";
  const rows = Math.max(1, replicas.length);
  const middle = (rows * ROW) / 2 - ROW / 2;
  const parts = [];
  if (isReplica) {
    const up = info.get("master_link_status") === "up";
    const address = `${info.get("master_host")}:${info.get("master_port")}`;
    parts.push(link(BOX.width, middle, middle), box(0, middle, address, up ? "primary, connected" : "primary, not connected", up ? "ok" : "bad"));
  }
  parts.push(box(250, middle, "this server", isReplica ? "replica" : "primary", "self"));
  replicas.forEach((replica, at) => {
    const behind = Math.max(0, Number(info.get("master_repl_offset")) - Number(replica.get("offset")));
    const isOnline = replica.get("state") === "online";
    const address = `${replica.get("ip")}:${replica.get("port")}`;
    parts.push(link(440, middle, at * ROW), box(500, at * ROW, address, `${replica.get("state")}, ${bytes(behind)} behind`, isOnline ? "ok" : "bad"));
  });
  return svg("svg", { class: "servers", viewBox: `0 0 ${WIDTH} ${rows * ROW}`, role: "img", "aria-label": "replication" }, ...parts);
}

/** The nodes of CLUSTER NODES: slots are ranges `[first, last]`. */
export function nodesOf(text) {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => {
    const [id, address, flags, primary, , , , state, ...slots] = line.split(" ");
    const ranges = slots.filter((range) => /^\d+(-\d+)?$/.test(range)).map((range) => range.split("-").map(Number));
    return {
      id,
      address: address.split("@")[0],
      flags: new Set(flags.split(",")),
      primary: primary === "-" ? null : primary,
      isLinked: state === "connected",
      ranges: ranges.map(([first, last]) => [first, last ?? first]),
      slots,
    };
  });
}

function kindOf(node) {
  if (node.flags.has("fail") || node.flags.has("fail?") || !node.isLinked) return "bad";
  return node.flags.has("myself") ? "self" : "ok";
}

/** The slots as a bar, each primary with its colour, and its replicas. */
export function clusterPicture(nodes) {
  const primaries = nodes.filter((node) => node.primary === null);
  const parts = [svg("rect", { x: 0, y: 0, width: WIDTH, height: 20, class: "nobody" })];
  let y = 32;
  primaries.forEach((primary, at) => {
    const colour = `colour${at % COLOURS}`;
    const scale = WIDTH / SLOTS;
    for (const [first, last] of primary.ranges) {
      const band = svg("rect", { x: first * scale, y: 0, width: (last - first + 1) * scale, height: 20, class: `band ${colour}` });
      band.append(svg("title", {}, `${first}-${last}: ${primary.address}`));
      parts.push(band);
    }
    const replicas = nodes.filter((node) => node.primary === primary.id);
    const rows = Math.max(1, replicas.length);
    const middle = y + (rows * ROW) / 2 - ROW / 2;
    const owned = primary.ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
    parts.push(svg("rect", { x: 0, y: middle, width: 12, height: BOX.height, class: colour }));
    const here = primary.flags.has("myself") ? ", this server" : "";
    parts.push(box(20, middle, primary.address, `${count(owned)} slots${here}`, kindOf(primary)));
    replicas.forEach((replica, row) => {
      const below = y + row * ROW;
      const state = replica.flags.has("fail") ? "replica, has failed" : `replica${replica.flags.has("myself") ? ", this server" : ""}`;
      parts.push(link(210, middle, below), box(270, below, replica.address, state, kindOf(replica)));
    });
    y += rows * ROW;
  });
  return svg("svg", { class: "servers", viewBox: `0 0 ${WIDTH} ${y}`, role: "img", "aria-label": "cluster" }, ...parts);
}
