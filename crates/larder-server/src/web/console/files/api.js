// The questions to the server.

/** The server says that something is wrong. */
export class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** What the page knows: the database that is looked at, and what to do when nobody is logged in any more. */
export const state = { db: 0, databases: 16, writable: false, user: null, onStranger: () => {} };

/** Asks, and returns the answer. */
export async function ask(path, body = {}) {
  const response = await fetch(`/api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json().catch(() => ({ error: response.statusText }));
  if (response.ok) return answer;
  if (response.status === 401 && path !== "me") state.onStranger();
  throw new Refusal(response.status, answer.error ?? response.statusText);
}

/** Runs commands in the database that is looked at; the replies, errors among them. */
export async function run(...commands) {
  const { replies } = await ask("run", { db: state.db, commands });
  return replies;
}

/** The text of an error, if a reply is one. */
export function errorOf(reply) {
  return reply !== null && typeof reply === "object" && "error" in reply ? reply.error : null;
}

/** A reply that is a map, as a Map. */
export function mapOf(reply) {
  return new Map(reply?.map ?? []);
}

/** INFO as a Map of texts. */
export function infoOf(text) {
  const pairs = typeof text === "string" ? text.split("\r\n").filter((line) => line.includes(":")) : [];
  return new Map(pairs.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]));
}

/** Calls `what` now and every `ms` while `isOn` says so; one call at a time. Returns a function that ends it. */
export function every(ms, isOn, what) {
  let timer = null;
  let ended = false;
  const turn = async () => {
    if (isOn()) await what().catch(() => {});
    if (!ended) timer = setTimeout(turn, ms);
  };
  turn();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
