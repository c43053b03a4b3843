import { h } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { chart } from './charts.js';
import { around, here } from './links.js';
import { findingCard } from './overview.js';
import { moments, table } from './table.js';

const settingNames = ['appendonly', 'appendfsync', 'save', 'dir', 'dbfilename', 'auto-aof-rewrite-percentage', 'auto-aof-rewrite-min-size', 'stop-writes-on-bgsave-error',
  'rdbcompression', 'rdbchecksum', 'rdb-save-incremental-fsync', 'aof-rewrite-incremental-fsync', 'aof-load-truncated', 'aof-timestamp-enabled'];
const fileKinds = { dump: 'dump file', base: 'base of the append-only file', increment: 'commands since then', backup: 'of the backup' };
const backupStates = { idle: 'none', pending: 'waits for another snapshot', snapshotting: 'its base is written', incrementing: 'open: commands are written to it', sealed: 'sealed' };

const bytes = value => format.text(format.bytes(value));
const us = value => format.text(format.microseconds(value));
const seconds = value => format.text(format.seconds(value));
const ago = (unixMs, now) => now - unixMs < 1000 ? 'just now' : `${seconds(Math.round((now - unixMs) / 1000))} ago`;

// One line about loading, as every view shows it while it lasts.
export function loadingText(loading) {
  const share = loading.total_bytes === 0 ? '' : ` ${Math.floor(100 * loading.bytes / loading.total_bytes)} %,`;
  const left = loading.seconds_left > 0 ? `, about ${seconds(Math.ceil(loading.seconds_left))} left` : '';
  return `The server is loading its data:${share} ${format.counted(loading.keys, 'key')}${left}. Clients are answered LOADING.`;
}

function progress() {
  const bar = h('progress', { max: 1, value: 0 });
  const text = h('p');
  const element = h('section', { class: 'panel padded running', 'aria-label': 'In progress', hidden: true }, text, bar);
  return { element, show(line, part) {
    element.hidden = line === null;
    if (line === null) return;
    text.textContent = line;
    bar.setAttribute('aria-label', line);
    if (part === null) bar.removeAttribute('value');
    else bar.value = part;
  } };
}

function logFacts(log) {
  if (log.state === 'off') return [['Append-only file', 'off: appendonly yes switches it on']];
  return [
    ['Append-only file', log.state === 'in use' ? 'in use' : `${log.state}, writes are refused`],
    ['Its size', `${bytes(log.bytes)}, ${bytes(log.bytes_after_rewrite)} after the last rewrite or at the start`],
    ['Waits in memory', log.pending_bytes === 0 ? 'nothing' : `${bytes(log.pending_bytes)} of at most ${bytes(log.pending_bytes_max)}`],
    ['Syncs', log.syncs === 0 ? 'none yet' : `${format.text(format.count(log.syncs))}: p99 ${us(log.sync_p99_us)}, longest ${us(log.sync_max_us)}${log.sync_in_progress_us > 100000 ? `; one has taken ${us(log.sync_in_progress_us)} so far` : ''}`],
    ['Writes waited for a sync', log.delayed_syncs === 0 ? 'never' : format.counted(log.delayed_syncs, 'time')],
    ['Rewrites', `${format.counted(log.rewrites, 'rewrite')}, ${log.rewrite_failures} failed`],
  ];
}

function backupFact(backup, now) {
  if (backup.state === 'idle') return backupStates.idle;
  if (backup.state === 'failed') return `failed: ${backup.failure}`;
  return backup.state === 'sealed' ? `${backupStates.sealed}, ${ago(backup.ended_unix_ms, now)}` : `${backupStates[backup.state]}; it began ${ago(backup.began_unix_ms, now)}`;
}

function dumpFacts(report, now) {
  const dump = report.dump_file;
  return [
    ['Last save', dump.saves === 0 ? 'none since the start' : `${ago(dump.saved_unix_ms, now)}, at ${format.time(dump.saved_unix_ms)}`],
    ['Unsaved', dump.changes_since === 0 ? 'nothing' : format.counted(dump.changes_since, 'change')],
    ['Saves', `${format.counted(dump.saves, 'save')}, ${dump.failures} failed`],
    ...report.backup ? [['Backup', backupFact(report.backup, now)]] : [],
    ['Locked for the last snapshot', report.snapshot.last_cut_microseconds === 0 ? 'there was none' : us(report.snapshot.last_cut_microseconds)],
    ['Commands that write', report.writes.refused_because ? `refused with MISCONF: ${report.writes.refused_because}` : report.writes.held ? 'wait for the disk' : 'accepted'],
    ['They waited for the disk', report.writes.held_milliseconds === 0 ? 'never' : us(report.writes.held_milliseconds * 1000)],
    [report.loading.of_replication ? 'Synchronized from the primary' : 'Loaded at the start', report.loading.total_bytes === 0 ? 'nothing' : `${bytes(report.loading.total_bytes)} from ${report.loading.from} in ${us(report.loading.seconds * 1e6)}`],
    ['File system', report.facts.data_file_system || 'unknown'],
  ];
}

export function durability({ source, zoom, go }) {
  const promise = h('section', { class: 'verdict', 'aria-label': 'What is promised' });
  const findings = h('section', { class: 'findings', 'aria-label': 'Findings' });
  const running = progress();
  const general = [
    chart({ title: 'Changes since the last save', unit: 'count', series: [{ metric: 'rdb_changes_since_last_save', label: 'changes' }], zoom }),
    chart({ title: 'Duration of the snapshot in progress', unit: 'seconds', series: [{ metric: 'snapshot_seconds', label: 'so far', peak: true }], zoom }),
    chart({ title: 'Old values of the snapshot that wait in memory', unit: 'bytes', series: [{ metric: 'snapshot_side_bytes', label: 'waiting', peak: true }], zoom }),
    chart({ title: 'Commands that write waited for the disk', unit: 'milliseconds', series: [{ metric: 'writes_held_milliseconds', label: 'in each second' }], zoom }),
    chart({ title: 'Refused with MISCONF, per second', unit: 'count', series: [{ metric: 'writes_refused_commands', label: 'commands' }], zoom }),
    chart({ title: 'Free on the data folder’s disk', unit: 'bytes', series: [{ metric: 'disk_free_bytes', label: 'free' }], zoom }),
  ];
  const ofLog = [
    chart({ title: 'Written to the append-only file, per second', unit: 'bytes', series: [{ metric: 'aof_written_bytes', label: 'written' }], zoom }),
    chart({ title: 'Syncs', unit: 'microseconds', series: [{ metric: 'aof_sync_p99', label: 'p99', peak: true }, { metric: 'aof_sync_max', label: 'longest', peak: true }], zoom }),
    chart({ title: 'Writes and syncs per second', unit: 'count', series: [{ metric: 'aof_writes', label: 'writes' }, { metric: 'aof_syncs', label: 'syncs' }], zoom }),
    chart({ title: 'Log that waits in memory', unit: 'bytes', series: [{ metric: 'aof_buffer_length', label: 'waiting', peak: true }], zoom }),
    chart({ title: 'Size of the append-only file', unit: 'bytes', series: [{ metric: 'aof_current_size', label: 'now' }, { metric: 'aof_base_size', label: 'after the last rewrite' }], zoom }),
  ];
  const logCharts = h('section', { hidden: true }, h('h2', {}, 'The append-only file'), h('div', { class: 'charts' }, ofLog.map(each => each.element)));
  const logList = h('dl', { class: 'facts panel' });
  const dumpList = h('dl', { class: 'facts panel' });
  const list = (target, rows) => target.replaceChildren(...rows.flatMap(([name, text]) => [h('dt', {}, name), h('dd', {}, text)]));
  const files = table({ caption: 'Files', key: row => row.name, emptyText: 'There is no file yet.', columns: [
    { title: 'File', get: row => row.name }, { title: 'What it is', get: row => fileKinds[row.kind] }, { title: 'Size', number: true, get: row => row.bytes, show: row => bytes(row.bytes) }] });
  const recent = table({ caption: 'Last saves and rewrites', sort: 0, descending: true, first: 20, key: row => `${row.kind} ${row.began_unix_ms}`, emptyText: 'None has ended since the start.', columns: [
    moments('Began', row => row.began_unix_ms, row => around('durability', row.began_unix_ms)), { title: 'What', get: row => row.kind },
    { title: 'Took', number: true, get: row => row.milliseconds, show: row => us(row.milliseconds * 1000) },
    { title: 'Size', number: true, get: row => row.bytes, show: row => row.failure ? '' : bytes(row.bytes) },
    { title: 'Result', get: row => row.failure ?? 'succeeded', wrap: true }] });
  const settings = table({ caption: 'Settings of durability', key: row => row.name, columns: [
    { title: 'Setting', get: row => row.name, link: row => here('configuration', { find: row.name }) }, { title: 'Value', get: row => row.value || 'empty', wrap: 'wrap narrow' },
    { title: 'Default', get: row => row.default || 'empty', wrap: 'wrap narrow' }] });
  let age = 0;

  function showProgress({ loading, snapshot }) {
    if (loading.in_progress) {
      running.show(loadingText(loading), loading.total_bytes === 0 ? null : loading.bytes / loading.total_bytes);
    } else if (snapshot.in_progress) {
      const what = snapshot.in_progress === 'save' ? 'The data is being saved' : 'The append-only file is being rewritten';
      const side = snapshot.side_bytes === 0 ? '' : `, ${bytes(snapshot.side_bytes)} of old values wait in memory`;
      running.show(snapshot.keys === 0 ? `${what}.` : `${what}: ${snapshot.keys_written.toLocaleString('en')} of ${format.counted(snapshot.keys, 'key')} in ${us(snapshot.seconds * 1e6)}${side}.`,
        snapshot.keys === 0 ? null : snapshot.keys_written / snapshot.keys);
    } else {
      running.show(null, 0);
    }
  }

  return {
    elements: [promise, findings, running.element, h('div', { class: 'two' }, h('section', {}, h('h2', {}, 'Log'), logList), h('section', {}, h('h2', {}, 'Snapshots and writes'), dumpList)),
      h('div', { class: 'charts' }, general.map(each => each.element)), logCharts,
      h('h2', {}, 'Last saves and rewrites'), recent.element, h('h2', {}, 'Files'), files.element, h('h2', {}, 'Settings'), settings.element],
    charts: [...general, ...ofLog],
    async update(signal) {
      const isSlow = age++ % 5 === 0;
      const [report, found, rows] = await Promise.all([api.report('durability', signal), api.report('findings', signal), isSlow ? api.report('settings', signal) : null]);
      if (!report) {
        promise.replaceChildren(h('p', {}, 'This package is of a version without a report on durability.'));
        return;
      }
      const own = found.open.filter(finding => finding.view === 'durability');
      const worst = own[0]?.severity ?? 'well';
      promise.className = `verdict ${worst}`;
      promise.replaceChildren(h('span', { class: 'mark', 'aria-hidden': 'true' }, { well: '✓', notice: '✓', warning: '!', critical: '✕' }[worst]), h('p', {}, h('strong', {}, report.promise)));
      findings.replaceChildren(...own.map(finding => findingCard(finding, go)));
      showProgress(report);
      logCharts.hidden = report.append_only_file.state === 'off' && report.append_only_file.written_bytes === 0;
      list(logList, logFacts(report.append_only_file));
      list(dumpList, dumpFacts(report, source.live ? Date.now() : source.now * 1000));
      files.update(report.files);
      recent.update(report.recent);
      if (rows) settings.update(settingNames.map(name => rows.find(row => row.name === name)).filter(row => row));
    },
  };
}
