// BullMQ and bee-queue against a server: workers, results, retries, delays, priorities, flows, rate limits, failure lists, stalled jobs.
// Usage: queues.js PORT. Exits with 1 at the first failed assertion.
'use strict';

const { fork } = require('node:child_process');
const { Queue, Worker, QueueEvents, FlowProducer } = require('bullmq');
const BeeQueue = require('bee-queue');
const { holds, eventually, sleep, run } = require('./statements');

async function bullmq(port) {
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  const queue = new Queue('work', { connection });
  const events = new QueueEvents('work', { connection });
  await events.waitUntilReady();
  // Every waitUntilFinished adds one.
  queue.setMaxListeners(0);
  events.setMaxListeners(0);
  const seen = [];
  for (const event of ['completed', 'failed', 'delayed', 'progress']) events.on(event, ({ jobId }) => seen.push(`${event} ${jobId}`));

  // Added before there is a worker: the waiting list, priorities and a delay.
  const jobs = await queue.addBulk(Array.from({ length: 20 }, (_, i) => ({ name: 'double', data: { n: i }, opts: { jobId: `job-${i}` } })));
  await queue.add('double', { n: 100 }, { jobId: 'urgent', priority: 1 });
  await queue.add('double', { n: 101 }, { jobId: 'less urgent', priority: 5 });
  await queue.add('double', { n: 0 }, { jobId: 'job-0' }); // a duplicate adds nothing
  const delayed = await queue.add('double', { n: 21 }, { delay: 400, jobId: 'job-later' });
  holds(await queue.getJobCounts('waiting', 'prioritized', 'delayed', 'active'), { waiting: 20, prioritized: 2, delayed: 1, active: 0, paused: 0 });
  await queue.add('double', { n: 1 }, { jobId: 'removed' }).then((job) => job.remove());
  holds(await queue.getJob('removed'), undefined);

  // The worker is another process.
  const order = [];
  const child = fork(__filename, [String(port), 'bullmq worker'], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  try {
    child.on('message', (id) => order.push(id));
    holds(await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 20000))), jobs.map((_, i) => 2 * i));
    holds(await delayed.waitUntilFinished(events, 20000), 42);
    await eventually(() => order.length === 23, 'all jobs are reported');
    holds(order.filter((id) => id !== 'job-later'), [...jobs.map((job) => job.id), 'urgent', 'less urgent']);

    const flaky = await queue.add('flaky', { succeedAt: 3 }, { attempts: 3, backoff: { type: 'fixed', delay: 20 } });
    holds(await flaky.waitUntilFinished(events, 20000), 'attempt 3');
    const failing = await queue.add('flaky', { succeedAt: 99 }, { attempts: 2, backoff: { type: 'exponential', delay: 10 } });
    await failing.waitUntilFinished(events, 20000).then(() => holds('succeeded', 'failed'), (error) => holds(error.message, 'attempt 2 fails'));
    holds((await queue.getFailed()).map((job) => [job.id, job.failedReason, job.attemptsMade]), [[failing.id, 'attempt 2 fails', 2]]);
    await (await queue.getJob(failing.id)).retry();
    await eventually(async () => (await queue.getJob(failing.id)).attemptsMade === 3, 'the failed job is tried again');
    await eventually(() => seen.filter((event) => event === `failed ${failing.id}`).length === 2, 'the failures are events');

    const progress = await queue.add('progress', {});
    await progress.waitUntilFinished(events, 20000);
    await eventually(() => seen.includes(`progress ${progress.id}`), 'the progress is an event');
    const done = await queue.getJob(progress.id);
    holds([done.progress, await done.getState(), (await queue.getJobLogs(progress.id)).logs], [50, 'completed', ['half']]);

    await queue.pause();
    const paused = await queue.add('double', { n: 7 });
    await sleep(100);
    holds([await paused.getState(), await queue.isPaused()], ['waiting', true]);
    await queue.resume();
    holds(await paused.waitUntilFinished(events, 20000), 14);

    // A parent waits for its children and reads their results.
    const flows = new FlowProducer({ connection });
    const flow = await flows.add({
      name: 'sum', queueName: 'work', children: Array.from({ length: 4 }, (_, i) => ({ name: 'double', queueName: 'work', data: { n: i } })),
    });
    holds(await flow.job.waitUntilFinished(events, 20000), 12);
    await flows.close();

    await queue.upsertJobScheduler('every', { every: 100, limit: 3 }, { name: 'double', data: { n: 50 } });
    await eventually(async () => (await queue.getCompleted()).filter((job) => job.data.n === 50).length >= 2, 'the repeated job runs');
    holds(await queue.removeJobScheduler('every').then(() => queue.getJobSchedulersCount()), 0);

    holds((await queue.getWorkers()).length, 1);
    holds((await queue.getMetrics('completed')).count, 0);
    const cleaned = await queue.clean(0, 1000, 'completed');
    holds(cleaned.length >= 30, true);
    holds(await queue.getCompletedCount(), 0);
  } finally {
    await stop(child);
  }

  // A rate limit: three jobs per 300 ms.
  const limited = new Queue('limited', { connection });
  const starts = [];
  await limited.addBulk(Array.from({ length: 7 }, (_, i) => ({ name: 'limited', data: i })));
  const slow = new Worker('limited', async () => starts.push(Date.now()), { connection, limiter: { max: 3, duration: 300 }, concurrency: 5 });
  await eventually(() => starts.length === 7, 'limited jobs run');
  holds(starts[6] - starts[0] >= 550, true);
  await slow.close();

  await queue.obliterate({ force: true });
  await limited.obliterate({ force: true });
  await Promise.all([queue.close(), limited.close(), events.close()]);
}

// The worker process of the test above.
function bullmqWorker(port) {
  const worker = new Worker('work', async (job) => {
    switch (job.name) {
      case 'double':
        process.send(job.id);
        return 2 * job.data.n;
      case 'flaky':
        if (job.attemptsMade + 1 < job.data.succeedAt) throw new Error(`attempt ${job.attemptsMade + 1} fails`);
        return `attempt ${job.attemptsMade + 1}`;
      case 'progress':
        await job.updateProgress(50);
        await job.log('half');
        return null;
      case 'sum':
        return Object.values(await job.getChildrenValues()).reduce((sum, value) => sum + value, 0);
    }
  }, { connection: { host: '127.0.0.1', port, maxRetriesPerRequest: null } });
  process.on('message', () => worker.close().then(() => process.exit(0)));
  process.on('disconnect', () => process.exit(1));
}

async function stop(child) {
  if (child.exitCode !== null) return;
  const exited = new Promise((resolve) => child.on('exit', resolve));
  child.send('stop');
  const limit = setTimeout(() => child.kill('SIGKILL'), 10000);
  holds(await exited, 0);
  clearTimeout(limit);
}

async function bee(port) {
  const redis = { host: '127.0.0.1', port };
  const queue = new BeeQueue('hive', { redis, isWorker: false, storeJobs: true });
  const worker = new BeeQueue('hive', { redis, sendEvents: true, activateDelayedJobs: true, storeJobs: false, stallInterval: 300 });
  const results = new Map();
  queue.on('job succeeded', (id, result) => results.set(id, result));
  const retried = [];
  queue.on('job retrying', (id) => retried.push(id));
  await Promise.all([queue.ready(), worker.ready()]);

  const jobs = [];
  for (let i = 0; i < 20; i++) jobs.push(await queue.createJob({ n: i }).save());
  const delayed = await queue.createJob({ n: 21 }).delayUntil(Date.now() + 300).save();
  const flaky = await queue.createJob({ failures: 2 }).retries(2).backoff('immediate').save();
  const failing = await queue.createJob({ failures: 9 }).setId('failing').save();
  holds((await queue.checkHealth()).waiting, 22);
  const failures = new Map();
  const started = Date.now();
  worker.process(4, async (job) => {
    if (job.data.failures) {
      const count = (failures.get(job.id) ?? 0) + 1;
      failures.set(job.id, count);
      if (count <= job.data.failures) throw new Error(`failure ${count}`);
      return count;
    }
    return 2 * job.data.n;
  });
  await eventually(() => results.size === 22, 'all jobs succeed');
  holds(jobs.map((job) => results.get(job.id)), jobs.map((_, i) => 2 * i));
  holds([results.get(delayed.id), results.get(flaky.id), Date.now() - started >= 200], [42, 3, true]);
  holds(retried, [flaky.id, flaky.id]);
  await eventually(async () => (await queue.checkHealth()).failed === 1, 'the failed job is counted');
  const { waiting, active, succeeded, failed, delayed: later } = await queue.checkHealth();
  holds({ waiting, active, succeeded, failed, later }, { waiting: 0, active: 0, succeeded: 22, failed: 1, later: 0 });
  holds((await queue.getJobs('failed', { size: 10 })).map((job) => job.id), [failing.id]);
  holds((await queue.getJob(failing.id)).options.stacktraces.length, 1);
  await queue.removeJob(failing.id);
  holds((await queue.checkHealth()).failed, 0);
  await worker.checkStalledJobs();
  await queue.destroy();
  await Promise.all([queue.close(), worker.close()]);
}

if (process.argv[3] === 'bullmq worker') {
  bullmqWorker(Number(process.argv[2]));
} else {
  run([bullmq, bee]);
}
