import { h, prose } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { around, here } from './links.js';
import { moments, table } from './table.js';

const since = row => row.changed_unix_ms > 0 ? format.time(row.changed_unix_ms) : row.differs ? 'the start' : '';

const remark = row => row.no_effect ? `no effect: ${row.no_effect}` : row.remark ?? '';

export function configuration() {
  const columns = [{ title: 'Setting', get: row => row.name }, { title: 'Value', get: row => row.value, wrap: 'wrap narrow' }, { title: 'Default', get: row => row.default, wrap: 'wrap narrow' },
    { ...moments('Since', row => row.changed_unix_ms, row => row.changed_unix_ms > 0 ? around('overview', row.changed_unix_ms) : null), show: since },
    { title: 'Here', get: remark, show: row => prose(remark(row)), keep: true, wrap: true }, { title: 'While running', get: row => row.mutable ? 'changeable' : 'fixed' }];
  const differing = table({ caption: 'Settings that differ', columns, key: row => row.name, names: row => [row.name], emptyText: 'Every setting has its default value.' });
  const all = table({ caption: 'All settings', columns, filter: true, key: row => row.name, names: row => [row.name] });
  const facts = h('dl', { class: 'facts panel' });
  const actions = table({ caption: 'Actions that the server may take by itself', key: row => row.name, columns: [
    { title: 'Action', get: row => row.name }, { title: 'Times', number: true, get: row => row.count, show: row => format.orNone(row.count) }, { title: 'Setting', get: row => row.setting, link: row => here('configuration', { find: row.setting }) },
    { title: 'Value', get: row => row.value || 'empty' }, { title: 'When, and what', get: row => row.meaning, show: row => prose(row.meaning), keep: true, wrap: true }] });
  return {
    tables: [differing, all],
    elements: [h('h2', {}, 'Differs from the default'), differing.element, h('h2', {}, 'Actions that the server may take by itself'), actions.element, h('h2', {}, 'All settings'), all.element, h('h2', {}, 'Machine and runtime'), facts],
    async update(signal) {
      actions.update((await api.report('actions', signal))?.actions);
      if (facts.childElementCount > 0) return; // settings change rarely: once when the view is opened
      const [rows, system] = await Promise.all([api.report('settings', signal), api.report('system', signal)]);
      differing.update(rows.filter(row => row.differs));
      all.update(rows);
      facts.replaceChildren(...Object.entries(system).flatMap(([name, text]) => [h('dt', {}, name.replaceAll('_', ' ')), h('dd', {}, text || 'unknown')]));
    },
    look(what) {
      all.filterBy(what.get('find') ?? '');
      if (what.has('find')) all.reveal();
    },
  };
}
