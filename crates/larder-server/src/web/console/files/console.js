// The page: logging in, and which view is shown.

import { AnatomyView } from "/anatomy.js";
import { ask, placeOf, state } from "/api.js";
import { KeysView } from "/browser.js";
import { ChannelsView } from "/channels.js";
import { el, replace, show } from "/dom.js";
import { LiveView } from "/live.js";
import { PromptView } from "/prompt.js";

const $ = (id) => document.getElementById(id);
const NAMES = ["anatomy", "live", "keys", "prompt", "channels"];

let views = {};
let current = null;
let shown = null;

function showSection(name) {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
}

/** Shows the view of the address. */
function turn() {
  if (state.user === null || location.hash === "#main") return;
  const { view, parameters } = placeOf(location.hash);
  const name = NAMES.includes(view) ? view : "anatomy";
  const db = Number(parameters.get("db") ?? state.db);
  if (parameters.has("db") && Number.isInteger(db) && db >= 0 && db < state.databases && db !== state.db) choose(db);
  if (current && shown !== name) current.leave();
  const isNew = shown !== name;
  [shown, current] = [name, views[name]];
  showSection(name);
  for (const link of $("tabs").children) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${[...$("tabs").children].find((link) => link.hash === `#${name}`).textContent} · Larder`;
  if (isNew) {
    window.scrollTo(0, 0);
    current.enter();
  }
  current.visit?.(parameters);
}

/** Looks at another database. */
function choose(db) {
  state.db = db;
  $("database").value = String(db);
  current?.leave();
  shown = null;
  views.keys = new KeysView($("keys"));
  views.anatomy = new AnatomyView($("anatomy"));
}

function begin(me) {
  Object.assign(state, { user: me.user, databases: me.databases, writable: me.writable, version: me.version });
  views = {
    anatomy: new AnatomyView($("anatomy")),
    live: new LiveView($("live")),
    keys: new KeysView($("keys")),
    prompt: new PromptView($("prompt")),
    channels: new ChannelsView($("channels")),
  };
  shown = null;
  replace($("database"), ...Array.from({ length: me.databases }, (_, db) => el("option", { value: db }, String(db))));
  $("database").value = String(state.db);
  $("user").textContent = show(me.user);
  $("user").title = `Larder ${me.version}`;
  $("tabs").hidden = $("who").hidden = false;
  turn();
  performance.mark("ready");
}

function stop() {
  current?.leave();
  current = shown = null;
  state.user = null;
  // What one user has seen is not for the next.
  views = {};
  for (const name of NAMES) replace($(name));
  document.querySelectorAll("dialog").forEach((dialog) => dialog.remove());
  $("tabs").hidden = $("who").hidden = true;
  document.title = "Larder";
  showSection("login");
}

async function logIn(event) {
  event.preventDefault();
  const form = event.target;
  const failure = form.querySelector(".error");
  failure.textContent = "";
  const { user, password } = Object.fromEntries(new FormData(form));
  try {
    const me = await ask("login", { user, password });
    form.elements.password.value = "";
    begin(me);
  } catch (error) {
    failure.textContent = error.message;
  }
}

state.onLoggedOut = stop;
window.addEventListener("hashchange", turn);
$("login").querySelector("form").addEventListener("submit", logIn);
$("logout").addEventListener("click", async () => {
  await ask("logout").catch(() => {});
  stop();
});
$("database").addEventListener("change", (event) => {
  const { view } = placeOf(location.hash);
  choose(Number(event.target.value));
  history.replaceState(null, "", `#${view}`);
  turn();
});
ask("me").then(begin, () => {
  stop();
  performance.mark("ready");
});
