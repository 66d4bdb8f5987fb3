// A worker in a process of its own, to be killed while it has a job. Arguments: queue, milliseconds that a job takes.
'use strict';

const { Worker } = require('bullmq');
const { port, sleep } = require('./scenario');

const [queue, jobMs] = process.argv.slice(2);
const worker = new Worker(queue, async (job) => {
  process.send?.(job.id);
  await sleep(Number(jobMs));
}, { connection: { host: '127.0.0.1', port }, lockDuration: 1000, stalledInterval: 500 });
worker.on('error', () => {});
