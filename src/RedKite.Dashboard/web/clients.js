import { h, empty } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { chart } from './charts.js';
import { table } from './table.js';

const bytesText = number => format.text(format.bytes(number));
const kinds = {
  slowcommand: 'its command executed for long', longwait: 'its command waited for others on the loop', notreading: 'it left replies unread', readsagain: 'it read again',
  paused: 'CLIENT PAUSE held it', overlimit: 'closed: output limit', querytoolarge: 'closed: request too large', idle: 'closed: idle', killed: 'closed: CLIENT KILL',
  stall: 'the whole process stood still', garbagecollection: 'a garbage collection stopped the process', settingchanged: 'a setting was changed', started: 'the server started', action: 'the server did something by itself',
};

export function clients({ source, zoom, chosen }) {
  const charts = [
    chart({ title: 'Clients', unit: 'count', series: [{ metric: 'connected_clients', label: 'connected' }, { metric: 'blocked_clients', label: 'blocked' }, { metric: 'suspended_clients', label: 'not reading' }], zoom }),
    chart({ title: 'Connections per second', unit: 'count', series: [{ metric: 'total_connections_received', label: 'accepted' }, { metric: 'rejected_connections', label: 'refused' }], zoom }),
    chart({ title: 'Messages per second', unit: 'count', series: [{ metric: 'pubsub_messages_published', label: 'published' }, { metric: 'pubsub_messages_delivered', label: 'delivered' }, { metric: 'tracking_invalidations_sent', label: 'invalidations' }], zoom }),
    chart({ title: 'Transactions and scripts per second', unit: 'count', series: [{ metric: 'transactions_executed', label: 'executed' }, { metric: 'transactions_refused', label: 'refused' }, { metric: 'scripts_executed', label: 'scripts' }], zoom }),
    chart({ title: 'Closed at a limit, per second', unit: 'count', series: [{ metric: 'client_output_buffer_limit_disconnections', label: 'output' }, { metric: 'client_query_buffer_limit_disconnections', label: 'request' }, { metric: 'evicted_clients', label: 'memory' }], zoom }),
    chart({ title: 'Output that waits', unit: 'bytes', series: [{ metric: 'client_output_bytes', label: 'all' }, { metric: 'client_largest_output_bytes', label: 'largest', peak: true }], zoom }),
  ];
  const status = h('p', { role: 'status', class: 'lead' });
  const flags = row => [row.blocked && 'blocked', row.paused && 'paused', row.suspended && 'not reading'].filter(Boolean).join(', ');
  const kill = row => h('button', { type: 'button', class: 'danger', onclick: async () => {
    if (!confirm(`Close client ${row.id} (${row.name || row.address})?`)) return;
    status.textContent = await api.post(`/api/clients/${row.id}/kill`) === 204 ? `Client ${row.id} was closed.` : `Client ${row.id} was gone already.`;
  } }, 'Close');
  const list = table({ caption: 'Clients', key: row => String(row.id), first: 50, emptyText: 'No client is connected.', columns: [
    { title: 'Id', number: true, get: row => row.id }, { title: 'Name', get: row => row.name }, { title: 'Address', get: row => row.address },
    { title: 'Library', get: row => [row.library, row.library_version].filter(Boolean).join(' ') }, { title: 'Last command', get: row => row.last_command ?? '' },
    { title: 'State', get: flags }, { title: 'Commands', number: true, get: row => row.commands, show: row => format.text(format.count(row.commands)) },
    { title: 'Age', number: true, get: row => row.age_seconds, show: row => format.text(format.seconds(row.age_seconds)) },
    { title: 'Idle', number: true, get: row => row.idle_seconds, show: row => format.text(format.seconds(row.idle_seconds)) },
    { title: 'Input', number: true, get: row => row.input_bytes, show: row => bytesText(row.input_bytes) },
    { title: 'Output waiting', number: true, get: row => row.output_bytes, show: row => bytesText(row.output_bytes) },
    { title: 'Memory', number: true, get: row => row.memory_bytes, show: row => bytesText(row.memory_bytes) },
    { title: 'Loop', number: true, get: row => row.loop },
    { title: 'Delays', get: () => '', show: row => h('button', { type: 'button', title: 'What delayed this client', onclick: () => timeline.filterBy(row.name || row.address) }, 'Why?'), keep: true },
    ...source.live ? [{ title: 'Close', get: () => '', show: kill, keep: true }] : [],
  ] });
  const libraries = table({ caption: 'Libraries', sort: 1, descending: true, filter: false, emptyText: 'No client is connected.', columns: [{ title: 'Library', get: row => row.name }, { title: 'Clients', number: true, get: row => row.count }] });
  const messages = table({ caption: 'Subscriptions and transactions', filter: false, key: row => String(row.id), emptyText: 'No client has a subscription, a transaction or a watched key.', columns: [
    { title: 'Id', number: true, get: row => row.id }, { title: 'Name', get: row => row.name }, { title: 'Address', get: row => row.address },
    { title: 'Channels', number: true, get: row => row.channels + row.shard_channels }, { title: 'Patterns', number: true, get: row => row.patterns },
    { title: 'Output waiting', number: true, get: row => row.output_bytes, show: row => bytesText(row.output_bytes) },
    { title: 'Queued commands', number: true, get: row => row.queued_commands }, { title: 'Watched keys', number: true, get: row => row.watched_keys },
  ] });
  const timeline = table({ caption: 'What delayed clients', always: row => row.client_id === 0, sort: 0, descending: true, first: 30, emptyText: 'Nothing has delayed a client for 10 ms or more in this time.', columns: [
    { title: 'When', get: row => row.unix_ms, show: row => format.time(row.unix_ms) },
    { title: 'What', get: row => kinds[row.kind] ?? row.kind },
    { title: 'How long', number: true, get: row => row.microseconds, show: row => row.microseconds > 0 ? format.text(format.microseconds(row.microseconds)) : '' },
    { title: 'Client', get: row => row.client_id === 0 ? 'all' : [row.name, row.address, `id ${row.client_id}`].filter(Boolean).join(' ') },
    { title: 'Detail', get: row => row.detail },
  ] });
  return {
    elements: [h('div', { class: 'charts' }, charts.map(each => each.element)), h('h2', {}, 'Connected clients'), status, list.element, h('h2', {}, 'Libraries'), libraries.element, h('h2', {}, 'Subscriptions and transactions'), messages.element,
      h('h2', {}, 'Why did this client time out?'), h('p', { class: 'lead' }, 'Filter by the client’s name or address; what concerned all clients stays. A range chosen on a chart limits the list.'), timeline.element],
    charts,
    async update(signal) {
      const [rows, events, taking] = await Promise.all([api.report('clients', signal), api.report('timeline', signal), api.report('messages', signal)]);
      list.update(rows);
      messages.update(taking?.clients);
      timeline.update(chosen(events, row => row.unix_ms / 1000)?.slice(-500));
      const counts = new Map();
      for (const row of rows) counts.set(row.library || 'not told', (counts.get(row.library || 'not told') ?? 0) + 1);
      libraries.update([...counts].map(([name, count]) => ({ name, count })));
    },
  };
}

export function configuration() {
  const columns = [{ title: 'Setting', get: row => row.name }, { title: 'Value', get: row => row.value, wrap: true }, { title: 'Default', get: row => row.default, wrap: true },
    { title: 'Here', get: row => row.no_effect ? `no effect: ${row.no_effect}` : row.remark ?? '', wrap: true }, { title: 'While running', get: row => row.mutable ? 'changeable' : 'fixed' }];
  const differing = table({ caption: 'Settings that differ', columns, filter: false, emptyText: 'Every setting has its default value.' });
  const all = table({ caption: 'All settings', columns });
  const facts = h('dl', { class: 'facts panel' });
  const actions = table({ caption: 'What the server may do by itself', filter: false, key: row => row.name, columns: [
    { title: 'Action', get: row => row.name }, { title: 'Times', number: true, get: row => row.count }, { title: 'Setting', get: row => row.setting },
    { title: 'Value', get: row => row.value || 'empty' }, { title: 'When, and what', get: row => row.meaning, wrap: true }] });
  return {
    elements: [h('h2', {}, 'What the server may do by itself'), actions.element, h('h2', {}, 'Differs from the default'), differing.element, h('h2', {}, 'All settings'), all.element, h('h2', {}, 'Machine and runtime'), facts],
    async update(signal) {
      actions.update((await api.report('actions', signal))?.actions);
      if (facts.childElementCount > 0) return; // settings change rarely: once when the view is opened
      const [rows, system] = await Promise.all([api.report('settings', signal), api.report('system', signal)]);
      differing.update(rows.filter(row => row.differs));
      all.update(rows);
      facts.replaceChildren(...Object.entries(system).flatMap(([name, text]) => [h('dt', {}, name.replaceAll('_', ' ')), h('dd', {}, text || 'unknown')]));
    },
  };
}

export function log({ source }) {
  const lines = [];
  let next = 0;
  let words = '';
  const box = h('pre', { class: 'panel log', tabindex: 0, 'aria-label': 'Log' });
  const search = h('input', { type: 'search', placeholder: 'Search', 'aria-label': 'Search the log', oninput: event => {
    words = event.target.value.toLowerCase();
    draw();
  } });
  const draw = () => {
    const shown = lines.filter(line => line.toLowerCase().includes(words));
    const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 20;
    box.textContent = shown.length > 0 ? shown.join('\n') : 'No line matches.';
    if (atEnd) box.scrollTop = box.scrollHeight;
  };
  return {
    elements: [h('div', { class: 'tools' }, search), box],
    async update(signal) {
      if (!source.live) {
        if (lines.length === 0) lines.push(...await api.report('log', signal) ?? []);
      } else {
        const tail = await api.get(`/api/log?after=${next}`, signal);
        if (tail.lines.length === 0 && next > 0) return;
        next = tail.next;
        lines.push(...tail.lines);
        lines.splice(0, Math.max(0, lines.length - 1000));
      }
      draw();
    },
  };
}

export function traffic() {
  const kept = [];
  const rate = h('p', { class: 'lead', role: 'status' }, 'Waiting for commands…');
  const list = table({ caption: 'Commands', sort: 0, descending: true, emptyText: 'No command has come since you opened this view.', columns: [
    { title: 'When', get: row => row.unix_us, show: row => `${format.time(row.unix_us / 1000)}.${String(Math.floor(row.unix_us / 1000) % 1000).padStart(3, '0')}` },
    { title: 'Client', get: row => [row.name, row.address].filter(Boolean).join(' ') }, { title: 'Command', get: row => row.command },
    { title: 'Arguments', get: row => row.arguments ? row.arguments.slice(1).join(' ') : `${row.argument_count - 1} hidden` }] });
  let stream = null;
  const values = h('input', { type: 'checkbox', onchange: () => open() });

  function open() {
    stream?.close();
    stream = new EventSource(`/api/traffic${values.checked ? '?values=1' : ''}`);
    stream.onmessage = event => {
      const commands = JSON.parse(event.data);
      rate.textContent = commands.length === 0 ? 'No command in the last second.' : `${commands.length.toLocaleString('en')} commands of the last second are shown: the first ones, if there were more.`;
      kept.push(...commands);
      kept.splice(0, Math.max(0, kept.length - 300));
      list.update([...kept]);
    };
    stream.onerror = () => rate.textContent = 'The stream was interrupted; the browser tries again.';
  }

  open();
  return {
    elements: [h('p', {}, h('label', {}, values, ' Show values')), rate, list.element, empty('While this view is open, commands are executed one by one, which costs some speed.')],
    close: () => stream.close(),
  };
}
