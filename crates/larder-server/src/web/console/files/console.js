// The page: logging in, and which view is shown.

import { AnatomyView } from "/anatomy.js";
import { ask, state } from "/api.js";
import { KeysView } from "/browser.js";
import { el, replace, show } from "/dom.js";
import { LiveView } from "/live.js";
import { PromptView } from "/prompt.js";

const $ = (id) => document.getElementById(id);
const NAMES = ["anatomy", "live", "keys", "prompt"];

let views = {};
let current = null;

function showSection(name) {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
}

function turn() {
  if (state.user === null) return;
  const name = NAMES.includes(location.hash.slice(1)) ? location.hash.slice(1) : "anatomy";
  current?.leave();
  current = views[name];
  showSection(name);
  for (const link of $("tabs").children) link.toggleAttribute("aria-current", link.hash === `#${name}`);
  window.scrollTo(0, 0);
  current.enter();
}

function openKeys(pattern) {
  location.hash = "#keys";
  turn();
  views.keys.open(pattern);
}

function begin(me) {
  Object.assign(state, { user: me.user, databases: me.databases, writable: me.writable });
  views = {
    anatomy: new AnatomyView($("anatomy"), openKeys),
    live: new LiveView($("live")),
    keys: new KeysView($("keys")),
    prompt: new PromptView($("prompt")),
  };
  replace($("database"), ...Array.from({ length: me.databases }, (_, db) => el("option", { value: db }, String(db))));
  $("database").value = String(state.db);
  $("user").textContent = show(me.user);
  $("tabs").hidden = $("who").hidden = false;
  turn();
}

function stop() {
  current?.leave();
  current = null;
  state.user = null;
  // What one user has seen is not for the next.
  for (const name of NAMES) replace($(name));
  $("tabs").hidden = $("who").hidden = true;
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

state.onStranger = stop;
window.addEventListener("hashchange", turn);
$("login").querySelector("form").addEventListener("submit", logIn);
$("logout").addEventListener("click", async () => {
  await ask("logout").catch(() => {});
  stop();
});
$("database").addEventListener("change", (event) => {
  state.db = Number(event.target.value);
  views.keys = new KeysView($("keys"));
  turn();
});
ask("me").then(begin, stop);
