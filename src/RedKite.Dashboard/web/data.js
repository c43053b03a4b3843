import { h, svg, value, empty } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { chart } from './charts.js';
import { key as keyLink } from './links.js';
import { table } from './table.js';

const bytesText = number => format.text(format.bytes(number));

const purposes = { keys_and_values: 'Keys and values', tables: 'Tables of the keyspace', clients: 'Clients and their buffers', channels_tracked_keys_and_logs: 'Channels, tracked keys, request logs', scripts: 'Scripts and their interpreters', managed_heap: 'Managed heap', process: 'The process itself' };

// An empty server's memory surprises those who know what an empty Redis takes.
const ofProcess = 'The process itself is the .NET runtime, the server’s code and its diagnostics with two weeks of history: about the same on an empty server and on a full one.';

/** Memory by purpose, as one bar up to the limit. */
export function memoryBar() {
  const bar = svg('svg', { viewBox: '0 0 1000 18', preserveAspectRatio: 'none', role: 'img', class: 'bar-of-parts' });
  const legend = h('p', { class: 'legend' });
  return { elements: [bar, legend, h('p', { class: 'legend' }, ofProcess)], update(report) {
    const parts = Object.entries(purposes).map(([name, title], i) => ({ title, bytes: report.used_by[name] ?? 0, key: `s${i}` }));
    if (report.maxmemory > 0) parts.push({ title: 'Free up to maxmemory', bytes: Math.max(0, report.maxmemory - report.used), key: 'free' });
    const all = parts.reduce((sum, part) => sum + part.bytes, 0);
    let x = 0;
    bar.setAttribute('aria-label', parts.map(part => `${part.title} ${bytesText(part.bytes)}`).join(', '));
    bar.replaceChildren(...parts.map(part => {
      const width = all === 0 ? 0 : 1000 * part.bytes / all;
      const rect = svg('rect', { x, y: 0, width, height: 18, class: part.key }, svg('title'));
      rect.firstChild.textContent = `${part.title}: ${bytesText(part.bytes)}`;
      x += width;
      return rect;
    }));
    legend.replaceChildren(...parts.map(part => h('span', {}, h('span', { class: `key ${part.key}` }), `${part.title} `, h('b', {}, bytesText(part.bytes)))));
  } };
}

export function memory({ zoom }) {
  const cards = h('div', { class: 'cards' });
  const parts = table({ caption: 'Memory in use, by purpose', sort: 1, descending: true, columns: [
    { title: 'Purpose', get: row => row.name }, { title: 'Bytes', number: true, get: row => row.bytes, show: row => bytesText(row.bytes) },
    { title: 'Share', number: true, get: row => row.share, show: row => format.text(format.percent(row.share)) }] });
  const store = table({ caption: 'The store', columns: [{ title: 'What', get: row => row.name }, { title: 'Bytes', number: true, get: row => row.bytes, show: row => bytesText(row.bytes) }] });
  const charts = [
    chart({ title: 'Memory', unit: 'bytes', series: [{ metric: 'used_memory', label: 'used' }, { metric: 'used_memory_dataset', label: 'keys and values' }, { metric: 'used_memory_rss', label: 'resident' }], zoom }),
    chart({ title: 'The store', unit: 'bytes', series: [{ metric: 'allocator_allocated', label: 'in use' }, { metric: 'allocator_active', label: 'held' }], zoom }),
    chart({ title: 'Managed heap', unit: 'bytes', series: [{ metric: 'managed_heap_bytes', label: 'in use' }, { metric: 'managed_committed_bytes', label: 'committed' }], zoom }),
    chart({ title: 'Allocated on the managed heap per second', unit: 'bytes', series: [{ metric: 'managed_allocated_bytes', label: 'allocated' }], zoom }),
    chart({ title: 'Available on the machine', unit: 'bytes', series: [{ metric: 'system_memory_available', label: 'available' }], zoom }),
    chart({ title: 'Interpreters of scripts', unit: 'bytes', series: [{ metric: 'used_memory_vm_total', label: 'in use' }], zoom }),
    chart({ title: 'Time over maxmemory, in each second', unit: 'milliseconds', series: [{ metric: 'total_eviction_exceeded_time', label: 'over' }], zoom }),
    chart({ title: 'Buffers of clients', unit: 'bytes', series: [{ metric: 'mem_clients_normal', label: 'buffers' }], zoom }),
  ];
  const bar = memoryBar();
  const storeNames = { held: 'Held from the system', allocated: 'In use', free_between_blocks: 'Free between blocks', prepared: 'Prepared for use', waiting_to_be_freed: 'Waiting to be freed' };
  return {
    elements: [cards, h('div', { class: 'panel padded' }, bar.elements), h('div', { class: 'charts' }, charts.map(each => each.element)), h('div', { class: 'two' },
      h('section', {}, h('h2', {}, 'In use, by purpose'), parts.element), h('section', {}, h('h2', {}, 'The store'), store.element))],
    charts,
    async update(signal) {
      const report = await api.report('memory', signal);
      if (!report) return;
      cards.replaceChildren(...[
        ['In use', format.bytes(report.used)], ['Peak', format.bytes(report.peak)], ['Resident', format.bytes(report.resident)],
        ['Headroom', format.bytes(report.headroom)], ['maxmemory', report.maxmemory > 0 ? format.bytes(report.maxmemory) : ['none', '']],
        ['Fragmentation', format.count(report.fragmentation_ratio)],
      ].map(([name, shown]) => h('div', { class: 'card' }, h('div', { class: 'name' }, name), h('div', { class: 'value' }, value(shown)))));
      bar.update(report);
      parts.update(Object.entries(report.used_by).map(([name, size]) => ({ name: purposes[name] ?? name, bytes: size, share: report.used > 0 ? 100 * size / report.used : 0 })));
      store.update(Object.entries(report.store).map(([name, size]) => ({ name: storeNames[name] ?? name, bytes: size })));
    },
  };
}

// A histogram of powers of two.
function histogram(title, bins, show) {
  if (bins.length === 0) return null;
  const most = Math.max(...bins.map(([, count]) => count));
  const width = 360, step = Math.min(40, width / bins.length), height = 70;
  return h('figure', { class: 'chart' }, h('h3', {}, title), svg('svg', { viewBox: `0 0 ${width} ${height + 16}`, width: '100%', role: 'img', 'aria-label': title }, ...bins.flatMap(([from, count], i) => {
    const tall = Math.max(1, height * count / most);
    const label = svg('text', { x: (i * step) + 1, y: height + 12, 'font-size': 8.5, fill: 'currentColor' });
    label.textContent = i % Math.ceil(bins.length / 9) === 0 ? show(from) : '';
    const bar = svg('rect', { x: (i * step) + 1, y: height - tall, width: Math.max(1, step - 2), height: tall, class: 'bar' });
    const hint = svg('title');
    hint.textContent = `from ${show(from)}: ${format.counted(count, 'key')}`;
    bar.append(hint);
    return [bar, label];
  })));
}

export function keys({ source, zoom }) {
  const hot = table({ caption: 'Hot keys', sort: 1, descending: true, first: 10, names: row => [row.key], emptyText: 'No key was used in the last two minutes.', columns: [
    { title: 'Key', get: row => row.key, link: row => keyLink(source, row) }, { title: 'Uses per second', number: true, get: row => row.uses_per_second, show: row => format.text(format.count(row.uses_per_second)) }, { title: 'Database', number: true, get: row => row.database }] });
  const big = table({ caption: 'Large keys', sort: 2, descending: true, first: 10, names: row => [row.key], emptyText: 'The first survey of all keys has not ended yet, or there are no keys.', columns: [
    { title: 'Key', get: row => row.key, link: row => keyLink(source, row) }, { title: 'Type', get: row => row.type }, { title: 'Memory', number: true, get: row => row.bytes, show: row => bytesText(row.bytes) },
    { title: 'Size', number: true, get: row => row.size, show: row => row.type === 'string' ? bytesText(row.size) : format.counted(row.size, 'element') }, { title: 'Database', number: true, get: row => row.database }] });
  const survey = h('p', { class: 'lead' });
  const shapes = h('div', { class: 'charts' });
  const charts = [
    chart({ title: 'Keys', unit: 'count', series: [{ metric: 'keys', label: 'keys' }, { metric: 'expires', label: 'with an expiry' }], zoom }),
    chart({ title: 'Lookups per second', unit: 'count', series: [{ metric: 'keyspace_hits', label: 'hits' }, { metric: 'keyspace_misses', label: 'misses' }], zoom }),
    chart({ title: 'Evicted per second', unit: 'count', series: [{ metric: 'evicted_keys', label: 'all' }, { metric: 'evicted_young_keys', label: 'used within a minute' }], zoom }),
    chart({ title: 'Expired and not removed yet', unit: 'percent', series: [{ metric: 'expired_stale_perc', label: 'of keys with an expiry' }], zoom }),
    chart({ title: 'Share of the hottest key', unit: 'percent', series: [{ metric: 'hottest_key_percent', label: 'of the requests' }], zoom }),
    chart({ title: 'Expired per second', unit: 'count', series: [{ metric: 'expired_keys', label: 'keys' }, { metric: 'expired_subkeys', label: 'fields' }], zoom }),
  ];
  const browse = source.live ? browser() : null;
  let drawnSurvey = 0;
  return {
    elements: [h('div', { class: 'charts' }, charts.map(each => each.element)), h('h2', {}, 'Hot keys'), hot.element, h('h2', {}, 'Large keys'), survey, big.element, h('h2', {}, 'Sizes and lifetimes'), shapes, ...browse ? [h('h2', {}, 'Browse'), browse.element] : []],
    charts,
    tables: [big, hot],
    async update(signal) {
      const [used, large] = await Promise.all([api.report('hot-keys', signal), api.report('big-keys', signal)]);
      hot.update(used);
      if (!large?.types || large.ended_unix_ms === drawnSurvey) return;
      drawnSurvey = large.ended_unix_ms;
      const types = Object.entries(large.types);
      survey.textContent = `From the survey that ended at ${format.time(large.ended_unix_ms)}: ${format.counted(types.reduce((sum, [, type]) => sum + type.keys, 0), 'key')}.`;
      big.update(types.flatMap(([type, found]) => found.largest.map(key => ({ ...key, type }))).sort((a, b) => b.bytes - a.bytes).slice(0, 50));
      shapes.replaceChildren(...types.filter(([, found]) => found.keys > 0).flatMap(([type, found]) => [
        histogram(`${type}: ${type === 'string' ? 'bytes' : 'elements'}`, found.sizes, number => type === 'string' ? bytesText(number) : format.text(format.count(number))),
        histogram(`${type}: lifetimes left`, found.ttl_seconds, number => format.text(format.seconds(number))),
      ]).filter(Boolean));
    },
    look(what) {
      if (what.has('key')) browse?.look(what.get('key'), what.get('database') ?? '0');
    },
  };
}

// A read-only look at the data. A value is read only when it is opened.
function browser() {
  const pattern = h('input', { value: '*', 'aria-label': 'Pattern', size: 30 });
  const database = h('input', { value: '0', 'aria-label': 'Database', size: 3, inputmode: 'numeric' });
  const shown = h('div', { class: 'panel', hidden: true });
  let cursor = '0';
  let rows = [];
  const list = table({ caption: 'Keys read', key: row => row.key, emptyText: 'No key was read yet, or none matches.', columns: [
    { title: 'Key', get: row => row.key, show: row => h('button', { type: 'button', onclick: () => look(row.key) }, row.key), keep: true },
    { title: 'Type', get: row => row.type }, { title: 'Size', number: true, get: row => row.size },
    { title: 'Expires in', number: true, get: row => row.ttl_ms, show: row => row.ttl_ms < 0 ? 'never' : format.text(format.seconds(row.ttl_ms / 1000)) }] });
  const more = h('button', { type: 'button', hidden: true, onclick: () => read(false) }, 'More');

  async function read(anew) {
    if (anew) [cursor, rows] = ['0', []];
    const query = new URLSearchParams({ pattern: pattern.value, cursor, count: 100, database: database.value });
    more.disabled = true; // a second click would read the same keys again
    const found = await api.get(`api/keys?${query}`);
    more.disabled = false;
    rows = [...rows, ...found?.keys ?? []];
    cursor = found?.cursor ?? '0';
    list.update(rows);
    more.hidden = cursor === '0';
  }

  async function look(key) {
    const found = await api.get(`api/keys/value?${new URLSearchParams({ key, database: database.value })}`);
    shown.hidden = false;
    shown.replaceChildren(...found
      ? [h('dl', { class: 'facts' }, ...Object.entries({ key, type: found.type, size: found.size }).flatMap(([name, text]) => [h('dt', {}, name), h('dd', {}, String(text))])), ...found.type === 'TSDB-TYPE' ? seriesChart(key, found.elements) : [], found.type === 'ReJSON-RL' ? documentTree(found.elements[0]) : h('pre', { class: 'log', tabindex: 0 }, found.elements.join('\n'))]
      : [empty('The key is gone.')]);
  }

  const element = h('div', { class: 'browser' }, h('form', { class: 'tools', onsubmit: event => {
    event.preventDefault();
    read(true);
  } }, h('label', {}, 'Pattern ', pattern), h('label', {}, 'Database ', database), h('button', { type: 'submit' }, 'Read keys')), list.element, h('div', { class: 'tools' }, more), shown);
  return { element, look(key, ofDatabase) {
    pattern.value = asPattern(key);
    database.value = ofDatabase;
    element.previousElementSibling.scrollIntoView({ block: 'start' });
    pattern.focus({ preventScroll: true });
    return look(key);
  } };
}

// The newest samples of a series, each a time and a value, as a line; a gap where a value is no number.
function seriesChart(key, elements) {
  const samples = elements.map(element => element.split(' ').map(Number)).reverse();
  const numbers = samples.map(([, number]) => number).filter(number => !Number.isNaN(number));
  if (numbers.length === 0) return [empty('No sample is a number.')];
  const width = 720, height = 140;
  const [first, last] = [samples[0][0], samples.at(-1)[0]];
  const [low, high] = [numbers.reduce((a, b) => Math.min(a, b)), numbers.reduce((a, b) => Math.max(a, b))];
  const x = time => last === first ? width / 2 : width * (time - first) / (last - first);
  const y = number => high === low ? height / 2 : height * (high - number) / (high - low);
  const lines = [[]];
  for (const [time, number] of samples) {
    if (Number.isNaN(number)) lines.push([]);
    else lines.at(-1).push(`${x(time).toFixed(1)},${y(number).toFixed(1)}`);
  }
  const title = `${key}: ${format.counted(samples.length, 'sample')} from ${low} to ${high}`;
  return [h('figure', { class: 'chart series', 'data-samples': samples.length }, h('h3', {}, title),
    svg('svg', { viewBox: `-4 -4 ${width + 8} ${height + 8}`, width: '100%', role: 'img', 'aria-label': title },
      ...lines.filter(line => line.length > 0).map(line => svg(line.length > 1 ? 'polyline' : 'circle', line.length > 1 ? { points: line.join(' '), class: 'line' } : { cx: line[0].split(',')[0], cy: line[0].split(',')[1], r: 2, class: 'bar' }))),
    h('figcaption', { class: 'ends' }, h('span', {}, format.time(first)), h('span', {}, format.time(last))))];
}

// A document as a tree; the beginning of a long one as text.
function documentTree(text) {
  try {
    return h('div', { class: 'log document' }, branch(null, JSON.parse(text), 0));
  } catch {
    return h('pre', { class: 'log', tabindex: 0 }, text);
  }
}

function branch(name, value, depth) {
  const label = name === null ? '' : `${name}: `;
  if (value === null || typeof value !== 'object') return h('div', {}, label + JSON.stringify(value));
  const items = Object.entries(value);
  const summary = label + (Array.isArray(value) ? `[${items.length}]` : `{${items.length}}`);
  return h('details', depth < 2 ? { open: '' } : {}, h('summary', {}, summary), ...items.map(([own, inner]) => branch(own, inner, depth + 1)));
}

// The pattern that matches only this key.
const asPattern = key => key.replaceAll(/[\\*?[\]^]/g, '\\$&');
