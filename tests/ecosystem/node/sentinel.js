// ioredis with Sentinels: it goes on by itself when the primary dies.
'use strict';

const assert = require('assert');
const { spawn } = require('child_process');
const path = require('path');
const Redis = require('ioredis');
const { run, waitFor } = require('./scenario');

/** Starts the group; resolves to its ports and pids. */
function start() {
  const group = spawn('python3', [path.join(__dirname, '..', 'sentinels.py')], { stdio: ['pipe', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    let text = '';
    group.stdout.on('data', (data) => {
      text += data;
      if (text.includes('\n')) resolve({ ...JSON.parse(text), end: () => group.stdin.end(), group });
    });
    group.on('exit', () => reject(new Error('the group does not start')));
  });
}

async function clientsFollowThePrimary() {
  const group = await start();
  const client = new Redis({
    sentinels: group.sentinels.map((port) => ({ host: '127.0.0.1', port })),
    name: 'mymaster',
    maxRetriesPerRequest: null,
  });
  try {
    client.on('error', () => {});
    for (let i = 0; i < 100; i += 1) await client.set(`key:${i}`, i);
    assert.strictEqual(await client.wait(2, 5000), 2);
    const port = (await client.info('server')).match(/tcp_port:(\d+)/)[1];
    process.kill(group.servers[port], 'SIGKILL');
    const other = await waitFor(async () => {
      const text = await client.info('server').catch(() => '');
      const found = text.match(/tcp_port:(\d+)/);
      return found && found[1] !== port && found[1];
    }, 40);
    assert.ok(other, 'another primary is found');
    assert.ok(await waitFor(() => client.set('after', '1').catch(() => null), 20), 'writes go on');
    const keys = Array.from({ length: 100 }, (_, i) => `key:${i}`);
    assert.deepStrictEqual(await client.mget(keys), keys.map((_, i) => String(i)));
  } finally {
    client.disconnect();
    group.end();
  }
}

run('ioredis under Sentinels', [clientsFollowThePrimary], async () => {});
