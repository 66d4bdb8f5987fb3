// Bull, the older queue with scripts of its own, and rate-limiter-flexible.
'use strict';

const assert = require('node:assert/strict');
require('node:events').defaultMaxListeners = 200;
const Queue = require('bull');
const Redis = require('ioredis').Redis;
const { RateLimiterRedis } = require('rate-limiter-flexible');
const { port, run, sleep, waitFor } = require('./scenario');

const r = new Redis(port);
let open = [];
let names = 0;

function queueNamed(options = {}) {
  const queue = new Queue(`old${names++}`, { redis: { host: '127.0.0.1', port }, ...options });
  queue.on('error', () => {});
  open.push(queue);
  return queue;
}

async function begin() {
  await Promise.all(open.map((queue) => queue.close(true)));
  open = [];
  await r.flushall();
}

async function jobs() {
  const queue = queueNamed();
  queue.process(5, async (job) => job.data.n * 2);
  const all = await Promise.all(Array.from({ length: 100 }, (_, n) => queue.add({ n })));
  assert.deepEqual(await Promise.all(all.map((job) => job.finished())), all.map((_, n) => 2 * n));
  assert.equal(await queue.getCompletedCount(), 100);
}

async function delaysAndPriorities() {
  const queue = queueNamed();
  const done = [];
  await queue.pause();
  await queue.add('job', { n: 'low' }, { priority: 10 });
  await queue.add('job', { n: 'high' }, { priority: 1 });
  await queue.add('job', { n: 'late' }, { delay: 500 });
  await queue.add('job', { n: 'first' }, { lifo: true });
  queue.process('job', async (job) => done.push(job.data.n));
  await queue.resume();
  assert(await waitFor(() => done.length === 4));
  assert.deepEqual(done, ['first', 'high', 'low', 'late']);
}

async function retries() {
  const queue = queueNamed();
  let attempts = 0;
  queue.process(async () => {
    if (++attempts < 3) throw new Error('again');
    return attempts;
  });
  const job = await queue.add({}, { attempts: 5, backoff: 50 });
  assert.equal(await job.finished(), 3);
  const hopeless = queueNamed();
  hopeless.process(async () => { throw new Error('always'); });
  const failing = await hopeless.add({}, { attempts: 2 });
  await assert.rejects(failing.finished(), /always/);
  assert.equal(await hopeless.getFailedCount(), 1);
}

async function repeats() {
  const queue = queueNamed();
  let times = 0;
  queue.process(async () => times++);
  await queue.add({}, { repeat: { every: 200, limit: 3 } });
  assert(await waitFor(() => times === 3));
}

async function limits() {
  const queue = queueNamed({ limiter: { max: 2, duration: 300 } });
  const done = [];
  queue.process(10, async () => done.push(Date.now()));
  await Promise.all(Array.from({ length: 6 }, () => queue.add({})));
  assert(await waitFor(() => done.length === 6));
  assert(done[5] - done[0] >= 500, `${done.map((time) => time - done[0])}`);
}

async function stalledJobs() {
  const queue = queueNamed({ settings: { lockDuration: 500, stalledInterval: 300, maxStalledCount: 1 } });
  const job = await queue.add({});
  // A worker that took the job and is gone: the job is active, and nobody renews its lock.
  await queue.getNextJob();
  await r.del(queue.toKey(`${job.id}:lock`));
  let stalled = 0;
  queue.on('stalled', () => stalled++);
  queue.process(async () => 'rescued');
  assert.equal(await job.finished(), 'rescued');
  assert.equal(stalled, 1);
}

async function housekeeping() {
  const queue = queueNamed();
  await queue.addBulk(Array.from({ length: 50 }, (_, n) => ({ data: { n } })));
  assert.equal(await queue.count(), 50);
  queue.process(10, async () => {});
  assert(await waitFor(async () => (await queue.getCompletedCount()) === 50));
  await sleep(20);
  assert.equal((await queue.clean(0, 'completed')).length, 50);
  await queue.obliterate({ force: true });
  assert.deepEqual(await r.keys(`bull:${queue.name}:*`), []);
}

async function rateLimiter() {
  const limiter = new RateLimiterRedis({ storeClient: r, points: 5, duration: 1, blockDuration: 1, keyPrefix: 'limit' });
  const passed = await Promise.allSettled(Array.from({ length: 9 }, () => limiter.consume('somebody')));
  assert.equal(passed.filter(({ status }) => status === 'fulfilled').length, 5);
  assert((await limiter.get('somebody')).consumedPoints >= 5);
  await limiter.delete('somebody');
  assert.equal((await limiter.consume('somebody', 2)).remainingPoints, 3);
}

run('bull', [jobs, delaysAndPriorities, retries, repeats, limits, stalledJobs, housekeeping, rateLimiter], begin);
