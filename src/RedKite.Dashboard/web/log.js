import { h, empty } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { client, here } from './links.js';
import { table } from './table.js';

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
        const tail = await api.get(`api/log?after=${next}`, signal);
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
  const list = table({ caption: 'Live commands', filter: true, sort: 0, descending: true, emptyText: 'No command has been executed since you opened this view.', columns: [
    { title: 'When', get: row => row.unix_us, show: row => `${format.time(row.unix_us / 1000)}.${String(Math.floor(row.unix_us / 1000) % 1000).padStart(3, '0')}` },
    { title: 'Client', get: row => [row.name, row.address].filter(Boolean).join(' '), link: client }, { title: 'Command', get: row => row.command, link: row => here('commands', { find: row.command.toLowerCase() }) },
    { title: 'Arguments', get: row => row.arguments ? row.arguments.slice(1).join(' ') : `${row.argument_count - 1} hidden` }] });
  let stream = null;
  const values = h('input', { type: 'checkbox', onchange: () => open() });

  function open() {
    stream?.close();
    stream = new EventSource(`api/traffic${values.checked ? '?values=1' : ''}`);
    stream.onmessage = event => {
      const commands = JSON.parse(event.data);
      rate.textContent = commands.length === 0 ? 'No command in the last second.' : `${format.counted(commands.length, 'command')} of the last second, at most the first 200.`;
      kept.push(...commands);
      kept.splice(0, Math.max(0, kept.length - 300));
      list.update([...kept]);
    };
    stream.onerror = () => rate.textContent = 'The stream was interrupted; the browser is reconnecting.';
  }

  open();
  return {
    elements: [h('p', {}, h('label', {}, values, ' Show values')), rate, list.element, empty('While this view is open, commands are executed one by one, which costs some speed.')],
    close: () => stream.close(),
    visible: isVisible => isVisible ? open() : stream.close(),
  };
}
