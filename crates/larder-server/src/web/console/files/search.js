// Searches through the keys. Each answer of the server says where to continue, so a search ends when the page stops asking.

import { ask, errorOf, pause, state } from "/api.js";
import { show } from "/dom.js";

const HELD_MS = 100;

/** Which value of a key an order compares; the server has the same. */
const VALUES = { bytes: (key) => key.bytes, elements: (key) => key.elements, ttl: (key) => key.ttl ?? Infinity, use: (key) => key.used };

/** A key of an answer. */
export function keyOf([name, type, encoding, bytes, elements, ttl, used]) {
  return { name, type, encoding, bytes, elements, ttl, used };
}

/** A search that is under way, or can continue. */
export class Search {
  /** `path` is `keys/search` or `keys/branches`; `body` is sent with each request; `take` gets each answer, and returns true to stop for now. */
  constructor(path, body, take) {
    Object.assign(this, { path, body, take, from: null, looked: 0, matched: 0, total: 0, done: false, running: false, cancelled: false });
  }

  /** Continues until the end, until `take` has enough, or until it is cancelled. */
  async run(progress) {
    this.running = true;
    const { db } = state;
    try {
      while (!this.cancelled) {
        const answer = await ask(this.path, { db, ...this.body, from: this.from });
        if (this.cancelled) break;
        const error = errorOf(answer);
        if (error !== null) throw new Error(show(error));
        this.looked += answer.looked;
        this.matched += answer.matched;
        this.total = Math.max(answer.total ?? this.total, this.looked);
        this.from = answer.next;
        this.done = answer.next === null;
        const isEnough = this.take(answer, this);
        progress(this, answer.held);
        if (this.done || isEnough) break;
        if (answer.held) await pause(HELD_MS);
      }
    } finally {
      this.running = false;
    }
  }

  cancel() {
    this.cancelled = true;
  }
}

/** A search that returns the first keys of an order; all keys are looked at, and a bounded number is kept. */
export function sortedSearch(body, limit, keep) {
  const value = VALUES[body.order];
  const sign = body.descending ? -1 : 1;
  const compare = value
    ? (a, b) => sign * (value(a) - value(b) || 0)
    : (a, b) => sign * (show(a.name) < show(b.name) ? -1 : show(a.name) > show(b.name) ? 1 : 0);
  let best = [];
  return new Search("keys/search", { ...body, limit }, (answer, search) => {
    best.push(...answer.keys.map(keyOf));
    best.sort(compare);
    best = best.slice(0, limit);
    const last = best.length === limit && value ? value(best[limit - 1]) : null;
    if (last !== null && Number.isFinite(last)) search.body.bound = last;
    keep(best);
    return false;
  });
}
