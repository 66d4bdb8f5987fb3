// BullMQ: everything a queue does is a Lua script, so that each scenario runs dozens of them.
'use strict';

const assert = require('node:assert/strict');
const { fork } = require('node:child_process');
const path = require('node:path');
const { FlowProducer, Job, Queue, QueueEvents, UnrecoverableError, Worker } = require('bullmq');
const Redis = require('ioredis').Redis;
const { port, run, sleep, waitFor } = require('./scenario');

const connection = { host: '127.0.0.1', port };
const r = new Redis(port);
let open = [];
let names = 0;

/** Everything of one queue, under a name of its own; closed when the scenario is over. */
function queueNamed(name = `queue${names++}`) {
  const queue = new Queue(name, { connection });
  queue.on('error', () => {});
  open.push(queue);
  const work = (process, options = {}) => {
    const worker = new Worker(name, process, { connection, ...options });
    worker.on('error', () => {});
    open.push(worker);
    return worker;
  };
  return { name, queue, work };
}

async function begin() {
  await Promise.all(open.map((part) => part.close(true)));
  open = [];
  await r.flushall();
}

async function jobsAndResults() {
  const { name, queue, work } = queueNamed();
  const events = new QueueEvents(name, { connection, lastEventId: '0-0' });
  open.push(events);
  await events.waitUntilReady();
  work(async (job) => job.data.a + job.data.b, { concurrency: 5 });
  const job = await queue.add('sum', { a: 2, b: 3 });
  assert.equal(await job.waitUntilFinished(events, 10000), 5);
  const jobs = await queue.addBulk(Array.from({ length: 200 }, (_, n) => ({ name: 'sum', data: { a: n, b: 1 } })));
  assert(await waitFor(async () => (await queue.getCompletedCount()) === 201));
  assert.equal((await Job.fromId(queue, jobs[77].id)).returnvalue, 78);
  assert.deepEqual(await queue.getJobCounts('wait', 'active', 'failed', 'delayed'), { wait: 0, active: 0, failed: 0, delayed: 0 });
}

async function delayedJobs() {
  const { queue, work } = queueNamed();
  const done = [];
  work(async (job) => done.push([job.name, Date.now()]));
  const start = Date.now();
  await queue.add('late', {}, { delay: 600 });
  await queue.add('soon', {}, { delay: 200 });
  await queue.add('now', {});
  const promoted = await queue.add('promoted', {}, { delay: 3600000 });
  await promoted.promote();
  assert(await waitFor(() => done.length === 4));
  assert.deepEqual(done.map(([job]) => job).filter((job) => job !== 'promoted'), ['now', 'soon', 'late']);
  assert(done.find(([job]) => job === 'late')[1] - start >= 590);
}

async function retriesWithBackoff() {
  const { queue, work } = queueNamed();
  const attempts = [];
  work(async (job) => {
    attempts.push(Date.now());
    if (job.attemptsMade < 3) throw new Error(`attempt ${job.attemptsMade}`);
    return 'at last';
  });
  const job = await queue.add('flaky', {}, { attempts: 5, backoff: { type: 'exponential', delay: 100 } });
  assert(await waitFor(() => job.isCompleted()));
  const waits = attempts.slice(1).map((time, n) => time - attempts[n]);
  assert.equal(waits.length, 3);
  waits.forEach((wait, n) => assert(wait >= 100 * 2 ** n - 20, `${waits}`));
}

async function failures() {
  const { queue, work } = queueNamed();
  let tries = 0;
  work(async (job) => {
    tries++;
    if (job.data.fatal) throw new UnrecoverableError('fatal');
    if (tries < 4) throw new Error('again');
    return 'fine';
  });
  const fatal = await queue.add('fatal', { fatal: true }, { attempts: 9 });
  assert(await waitFor(() => fatal.isFailed()));
  assert.equal(tries, 1);
  const job = await queue.add('twice', {}, { attempts: 2 });
  assert(await waitFor(() => job.isFailed()));
  assert.equal((await queue.getFailed()).length, 2);
  await (await Job.fromId(queue, job.id)).retry();
  assert(await waitFor(() => job.isCompleted()));
  assert.equal((await Job.fromId(queue, job.id)).returnvalue, 'fine');
}

async function priorities() {
  const { queue, work } = queueNamed();
  for (const [job, priority] of [['c', 3], ['a', 1], ['b', 2], ['a2', 1], ['none', 0], ['z', 2000000]]) {
    await queue.add(job, {}, { priority });
  }
  await queue.add('first', {}, { lifo: true });
  const done = [];
  work(async (job) => done.push(job.name));
  assert(await waitFor(() => done.length === 7));
  assert.deepEqual(done, ['first', 'none', 'a', 'a2', 'b', 'c', 'z']);
}

async function rateLimit() {
  const { queue, work } = queueNamed();
  const done = [];
  work(async () => done.push(Date.now()), { limiter: { max: 3, duration: 400 }, concurrency: 10 });
  await queue.addBulk(Array.from({ length: 9 }, () => ({ name: 'limited', data: {} })));
  assert(await waitFor(() => done.length === 9));
  assert(done[8] - done[0] >= 750, `${done.map((time) => time - done[0])}`);
  assert(done[2] - done[0] < 300, `${done.map((time) => time - done[0])}`);
}

async function repeatableJobs() {
  const { queue, work } = queueNamed();
  const done = [];
  work(async (job) => done.push(job.name));
  await queue.upsertJobScheduler('ticks', { every: 200, limit: 4 }, { name: 'tick', data: {} });
  assert.equal((await queue.getJobSchedulers()).length, 1);
  assert(await waitFor(() => done.length === 4));
  await sleep(400);
  assert.deepEqual(done, ['tick', 'tick', 'tick', 'tick']);
  await queue.upsertJobScheduler('nightly', { pattern: '0 3 * * *' }, { name: 'night' });
  assert.equal(await queue.getDelayedCount(), 1);
  assert(await queue.removeJobScheduler('nightly'));
  assert.equal(await queue.getDelayedCount(), 0);
}

async function crashedWorker() {
  const { name, queue, work } = queueNamed();
  const job = await queue.add('victim', {});
  const child = fork(path.join(__dirname, 'bull_worker.js'), [name, '600000']);
  await new Promise((resolve) => child.once('message', resolve));
  assert.equal(await job.getState(), 'active');
  child.kill('SIGKILL');
  const stalled = [];
  const worker = work(async () => 'rescued', { lockDuration: 1000, stalledInterval: 500, maxStalledCount: 1 });
  worker.on('stalled', (id) => stalled.push(id));
  assert(await waitFor(() => job.isCompleted()));
  assert.deepEqual(stalled, [job.id]);
  assert.equal((await Job.fromId(queue, job.id)).returnvalue, 'rescued');
}

async function flows() {
  const parent = queueNamed();
  const child = queueNamed();
  child.work(async (job) => job.data.n * 10, { concurrency: 3 });
  parent.work(async (job) => Object.values(await job.getChildrenValues()).sort((a, b) => a - b));
  const producer = new FlowProducer({ connection });
  open.push(producer);
  const flow = await producer.add({
    name: 'sum', queueName: parent.name, data: {},
    children: [1, 2, 3].map((n) => ({
      name: 'part', queueName: child.name, data: { n },
      children: n === 3 ? [{ name: 'deep', queueName: child.name, data: { n: 9 } }] : undefined,
    })),
  });
  assert(await waitFor(() => flow.job.isCompleted()));
  assert.deepEqual((await Job.fromId(parent.queue, flow.job.id)).returnvalue, [10, 20, 30]);
}

async function failedChild() {
  const parent = queueNamed();
  const child = queueNamed();
  child.work(async () => { throw new Error('child'); });
  parent.work(async () => 'never');
  const producer = new FlowProducer({ connection });
  open.push(producer);
  const flow = await producer.add({
    name: 'top', queueName: parent.name, data: {},
    children: [{ name: 'part', queueName: child.name, data: {}, opts: { failParentOnFailure: true } }],
  });
  assert(await waitFor(() => flow.job.isFailed()));
}

async function progressLogsAndEvents() {
  const { name, queue, work } = queueNamed();
  const events = new QueueEvents(name, { connection, lastEventId: '0-0' });
  open.push(events);
  const seen = [];
  for (const event of ['waiting', 'active', 'progress', 'completed']) events.on(event, () => seen.push(event));
  await events.waitUntilReady();
  work(async (job) => {
    await job.log('half');
    await job.updateProgress(50);
    await job.updateData({ changed: true });
    return { big: 'x'.repeat(100000) };
  });
  const job = await queue.add('watched', { changed: false });
  assert(await waitFor(() => seen.includes('completed')));
  assert.deepEqual(seen, ['waiting', 'active', 'progress', 'completed']);
  const after = await Job.fromId(queue, job.id);
  assert.deepEqual(after.data, { changed: true });
  assert.equal(after.progress, 50);
  assert.equal(after.returnvalue.big.length, 100000);
  assert.deepEqual((await queue.getJobLogs(job.id)).logs, ['half']);
}

async function housekeeping() {
  const { queue, work } = queueNamed();
  await queue.pause();
  const jobs = await queue.addBulk(Array.from({ length: 30 }, (_, n) => ({ name: 'job', data: { n } })));
  const same = await queue.add('job', {}, { jobId: 'once' });
  assert.equal((await queue.add('job', {}, { jobId: 'once' })).id, same.id);
  const first = await queue.add('job', {}, { deduplication: { id: 'd', ttl: 5000 } });
  assert.equal((await queue.add('job', {}, { deduplication: { id: 'd', ttl: 5000 } })).id, first.id);
  await jobs[0].remove();
  assert.equal(await queue.getWaitingCount(), 31);
  const worker = work(async () => 'done', { removeOnComplete: { count: 10 } });
  await sleep(100);
  assert.equal(await queue.getCompletedCount(), 0);
  await queue.resume();
  assert(await waitFor(async () => (await queue.getCompletedCount()) === 10 && (await queue.getWaitingCount()) === 0));
  await worker.close();
  await queue.addBulk(Array.from({ length: 20 }, () => ({ name: 'job', data: {} })));
  assert.equal((await queue.clean(0, 100, 'completed')).length, 10);
  await queue.drain();
  assert.equal(await queue.getWaitingCount(), 0);
  await queue.obliterate({ force: true });
  assert.deepEqual(await r.keys(`bull:${queue.name}:*`), []);
}

async function manyWorkers() {
  const { name, queue, work } = queueNamed();
  const seen = new Map();
  for (let n = 0; n < 4; n++) {
    work(async (job) => seen.set(job.id, (seen.get(job.id) ?? 0) + 1), { concurrency: 20 });
  }
  await Promise.all(Array.from({ length: 10 }, (_, n) =>
    new Queue(name, { connection }).addBulk(Array.from({ length: 100 }, () => ({ name: `n${n}`, data: {} })))));
  assert(await waitFor(async () => (await queue.getCompletedCount()) === 1000));
  assert.equal(seen.size, 1000);
  assert([...seen.values()].every((times) => times === 1));
}

run('bullmq', [
  jobsAndResults, delayedJobs, retriesWithBackoff, failures, priorities, rateLimit, repeatableJobs, crashedWorker, flows,
  failedChild, progressLogsAndEvents, housekeeping, manyWorkers,
], begin);
