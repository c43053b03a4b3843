import { h, svg } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { chart } from './charts.js';
import { here } from './links.js';
import { findingCard } from './overview.js';
import { table } from './table.js';

const slotsMax = 16384;
const colours = 8;
const settingNames = ['cluster-enabled', 'cluster-etcd', 'cluster-lease-ms', 'cluster-controller', 'cluster-auto-join', 'cluster-require-full-coverage', 'cluster-allow-reads-when-down', 'cluster-replica-no-failover',
  'replica-acks', 'cluster-announce-ip', 'cluster-announce-port', 'cluster-announce-zone', 'cluster-move-pause-ms', 'cluster-config-file'];

const bytes = value => value < 0 ? 'unknown' : format.text(format.bytes(value));
const seconds = value => value === null ? 'unknown' : format.text(format.seconds(value));
const micros = value => format.text(format.microseconds(value));
const number = value => value === null || value === undefined ? 'unknown' : Math.round(value).toLocaleString('en');
const slotsOf = shard => shard.slots.reduce((sum, [first, last]) => sum + last - first + 1, 0);
const short = id => id.slice(0, 8);

// Cut off where it does not fit.
const id = text => h('span', { class: 'id', title: text }, text);

function nameOf(report, nodeId) {
  const node = report.nodes.find(each => each.id === nodeId);
  return node ? node.name || node.address : short(nodeId);
}

// A shard by its colour, which is that of its number among those with slots.
function shardsOf(report) {
  const shards = report.shards.map(shard => ({ ...shard, count: slotsOf(shard), node: report.nodes.find(node => node.id === shard.primary), replicas: report.nodes.filter(node => node.shard === shard.id && node.id !== shard.primary) }));
  shards.sort((a, b) => (a.slots[0]?.[0] ?? slotsMax) - (b.slots[0]?.[0] ?? slotsMax));
  shards.forEach((shard, i) => { shard.key = `s${i % colours}`; });
  return shards;
}

function stateOf(shard) {
  if (shard.count === 0) return 'has no slots';
  if (shard.sealed) return 'a primary is being chosen';
  if (shard.node?.alive === false) return 'its primary does not answer';
  if (shard.hindrance) return `no replica could take over: ${shard.hindrance}`;
  return shard.replicas.length === 0 ? 'serves, without a replica' : 'serves';
}

function summary(report, shards) {
  const withSlots = shards.filter(shard => shard.count > 0);
  const uncovered = report.slots.uncovered;
  const away = report.nodes.filter(node => node.shard !== '' && node.alive === false).length;
  const risk = withSlots.filter(shard => shard.hindrance).length;
  const down = withSlots.filter(shard => shard.sealed || shard.node?.alive === false).length;
  const what = `${format.counted(withSlots.length, 'shard')}, ${format.counted(report.nodes.filter(node => node.shard !== '').length, 'node')}`;
  if (report.store.away_seconds > 2) return ['critical', `The cluster’s store has not answered for ${seconds(Math.round(report.store.away_seconds))}: nodes serve until their leases end.`];
  if (report.has_store && report.lease.seconds_left === 0) return ['critical', 'This node serves nothing: it has no lease.'];
  if (down > 0) return ['critical', `${down} of ${format.counted(withSlots.length, 'shard')} ${down === 1 ? 'has' : 'have'} no primary that serves.`];
  if (uncovered === slotsMax) return ['warning', 'No slot has a node yet: CLUSTER ADDSLOTSRANGE gives some to a node.'];
  if (uncovered > 0) return ['critical', `${format.counted(uncovered, 'slot')} of 16,384 ${uncovered === 1 ? 'has' : 'have'} no node.`];
  if (report.has_store && report.age_seconds !== null && report.controller === '') return ['warning', `${what}: all slots have a node, but no controller is active.`];
  if (risk > 0) return ['warning', `${what}: in ${format.counted(risk, 'shard')} no replica could take over.`];
  if (away > 0) return ['warning', `${what}: ${format.counted(away, 'node')} ${away === 1 ? 'does' : 'do'} not answer.`];
  return ['well', `${what}: every slot has a node${report.has_store ? ', and every node answers' : '. Without a store, this node does not see the state of the others'}.`];
}

// All slots from left to right, in the colours of their shards; below, how many keys each of 128 parts has.
function strip() {
  const bar = svg('svg', { viewBox: `0 0 ${slotsMax} 18`, preserveAspectRatio: 'none', role: 'img', class: 'bar-of-parts slots' });
  const heat = svg('svg', { viewBox: '0 0 128 10', preserveAspectRatio: 'none', role: 'img', class: 'bar-of-parts keys-of-slots' });
  const legend = h('p', { class: 'legend' });
  const text = h('p', { class: 'legend' });
  let drawn = '';
  return { element: h('section', { class: 'panel padded slots-panel', 'aria-label': 'Slots' }, bar, legend, heat, text), update(report, shards) {
    const ranges = shards.flatMap(shard => shard.slots.map(([first, last]) => ({ first, last, shard }))).sort((a, b) => a.first - b.first);
    const keys = new Array(128).fill(0);
    for (const node of report.nodes) node.said?.keys_by_part.forEach((count, i) => { keys[i] += count; });
    const state = JSON.stringify([ranges.map(range => [range.first, range.last, range.shard.key]), keys]);
    if (state === drawn) return;
    drawn = state;
    const rect = (x, width, key, title, height = 18, extra = {}) => {
      const element = svg('rect', { x, y: 0, width, height, class: key, ...extra }, svg('title'));
      element.firstChild.textContent = title;
      return element;
    };
    bar.replaceChildren(rect(0, slotsMax, 'gap', 'without a node'), ...ranges.map(range => rect(range.first, range.last - range.first + 1, range.shard.key, `${range.first} to ${range.last}: ${nameOf(report, range.shard.primary)}`)));
    const uncovered = report.slots.uncovered;
    bar.setAttribute('aria-label', `Slots: ${[...shards.filter(shard => shard.count > 0).map(shard => `${nameOf(report, shard.primary)} has ${number(shard.count)}`), `${number(uncovered)} without a node`].join(', ')}`);
    legend.replaceChildren(...shards.filter(shard => shard.count > 0).map(shard => h('span', {}, h('span', { class: `key ${shard.key}` }), `${nameOf(report, shard.primary)} `, h('b', {}, number(shard.count)))),
      ...uncovered > 0 ? [h('span', {}, h('span', { class: 'key gap' }), 'without a node ', h('b', {}, number(uncovered)))] : []);
    const most = Math.max(...keys);
    heat.replaceChildren(...keys.map((count, i) => rect(i, 1, 'heat', `slots ${i * 128} to ${i * 128 + 127}: ${format.counted(count, 'key')}`, 10, { 'fill-opacity': most === 0 ? 0.06 : Math.max(0.06, count / most).toFixed(3) })));
    heat.setAttribute('aria-label', `Keys of 128 slots each: ${number(most)} at most`);
    text.textContent = `Keys by slots: the darkest part, of 128 slots, has ${number(most)}.${report.slots.hottest >= 0 && report.slots.hottest_percent >= 1 ? ` On this node, slot ${report.slots.hottest} has ${format.text(format.percent(report.slots.hottest_percent))} of the requests.` : ''}`;
  } };
}

function facts(report) {
  const lease = report.lease;
  return [
    ['This node', id(report.self)],
    ['Cluster', report.cluster_id === '' ? 'without a store' : id(report.cluster_id)],
    ['Topology', report.version === report.store_version ? `version ${number(report.version)}` : `version ${number(report.version)}; the store has ${number(report.store_version)}`],
    ...report.has_store ? [
      ['Controller', report.controller === '' ? 'none that is known' : `${nameOf(report, report.controller)}${report.is_controller ? ', this node' : ''}`],
      ['Lease', lease.seconds_left === null ? 'none yet' : `${seconds(Number(lease.seconds_left.toFixed(1)))} left of ${seconds(lease.seconds_max)}`],
      ['A renewal takes', lease.renewals === 0 ? 'there was none yet' : `${micros(lease.renewal_microseconds)} on average, the last ${micros(lease.last_renewal_microseconds)}`],
      ['Store', `${format.counted(report.store.requests, 'request')}, ${micros(report.store.mean_microseconds)} on average, ${report.store.errors === 0 ? 'none' : number(report.store.errors)} failed${report.store.error ? `; the last one: ${report.store.error}` : ''}`],
      ['Last read of the others', report.age_seconds === null ? 'not yet' : `${seconds(Math.round(report.age_seconds))} ago`],
      ['Clocks are apart', report.clock_skew_seconds === null ? 'unknown' : report.clock_skew_seconds < 0.1 ? 'no difference seen' : `by ${seconds(Number(report.clock_skew_seconds.toFixed(1)))} at least`],
    ] : [],
    ['Changes of a primary seen', report.elections === 0 ? 'none' : `${number(report.elections)}, ${number(report.takeovers)} to this node`],
    ['Slots that move key by key', report.slots.key_by_key.length === 0 ? 'none' : report.slots.key_by_key.map(move => `${number(move.slots)} ${move.direction} ${nameOf(report, move.node)}`).join(', ')],
    ...report.slots.awaited.length > 0 ? [['Slots that wait for their former owner', report.slots.awaited.map(wait => `${number(wait.slots)} of ${nameOf(report, wait.owner)}${wait.waits_for.length === 0 ? '' : `, for ${wait.waits_for.map(node => nameOf(report, node)).join(', ')}`}`).join('; ')]] : [],
    ...report.fault ? [['What is wrong', report.fault]] : [],
  ];
}

const role = node => node.shard === '' ? 'not in the cluster' : node.primary === null ? 'primary' : 'replica';
const said = (node, show) => node.said ? show(node.said) : 'unknown';
const answers = node => node.alive === null ? 'unknown' : node.alive ? 'yes' : 'no';

function progressOf(move) {
  if (move.has_ended) return move.message || '';
  const bar = h('progress', { max: 1, 'aria-label': `Keys of the move ${short(move.id)}` });
  if (move.keys > 0) bar.value = Math.min(1, move.keys_received / move.keys);
  return h('span', {}, bar, move.keys > 0 ? `${number(move.keys_received)} of ${format.counted(move.keys, 'key')}` : format.counted(move.keys_received, 'key'));
}

export function cluster({ zoom, go }) {
  const verdict = h('section', { class: 'verdict', 'aria-label': 'The cluster, in a sentence' });
  const findings = h('section', { class: 'findings', 'aria-label': 'Findings' });
  const slots = strip();
  const ofStore = [
    chart({ title: 'This node’s lease', unit: 'seconds', series: [{ metric: 'cluster_lease_seconds', label: 'left' }], zoom }),
    chart({ title: 'The last renewal took', unit: 'microseconds', series: [{ metric: 'cluster_lease_last_renewal', label: 'time', peak: true }], zoom }),
    chart({ title: 'Requests to the store, per second', unit: 'count', series: [{ metric: 'cluster_store_requests', label: 'all' }, { metric: 'cluster_store_errors', label: 'failed' }], zoom }),
    chart({ title: 'Nodes', unit: 'count', series: [{ metric: 'cluster_nodes', label: 'all' }, { metric: 'cluster_nodes_alive', label: 'answer' }, { metric: 'cluster_nodes_behind', label: 'behind the topology' }], zoom }),
    chart({ title: 'Shards', unit: 'count', series: [{ metric: 'cluster_shards_down', label: 'without a primary', peak: true }, { metric: 'cluster_shards_at_risk', label: 'without a replica that could take over', peak: true }], zoom }),
  ];
  const ofNode = [
    chart({ title: 'Redirects and refusals, per second', unit: 'count', series: [{ metric: 'cluster_redirects_moved', label: 'MOVED' }, { metric: 'cluster_redirects_ask', label: 'ASK' }, { metric: 'cluster_redirects_tryagain', label: 'TRYAGAIN' }, { metric: 'cluster_refused_crossslot', label: 'CROSSSLOT' }, { metric: 'cluster_refused_down', label: 'CLUSTERDOWN' }], zoom }),
    chart({ title: 'Slots', unit: 'count', series: [{ metric: 'cluster_slots_owned', label: 'of this node' }, { metric: 'cluster_slots_uncovered', label: 'without a node' }], zoom }),
    chart({ title: 'Moves of slots, sent per second', unit: 'bytes', series: [{ metric: 'cluster_slot_moves_sent_bytes', label: 'sent' }], zoom }),
    chart({ title: 'Version of the topology', unit: 'count', series: [{ metric: 'cluster_topology_version', label: 'of this node' }], zoom }),
    chart({ title: 'Changes of a primary, per second', unit: 'count', series: [{ metric: 'cluster_elections', label: 'seen' }, { metric: 'cluster_takeovers', label: 'to this node' }], zoom }),
  ];
  const list = h('dl', { class: 'facts panel' });
  let report = null;
  const shardTable = table({ caption: 'Shards', key: row => row.id, emptyText: 'There is no shard yet.', columns: [
    { title: 'Primary', get: row => nameOf(report, row.primary), show: row => h('span', {}, h('span', { class: `key ${row.key}` }), nameOf(report, row.primary)) },
    { title: 'Slots', number: true, get: row => row.count, show: row => number(row.count) },
    { title: 'Keys', number: true, get: row => row.node?.said?.keys ?? -1, show: row => row.node?.said ? number(row.node.said.keys) : 'unknown' },
    { title: 'Memory', number: true, get: row => row.node?.said?.used_bytes ?? -1, show: row => bytes(row.node?.said?.used_bytes ?? -1) },
    { title: 'Commands/s', number: true, get: row => row.node?.said?.commands_per_second ?? -1, show: row => row.node?.said ? number(row.node.said.commands_per_second) : 'unknown' },
    { title: 'Replicas', number: true, get: row => row.replicas.length, show: row => row.replicas.length === 0 ? 'none' : `${row.replicas.filter(node => node.alive !== false).length} of ${row.replicas.length} ${row.replicas.some(node => node.alive === null) ? 'known' : 'answer'}` },
    { title: 'replica-acks', number: true, get: row => row.acks },
    { title: 'State', get: row => stateOf(row), wrap: 'wrap narrow' }] });
  const nodeTable = table({ caption: 'Nodes', key: row => row.id, emptyText: 'There is no node.', columns: [
    { title: 'Node', get: row => row.address }, { title: 'Name', get: row => row.name || short(row.id) }, { title: 'Role', get: role },
    { title: 'Follows', get: row => row.primary === null ? '' : nameOf(report, row.primary) }, { title: 'Zone', get: row => row.zone || 'none' }, { title: 'Answers', get: answers },
    { title: 'Version', number: true, get: row => row.version, show: row => row.version < 0 ? 'unknown' : number(row.version) },
    { title: 'Lease left', number: true, get: row => row.said?.lease_seconds ?? -1, show: row => said(row, each => seconds(Number(each.lease_seconds.toFixed(1)))) },
    { title: 'Renewal', number: true, get: row => row.said?.renewal_microseconds ?? -1, show: row => said(row, each => each.renewal_microseconds > 0 ? micros(each.renewal_microseconds) : 'none yet') },
    { title: 'Offset', number: true, get: row => row.offset, show: row => row.offset < 0 ? 'unknown' : number(row.offset) },
    { title: 'Behind', number: true, get: row => row.lag_bytes, show: row => row.primary === null ? '' : row.said?.link_up === false ? 'its link is down' : bytes(row.lag_bytes) },
    { title: 'Keys', number: true, get: row => row.said?.keys ?? -1, show: row => said(row, each => number(each.keys)) },
    { title: 'Memory', number: true, get: row => row.said?.used_bytes ?? -1, show: row => said(row, each => bytes(each.used_bytes)) },
    { title: 'Commands/s', number: true, get: row => row.said?.commands_per_second ?? -1, show: row => said(row, each => number(each.commands_per_second)) },
    { title: 'Reported', number: true, get: row => row.age_seconds ?? -1, show: row => row.age_seconds === null ? 'nothing' : row.id === report.self ? 'now' : `${seconds(Math.round(row.age_seconds))} ago` },
    { title: 'What is wrong', get: row => row.said?.fault || '', wrap: 'wrap narrow' }] });
  const moveTable = table({ caption: 'Moves of slots', key: row => row.id, emptyText: 'No slots have moved as a whole since this node started.', columns: [
    { title: 'Slots', get: row => row.slots, wrap: 'wrap narrow' }, { title: 'From', get: row => nameOf(report, row.source) }, { title: 'To', get: row => nameOf(report, row.target) }, { title: 'State', get: row => row.state },
    { title: 'Progress', get: row => row.keys_received, show: progressOf, wrap: 'wrap narrow' }, { title: 'Sent', number: true, get: row => row.sent_bytes, show: row => bytes(row.sent_bytes) },
    { title: 'Waits', number: true, get: row => row.waiting_bytes, show: row => bytes(row.waiting_bytes) }, { title: 'Time', number: true, get: row => row.seconds, show: row => seconds(Math.round(row.seconds)) }] });
  const eventTable = table({ caption: 'What happened', sort: 0, descending: true, first: 20, key: row => `${row.unix_ms} ${row.text}`, emptyText: 'Nothing has happened since the start.', columns: [
    { title: 'Time', get: row => row.unix_ms, show: row => format.time(row.unix_ms), copy: row => format.time(row.unix_ms) }, { title: 'Kind', get: row => row.kind }, { title: 'What', get: row => row.text, wrap: true }] });
  const settings = table({ caption: 'Settings of the cluster', key: row => row.name, columns: [
    { title: 'Setting', get: row => row.name, link: row => here('configuration', { find: row.name }) }, { title: 'Value', get: row => row.value || 'empty', wrap: 'wrap narrow' },
    { title: 'Default', get: row => row.default || 'empty', wrap: 'wrap narrow' }] });
  const storeCharts = h('div', { class: 'charts' }, ofStore.map(each => each.element));
  const rest = h('div', { hidden: true }, slots.element, h('h2', {}, 'Shards'), shardTable.element, h('h2', {}, 'Nodes'), nodeTable.element, h('h2', {}, 'Moves of slots'), moveTable.element,
    h('h2', {}, 'This node'), list, h('div', { class: 'charts' }, ofNode.map(each => each.element)), storeCharts, h('h2', {}, 'What happened'), eventTable.element, h('h2', {}, 'Settings'), settings.element);
  let age = 0;

  function say(state, sentence) {
    verdict.className = `verdict ${state}`;
    verdict.replaceChildren(h('span', { class: 'mark', 'aria-hidden': 'true' }, { well: '✓', warning: '!', critical: '✕' }[state]), h('p', {}, h('strong', {}, sentence)));
  }

  return {
    elements: [verdict, findings, rest],
    charts: [...ofNode, ...ofStore],
    async update(signal) {
      const isSlow = age++ % 5 === 0;
      let found, rows;
      [report, found, rows] = await Promise.all([api.report('cluster', signal), api.report('findings', signal), isSlow ? api.report('settings', signal) : null]);
      rest.hidden = !report?.enabled;
      if (!report?.enabled) {
        verdict.className = 'verdict well';
        verdict.replaceChildren(h('p', {}, report ? 'This server is no node of a cluster: cluster-enabled is no.' : 'This package is of a version without a report on the cluster.'));
        return;
      }
      const shards = shardsOf(report);
      say(...summary(report, shards));
      findings.replaceChildren(...found.open.filter(finding => finding.view === 'cluster').map(finding => findingCard(finding, go)));
      slots.update(report, shards);
      shardTable.update(shards);
      nodeTable.update(report.nodes);
      moveTable.update(report.moves);
      storeCharts.hidden = !report.has_store;
      list.replaceChildren(...facts(report).flatMap(([name, text]) => [h('dt', {}, name), h('dd', {}, text)]));
      eventTable.update(report.events);
      if (rows) settings.update(settingNames.map(name => rows.find(row => row.name === name)).filter(row => row));
    },
  };
}
