// A table that sorts, filters and copies itself as text. Refreshing its rows keeps order, filter and place.
import { h, empty } from './dom.js';

/** columns: { title, get(row) -> sortable value, show?(row) -> node or text, number? } */
export function table({ caption, columns, rows = [], sort = 0, descending = false, emptyText, filter = true }) {
  let order = { column: sort, descending };
  let words = '';
  let current = rows;
  const body = h('tbody');
  const heads = columns.map((column, i) => {
    const button = h('button', { type: 'button', onclick: () => {
      order = { column: i, descending: order.column === i ? !order.descending : !!column.number };
      draw();
    } }, column.title);
    return h('th', { scope: 'col', class: column.number ? 'number' : null }, button);
  });
  const box = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    h('table', {}, h('thead', {}, h('tr', {}, heads)), body));
  const nothing = empty(emptyText ?? 'There is nothing to show.');
  const search = h('input', { type: 'search', placeholder: 'Filter', 'aria-label': `Filter ${caption}`, oninput: event => {
    words = event.target.value.toLowerCase();
    draw();
  } });
  const copy = h('button', { type: 'button', onclick: () => navigator.clipboard?.writeText(asText()) }, 'Copy as text');
  const element = h('div', {}, filter ? h('div', { class: 'tools' }, search, copy) : null, box, nothing);

  const visible = () => current
    .filter(row => words === '' || columns.some(column => String(column.get(row) ?? '').toLowerCase().includes(words)))
    .sort((a, b) => {
      const [x, y] = [columns[order.column].get(a), columns[order.column].get(b)];
      const result = typeof x === 'number' && typeof y === 'number' ? x - y : String(x ?? '').localeCompare(String(y ?? ''));
      return order.descending ? -result : result;
    });

  const asText = () => [columns.map(column => column.title), ...visible().map(row => columns.map(column => String(column.get(row) ?? '')))]
    .map(cells => cells.join('\t')).join('\n');

  function draw() {
    const shown = visible();
    heads.forEach((head, i) => head.setAttribute('aria-sort', i !== order.column ? 'none' : order.descending ? 'descending' : 'ascending'));
    body.replaceChildren(...shown.map(row => h('tr', {}, columns.map(column => {
      const cell = column.show ? column.show(row) : String(column.get(row) ?? '');
      return h('td', { class: column.number ? 'number' : column.wrap ? 'wrap' : null, title: typeof cell === 'string' && cell.length > 60 ? cell : null }, cell);
    }))));
    box.hidden = current.length === 0;
    nothing.hidden = current.length > 0;
  }

  draw();
  return { element, update(next) {
    current = next ?? [];
    draw();
  } };
}
