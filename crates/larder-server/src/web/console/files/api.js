// Requests to the server.

/** The server refuses a request. */
export class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** What the page knows: the current database, the user, and what to do when the login has ended. */
export const state = { db: 0, databases: 16, writable: false, user: null, version: "", onLoggedOut: () => {} };

/** Sends a request, and returns the answer. */
export async function ask(path, body = {}) {
  const response = await fetch(`/api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json().catch(() => ({ error: response.statusText }));
  if (response.ok) return answer;
  if (response.status === 401 && path !== "me") state.onLoggedOut();
  throw new Refusal(response.status, answer.error ?? response.statusText);
}

/** Runs commands in the current database, and returns the replies, errors among them. */
export async function run(...commands) {
  const { replies } = await ask("run", { db: state.db, commands });
  return replies;
}

/** Runs a command; an error reply is thrown. */
export async function call(...command) {
  const [reply] = await run(command);
  const error = errorOf(reply);
  if (error !== null) throw new Error(typeof error === "string" ? error : "ERR");
  return reply;
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

/** Waits. */
export function pause(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

/** Calls `what` now and every `ms` while `isOn` returns true; one call at a time. Returns a function that ends it. */
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

/**
 * Runs MEMORY ANATOMY: `body` is what `anatomy/start` takes, or null to look at one that was started before. Calls `progress` with the
 * answers, and returns the last. Another walk may be ending; then it tries again for some seconds.
 */
export async function anatomy(body, progress) {
  let answer = body === null ? await ask("anatomy/look") : await ask("anatomy/start", body);
  for (let tries = 0; tries < 20 && /in progress/.test(errorOf(answer.result ?? null) ?? ""); tries += 1) {
    await pause(250);
    answer = await ask("anatomy/start", body);
  }
  while (answer.state === "running") {
    progress(answer);
    await pause(200);
    answer = await ask("anatomy/look");
  }
  return answer;
}

/** The place in the page's address: a view, and its parameters. */
export function placeOf(hash) {
  const [view, rest = ""] = hash.replace(/^#/, "").split("?");
  return { view, parameters: new URLSearchParams(rest) };
}

/** Puts parameters of the current view into the page's address. Empty ones are left out. */
export function setPlace(view, parameters) {
  const kept = Object.entries({ db: state.db || "", ...parameters }).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  const hash = `#${view}${query ? `?${query}` : ""}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

/** A value of the server for the address, and back. Bytes that are no text begin with a NUL there. */
export function toText(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? `\u0000${value.hex}` : value;
}

export function fromText(text) {
  return text.startsWith("\u0000") ? { hex: text.slice(1) } : text;
}
