// Every view: one row each. open(page) returns its elements, its charts, update(signal) for every second, and where it is needed prepare(signal, what), which
// chooses what the charts show before it is read, look(what), which shows what a link looks for, visible(isVisible) when the page is hidden or shown again,
// and close().
import { overview } from './overview.js';
import { commands, loops, slow } from './work.js';
import { keys, memory } from './data.js';
import { clients } from './clients.js';
import { cluster } from './cluster.js';
import { configuration } from './configuration.js';
import { durability } from './durability.js';
import { log, traffic } from './log.js';
import { machine } from './machine.js';
import { replication } from './replication.js';
import { security } from './security.js';

export const views = [
  { name: 'overview', title: 'Overview', question: 'Is the server healthy, and if not, what should be done?', open: overview },
  { name: 'commands', title: 'Commands', question: 'Which commands are expensive, slow or failing, and where does their time go?', open: commands },
  { name: 'loops', title: 'Loops', question: 'Is the work spread evenly, what stalled a loop, which stripe is hot?', open: loops },
  { name: 'memory', title: 'Memory', question: 'What takes the memory, how far away is the limit, what waits to be freed?', open: memory },
  { name: 'clients', title: 'Clients', question: 'Who is connected, whose buffers or waits stand out, why did this client time out?', open: clients },
  { name: 'slow', title: 'Slow and large', question: 'Requests that were slow or large, where their time went, and what else happened then.', open: slow },
  { name: 'keys', title: 'Keys', question: 'Hot keys, large keys, sizes and lifetimes; and a look at the data.', open: keys },
  { name: 'durability', title: 'Durability', question: 'What is safe on the disk, how long did the last save take, does the disk keep up?', open: durability },
  { name: 'replication', title: 'Replication', question: 'Who follows whom, how far behind is each, what would a break of the link cost?', open: replication },
  { name: 'cluster', title: 'Cluster', question: 'Who has which slots, does every shard serve, could a replica take over?', open: cluster },
  { name: 'machine', title: 'Machine', question: 'Does the server get what it needs: CPU, memory, disk, files, a steady clock?', open: machine },
  { name: 'security', title: 'Security', question: 'Who may do what, who was refused, and is the traffic encrypted?', open: security },
  { name: 'configuration', title: 'Configuration', question: 'What differs from the defaults, since when, and what has no effect here?', open: configuration },
  { name: 'log', title: 'Log', question: 'What the server logged.', open: log },
  { name: 'traffic', title: 'Live traffic', question: 'What runs now. Values are hidden until you show them.', open: traffic, liveOnly: true },
];
