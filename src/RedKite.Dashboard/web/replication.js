import { h } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { chart } from './charts.js';
import { here } from './links.js';
import { findingCard } from './overview.js';
import { table } from './table.js';

const drawnMax = 12; // replicas in the picture; the table has all
const settingNames = ['replicaof', 'repl-backlog-size', 'repl-backlog-ttl', 'client-output-buffer-limit', 'repl-timeout', 'repl-ping-replica-period', 'repl-diskless-sync-delay',
  'min-replicas-to-write', 'min-replicas-max-lag', 'replica-acks', 'replica-acks-timeout', 'replica-read-only', 'replica-serve-stale-data', 'replica-priority', 'replica-announce-ip', 'replica-announce-port'];

const bytes = value => format.text(format.bytes(value));
const seconds = value => format.text(format.seconds(value));
const streams = 'gets the stream';

const lag = replica => replica.state !== streams ? replica.state : replica.lag_bytes === 0 ? 'has everything' : `${bytes(replica.lag_bytes)} behind`;

function node(role, name, text, state = '') {
  return h('div', { class: `node ${state}` }, h('span', { class: 'meta' }, role), h('strong', {}, name), text ? h('span', {}, text) : null);
}

const line = (text, state = '') => h('div', { class: `link ${state}` }, h('span', {}, text));

function primaryLine(primary) {
  if (primary.state === 'receives the data') return primary.total_bytes > 0 ? `receives all data: ${bytes(primary.received_bytes)} of ${bytes(primary.total_bytes)}` : `receives all data: ${bytes(primary.received_bytes)} so far`;
  if (primary.state !== 'connected') return primary.down_milliseconds >= 0 ? `${primary.state}; the link has been down for ${seconds(Math.round(primary.down_milliseconds / 1000))}` : primary.state;
  return primary.waiting_bytes === 0 ? 'connected' : `connected, ${bytes(primary.waiting_bytes)} received and not executed yet`;
}

// From the primary at the top down to the replicas.
function picture(report) {
  const { primary, replicas } = report;
  const parts = [];
  if (primary) parts.push(node('primary', primary.address), line(primaryLine(primary), primary.state === 'connected' ? '' : 'down'));
  parts.push(node(report.role, 'this server', report.role === 'replica' || replicas.length > 0 ? `offset ${report.offset.toLocaleString('en')}` : null, 'own'));
  if (replicas.length > 0) {
    parts.push(h('div', { class: 'replicas' }, replicas.slice(0, drawnMax).map(replica => h('div', {},
      line(lag(replica), replica.state === streams && replica.lag_seconds < 10 ? '' : 'down'), node('replica', replica.address)))));
    if (replicas.length > drawnMax) parts.push(h('p', { class: 'meta' }, `and ${format.counted(replicas.length - drawnMax, 'more replica')}`));
  }
  return parts;
}

function summary(report) {
  const { primary, replicas } = report;
  const behind = replicas.filter(replica => replica.state !== streams).length;
  const of = replicas.length === 0 ? 'no server follows it' : behind === 0 ? `${format.counted(replicas.length, 'replica')} ${replicas.length === 1 ? 'gets' : 'get'} the stream` : `${behind} of ${format.counted(replicas.length, 'replica')} ${behind === 1 ? 'has' : 'have'} no stream yet`;
  if (report.writes_refused) return ['critical', `Commands that write are refused: ${format.counted(report.good_replicas, 'good replica')} of ${report.replicas_to_write_min} (min-replicas-to-write).`];
  if (!primary && report.acks.replicas > replicas.length - behind) return ['critical', `Writes cannot be acknowledged: ${replicas.length - behind} of ${format.counted(report.acks.replicas, 'replica')} (replica-acks) ${replicas.length - behind === 1 ? 'gets' : 'get'} the stream.`];
  if (primary && primary.state !== 'connected') return ['warning', `This server is a replica whose link to its primary is not connected: it ${primary.state}.`];
  if (primary) return ['well', `This server follows its primary; ${of}.`];
  return [behind > 0 ? 'warning' : 'well', replicas.length === 0 ? 'This server follows none, and no server follows it.' : `This server is a primary: ${of}.`];
}

// Cut off where it does not fit.
const id = text => h('span', { class: 'id', title: text }, text);

function streamFacts(report) {
  const { backlog } = report;
  const window = backlog.window_seconds === null ? 'nothing is written now' : backlog.window_seconds > 86400 ? 'more than a day' : seconds(Math.round(backlog.window_seconds));
  return [
    ['Offset', report.offset.toLocaleString('en')],
    ['History', id(report.history)],
    ['History before', report.second_history ? h('span', {}, id(report.second_history), ` up to ${report.second_history_offset.toLocaleString('en')}`) : 'none'],
    ['Backlog', backlog.in_use ? `${bytes(backlog.bytes)} of ${bytes(backlog.bytes_max)} (repl-backlog-size)` : 'none: it begins with the first replica'],
    ['Replies that wait for replicas', acksFact(report.acks)],
    ['A replica may be away for', backlog.in_use ? window : 'no time'],
    ['Kept for replicas that are behind', bytes(backlog.kept_bytes)],
  ];
}

function acksFact(acks) {
  if (acks.replicas === 0) return 'none: replica-acks is 0';
  const waiting = acks.waiting_replies === 0 ? 'none' : `${acks.waiting_replies.toLocaleString('en')}, the oldest for ${seconds(Math.round(acks.waiting_seconds))}`;
  return `${waiting}; a client has waited for ${(acks.mean_wait_microseconds / 1000).toLocaleString('en')} ms on average, ${acks.errors === 0 ? 'no write was' : `${format.counted(acks.errors, 'write')} ${acks.errors === 1 ? 'was' : 'were'}`} answered NOREPLICAS (replica-acks ${acks.replicas})`;
}

function syncFacts(report) {
  return [
    ['Sent all data', format.counted(report.full_synchronizations, 'time')],
    ['Went on where they were', format.counted(report.partial_synchronizations, 'time')],
    ['Could not go on', report.partials_refused === 0 ? 'never' : `${format.counted(report.partials_refused, 'time')}, ${report.partials_refused_by_backlog.toLocaleString('en')} of them because the backlog was too short; the last one, ${report.last_refused}: ${report.last_refusal}`],
    ['Closed because too far behind', report.overflows === 0 ? 'never' : `${format.counted(report.overflows, 'replica')}, ${report.overflows_in_sync.toLocaleString('en')} of them while they synchronized`],
    ['Connections of replicas that ended', report.lost_connections.toLocaleString('en')],
    ...linkFacts(report.link),
    ['Errors in the primary’s stream', report.stream_errors === 0 ? 'none' : `${report.stream_errors.toLocaleString('en')}: the data may differ, see redkite verify-replica`],
  ];
}

function linkFacts(link) {
  if (link.full_synchronizations + link.partial_synchronizations + link.failed_synchronizations + link.breaks === 0 && link.last_failure === '') return [];
  return [
    ['Received all data', format.counted(link.full_synchronizations, 'time')],
    ['Went on with the primary’s stream', format.counted(link.partial_synchronizations, 'time')],
    ['Synchronizations with the primary that failed', link.failed_synchronizations.toLocaleString('en')],
    ['The link to the primary broke', link.breaks === 0 ? 'never' : format.counted(link.breaks, 'time')],
    ['Its last failure', link.last_failure || 'none'],
  ];
}

export function replication({ zoom, go }) {
  const verdict = h('section', { class: 'verdict', 'aria-label': 'Who follows whom, in a sentence' });
  const findings = h('section', { class: 'findings', 'aria-label': 'Findings' });
  const drawing = h('section', { class: 'panel chain', 'aria-label': 'Who follows whom' });
  const charts = [
    chart({ title: 'Stream, per second', unit: 'bytes', series: [{ metric: 'replication_stream_bytes', label: 'written' }], zoom }),
    chart({ title: 'The replica that is furthest behind', unit: 'bytes', series: [{ metric: 'replica_lag_bytes', label: 'behind', peak: true }], zoom }),
    chart({ title: 'The oldest acknowledgement', unit: 'seconds', series: [{ metric: 'replica_lag_seconds', label: 'ago', peak: true }], zoom }),
    chart({ title: 'Replicas', unit: 'count', series: [{ metric: 'replicas', label: 'connected' }], zoom }),
    chart({ title: 'Synchronizations of replicas, per second', unit: 'count', series: [{ metric: 'replica_syncs_full', label: 'all data' }, { metric: 'replica_syncs_partial', label: 'went on' }, { metric: 'replica_syncs_refused_backlog', label: 'backlog too short' }, { metric: 'replica_syncs_refused_history', label: 'other history' }], zoom }),
    chart({ title: 'Connections of replicas that ended, per second', unit: 'count', series: [{ metric: 'replica_connections_lost', label: 'ended' }, { metric: 'replicas_closed', label: 'closed: too far behind' }, { metric: 'replicas_closed_in_sync', label: 'closed while they synchronized' }], zoom }),
    chart({ title: 'Replies that wait for replicas', unit: 'count', series: [{ metric: 'unacknowledged_replies', label: 'wait', peak: true }], zoom }),
    chart({ title: 'Answered NOREPLICAS, per second', unit: 'count', series: [{ metric: 'unacknowledged_errors', label: 'replies' }], zoom }),
    chart({ title: 'A replica may be away for', unit: 'seconds', series: [{ metric: 'replication_backlog_window_seconds', label: 'backlog' }], zoom }),
    chart({ title: 'The link to the primary has been down for', unit: 'seconds', series: [{ metric: 'primary_link_down_seconds', label: 'down', peak: true }], zoom }),
    chart({ title: 'Synchronizations with the primary, per second', unit: 'count', series: [{ metric: 'primary_syncs_full', label: 'all data' }, { metric: 'primary_syncs_partial', label: 'went on' }, { metric: 'primary_syncs_failed', label: 'failed' }, { metric: 'primary_link_breaks', label: 'link broke' }], zoom }),
    chart({ title: 'Executing the primary’s stream, per second', unit: 'microseconds', series: [{ metric: 'primary_link_applying_microseconds', label: 'time' }], zoom }),
  ];
  const streamList = h('dl', { class: 'facts panel' });
  const syncList = h('dl', { class: 'facts panel' });
  const list = (target, rows) => target.replaceChildren(...rows.flatMap(([name, text]) => [h('dt', {}, name), h('dd', {}, text)]));
  const replicas = table({ caption: 'Replicas', key: row => row.client_id, emptyText: 'No server follows this one.', columns: [
    { title: 'Replica', get: row => row.address }, { title: 'State', get: row => row.state },
    { title: 'Acknowledged', number: true, get: row => row.offset, show: row => row.offset.toLocaleString('en') },
    { title: 'Behind', number: true, get: row => row.lag_bytes, show: row => bytes(row.lag_bytes) },
    { title: 'Last acknowledgement', number: true, get: row => row.lag_seconds, show: row => row.lag_seconds < 0 ? 'none yet' : `${seconds(row.lag_seconds)} ago` },
    { title: 'Waits to be sent', number: true, get: row => row.unsent_bytes, show: row => bytes(row.unsent_bytes) }] });
  const settings = table({ caption: 'Settings of replication', key: row => row.name, columns: [
    { title: 'Setting', get: row => row.name, link: row => here('configuration', { find: row.name }) }, { title: 'Value', get: row => row.value || 'empty', wrap: 'wrap narrow' },
    { title: 'Default', get: row => row.default || 'empty', wrap: 'wrap narrow' }] });
  let age = 0;
  let drawn = '';

  return {
    elements: [verdict, findings, drawing, h('div', { class: 'two' }, h('section', {}, h('h2', {}, 'Stream'), streamList), h('section', {}, h('h2', {}, 'Synchronizations'), syncList)),
      h('div', { class: 'charts' }, charts.map(each => each.element)), h('h2', {}, 'Replicas'), replicas.element, h('h2', {}, 'Settings'), settings.element],
    charts,
    async update(signal) {
      const isSlow = age++ % 5 === 0;
      const [report, found, rows] = await Promise.all([api.report('replication', signal), api.report('findings', signal), isSlow ? api.report('settings', signal) : null]);
      if (!report) {
        verdict.replaceChildren(h('p', {}, 'This package is of a version without a report on replication.'));
        return;
      }
      const [state, sentence] = summary(report);
      verdict.className = `verdict ${state}`;
      verdict.replaceChildren(h('span', { class: 'mark', 'aria-hidden': 'true' }, { well: '✓', warning: '!', critical: '✕' }[state]), h('p', {}, h('strong', {}, sentence)));
      findings.replaceChildren(...found.open.filter(finding => finding.view === 'replication').map(finding => findingCard(finding, go)));
      const parts = picture(report);
      const text = parts.map(part => part.outerHTML).join('');
      if (text !== drawn) drawing.replaceChildren(...parts);
      drawn = text;
      list(streamList, streamFacts(report));
      list(syncList, syncFacts(report));
      replicas.update(report.replicas);
      if (rows) settings.update(settingNames.map(name => rows.find(row => row.name === name)).filter(row => row));
    },
  };
}
