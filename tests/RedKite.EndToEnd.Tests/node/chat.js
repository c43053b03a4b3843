// Socket.IO with its Redis adapter against a server: rooms over two node processes.
// Usage: chat.js PORT. Exits with 1 at the first failed assertion.
'use strict';

const { fork } = require('node:child_process');
const { createServer } = require('node:http');
const { createAdapter, createShardedAdapter } = require('@socket.io/redis-adapter');
const { createClient } = require('redis');
const Redis = require('ioredis');
const { Server } = require('socket.io');
const { io: connect } = require('socket.io-client');
const { holds, eventually, run } = require('./statements');

// The adapter over channels and patterns with ioredis, and over sharded channels with node-redis.
const adapters = {
  channels(port) {
    const publisher = new Redis({ host: '127.0.0.1', port });
    return createAdapter(publisher, publisher.duplicate());
  },
  async sharded(port) {
    const publisher = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false } });
    const subscriber = publisher.duplicate();
    await Promise.all([publisher.connect(), subscriber.connect()]);
    return createShardedAdapter(publisher, subscriber);
  },
};

const channels = (port) => rooms(port, 'channels');
const sharded = (port) => rooms(port, 'sharded');

async function rooms(port, adapter) {
  const nodes = [1, 2].map(() => fork(__filename, [String(port), adapter], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }));
  const sockets = [];
  try {
    const ports = await Promise.all(nodes.map((node) => new Promise((resolve, reject) => {
      node.once('message', resolve);
      node.once('exit', (code) => reject(new Error(`a node exited with ${code}`)));
    })));
    const join = async (node, name, room) => {
      const socket = connect(`http://127.0.0.1:${ports[node]}`, { transports: ['websocket'], reconnection: false, forceNew: true });
      sockets.push(socket);
      const heard = [];
      socket.on('said', (text) => heard.push(text));
      await new Promise((resolve, reject) => socket.on('connect', resolve).on('connect_error', reject));
      await socket.emitWithAck('join', name, room);
      return { socket, heard, ask: (...question) => socket.timeout(15000).emitWithAck(...question) };
    };
    const anna = await join(0, 'anna', 'red');
    const bert = await join(1, 'bert', 'red');
    const cleo = await join(1, 'cleo', 'blue');
    // Both nodes know of each other once a request to all sockets is answered by both.
    await eventually(async () => (await anna.ask('names')).join() === 'anna,bert,cleo', 'all sockets are known to the first node');
    await eventually(async () => (await cleo.ask('names')).join() === 'anna,bert,cleo', 'all sockets are known to the second node');

    holds(await anna.ask('say', 'red', 'to red'), true);
    await eventually(() => anna.heard.length === 1 && bert.heard.length === 1, 'the room hears it on both nodes');
    holds(await bert.ask('say', 'blue', 'to blue'), true);
    await eventually(() => cleo.heard.length === 1, 'the other room hears it');
    for (let i = 0; i < 100; i++) anna.socket.emit('say', 'red', `line ${i}`);
    await eventually(() => anna.heard.length === 101 && bert.heard.length === 101, 'all lines arrive');
    holds(bert.heard.slice(1), Array.from({ length: 100 }, (_, i) => `line ${i}`));
    holds(cleo.heard, ['to blue']);

    // A node moves sockets of the other into a room, asks all for answers, and closes one.
    await anna.ask('move', 'blue', 'red');
    await eventually(async () => (await anna.ask('names of', 'red')).join() === 'anna,bert,cleo', 'the room has three');
    await anna.ask('say', 'red', 'to three');
    await eventually(() => [anna, bert, cleo].every(({ heard }) => heard.at(-1) === 'to three'), 'the one who moved hears it');
    for (const { socket } of [anna, bert, cleo]) socket.on('question', (n, answer) => answer(n * 2));
    holds(await bert.ask('question all', 21), [42, 42, 42]);
    holds(await anna.ask('ask nodes', 'load'), ['load answered']);
    await anna.ask('close', 'blue');
    await eventually(() => cleo.socket.disconnected, 'the other node closed the socket');
    holds(await anna.ask('names'), ['anna', 'bert']);
    holds([anna.socket.connected, bert.socket.connected], [true, true]);
  } finally {
    for (const socket of sockets) socket.close();
    await Promise.all(nodes.map(stop));
  }
}

// One of the two node processes.
async function node(port, adapter) {
  const server = createServer();
  const io = new Server(server, { adapter: await adapters[adapter](port) });
  io.on('connection', (socket) => {
    const names = async (room) => (await (room ? io.in(room) : io).fetchSockets()).map((other) => other.data.name).sort();
    socket.on('join', async (name, room, done) => {
      socket.data.name = name;
      await socket.join(room);
      done();
    });
    socket.on('say', (room, text, done) => {
      io.to(room).emit('said', text);
      done?.(true);
    });
    socket.on('names', async (done) => done(await names()));
    socket.on('names of', async (room, done) => done(await names(room)));
    socket.on('move', (from, to, done) => {
      io.in(from).socketsJoin(to);
      done();
    });
    socket.on('question all', async (n, done) => done(await io.timeout(10000).emitWithAck('question', n)));
    socket.on('ask nodes', (what, done) => io.serverSideEmit('node question', what, (error, answers) => done(error ? String(error) : answers)));
    socket.on('close', (room, done) => {
      io.in(room).disconnectSockets(true);
      done();
    });
  });
  io.on('node question', (what, answer) => answer(`${what} answered`));
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
  process.on('disconnect', () => process.exit(0));
}

async function stop(child) {
  child.removeAllListeners('exit');
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.on('exit', resolve));
  child.disconnect();
  const limit = setTimeout(() => child.kill('SIGKILL'), 10000);
  await exited;
  clearTimeout(limit);
}

if (process.argv[3]) {
  node(Number(process.argv[2]), process.argv[3]);
} else {
  run([channels, sharded]);
}
