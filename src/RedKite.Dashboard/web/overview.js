import { h, empty, prose } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { chart, tile } from './charts.js';
import { here, key } from './links.js';
import { table } from './table.js';
import { ofRange, perSecond } from './work.js';
import { memoryBar } from './data.js';

const words = { notice: 'Notice', warning: 'Warning', critical: 'Critical' };

export function findingCard(finding, go) {
  return h('article', { class: `finding ${finding.severity}` },
    h('p', { class: 'meta' }, h('span', { class: `severity ${finding.severity}` }, words[finding.severity]), finding.ended_unix_ms > 0 ? `${format.time(finding.since_unix_ms)} to ${format.time(finding.ended_unix_ms)}` : `since ${format.time(finding.since_unix_ms)}`),
    h('h3', {}, prose(finding.title)),
    h('p', { class: 'evidence' }, prose(sentence(finding.evidence))),
    finding.culprit ? h('p', { class: 'culprit' }, prose(sentence(finding.culprit))) : null,
    h('p', {}, h('b', { class: 'todo' }, 'What to do'), prose(finding.remedy)),
    h('p', { class: 'meta' }, `${finding.name} · `,
      h('a', { href: `#${finding.view}`, onclick: event => {
        event.preventDefault();
        go(finding.view, { ...spanOf(finding), about: finding.name });
      } }, 'Show me')));
}

// The time of a finding, and a minute before it. What has just begun is in the last five minutes, which move on.
function spanOf({ since_unix_ms: since, ended_unix_ms: ended }) {
  const from = Math.floor(since / 1000) - 60;
  const now = Math.floor(Date.now() / 1000);
  if (ended === 0 && now - from < 300) return { from: null, to: null, last: 300 };
  return { from, to: ended > 0 ? Math.ceil(ended / 1000) : Math.max(now, from + 60), last: null };
}

// The browser saves the response of a POST, because a GET must not make the server do work.
function download() {
  const status = h('span', { role: 'status' });
  const log = h('select', { 'aria-label': 'Log in the package' },
    h('option', { value: '15' }, 'with the log of the next 15 seconds'),
    h('option', { value: '5' }, 'with the log of the next 5 seconds'),
    h('option', { value: '0' }, 'at once'));
  const button = h('button', { type: 'button', onclick: async () => {
    button.disabled = true;
    status.textContent = 'The package is being built. This takes ' + (log.value === '0' ? 'a few seconds.' : `at least ${format.counted(Number(log.value), 'second')}.`);
    const response = await api.postForFile(`api/debug-package?log=${log.value}`);
    button.disabled = false;
    if (!response.ok) {
      status.textContent = response.status === 409 ? 'Another package is being built. Try again in a few seconds.' : `No package: ${response.status}.`;
      return;
    }
    const address = URL.createObjectURL(await response.blob());
    const name = /filename="([^"]+)"/.exec(response.headers.get('Content-Disposition') ?? '')?.[1] ?? 'redkite-package.zip';
    h('a', { href: address, download: name }).click();
    URL.revokeObjectURL(address);
    status.textContent = `${name} is being downloaded.`;
  } }, 'Download a debug package');
  return h('span', {}, button, ' ', log, ' ', status);
}

// A name, such as enable-debug-command or lpush(), is no word: it stays as it is.
const isName = word => /[-_:.()\d]/.test(word.replace(/[:,.]$/, ''));
const sentence = text => `${isName(text.split(' ')[0]) ? text.charAt(0) : text.charAt(0).toUpperCase()}${text.slice(1)}.`;

// The verdict in one line: severity, number of findings, number of checks.
function verdictOf(findings) {
  const { open, rules } = findings;
  const worst = open[0]?.severity ?? 'well';
  const text = { well: 'The server is healthy.', notice: 'The server is healthy.', warning: 'The server works, but something needs attention.', critical: 'Clients are affected, or data is at risk.' }[worst];
  const of = severity => open.filter(finding => finding.severity === severity).length;
  const parts = [[of('critical'), 'critical finding'], [of('warning'), 'warning'], [of('notice'), 'note']].filter(([count]) => count > 0).map(([count, word]) => format.counted(count, word));
  const rest = rules === undefined ? '' : parts.length === 0 ? `All ${format.counted(rules, 'check')} pass.` : `All other checks (of ${rules}) pass.`;
  return { worst, text, detail: `${parts.length === 0 ? '' : `${parts.join(', ')}. `}${rest}` };
}

export function overview({ zoom, go, source, range, rangeText }) {
  const verdict = h('section', { class: 'verdict', 'aria-label': 'Verdict' });
  const findings = h('section', { class: 'findings', 'aria-label': 'Findings' });
  const about = h('p', { class: 'about' });
  const ended = h('section', { 'aria-label': 'Findings that have ended' });
  let cpus = 1;
  const tiles = [
    tile({ title: 'Commands a second', metrics: ['total_commands_processed'], read: ([commands]) => commands, show: format.count }),
    tile({ title: 'Executing, p99', metrics: ['command_latency_p99'], read: ([p99]) => p99, show: format.microseconds }),
    tile({ title: 'CPU', metrics: ['used_cpu_user', 'used_cpu_sys'], read: ([user, system]) => (user + system) / cpus, show: format.cores, note: () => ` of ${format.counted(cpus, 'core')}` }),
    tile({ title: 'Memory', metrics: ['used_memory', 'maxmemory'], read: ([used]) => used, show: format.bytes, note: ([, max]) => max > 0 ? ` of ${format.text(format.bytes(max))}` : ' in use' }),
    tile({ title: 'Clients', metrics: ['connected_clients'], read: ([clients]) => clients, show: format.count }),
    tile({ title: 'Hit ratio', metrics: ['keyspace_hits', 'keyspace_misses'], read: ([hits, misses]) => hits + misses === 0 ? null : 100 * hits / (hits + misses), show: format.percent }),
    tile({ title: 'Keys', metrics: ['keys'], read: ([keys]) => keys, show: format.count }),
    tile({ title: 'Errors a second', metrics: ['total_error_replies'], read: ([errors]) => errors, show: format.count }),
  ];
  const charts = [
    chart({ title: 'Commands per second', unit: 'count', series: [{ metric: 'total_commands_processed', label: 'commands' }], zoom }),
    chart({ title: 'Time of commands, 99th percentile', unit: 'microseconds', zoom, series: [
      { metric: 'command_waiting_p99', label: 'waiting', key: 'waiting' }, { metric: 'command_latency_p99', label: 'executing', key: 'executing' }, { metric: 'command_sending_p99', label: 'sending', key: 'sending' }] }),
    chart({ title: 'Memory', unit: 'bytes', series: [{ metric: 'used_memory', label: 'used' }, { metric: 'used_memory_rss', label: 'resident' }], zoom }),
    chart({ title: 'CPU of the process, of one core', unit: 'cores', series: [{ metric: 'used_cpu_user', label: 'user' }, { metric: 'used_cpu_sys', label: 'system' }], zoom }),
    chart({ title: 'Busiest loop', unit: 'percent', series: [{ metric: 'eventloop_busiest_percent', label: 'busy' }], zoom }),
    chart({ title: 'Clients', unit: 'count', series: [{ metric: 'connected_clients', label: 'connected' }, { metric: 'blocked_clients', label: 'blocked' }], zoom }),
  ];
  const busiest = table({ caption: 'The commands that take the most time', key: row => row.name, sort: 1, descending: true, emptyText: 'No command was called in this time.', columns: [
    { title: 'Command', get: row => row.name, link: row => here('commands', { command: row.name }) }, ...ofRange() ] });
  const span = h('p', { class: 'lead' });
  const bar = memoryBar();
  const largest = table({ caption: 'Largest keys', key: row => row.key, sort: 2, descending: true, emptyText: 'The first survey of all keys has not ended yet, or there are no keys.', columns: [
    { title: 'Key', get: row => row.key, link: row => key(source, row) }, { title: 'Type', get: row => row.type },
    { title: 'Memory', number: true, get: row => row.bytes, show: row => format.text(format.bytes(row.bytes)) },
    { title: 'Size', number: true, get: row => row.size, show: row => row.type === 'string' ? format.text(format.bytes(row.size)) : format.counted(row.size, 'element') } ] });

  let server = null;
  let readAt = 0;
  let age = 0;

  async function update(signal) {
    const isSlow = age % 5 === 0; // what moves slowly, and costs more to read
    const slow = name => isSlow ? api.report(name, signal) : null;
    const constant = name => server ? null : api.report(name, signal);
    const [findingsReport, own, system, commands, memory, big] = await Promise.all([
      api.report('findings', signal), constant('server'), constant('system'), isSlow ? api.commandsOf(range(), signal) : null, slow('memory'), slow('big-keys')]);
    age++;
    if (own) [server, readAt, cpus] = [own, performance.now(), Number(system?.cpus ?? 1)];
    const { worst, text, detail } = verdictOf(findingsReport);
    verdict.className = `verdict ${worst}`;
    verdict.replaceChildren(h('span', { class: 'mark', 'aria-hidden': 'true' }, { well: '✓', notice: '✓', warning: '!', critical: '✕' }[worst]), h('p', {}, h('strong', {}, text), ` ${detail}`));
    const open = findingsReport.open;
    // What was critical within the last hour is not over for people who were not there.
    const recent = findingsReport.ended.filter(finding => finding.severity === 'critical' && (source.live ? Date.now() : server.now_unix_ms) - finding.ended_unix_ms < 3_600_000);
    findings.replaceChildren(...[...open.slice(0, 6), ...recent.slice(0, 3)].map(finding => findingCard(finding, go)));
    const uptime = (server.now_unix_ms - server.started_unix_ms + (source.live ? performance.now() - readAt : 0)) / 1000;
    const compared = server.compared_redis_versions ? `, compared with ${server.compared_redis_versions.replace(',', ' and ')}` : ''; // an older package has none
    about.textContent = `RedKite ${server.version} (Redis ${server.redis_version}${compared}) on port ${server.port}, ${format.counted(server.loops, 'loop')}, ${source.live ? 'up' : 'was up'} for ${format.text(format.seconds(Math.round(uptime)))}`;
    const past = [...open.slice(6), ...findingsReport.ended.filter(finding => !recent.slice(0, 3).includes(finding))];
    ended.replaceChildren(h('h2', {}, open.length > 6 ? 'More findings' : 'Findings that have ended'), past.length === 0 ? empty('None.') : h('div', { class: 'findings' }, past.slice(0, 12).map(finding => findingCard(finding, go))));
    if (!isSlow) return;
    span.textContent = `In ${rangeText()}.`;
    busiest.update(perSecond(commands).slice(0, 8));
    if (memory) bar.update(memory);
    largest.update(Object.entries(big?.types ?? {}).flatMap(([type, found]) => found.largest.map(key => ({ ...key, type }))).sort((a, b) => b.bytes - a.bytes).slice(0, 5));
  }

  return {
    elements: [verdict, findings, h('div', { class: 'tools' }, ...source.live ? [download()] : [], about), h('div', { class: 'cards tiles' }, tiles.map(each => each.element)),
      h('div', { class: 'charts' }, charts.map(each => each.element)), h('div', { class: 'two' },
        h('section', {}, h('h2', {}, 'The commands that take the most time'), span, busiest.element),
        h('section', {}, h('h2', {}, 'Memory in use, by purpose'), h('div', { class: 'panel padded' }, bar.elements), h('h2', {}, 'Largest keys'), largest.element)), ended],
    charts: [...tiles, ...charts], update };
}
