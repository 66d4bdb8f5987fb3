// Runs functions as scenarios against the server at REDIS_PORT (by TLS if REDIS_CA names an authority): a line for each, exit code 1 when one fails.
'use strict';

const fs = require('fs');

const port = Number(process.env.REDIS_PORT);
const authority = process.env.REDIS_CA;

/** How clients connect, beside the port. */
const transport = authority ? { host: 'localhost', tls: { ca: fs.readFileSync(authority) } } : {};

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Asks until the condition holds; what it returned last is returned. */
async function waitFor(condition, seconds = 20) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const result = await condition();
    if (result || Date.now() > deadline) return result;
    await sleep(20);
  }
}

/** Runs all, or those whose names are among the program's arguments. */
async function run(suite, scenarios, before, seconds = 60) {
  const wanted = process.argv.slice(2);
  let failed = false;
  for (const scenario of scenarios) {
    if (wanted.length && !wanted.includes(scenario.name)) continue;
    const begin = Date.now();
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no end after ${seconds} s`)), seconds * 1000);
    });
    try {
      await before();
      await Promise.race([scenario(), late]);
      console.log(`ok   ${suite}: ${scenario.name} (${Date.now() - begin} ms)`);
    } catch (error) {
      failed = true;
      console.log(`FAIL ${suite}: ${scenario.name}: ${String(error).replace(/\s+/g, ' ').slice(0, 500)}`);
      console.error(error);
    }
    clearTimeout(timer);
  }
  process.exit(failed ? 1 : 0);
}

module.exports = { port, transport, run, sleep, waitFor };
