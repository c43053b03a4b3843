// BullMQ on ioredis in cluster mode, with a hash tag as the prefix: adds jobs until its input ends, and works them off. Each job whose addition was acknowledged is completed.
// Usage: cluster_queue.js HOST:PORT ... Prints a line for each ten jobs that were added, and at last how many were. Exits with 1 if one was lost.
'use strict';

const { Cluster } = require('ioredis');
const { Queue, Worker } = require('bullmq');

const PAUSE_MS = 20;
const PATIENCE_MS = 60000;

const nodes = process.argv.slice(2).map((node) => ({ host: node.split(':')[0], port: Number(node.split(':')[1]) }));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let ended = false;
process.stdin.on('end', () => { ended = true; });
process.stdin.resume();

function connection() {
  const client = new Cluster(nodes, { clusterRetryStrategy: () => 100, slotsRefreshTimeout: 2000, redisOptions: { connectTimeout: 1000, maxRetriesPerRequest: null, enableReadyCheck: false } });
  client.on('error', () => {});
  return client;
}

async function main() {
  const queue = new Queue('proof', { prefix: '{bull}', connection: connection() });
  const completed = new Set();
  const worker = new Worker('proof', async (job) => job.data.n * 2, { prefix: '{bull}', connection: connection(), stalledInterval: 2000, lockDuration: 4000, concurrency: 4 });
  queue.on('error', () => {});
  worker.on('error', () => {});
  worker.on('completed', (job) => completed.add(job.id));
  const added = [];
  const errors = new Set();
  for (let n = 0; !ended; n++) {
    try {
      const job = await queue.add('double', { n }, { jobId: `job-${n}`, attempts: 10 });
      added.push(job.id);
      if (added.length % 10 === 0) console.log(`added ${added.length}`);
    } catch (error) {
      errors.add(String(error.message).split(' ')[0]);
      await sleep(100);
    }
    await sleep(PAUSE_MS);
  }

  // What the worker was not told of, because the reply was lost, the queue knows.
  const until = Date.now() + PATIENCE_MS;
  let missing = added.filter((id) => !completed.has(id));
  while (missing.length > 0 && Date.now() < until) {
    for (const id of missing) {
      const job = await queue.getJob(id).catch(() => null);
      if (job && job.returnvalue === job.data.n * 2) completed.add(id);
    }
    missing = added.filter((id) => !completed.has(id));
    if (missing.length > 0) await sleep(100);
  }
  if (missing.length > 0) {
    console.error(`added and never completed: ${missing.join(' ')}`);
    for (const id of missing.slice(0, 5)) console.error(id, JSON.stringify(await queue.getJob(id).then((job) => job && job.getState()).catch(String)));
    process.exit(1);
  }
  if (errors.size > 0) console.log(`errors ${[...errors].join(' ')}`);
  console.log(`${added.length} jobs completed`);
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
