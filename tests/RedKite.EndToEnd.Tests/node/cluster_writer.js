// ioredis and node-redis in cluster mode: write and read until their input ends, and write down each operation for the checker.
// Usage: cluster_writer.js ioredis|node-redis HISTORY NAME SEED READABLE HOST:PORT ... READABLE are the names, with commas, whose keys are read.
// The history's lines are those of RedKite.ClusterChecker.
'use strict';

const fs = require('node:fs');

const VALUES = 6;
const LISTS = 4;
const PUSHES = 60;
const PAUSE_MS = 8;
const TIMEOUT_MS = 2000;

const [library, history, name, seed, readableNames, ...nodes] = process.argv.slice(2);
const readable = readableNames.split(',');
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let ended = false;
process.stdin.on('end', () => { ended = true; });
process.stdin.resume();

// A linear congruence: the same draws for the same seed.
let state = Number(seed) >>> 0;
function draw(count) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * count);
}

function overIoredis() {
  const { Cluster } = require('ioredis');
  const client = new Cluster(nodes.map((node) => ({ host: node.split(':')[0], port: Number(node.split(':')[1]) })), {
    clusterRetryStrategy: () => 100,
    slotsRefreshTimeout: 2000,
    redisOptions: { connectTimeout: 1000, commandTimeout: TIMEOUT_MS },
  });
  client.on('error', () => {});
  return {
    set: (key, value) => client.set(key, value),
    get: (key) => client.get(key),
    push: (key, value) => client.rpush(key, value),
    range: (key) => client.lrange(key, 0, -1),
    end: () => client.disconnect(),
  };
}

async function overNodeRedis() {
  const { createCluster } = require('redis');
  while (!ended) {
    const client = createCluster({
      rootNodes: nodes.map((node) => ({ url: `redis://${node}` })),
      defaults: { disableOfflineQueue: true, socket: { connectTimeout: 1000, reconnectStrategy: 100 } },
    });
    client.on('error', () => {});
    try {
      await client.connect();
      return {
        set: (key, value) => client.set(key, value),
        get: (key) => client.get(key),
        push: (key, value) => client.rPush(key, value),
        range: (key) => client.lRange(key, 0, -1),
        end: () => client.disconnect().catch(() => {}),
      };
    } catch {
      await sleep(100);
    }
  }
  return null;
}

const connect = library === 'ioredis' ? overIoredis : overNodeRedis;

// The first word of a server's error, or that the library itself gave up.
function kindOf(error) {
  const text = String(error?.message ?? error);
  const word = text.split(' ')[0];
  return word.length > 2 && /^[A-Z]+$/.test(word) ? word : `library:${text.slice(0, 60).replace(/\s/g, '_')}`;
}

function limited(promise) {
  let timer;
  const limit = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error('no reply in time')), 2 * TIMEOUT_MS); });
  return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

async function main() {
  const output = fs.openSync(history, 'w');
  let client = await connect();
  let number = 0;
  let pushed = 0;
  let failures = 0;

  // Without a reply nothing is known: the library may have asked more than one node.
  async function run(kind, key, value, operation) {
    const begin = process.hrtime.bigint();
    let outcome = 'ok';
    let error = '-';
    try {
      const result = await limited(operation());
      if (kind === 'get') value = result ?? '-';
      else if (kind === 'range') value = result.join(',') || '-';
    } catch (failure) {
      outcome = 'unknown';
      error = kindOf(failure);
    }
    fs.writeSync(output, `op\t${name}\t${key}\t${kind}\t${value}\t${begin}\t${process.hrtime.bigint()}\t${outcome}\t-\t-\t${error}\n`);
    return outcome !== 'ok';
  }

  while (!ended) {
    number++;
    const value = `${name}:${number}`;
    const what = draw(10);
    let failed;
    if (what < 4) {
      const key = `${name}:v:${draw(VALUES)}`;
      failed = await run('set', key, value, () => client.set(key, value));
    } else if (what < 6) {
      const key = `${name}:l:${Math.floor(pushed / PUSHES)}`;
      failed = await run('push', key, value, () => client.push(key, value));
      if (!failed) pushed++;
    } else if (what < 9) {
      const key = `${readable[draw(readable.length)]}:v:${draw(VALUES)}`;
      failed = await run('get', key, '-', () => client.get(key));
    } else {
      const key = draw(2) ? `${name}:l:${Math.floor(pushed / PUSHES)}` : `${readable[draw(readable.length)]}:l:${draw(LISTS)}`;
      failed = await run('range', key, '-', () => client.range(key));
    }
    failures = failed ? failures + 1 : 0;
    if (failures > 0 && failures % 20 === 0 && !ended) { // as a program does whose client stays broken
      client.end();
      client = await connect();
    }
    await sleep(failed ? 10 * PAUSE_MS : PAUSE_MS);
  }
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
