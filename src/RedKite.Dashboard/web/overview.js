import { h, value, empty } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { chart } from './charts.js';

const words = { notice: 'Notice', warning: 'Warning', critical: 'Critical' };

export function findingCard(finding, go) {
  return h('article', { class: `finding ${finding.severity}` },
    h('h3', {}, h('span', { class: `severity ${finding.severity}` }, words[finding.severity]), finding.title),
    h('p', {}, finding.evidence, '.'),
    h('p', {}, finding.remedy),
    h('p', { class: 'meta' }, `Since ${format.time(finding.since_unix_ms)}`, finding.ended_unix_ms > 0 ? `, ended ${format.time(finding.ended_unix_ms)}` : '', ` · ${finding.name} · `,
      h('a', { href: `#${finding.view}`, onclick: event => {
        event.preventDefault();
        go(finding.view, {});
      } }, 'Show me')));
}

// The browser saves what a POST answers: a GET must not make the server work.
function download() {
  const status = h('span', { role: 'status' });
  const button = h('button', { type: 'button', onclick: async () => {
    button.disabled = true;
    status.textContent = 'The package is being built. This takes some seconds.';
    const response = await api.postForFile('/api/debug-package');
    button.disabled = false;
    if (!response.ok) {
      status.textContent = response.status === 409 ? 'Another package is being built. Try again in some seconds.' : `No package: ${response.status}.`;
      return;
    }
    const address = URL.createObjectURL(await response.blob());
    const name = /filename="([^"]+)"/.exec(response.headers.get('Content-Disposition') ?? '')?.[1] ?? 'redkite-package.zip';
    h('a', { href: address, download: name }).click();
    URL.revokeObjectURL(address);
    status.textContent = `${name} is on its way to your downloads.`;
  } }, 'Download a debug package');
  return h('div', { class: 'tools' }, button, status);
}

export function overview({ zoom, go, source }) {
  const verdict = h('div', { class: 'verdict' });
  const findings = h('section', { 'aria-label': 'Findings' });
  const cards = h('div', { class: 'cards' });
  const ended = h('section', { 'aria-label': 'Findings that have ended' });
  const charts = [
    chart({ title: 'Commands per second', unit: 'count', series: [{ metric: 'total_commands_processed', label: 'commands' }], zoom }),
    chart({ title: 'Time of commands, 99th percentile', unit: 'microseconds', zoom, series: [
      { metric: 'command_waiting_p99', label: 'waiting', key: 'waiting' }, { metric: 'command_latency_p99', label: 'executing', key: 'executing' }, { metric: 'command_sending_p99', label: 'sending', key: 'sending' }] }),
    chart({ title: 'Memory', unit: 'bytes', series: [{ metric: 'used_memory', label: 'used' }, { metric: 'used_memory_rss', label: 'resident' }], zoom }),
    chart({ title: 'CPU of the process', unit: 'seconds', series: [{ metric: 'used_cpu_user', label: 'user' }, { metric: 'used_cpu_sys', label: 'system' }], zoom }),
    chart({ title: 'Busiest loop', unit: 'percent', series: [{ metric: 'eventloop_busiest_percent', label: 'busy' }], zoom }),
    chart({ title: 'Clients', unit: 'count', series: [{ metric: 'connected_clients', label: 'connected' }, { metric: 'blocked_clients', label: 'blocked' }], zoom }),
  ];

  let server = null;
  let readAt = 0;

  async function update(signal) {
    const [open, metrics] = await Promise.all([api.report('findings', signal), api.report('metrics', signal)]);
    if (!server) [server, readAt] = [await api.report('server', signal), performance.now()]; // it does not change
    const byName = new Map(metrics.map(metric => [metric.name, metric.value]));
    const worst = open.open[0]?.severity;
    const [mark, text] = worst === undefined ? ['✓', 'The server is well.']
      : worst === 'critical' ? ['✕', 'Clients are affected, or data is at risk.']
      : worst === 'warning' ? ['!', 'The server works, but something needs attention.'] : ['·', 'The server is well. There are notes.'];
    verdict.replaceChildren(h('span', { class: `mark severity ${worst ?? ''}`, 'aria-hidden': 'true' }, mark), h('strong', {}, text));
    findings.replaceChildren(...open.open.slice(0, 5).map(finding => findingCard(finding, go)),
      ...open.open.length > 5 ? [empty(`${open.open.length - 5} more findings are in the report below.`)] : []);
    const hits = byName.get('keyspace_hits') ?? 0;
    const lookups = hits + (byName.get('keyspace_misses') ?? 0);
    const uptime = (server.now_unix_ms - server.started_unix_ms + (source.live ? performance.now() - readAt : 0)) / 1000;
    cards.replaceChildren(...[
      ['Keys', format.count(byName.get('keys'))],
      ['Memory in use', format.bytes(byName.get('used_memory'))],
      ['Clients', format.count(byName.get('connected_clients'))],
      ['Commands so far', format.count(byName.get('total_commands_processed'))],
      ['Hit ratio', lookups === 0 ? ['none', ''] : format.percent(100 * hits / lookups)],
      ['Up for', format.seconds(uptime)],
      ['Version', [server.version, `Redis ${server.redis_version}`]],
      ['Port', [String(server.port), `${server.loops} loops`]],
    ].map(([name, shown]) => h('div', { class: 'card' }, h('div', { class: 'name' }, name), h('div', { class: 'value' }, value(shown)))));
    const past = [...open.open.slice(5), ...open.ended];
    ended.replaceChildren(h('h2', {}, 'More findings'), ...past.length === 0 ? [empty('No finding has ended since the start.')] : past.slice(0, 20).map(finding => findingCard(finding, go)));
  }

  return { elements: [verdict, findings, ...source.live ? [download()] : [], cards, h('div', { class: 'charts' }, charts.map(each => each.element)), ended], charts, update };
}
