// node-redis against a server: strings, keys, pipelines, scanning, RESP2 replies as this library decodes them.
// Usage: client.js PORT. Exits with 1 at the first failed assertion.
'use strict';

const assert = require('node:assert');
const { createClient, commandOptions } = require('redis');

let statements = 0;

function holds(actual, expected) {
  statements++;
  assert.deepStrictEqual(actual, expected, `statement ${statements}: ${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`);
}

async function strings(client) {
  holds(await client.ping(), 'PONG');
  holds(await client.set('k', 'v'), 'OK');
  holds(await client.get('k'), 'v');
  holds(await client.get('none'), null);
  holds(await client.set('k', 'w', { NX: true }), null);
  holds(await client.set('k', 'w', { XX: true, GET: true, EX: 10000 }), 'v');
  holds((await client.ttl('k')) > 9900, true);
  holds(await client.getEx('k', { PERSIST: true }), 'w');
  holds(await client.getDel('k'), 'w');
  holds(await client.mSet({ a: '1', b: '2' }), 'OK');
  holds(await client.mGet(['a', 'b', 'none']), ['1', '2', null]);
  holds(await client.mSetNX({ b: '3', c: '3' }), false);
  holds(await client.incr('a'), 2);
  holds(await client.incrBy('a', 40), 42);
  holds(await client.decrBy('a', 2), 40);
  holds(await client.incrByFloat('f', 10.5), '10.5');
  holds(await client.append('s', 'Hello'), 5);
  holds(await client.setRange('s', 5, ' World'), 11);
  holds(await client.getRange('s', -5, -1), 'World');
  holds(await client.strLen('s'), 11);
  holds(await client.set('lcs1', 'ohmytext').then(() => client.set('lcs2', 'mynewtext')).then(() => client.lcs('lcs1', 'lcs2')), 'mytext');
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  holds(await client.set('bytes', bytes), 'OK');
  holds(Buffer.compare(await client.get(commandOptions({ returnBuffers: true }), 'bytes'), bytes), 0);
  await assert.rejects(client.incr('s'), /value is not an integer or out of range/);
  await assert.rejects(client.sendCommand(['NOSUCH', 'x']), /unknown command 'NOSUCH', with args beginning with: 'x'/);
}

async function keys(client) {
  await client.flushDb();
  await Promise.all(Array.from({ length: 500 }, (_, i) => client.set(`key:${i}`, `${i}`)));
  holds(await client.dbSize(), 500);
  const found = new Set();
  for await (const key of client.scanIterator({ MATCH: 'key:*', COUNT: 37, TYPE: 'string' })) found.add(key);
  holds(found.size, 500);
  holds((await client.keys('key:12?')).sort(), Array.from({ length: 10 }, (_, i) => `key:12${i}`));
  holds(await client.exists(['key:1', 'none']), 1);
  holds(await client.type('key:1'), 'string');
  holds(await client.expire('key:1', 100), true);
  holds(await client.expire('key:1', 50, 'GT'), false);
  holds(await client.pExpireTime('key:1').then((at) => at > Date.now()), true);
  holds(await client.persist('key:1'), true);
  holds(await client.rename('key:1', 'renamed'), 'OK');
  holds(await client.copy('renamed', 'copied'), true);
  holds(await client.del(['copied', 'none']), 1);
  holds(await client.objectEncoding('renamed'), 'int');
}

async function connections(client, port) {
  const other = client.duplicate({ name: 'other', database: 2 });
  await other.connect();
  holds(await other.clientGetName(), 'other');
  const info = await other.clientInfo();
  holds([info.name, info.db], ['other', 2]);
  await other.set('k', 'in two');
  holds(await client.get('k'), null);
  holds((await client.info('server')).includes(`tcp_port:${port}`), true);
  holds({ ...(await client.configGet('maxmemory-policy')) }, { 'maxmemory-policy': 'noeviction' });
  holds((await client.commandGetKeys(['MGET', 'a', 'b'])), ['a', 'b']);
  await other.quit();
}

async function main() {
  const port = Number(process.argv[2]);
  const client = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false } });
  client.on('error', (error) => {
    throw error;
  });
  await client.connect();
  await strings(client);
  await keys(client);
  await connections(client, port);
  holds(await client.flushAll(), 'OK');
  await client.quit();
  console.log(`${statements} statements hold`);
}

main();
