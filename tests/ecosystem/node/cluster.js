// ioredis in cluster mode: it writes while a primary is killed and while slots move, and nothing is lost that a replica had.
'use strict';

const assert = require('assert');
const { spawn } = require('child_process');
const path = require('path');
const Redis = require('ioredis');
const { run } = require('./scenario');

/** Starts the cluster; resolves to its ports, and what has happened to it so far. */
function start() {
  const cluster = spawn('python3', [path.join(__dirname, '..', 'clusters.py')], { stdio: ['pipe', 'pipe', 'inherit'] });
  return new Promise((resolve, reject) => {
    let text = '';
    const happened = { lines: [], ended: false };
    cluster.stdout.on('data', (data) => {
      text += data;
      const lines = text.split('\n').slice(0, -1);
      happened.lines = lines.slice(1);
      if (lines.length) resolve({ ...JSON.parse(lines[0]), happened, end: () => cluster.stdin.end() });
    });
    cluster.on('exit', () => {
      happened.ended = true;
      reject(new Error('the cluster does not start'));
    });
  });
}

async function nothingIsLost() {
  const { ports, happened, end } = await start();
  const client = new Redis.Cluster(
    ports.map((port) => ({ host: '127.0.0.1', port })),
    { redisOptions: { maxRetriesPerRequest: 1, commandTimeout: 3000 }, retryDelayOnFailover: 100 },
  );
  client.on('error', () => {});
  try {
    const kept = [];
    let count = 0;
    while (happened.lines.length < 2 && !happened.ended) {
      count += 1;
      // All of a pipeline goes over one connection.
      const replies = await client.pipeline().set(`key:${count}`, count).wait(1, 1000).exec().catch(() => null);
      if (replies && replies[0][1] === 'OK' && replies[1][1] === 1) kept.push(count);
    }
    assert.deepStrictEqual(happened.lines, ['killed', 'resharded']);
    assert.ok(kept.length > 100, `${kept.length} of ${count} were acknowledged`);
    const lost = [];
    for (const number of kept) {
      if ((await client.get(`key:${number}`)) !== String(number)) lost.push(number);
    }
    assert.deepStrictEqual(lost, [], `${lost.length} of ${kept.length} are lost`);
    for (let i = 0; i < 200; i += 1) assert.strictEqual(await client.set(`after:${i}`, 1), 'OK');
  } finally {
    client.disconnect();
    end();
  }
}

run('ioredis on a cluster', [nothingIsLost], async () => {}, 200);
