import { h } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { chart } from './charts.js';
import { around, here } from './links.js';
import { moments, table } from './table.js';

const facts = rows => rows.flatMap(([name, text]) => [h('dt', {}, name), h('dd', {}, String(text))]);

function tlsFacts(tls) {
  if (!tls?.certificate) return [['TLS', 'used neither for the data nor for the dashboard']];
  const { certificate } = tls;
  return [
    ['Port', tls.port === 0 ? 'none for the data' : tls.port], ['Dashboard', tls.dashboard ? 'HTTPS' : 'HTTP'], ['Clients’ certificates', tls.client_certificates],
    ['Protocols', tls.protocols], ['Cipher suites', tls.cipher_suites || 'the system’s choice'], ['Connections', tls.connections],
    ['Handshakes', `${tls.handshakes} succeeded, ${tls.handshakes_failed} failed, ${tls.handshakes_refused} refused, ${tls.handshakes_in_progress} in progress`],
    ['Certificate', certificate.subject], ['Issued by', certificate.issuer],
    ['Valid', `${format.time(certificate.not_before_unix_ms)} to ${format.time(certificate.not_after_unix_ms)}`],
  ];
}

export function security({ zoom }) {
  const charts = [
    chart({ title: 'Denied per second', unit: 'count', series: [{ metric: 'acl_access_denied_auth', label: 'logins' }, { metric: 'acl_access_denied_cmd', label: 'commands' }, { metric: 'acl_access_denied_key', label: 'keys' }, { metric: 'acl_access_denied_channel', label: 'channels' }], zoom }),
    chart({ title: 'TLS handshakes per second', unit: 'count', series: [{ metric: 'tls_handshakes', label: 'succeeded' }, { metric: 'tls_handshakes_failed', label: 'failed' }, { metric: 'tls_handshakes_refused', label: 'refused' }], zoom }),
  ];
  const users = table({ caption: 'Users', key: row => row.name, columns: [
    { title: 'User', get: row => row.name }, { title: 'State', get: row => row.on ? 'on' : 'off' },
    { title: 'Login', get: row => row.needs_password ? format.counted(row.passwords, 'password') : 'without a password' },
    { title: 'Connections', number: true, get: row => row.connections },
    { title: 'Commands', get: row => row.selectors.map(rules => rules.commands).join(' | '), wrap: true },
    { title: 'Keys', get: row => row.selectors.map(rules => rules.keys || 'none').join(' | '), wrap: true },
    { title: 'Channels', get: row => row.selectors.map(rules => rules.channels || 'none').join(' | '), wrap: true },
  ] });
  const failed = table({ caption: 'Addresses with failed logins', sort: 1, descending: true, key: row => row.address, emptyText: 'No login has failed in the last minute.', columns: [
    { title: 'Address', get: row => row.address, link: row => here('clients', { find: row.address }) }, { title: 'Failed', number: true, get: row => row.count }] });
  const denied = table({ caption: 'What users were denied', sort: 0, descending: true, names: row => [row.user], emptyText: 'Nothing was denied.', columns: [
    moments('Last', row => row.updated_unix_ms, row => around('clients', row.updated_unix_ms, { at: 'timeline' })), { title: 'Times', number: true, get: row => row.count },
    { title: 'User', get: row => row.user, link: row => here('security', { find: row.user }) }, { title: 'Why', get: row => row.reason }, { title: 'What', get: row => row.object ?? 'not in the package', wrap: true }, { title: 'Where', get: row => row.context },
  ] });
  const encryption = h('dl', { class: 'facts panel' });
  return {
    elements: [h('div', { class: 'charts' }, charts.map(each => each.element)), h('h2', {}, 'Users'), users.element, h('h2', {}, 'Failed logins'), failed.element,
      h('h2', {}, 'Denied'), denied.element, h('h2', {}, 'Encryption'), encryption],
    charts,
    tables: [denied, failed],
    async update(signal) {
      const [people, entries, tls] = await Promise.all([api.report('users', signal), api.report('access-log', signal), api.report('tls', signal)]);
      users.update(people?.users);
      failed.update(people?.failed_logins);
      denied.update(entries);
      encryption.replaceChildren(...facts(tlsFacts(tls)));
    },
    look(what) {
      users.filterBy(what.get('find') ?? '');
      if (what.has('find')) users.reveal();
    },
  };
}
