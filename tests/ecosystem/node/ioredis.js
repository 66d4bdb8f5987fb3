// ioredis: what applications do with it beyond single commands.
'use strict';

const assert = require('node:assert/strict');
const Redis = require('ioredis').Redis;
const { port, transport, run, sleep, waitFor } = require('./scenario');

const connect = (options) => new Redis(port, { ...transport, ...options });
const r = connect();

async function pipelines() {
  const replies = await r.pipeline().set('k', 1).incr('k').lpush('k', 'x').get('k').exec();
  assert.deepEqual(replies.map(([error, value]) => (error ? error.message.slice(0, 9) : value)), ['OK', 2, 'WRONGTYPE', '2']);
  const many = r.pipeline();
  for (let n = 0; n < 5000; n++) many.rpush('list', n);
  assert.equal((await many.exec()).at(-1)[1], 5000);
}

async function autoPipelining() {
  const own = connect({ enableAutoPipelining: true });
  const values = await Promise.all(Array.from({ length: 500 }, (_, n) => own.incr('n').then((value) => value - n)));
  assert.deepEqual(values, Array(500).fill(1));
  own.disconnect();
}

async function transactions() {
  assert.deepEqual(await r.multi().set('a', 1).incr('a').exec(), [[null, 'OK'], [null, 2]]);
  const other = connect();
  await r.watch('a');
  await other.set('a', 9);
  assert.equal(await r.multi().incr('a').exec(), null);
  await assert.rejects(r.multi().set('a').exec(), /EXECABORT/);
  other.disconnect();
}

async function publishSubscribe() {
  const subscriber = connect();
  const heard = [];
  subscriber.on('message', (channel, message) => heard.push([channel, message]));
  subscriber.on('pmessage', (pattern, channel, message) => heard.push([pattern, channel, message]));
  assert.equal(await subscriber.subscribe('a', 'b'), 2);
  assert.equal(await subscriber.psubscribe('a*'), 3);
  await r.publish('a', 'one');
  await r.publish('b', 'two');
  assert(await waitFor(() => heard.length === 3));
  assert.deepEqual(heard, [['a', 'one'], ['a*', 'a', 'one'], ['b', 'two']]);
  assert.equal(await subscriber.unsubscribe('a', 'b'), 1);
  assert.equal(await subscriber.punsubscribe('a*'), 0);
  assert.equal(await subscriber.ping(), 'PONG');
  subscriber.disconnect();
}

async function definedCommands() {
  const own = connect();
  own.defineCommand('reserve', {
    numberOfKeys: 2,
    lua: `local left = tonumber(redis.call('get', KEYS[1]) or '0')
          if left < tonumber(ARGV[1]) then return redis.error_reply('EMPTY nothing left') end
          redis.call('decrby', KEYS[1], ARGV[1]) redis.call('rpush', KEYS[2], ARGV[2])
          return {left - ARGV[1], redis.call('llen', KEYS[2])}`,
  });
  await r.set('stock', 3);
  assert.deepEqual(await own.reserve('stock', 'orders', 2, 'first'), [1, 1]);
  await r.script('FLUSH');
  assert.deepEqual(await own.reserve('stock', 'orders', 1, 'second'), [0, 2]);
  await assert.rejects(own.reserve('stock', 'orders', 1, 'third'), /EMPTY nothing left/);
  const replies = await own.pipeline().set('stock', 5).reserve('stock', 'orders', 5, 'fourth').exec();
  assert.deepEqual(replies[1], [null, [0, 3]]);
  own.disconnect();
}

async function streams() {
  await r.xgroup('CREATE', 'stream', 'group', '$', 'MKSTREAM');
  const ids = [];
  for (let n = 0; n < 10; n++) ids.push(await r.xadd('stream', '*', 'n', n));
  const blocked = connect();
  const first = await blocked.xreadgroup('GROUP', 'group', 'crashed', 'COUNT', 4, 'STREAMS', 'stream', '>');
  assert.deepEqual(first[0][1].map(([id]) => id), ids.slice(0, 4));
  blocked.disconnect();
  const rest = await r.xreadgroup('GROUP', 'group', 'alive', 'STREAMS', 'stream', '>');
  assert.equal(await r.xack('stream', 'group', ...rest[0][1].map(([id]) => id)), 6);
  const [, claimed] = await r.xautoclaim('stream', 'group', 'alive', 0, '0');
  assert.deepEqual(claimed.map(([id]) => id), ids.slice(0, 4));
  const waiting = connect();
  const read = waiting.xread('BLOCK', 5000, 'STREAMS', 'stream', '$');
  await sleep(50);
  const id = await r.xadd('stream', '*', 'late', 1);
  assert.deepEqual(await read, [['stream', [[id, ['late', '1']]]]]);
  waiting.disconnect();
}

async function reconnects() {
  const own = connect({ retryStrategy: () => 10 });
  const subscriber = connect({ retryStrategy: () => 10 });
  const heard = [];
  subscriber.on('message', (_, message) => heard.push(message));
  await subscriber.subscribe('still');
  await own.set('k', 'v');
  await r.client('KILL', 'TYPE', 'normal');
  await r.client('KILL', 'TYPE', 'pubsub');
  assert.equal(await own.get('k'), 'v');
  assert(await waitFor(async () => (await r.pubsub('NUMSUB', 'still'))[1] === 1));
  await r.publish('still', 'here');
  assert(await waitFor(() => heard.length === 1));
  own.disconnect();
  subscriber.disconnect();
}

async function scans() {
  const writes = r.pipeline();
  for (let n = 0; n < 1000; n++) writes.set(`key:${n}`, n).hset('hash', `f${n}`, n).zadd('zset', n, `m${n}`);
  await writes.exec();
  const count = async (stream) => {
    const seen = new Set();
    for await (const part of stream) part.forEach((item) => seen.add(item));
    return seen.size;
  };
  assert.equal(await count(r.scanStream({ match: 'key:*', count: 100 })), 1000);
  assert((await count(r.hscanStream('hash', { match: 'f*', count: 50 }))) >= 1000);
  assert((await count(r.zscanStream('zset', { count: 50 }))) >= 1000);
}

async function buffers() {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
  await r.set('bytes', bytes);
  assert.deepEqual(await r.getBuffer('bytes'), bytes);
  assert.equal(await r.eval("return #redis.call('get', KEYS[1])", 1, 'bytes'), 256);
  assert.deepEqual(await r.evalBuffer('return ARGV[1]', 0, bytes), bytes);
}

run('ioredis', [
  pipelines, autoPipelining, transactions, publishSubscribe, definedCommands, streams, reconnects, scans, buffers,
], () => r.flushall());
