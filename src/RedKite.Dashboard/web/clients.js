import { h } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { chart } from './charts.js';
import { around, client, here, to } from './links.js';
import { moments, table } from './table.js';

const bytesText = number => format.text(format.bytes(number));
const bytesOrNone = number => number === 0 ? 'none' : bytesText(number);
const countOrNone = (title, get) => ({ title, number: true, get, show: row => format.orNone(get(row)) });

/** Every kind of event: its text, and the view with more about that moment. */
export const kinds = {
  slowcommand: ['its command took long to execute', 'slow'], longwait: ['its command waited for others on the loop', 'loops'],
  lockwait: ['its command waited for keys that another command had locked', 'slow'],
  notreading: ['it left replies unread'], readsagain: ['it read again'], paused: ['CLIENT PAUSE held it'],
  overlimit: ['closed: output limit'], evicted: ['closed: all clients together reached maxmemory-clients', 'memory'], querytoolarge: ['closed: request too large'],
  idle: ['closed: idle'], killed: ['closed: CLIENT KILL'], userdeleted: ['closed: its user was deleted'], channeldenied: ['closed: its user lost access to one of its channels'],
  protocolerror: ['closed: it sent an invalid request'], handshaketimeout: ['closed: its TLS handshake took too long'],
  stall: ['the whole process was stalled', 'machine'], garbagecollection: ['a garbage collection stopped the process', 'memory'],
  settingchanged: ['a setting was changed', 'configuration'], started: ['the server started', 'log'], action: ['the server acted by itself', 'configuration'],
  savebegan: ['a save began', 'durability'], saved: ['the data was saved', 'durability'], savefailed: ['the data could not be saved', 'durability'],
  rewritebegan: ['a rewrite of the append-only file began', 'durability'], rewritten: ['the append-only file was rewritten', 'durability'],
  rewritefailed: ['the append-only file could not be rewritten', 'durability'], snapshotpoint: ['a snapshot’s beginning locked all keys', 'durability'],
  logbegan: ['the append-only file began', 'durability'], logended: ['the append-only file ended', 'durability'],
  logfailed: ['the append-only file could not be written', 'durability'], logrecovered: ['the append-only file can be written again', 'durability'],
  slowsync: ['a sync of the append-only file took long', 'durability'], writesrefused: ['commands that write are refused', 'durability'],
  writesaccepted: ['commands that write are accepted again', 'durability'], writesheld: ['commands that write waited for the disk or for MIGRATE', 'durability'],
};

// The link of an event: its view at that moment. A setting links to the view of settings.
function explain(row) {
  const view = kinds[row.kind]?.[1];
  if (view === undefined) return null;
  return row.kind === 'settingchanged' ? to(view, { find: row.detail }) : around(view, row.unix_ms);
}

export function clients({ source, zoom, chosen }) {
  const charts = [
    chart({ title: 'Clients', unit: 'count', series: [{ metric: 'connected_clients', label: 'connected' }, { metric: 'blocked_clients', label: 'blocked' }, { metric: 'suspended_clients', label: 'not reading' }], zoom }),
    chart({ title: 'Connections per second', unit: 'count', series: [{ metric: 'total_connections_received', label: 'accepted' }, { metric: 'rejected_connections', label: 'refused' }], zoom }),
    chart({ title: 'Messages per second', unit: 'count', series: [{ metric: 'pubsub_messages_published', label: 'published' }, { metric: 'pubsub_messages_delivered', label: 'delivered' }, { metric: 'tracking_invalidations_sent', label: 'invalidations' }], zoom }),
    chart({ title: 'Transactions and scripts per second', unit: 'count', series: [{ metric: 'transactions_executed', label: 'executed' }, { metric: 'transactions_refused', label: 'refused' }, { metric: 'scripts_executed', label: 'scripts' }], zoom }),
    chart({ title: 'Closed at a limit, per second', unit: 'count', series: [{ metric: 'client_output_buffer_limit_disconnections', label: 'output' }, { metric: 'client_query_buffer_limit_disconnections', label: 'request' }, { metric: 'evicted_clients', label: 'memory' }], zoom }),
    chart({ title: 'Output waiting to be sent', unit: 'bytes', series: [{ metric: 'client_output_bytes', label: 'all' }, { metric: 'client_largest_output_bytes', label: 'largest', peak: true }], zoom }),
  ];
  const status = h('p', { role: 'status', class: 'lead' });
  const flags = row => row.left_unix_ms ? `left ${format.time(row.left_unix_ms)}${row.closed_for ? `, ${kinds[row.closed_for]?.[0] ?? row.closed_for}` : ''}` : [row.blocked && 'blocked', row.paused && 'paused', row.suspended && 'not reading'].filter(Boolean).join(', ');
  const kill = row => h('button', { type: 'button', class: 'danger', onclick: async () => {
    if (!confirm(`Close client ${row.id} (${row.name || row.address})?`)) return;
    status.textContent = await api.post(`api/clients/${row.id}/kill`) === 204 ? `Client ${row.id} was closed.` : `Client ${row.id} was gone already.`;
  } }, 'Close');
  const list = table({ caption: 'Clients', key: row => row.left_unix_ms ? `${row.id} left` : String(row.id), first: 50, filter: true, names: row => [row.address], sort: 6, descending: true, emptyText: 'No client is connected.', columns: [
    { title: 'Id', number: true, get: row => row.id }, { title: 'Name', get: row => row.name }, { title: 'Address', get: row => row.address },
    { title: 'Library', get: row => [row.library, row.library_version].filter(Boolean).join(' ') }, { title: 'Last command', get: row => row.last_command ?? '', link: row => row.last_command ? here('commands', { find: row.last_command }) : null },
    { title: 'State', get: flags }, { title: 'Commands', number: true, get: row => row.commands, show: row => format.text(format.count(row.commands)) },
    { title: 'Age', number: true, get: row => row.age_seconds, show: row => format.text(format.seconds(row.age_seconds)) },
    { title: 'Idle', number: true, get: row => row.idle_seconds, show: row => row.left_unix_ms ? '' : format.text(format.seconds(row.idle_seconds)) },
    { title: 'Input', number: true, get: row => row.input_bytes, show: row => row.left_unix_ms ? '' : bytesOrNone(row.input_bytes) },
    { title: 'Output waiting', number: true, get: row => row.output_bytes, show: row => row.left_unix_ms ? '' : bytesOrNone(row.output_bytes) },
    { title: 'Memory', number: true, get: row => row.memory_bytes, show: row => row.left_unix_ms ? '' : bytesText(row.memory_bytes) },
    { title: 'Sent to it', number: true, get: row => row.bytes_sent, show: row => bytesOrNone(row.bytes_sent) },
    { title: 'Loop', number: true, get: row => row.left_unix_ms ? '' : row.loop },
    { title: 'Delays', get: () => '', show: row => h('button', { type: 'button', title: 'What delayed this client', onclick: () => {
      timeline.filterBy(row.name || row.address);
      timeline.reveal();
    } }, 'Why?'), keep: true },
    ...source.live ? [{ title: 'Close', get: () => '', show: row => row.left_unix_ms ? '' : kill(row), keep: true }] : [],
  ] });
  const libraries = table({ caption: 'Libraries', sort: 1, descending: true, emptyText: 'No client is connected.', columns: [{ title: 'Library', get: row => row.name, link: row => row.told ? here('clients', { find: row.name }) : null }, { title: 'Clients', number: true, get: row => row.count }] });
  const messages = table({ caption: 'Subscriptions and transactions', key: row => String(row.id), emptyText: 'No client has a subscription, a transaction or a watched key.', columns: [
    { title: 'Id', number: true, get: row => row.id }, { title: 'Name', get: row => row.name, link: client }, { title: 'Address', get: row => row.address, link: client },
    countOrNone('Channels', row => row.channels + row.shard_channels), countOrNone('Patterns', row => row.patterns),
    { title: 'Output waiting', number: true, get: row => row.output_bytes, show: row => bytesOrNone(row.output_bytes) },
    countOrNone('Queued commands', row => row.queued_commands), countOrNone('Watched keys', row => row.watched_keys),
  ] });
  const timeline = table({ caption: 'What delayed clients', always: row => row.client_id === 0, names: row => [row.address], filter: true, sort: 0, descending: true, first: 30, emptyText: 'Nothing has delayed a client for 10 ms or more in this time.', columns: [
    moments('When', row => row.unix_ms, row => around('clients', row.unix_ms, { at: 'timeline' })),
    { title: 'What', get: row => kinds[row.kind]?.[0] ?? row.kind, link: explain },
    { title: 'How long', number: true, get: row => row.microseconds, show: row => row.microseconds > 0 ? format.text(format.microseconds(row.microseconds)) : '' },
    { title: 'Client', get: row => row.client_id === 0 ? 'all' : [row.name, row.address, `id ${row.client_id}`].filter(Boolean).join(' '), link: client },
    { title: 'Detail', get: row => row.detail },
  ] });
  return {
    elements: [h('div', { class: 'charts' }, charts.map(each => each.element)), h('h2', {}, 'Clients'), status, list.element, h('h2', {}, 'Libraries of the connected clients'), libraries.element, h('h2', {}, 'Subscriptions and transactions of the connected clients'), messages.element,
      h('h2', {}, 'Why did this client time out?'), h('p', { class: 'lead' }, 'Filter by the client’s name or address; events that affected all clients stay. A range chosen on a chart limits the list.'), timeline.element],
    charts,
    tables: [list, timeline],
    async update(signal) {
      const [rows, events, taking] = await Promise.all([api.report('clients', signal), api.report('timeline', signal), api.report('messages', signal)]);
      list.update(rows);
      messages.update(taking?.clients);
      timeline.update(chosen(events, row => row.unix_ms / 1000)?.slice(-500));
      const counts = new Map();
      for (const row of rows.filter(each => !each.left_unix_ms)) counts.set(row.library || 'not told', (counts.get(row.library || 'not told') ?? 0) + 1);
      libraries.update([...counts].map(([name, count]) => ({ name, count, told: name !== 'not told' })));
    },
    look(what) {
      const text = what.get('find') ?? '';
      list.filterBy(text);
      timeline.filterBy(text);
      if (what.get('at') === 'timeline') timeline.reveal();
      else if (text !== '') list.reveal();
    },
  };
}
