// Software of web sites against a server: sessions (express-session with connect-redis), rate limits (rate-limiter-flexible),
// locks (redlock) and client-side caching (node-redis 5 over RESP3).
// Usage: web.js PORT. Exits with 1 at the first failed assertion.
'use strict';

const http = require('node:http');
const { promisify } = require('node:util');
const express = require('express');
const session = require('express-session');
const Redis = require('ioredis');
const Redlock = require('redlock');
const { createClient } = require('redis');
const { createClient: createCachingClient, BasicClientSideCache } = require('caching-client');
const RedisStore = require('connect-redis').default;
const { RateLimiterRedis, RateLimiterRes, BurstyRateLimiter, RateLimiterQueue } = require('rate-limiter-flexible');
const { holds, eventually, sleep, run } = require('./statements');

async function sessions(port) {
  const client = await createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false } }).connect();
  const store = new RedisStore({ client, prefix: 'session:', ttl: 2 });
  const ask = (method, ...given) => promisify(store[method]).apply(store, given);
  const site = express();
  site.use(session({ store, secret: 'test', resave: false, saveUninitialized: false, rolling: true }));
  site.get('/visit', (request, response) => {
    request.session.visits = (request.session.visits ?? 0) + 1;
    response.json(request.session.visits);
  });
  site.get('/read', (request, response) => response.json(request.session.visits ?? null));
  site.get('/leave', (request, response) => request.session.destroy(() => response.json('left')));
  site.get('/renew', (request, response) => request.session.regenerate(() => {
    request.session.visits = 100;
    response.json('renewed');
  }));
  const server = http.createServer(site);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const visitor = () => {
    let cookie = '';
    return async (path) => {
      const response = await fetch(`http://127.0.0.1:${server.address().port}/${path}`, { headers: cookie ? { cookie, connection: 'close' } : { connection: 'close' } });
      cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
      return response.json();
    };
  };
  const anna = visitor();
  const bert = visitor();
  holds([await anna('visit'), await anna('visit'), await bert('visit'), await anna('read')], [1, 2, 1, 2]);
  holds([(await ask('ids')).length, await ask('length')], [2, 2]);
  holds((await ask('all')).map((found) => found.visits).sort(), [1, 2]);

  // A request touches its session; one that is not used expires after two seconds.
  const [first] = await client.keys('session:*');
  const left = await client.pTTL(first);
  holds(left > 1000 && left <= 2000, true);
  await sleep(1200);
  holds(await anna('read'), 2);
  await sleep(1200);
  holds([await anna('read'), await bert('read')], [2, null]);
  holds(await ask('length'), 1);

  holds([await anna('renew'), await anna('read')], ['renewed', 100]);
  holds(await ask('length'), 1);
  holds([await anna('leave'), await anna('read')], ['left', null]);
  holds(await ask('length'), 0);
  await ask('set', 'direct', { cookie: { originalMaxAge: 5000 }, user: 'ключ' });
  holds((await ask('get', 'direct')).user, 'ключ');
  await ask('clear');
  holds(await client.dbSize(), 0);
  await new Promise((resolve) => server.close(resolve));
  await client.quit();
}

async function rateLimits(port) {
  const client = new Redis({ host: '127.0.0.1', port });
  const nodeRedis = await createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false } }).connect();
  for (const [storeClient, useRedisPackage] of [[client, false], [nodeRedis, true]]) {
    const limiter = new RateLimiterRedis({ storeClient, useRedisPackage, keyPrefix: `limit-${useRedisPackage}`, points: 5, duration: 1 });
    const answers = await Promise.all(Array.from({ length: 8 }, () => limiter.consume('anna').then((ok) => ok.remainingPoints, (refused) => {
      holds(refused instanceof RateLimiterRes, true);
      return refused.remainingPoints;
    })));
    holds(answers, [4, 3, 2, 1, 0, 0, 0, 0]);
    const state = await limiter.get('anna');
    holds([state.consumedPoints, state.msBeforeNext > 0 && state.msBeforeNext <= 1000], [8, true]);
    holds((await limiter.consume('bert', 3)).remainingPoints, 2);
    holds((await limiter.reward('bert', 2)).consumedPoints, 1);
    await sleep(1100);
    holds((await limiter.consume('anna')).remainingPoints, 4);
    await limiter.block('anna', 5);
    await limiter.consume('anna').then(() => holds('allowed', 'blocked'), (refused) => holds(refused.msBeforeNext > 4000, true));
    holds(await limiter.delete('anna'), true);
    holds(await limiter.get('anna'), null);
  }

  const burst = new BurstyRateLimiter(
    new RateLimiterRedis({ storeClient: client, keyPrefix: 'steady', points: 1, duration: 1 }),
    new RateLimiterRedis({ storeClient: client, keyPrefix: 'burst', points: 2, duration: 5 }));
  const allowed = await Promise.allSettled(Array.from({ length: 5 }, () => burst.consume('anna')));
  holds(allowed.filter((answer) => answer.status === 'fulfilled').length, 3);

  const queue = new RateLimiterQueue(new RateLimiterRedis({ storeClient: client, keyPrefix: 'queued', points: 2, duration: 1 }));
  const started = Date.now();
  await Promise.all([queue.removeTokens(1), queue.removeTokens(1), queue.removeTokens(1)]);
  holds(Date.now() - started >= 500, true);
  await nodeRedis.quit();
  await client.quit();
}

async function locks(port) {
  const clients = [new Redis({ host: '127.0.0.1', port }), new Redis({ host: '127.0.0.1', port })];
  const patient = new Redlock([clients[0]], { retryCount: 400, retryDelay: 5, retryJitter: 5 });
  const impatient = new Redlock([clients[1]], { retryCount: 0 });
  const lock = await patient.lock('resource', 5000);
  await impatient.lock('resource', 1000).then(() => holds('locked', 'refused'), (error) => holds(error.name, 'LockError'));
  const extended = await lock.extend(20000);
  const left = await clients[0].pttl('resource');
  holds(left > 15000 && left <= 20000, true);
  await extended.unlock();
  holds(await clients[0].exists('resource'), 0);
  await extended.unlock().then(() => holds('unlocked', 'refused'), (error) => holds(error.name, 'LockError'));

  // A lock that expired belongs to the next one.
  const expired = await patient.lock('resource', 50);
  const next = await patient.lock('resource', 5000);
  await expired.unlock().then(() => holds('unlocked', 'refused'), (error) => holds(error.name, 'LockError'));
  await next.unlock();

  // Several resources in one lock, and contention for one.
  const both = await patient.lock(['resource:a', 'resource:b'], 5000);
  await impatient.lock(['resource:b', 'resource:c'], 1000).then(() => holds('locked', 'refused'), (error) => holds(error.name, 'LockError'));
  holds(await clients[0].exists('resource:c'), 0);
  await both.unlock();
  let inside = 0;
  let most = 0;
  await Promise.all(Array.from({ length: 10 }, async () => {
    const held = await patient.lock('contended', 10000);
    most = Math.max(most, ++inside);
    const before = Number(await clients[1].get('counter'));
    await clients[1].set('counter', before + 1);
    inside--;
    await held.unlock();
  }));
  holds([most, await clients[0].get('counter')], [1, '10']);
  await clients[0].flushall();
  await Promise.all(clients.map((client) => client.quit()));
}

async function clientSideCaching(port) {
  const cache = new BasicClientSideCache({ ttl: 0, maxEntries: 0, evictPolicy: 'LRU', recordStats: true });
  const reader = await createCachingClient({ RESP: 3, socket: { host: '127.0.0.1', port, reconnectStrategy: false }, clientSideCache: cache }).connect();
  const writer = await createCachingClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false } }).connect();
  await writer.set('cached', 'one');
  for (let i = 0; i < 5; i++) holds(await reader.get('cached'), 'one');
  holds([cache.stats().hitCount, cache.stats().missCount], [4, 1]);
  await writer.set('cached', 'two');
  await eventually(async () => (await reader.get('cached')) === 'two', 'the write is seen');
  await writer.hSet('hash', { a: '1' });
  holds([{ ...(await reader.hGetAll('hash')) }, { ...(await reader.hGetAll('hash')) }], [{ a: '1' }, { a: '1' }]);
  await writer.multi().hSet('hash', 'a', '2').set('cached', 'three').exec();
  await eventually(async () => (await reader.hGet('hash', 'a')) === '2' && (await reader.get('cached')) === 'three', 'the transaction is seen');
  await writer.set('short', 'v', { PX: 60 });
  holds(await reader.get('short'), 'v');
  await eventually(async () => (await reader.get('short')) === null, 'the expiry is seen');
  holds(await reader.get('cached'), 'three');
  await writer.flushAll();
  await eventually(async () => (await reader.get('cached')) === null, 'the flush is seen');
  await writer.close();
  await reader.close();
}

run([sessions, rateLimits, locks, clientSideCaching]);
