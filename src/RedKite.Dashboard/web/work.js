import { h, svg } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { chart } from './charts.js';
import { around, client, here, slow as slowRequests } from './links.js';
import { moments, table } from './table.js';

const parts = ['waiting', 'executing', 'sending'];
const us = value => format.text(format.microseconds(value));

const lines = metric => [['p50', 'p50'], ['p99', 'p99'], ['p999', 'p99.9'], ['max', 'max']].map(([part, label]) => ({ metric: `${metric}_${part}`, label, peak: part === 'max' }));

// As many families as a chart can show: the others are in the table.
const families = ['string', 'hash', 'list', 'set', 'sorted_set', 'stream', 'generic', 'scripting'];
const ofFamilies = part => families.map(family => ({ metric: `family_${family}_${part}`, label: family.replace('_', ' ') }));

// Where the time goes, in the three colours.
export function split(values) {
  const sum = values.reduce((a, b) => a + Math.max(0, b), 0);
  let x = 0;
  const label = parts.map((part, i) => `${part} ${us(values[i])}`).join(', ');
  return svg('svg', { width: 160, height: 10, role: 'img', 'aria-label': label }, svg('title', {}, label), ...parts.map((part, i) => {
    const width = sum === 0 ? 0 : 160 * Math.max(0, values[i]) / sum;
    const bar = svg('rect', { x, y: 0, width, height: 10, class: part });
    x += width;
    return bar;
  }));
}

export const legend = () => h('p', { class: 'lead parts' }, parts.map(part => h('span', {}, h('span', { class: `key ${part}` }), `${part} `)));

// Calls per second between two updates, as a property of each row.
export function rates(source) {
  let before = { at: 0, calls: new Map() };
  return (rows, name) => {
    if (!source.live) return rows;
    const now = performance.now();
    const seconds = (now - before.at) / 1000;
    for (const row of rows) if (before.calls.has(name(row))) row.rate = Math.max(0, row.calls - before.calls.get(name(row))) / seconds;
    before = { at: now, calls: new Map(rows.map(row => [name(row), row.calls])) };
    return rows;
  };
}

/** What the interface says of a time range, for each second of it. */
export const perSecond = ({ from, to, commands }) => commands.map(row => ({ name: row.name, rate: row.calls / Math.max(1, to - from), failures: row.failures, share: row.microseconds / 1e6 / Math.max(1, to - from), p99: row.p99_us, max: row.max_us }));

/** The columns of a command's work in the time range. Its history does not have the waits. */
export const ofRange = (leads = () => null) => [
  { title: 'Time, of a core', number: true, get: row => row.share ?? 0, show: row => row.share === undefined ? '' : format.text(format.cores(row.share)) },
  { title: 'Per second', number: true, get: row => row.rate ?? 0, show: row => row.rate === undefined ? '' : format.text(format.count(row.rate)) },
  { title: 'Failed', number: true, get: row => row.failures ?? 0, show: row => row.failures === undefined ? '' : format.orNone(row.failures) },
  { title: 'Highest p99', number: true, get: row => row.p99 ?? 0, show: row => row.p99 === undefined ? '' : us(row.p99) },
  { title: 'Longest', number: true, get: row => row.max ?? 0, show: row => row.max === undefined ? '' : us(row.max), link: row => row.max === undefined ? null : leads(row) },
];

// A list of which one is chosen, whose charts follow it. The address has it, so that rows of tables lead to it.
function choice({ label, choose }) {
  let offered = '';
  const select = h('select', { id: `one-${label}`, onchange: () => choose(select.value) });
  const element = h('div', { class: 'tools' }, h('label', { for: select.id }, label), select);
  return { element, offer(names, chosen) {
    const all = names.includes(chosen) ? names : [chosen, ...names];
    if (all.join('\n') !== offered) select.replaceChildren(...all.map(name => h('option', { value: name }, name)));
    offered = all.join('\n');
    select.value = chosen;
  }, reveal() {
    if (document.activeElement === select) return; // the user is choosing there
    element.scrollIntoView({ block: 'center' });
    select.focus({ preventScroll: true });
  } };
}

// The charts of one command, at first of the one that took the most time.
function oneCommand({ zoom, go }) {
  const charts = [
    chart({ title: 'Calls per second', unit: 'count', series: [], zoom }),
    chart({ title: 'Time of a call', unit: 'microseconds', series: [], zoom }),
    chart({ title: 'Time executed in a second', unit: 'microseconds', series: [], zoom }),
  ];
  const list = choice({ label: 'Command', choose: name => go('commands', { command: name, find: null }) });
  const section = h('section', { hidden: true }, h('h2', {}, 'One command'), list.element, h('div', { class: 'charts' }, charts.map(each => each.element)));
  let chosen = null;
  return { element: section, charts, reveal: list.reveal,
    async prepare(signal, what) {
      chosen = what.get('command') ?? chosen ?? (await api.report('commands', signal)).toSorted((a, b) => b.total_microseconds - a.total_microseconds)[0]?.name ?? null;
      if (chosen === null) return; // no command was called yet
      section.hidden = false;
      charts[0].follow([{ metric: `command_calls:${chosen}`, label: 'calls' }, { metric: `command_failures:${chosen}`, label: 'failed' }]);
      charts[1].follow([{ metric: `command_p99:${chosen}`, label: 'p99', peak: true }, { metric: `command_max:${chosen}`, label: 'max', peak: true }]);
      charts[2].follow([{ metric: `command_microseconds:${chosen}`, label: 'executing' }]);
    },
    update(rows) {
      if (chosen !== null) list.offer(rows.map(row => row.name).sort(), chosen);
    } };
}

export function commands({ source, zoom, go, range, rangeText }) {
  const one = oneCommand({ zoom, go });
  const charts = [
    chart({ title: 'Commands per second', unit: 'count', series: [{ metric: 'total_commands_processed', label: 'commands' }], zoom }),
    chart({ title: 'Errors per second', unit: 'count', series: [{ metric: 'total_error_replies', label: 'errors' }], zoom }),
    chart({ title: 'Calls per second by family', unit: 'count', series: ofFamilies('calls'), zoom }),
    chart({ title: 'Time executed in a second by family', unit: 'milliseconds', series: ofFamilies('milliseconds'), zoom }),
    chart({ title: 'p99 executing by family', unit: 'microseconds', series: ofFamilies('p99'), zoom }),
    chart({ title: 'Waiting', unit: 'microseconds', series: lines('command_waiting'), zoom }),
    chart({ title: 'Executing', unit: 'microseconds', series: lines('command_latency'), zoom }),
    chart({ title: 'Sending', unit: 'microseconds', series: lines('command_sending'), zoom }),
    chart({ title: 'Network', unit: 'bytes', series: [{ metric: 'total_net_input_bytes', label: 'in' }, { metric: 'total_net_output_bytes', label: 'out' }], zoom }),
  ];
  const quantiles = (part, leads = {}) => [['p50', 'p50_us'], ['p99', 'p99_us'], ['p99.9', 'p999_us'], ['max', 'max_us']].map(([title, key]) =>
    ({ title: `${part} ${title}`, number: true, get: row => row[part][key], show: row => us(row[part][key]), link: leads[key] }));
  const counts = [
    { title: 'Calls', number: true, get: row => row.calls, show: row => format.text(format.count(row.calls)) },
    { title: 'Per second', number: true, get: row => row.rate ?? 0, show: row => row.rate === undefined ? '' : format.text(format.count(row.rate)) },
    { title: 'Failed', number: true, get: row => row.failed + row.rejected, show: row => format.orNone(row.failed + row.rejected) },
    { title: 'Total time', number: true, get: row => row.total_microseconds, show: row => us(row.total_microseconds) },
    { title: 'p99 split', get: row => row.executing.p99_us, show: row => split(parts.map(part => row[part].p99_us)) },
  ];
  const times = leads => [...quantiles('executing', leads), ...quantiles('waiting').slice(1), ...quantiles('sending').slice(1),
    { title: 'Errors', get: row => Object.entries(row.errors).map(([name, times]) => `${name} ${times}`).join(', ') }];
  const familyTable = table({ caption: 'Families of commands', key: row => row.family, sort: 4, descending: true, emptyText: 'No command was called yet.', columns: [
    { title: 'Family', get: row => row.family, link: row => here('commands', { find: row.family }) }, ...counts, ...times() ] });
  const sinceStart = column => ({ ...column, title: `All: ${column.title}` });
  const list = table({ caption: 'Commands', key: row => row.name, sort: 2, descending: true, filter: true, emptyText: 'No command was called yet.', names: row => [row.name.toUpperCase()], columns: [
    { title: 'Command', get: row => row.name, link: row => here('commands', { command: row.name }) },
    { title: 'Family', get: row => row.family }, ...ofRange(row => slowRequests(row.name)), ...counts.filter(column => column.title !== 'Per second').map(sinceStart), ...times({ max_us: row => slowRequests(row.name) }).map(sinceStart) ] });
  const span = h('p', { class: 'lead' });
  const errors = table({ caption: 'Errors by class', sort: 1, descending: true, emptyText: 'No error was replied.', columns: [
    { title: 'Class', get: row => row.class, link: row => here('commands', { find: row.class }) }, { title: 'Replies', number: true, get: row => row.count }] });
  const http = table({ caption: 'Requests to this page and the endpoints', sort: 1, descending: true, emptyText: 'There was none.', key: row => row.endpoint, columns: [
    { title: 'Address', get: row => row.endpoint }, { title: 'Requests', number: true, get: row => row.requests }, { title: 'Failures', number: true, get: row => row.failures, show: row => format.orNone(row.failures) },
    { title: 'Exceptions', number: true, get: row => row.exceptions, show: row => format.orNone(row.exceptions) },
    ...[['p50', 'p50_us'], ['p99', 'p99_us'], ['max', 'max_us']].map(([title, part]) => ({ title, number: true, get: row => row[part], show: row => us(row[part]) }))] });
  const scripts = table({ caption: 'Scripts and functions', sort: 2, descending: true, names: row => [row.name], emptyText: 'No script or function is loaded.', key: row => `${row.library ?? ''} ${row.name}`, columns: [
    { title: 'Name', get: row => row.library === undefined ? row.name : `${row.name} of ${row.library}`, link: row => slowRequests(row.name) }, { title: 'Calls', number: true, get: row => row.calls },
    { title: 'Total time', number: true, get: row => row.total_microseconds, show: row => us(row.total_microseconds) },
    { title: 'Longest', number: true, get: row => row.max_microseconds, show: row => us(row.max_microseconds) },
    { title: 'Failed', number: true, get: row => row.failed, show: row => format.orNone(row.failed) }, moments('Last use', row => row.calls === 0 ? 0 : row.last_use_unix_ms, row => row.calls === 0 ? null : around('clients', row.last_use_unix_ms, { at: 'timeline' })),
    { title: 'Text', get: row => row.text_start ?? 'not in the package', wrap: true } ] });
  const familyRate = rates(source);
  return {
    elements: [h('div', { class: 'charts' }, charts.map(each => each.element)), one.element, h('h2', {}, 'Every command'), span, list.element, h('h2', {}, 'Families, since the start'), legend(), familyTable.element, h('h2', {}, 'Errors by class, since the start'), errors.element,
      h('h2', {}, 'Scripts and functions, since the start'), scripts.element, h('h2', {}, 'Requests to this page and the endpoints, since the start'), http.element],
    charts: [...charts, ...one.charts],
    tables: [scripts, list],
    prepare: one.prepare,
    async update(signal) {
      const [rows, groups, classes, requests, programs, ranged] = await Promise.all([...['commands', 'families', 'errors', 'http', 'scripts'].map(name => api.report(name, signal)), api.commandsOf(range(), signal)]);
      const inRange = new Map(perSecond(ranged).map(row => [row.name, row]));
      span.textContent = `Time, calls, failures, p99 and longest are those of ${rangeText()}; columns that begin with “All” count since the start or CONFIG RESETSTAT.`;
      list.update(rows.map(row => ({ ...row, ...inRange.get(row.name) })));
      one.update(rows);
      familyTable.update(familyRate(groups ?? [], row => row.family));
      http.update(requests);
      errors.update(classes);
      scripts.update(programs?.by_total_time);
    },
    look(what) {
      if (what.has('command') && !what.has('find')) {
        one.reveal(); // the user's filter stays
        return;
      }
      list.filterBy(what.get('find') ?? '');
      if (what.has('find')) list.reveal();
    },
  };
}

const loopsInChart = 8; // as many as there are colours

// The charts of each loop: of all of them if they are few, otherwise of the one that is chosen.
function eachLoop({ zoom, go }) {
  const charts = [
    chart({ title: 'Busy', unit: 'percent', series: [], zoom }),
    chart({ title: 'Longest turn of each loop', unit: 'microseconds', series: [], zoom }),
    chart({ title: 'Messages that wait for each loop', unit: 'count', series: [], zoom }),
  ];
  const list = choice({ label: 'Loop', choose: loop => go('loops', { loop }) });
  const section = h('section', {}, h('h2', {}, 'Each loop'), list.element, h('div', { class: 'charts' }, charts.map(each => each.element)));
  let count = 0;
  let chosen = '0';
  return { element: section, charts, reveal: list.reveal,
    async prepare(signal, what) {
      chosen = what.get('loop') ?? chosen;
      if (count === 0) count = (await api.report('loops', signal)).length;
      const all = Array.from({ length: count }, (_, loop) => String(loop));
      const isOne = count > loopsInChart;
      list.element.hidden = !isOne;
      if (isOne) list.offer(all, chosen);
      const ofLoops = (metric, peak) => (isOne ? [chosen] : all).map(loop => ({ metric: `${metric}:${loop}`, label: `loop ${loop}`, peak }));
      charts[0].follow(ofLoops('loop_busy_percent'));
      charts[1].follow(ofLoops('loop_longest_turn', true));
      charts[2].follow(ofLoops('loop_messages_waiting', true));
    } };
}

export function loops({ zoom, go }) {
  const ofEach = eachLoop({ zoom, go });
  const charts = [
    chart({ title: 'Busiest and least busy loop', unit: 'percent', series: [{ metric: 'eventloop_busiest_percent', label: 'busiest' }, { metric: 'eventloop_least_busy_percent', label: 'least busy' }], zoom }),
    chart({ title: 'Longest turn', unit: 'microseconds', series: [{ metric: 'eventloop_longest_turn', label: 'longest', peak: true }], zoom }),
    chart({ title: 'Waits for stripes per second', unit: 'count', series: [{ metric: 'stripe_lock_waits', label: 'waits' }, { metric: 'stripe_lock_parks', label: 'slept' }], zoom }),
    chart({ title: 'Time waited for stripes', unit: 'milliseconds', series: [{ metric: 'stripe_lock_waited_milliseconds', label: 'waited' }], zoom }),
    chart({ title: 'Messages that wait for loops', unit: 'count', series: [{ metric: 'eventloop_messages_waiting', label: 'messages' }], zoom }),
    chart({ title: 'The hottest stripe was found locked', unit: 'percent', series: [{ metric: 'stripe_hottest_held_percent', label: 'of the time' }], zoom }),
    chart({ title: 'Largest stripe, by an even share', unit: 'count', series: [{ metric: 'stripe_largest_share', label: 'share' }], zoom }),
    chart({ title: 'Garbage collections stopped the process', unit: 'milliseconds', series: [{ metric: 'gc_pause_milliseconds', label: 'paused' }], zoom }),
    chart({ title: 'Stalls of the whole process', unit: 'milliseconds', series: [{ metric: 'process_stall_milliseconds', label: 'worst', peak: true }], zoom }),
  ];
  const list = table({ caption: 'Loops', columns: [
    { title: 'Loop', number: true, get: row => row.index, link: row => row.isOneOfMany ? here('loops', { loop: row.index }) : null },
    { title: 'Busy', number: true, get: row => row.utilization_percent, show: row => format.text(format.percent(row.utilization_percent)) },
    { title: 'Longest turn', number: true, get: row => row.longest_turn_microseconds, show: row => us(row.longest_turn_microseconds) },
    { title: 'Messages waiting', number: true, get: row => row.messages_waiting, show: row => format.orNone(row.messages_waiting) },
    { title: 'Clients', number: true, get: row => row.connections },
    { title: 'Not reading', number: true, get: row => row.suspended_clients, show: row => format.orNone(row.suspended_clients) },
    { title: 'Turns', number: true, get: row => row.turns, show: row => format.text(format.count(row.turns)) },
    { title: 'Buffers', number: true, get: row => row.buffer_bytes, show: row => format.text(format.bytes(row.buffer_bytes)) },
  ] });
  const stripes = table({ caption: 'Stripes', sort: 3, descending: true, first: 16, columns: [
    { title: 'Stripe', number: true, get: row => row.index },
    { title: 'Memory', number: true, get: row => row.bytes, show: row => format.text(format.bytes(row.bytes)) },
    { title: 'Times its even share', number: true, get: row => row.share, show: row => row.share === null ? 'none' : row.share.toFixed(2) },
    { title: 'Found locked', number: true, get: row => row.held_percent ?? 0, show: row => format.text(format.percent(row.held_percent)) },
    { title: 'Waits', number: true, get: row => row.lock_waits, show: row => format.orNone(row.lock_waits) },
    { title: 'Slept', number: true, get: row => row.lock_parks, show: row => format.orNone(row.lock_parks) },
    { title: 'Waited', number: true, get: row => row.lock_waited_microseconds, show: row => us(row.lock_waited_microseconds) },
  ] });
  const numbered = rows => rows.map((row, index) => ({ ...row, index, isOneOfMany: rows.length > loopsInChart }));
  return {
    elements: [h('div', { class: 'charts' }, charts.map(each => each.element)), ofEach.element, h('h2', {}, 'Event loops'), list.element, h('h2', {}, 'Stripes of the keyspace'), stripes.element],
    charts: [...charts, ...ofEach.charts],
    prepare: ofEach.prepare,
    look(what) {
      if (what.has('loop')) ofEach.reveal();
    },
    async update(signal) {
      const [rows, locks] = await Promise.all([api.report('loops', signal), api.report('stripes', signal)]);
      list.update(numbered(rows));
      const all = locks.reduce((sum, row) => sum + row.bytes, 0);
      stripes.update(numbered(locks).map(row => ({ ...row, share: all === 0 ? null : row.bytes * locks.length / all })));
    },
  };
}

export function slow({ zoom, chosen }) {
  const request = row => row.arguments ? row.arguments.join(' ') : `${row.command} (${format.counted(row.argument_count, 'argument')})`;
  const from = { title: 'Client', get: row => [row.client, row.address].filter(Boolean).join(' '), link: row => client({ name: row.client, address: row.address }) };
  const when = moments('When', row => row.unix_seconds * 1000, row => around('clients', row.unix_seconds * 1000, { at: 'timeline' })); // what else happened then
  const what = { title: 'Request', get: request, link: row => here('commands', { find: row.command }) };
  const times = row => [row.waiting_microseconds, row.microseconds, row.sending_microseconds];
  const list = table({ caption: 'Slow commands', sort: 0, descending: true, first: 20, filter: true, names: row => row.arguments ? [row.arguments.join(' ').slice(0, 60)] : [], emptyText: 'No command was slower than slowlog-log-slower-than in this time.', columns: [
    when,
    { title: 'Executing', number: true, get: row => row.microseconds, show: row => us(row.microseconds) },
    { title: 'Waiting', number: true, get: row => row.waiting_microseconds, show: row => us(row.waiting_microseconds) },
    { title: 'Sending', number: true, get: row => row.sending_microseconds, show: row => us(row.sending_microseconds) },
    { title: 'Split', get: row => row.microseconds, show: row => split(times(row)) }, what, from] });
  const large = caption => table({ caption, sort: 0, descending: true, first: 10, emptyText: 'There was none in this time.', columns: [
    when, { title: 'Size', number: true, get: row => row.bytes, show: row => format.text(format.bytes(row.bytes)) }, what, from] });
  const requests = large('Large requests');
  const replies = large('Large replies');
  const events = table({ caption: 'Latency events', emptyText: 'The latency monitor has recorded nothing: latency-monitor-threshold sets from when it does.', columns: [
    { title: 'Event', get: row => row.event }, { title: 'Worst', number: true, get: row => row.worst_milliseconds, show: row => `${row.worst_milliseconds} ms` }, { title: 'Samples', number: true, get: row => row.samples.length },
    { title: 'Last', get: row => row.samples.at(-1)?.[0] ?? 0, show: row => row.samples.length === 0 ? '' : `${row.samples.at(-1)[1]} ms at ${format.time(row.samples.at(-1)[0] * 1000)}`, link: row => row.samples.length === 0 ? null : around('clients', row.samples.at(-1)[0] * 1000, { at: 'timeline' }) }] });
  const charts = [
    chart({ title: 'Longest command of each second', unit: 'microseconds', series: [{ metric: 'command_waiting_max', label: 'waiting', key: 'waiting', peak: true }, { metric: 'command_latency_max', label: 'executing', key: 'executing', peak: true }, { metric: 'command_sending_max', label: 'sending', key: 'sending', peak: true }], zoom }),
    chart({ title: 'Stalls of the whole process', unit: 'milliseconds', series: [{ metric: 'process_stall_milliseconds', label: 'worst', peak: true }, { metric: 'gc_pause_milliseconds', label: 'garbage collections' }], zoom }),
    chart({ title: 'Output that waits', unit: 'bytes', series: [{ metric: 'client_output_bytes', label: 'all' }, { metric: 'client_largest_output_bytes', label: 'largest', peak: true }], zoom }),
  ];
  return {
    elements: [h('div', { class: 'charts' }, charts.map(each => each.element)), h('h2', {}, 'Slow commands'), legend(), list.element, h('h2', {}, 'Large requests'), requests.element, h('h2', {}, 'Large replies'), replies.element, h('h2', {}, 'Latency events'), events.element],
    charts,
    tables: [list],
    async update(signal) {
      const [rows, sizes, latency] = await Promise.all([api.report('slow-log', signal), api.report('command-log', signal), api.report('latency-events', signal)]);
      const at = row => row.unix_seconds;
      list.update(chosen(rows, at));
      requests.update(chosen(sizes?.large_requests, at));
      replies.update(chosen(sizes?.large_replies, at));
      events.update(latency);
    },
    look(what) {
      for (const each of [list, requests, replies]) each.filterBy(what.get('find') ?? '');
      if (what.has('find')) list.reveal();
    },
  };
}
