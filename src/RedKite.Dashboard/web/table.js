// A table that sorts, filters and copies itself as text. Refreshing it changes only the cells that differ: order, filter, scroll position, the focus and a
// click in progress stay. A large table shows its first rows until all are requested.
import { h, empty } from './dom.js';
import * as format from './format.js';

const drawnAtFirst = 100; // of a view's only table; views with several draw fewer
const filteredFrom = 15; // rows: what fits a screen needs no filter

/**
 * always(row): the filter never hides it. names(row): the texts by which a finding names it. filter: it is offered even for a few rows. columns: { title, get(row) -> sortable value, show?(row) -> node or text,
 * copy?(row) -> text to copy, link?(row) -> where the text leads, or null, number?, wrap?: true or 'wrap narrow', keep?: what show made stays as long as its row }
 */
export function table({ caption, columns, rows = [], sort = 0, descending = false, emptyText, filter = false, always = () => false, names = () => [], first = drawnAtFirst, key = row => columns.map(column => column.get(row)).join('\n') }) {
  let order = { column: sort, descending };
  let words = '';
  let current = rows;
  let drawsAll = false;
  let sought = ''; // the text of a finding whose rows are marked
  const drawn = new Map(); // key -> row element
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
  const search = h('input', { type: 'search', placeholder: 'Filter', hidden: !filter, 'aria-label': `Filter ${caption}`, oninput: event => {
    words = event.target.value.toLowerCase();
    draw();
  } });
  const copy = h('button', { type: 'button', onclick: async () => {
    name(await copyText(asText()) ? 'Copied' : 'The browser did not allow it');
    setTimeout(() => name('Copy as text'), 2000);
  } });
  const name = text => {
    copy.textContent = text;
    copy.setAttribute('aria-label', `${text}: ${caption}`);
  };
  name('Copy as text');
  const more = h('button', { type: 'button', hidden: true, onclick: () => {
    drawsAll = true;
    draw();
  } });
  const tools = h('div', { class: 'tools' }, search, copy);
  const element = h('div', { class: 'table' }, tools, box, h('div', { class: 'tools' }, more), nothing);

  const visible = () => current
    .filter(row => words === '' || always(row) || columns.some(column => String(column.get(row) ?? '').toLowerCase().includes(words)))
    .sort((a, b) => {
      const [x, y] = [columns[order.column].get(a), columns[order.column].get(b)];
      const result = typeof x === 'number' && typeof y === 'number' ? x - y : String(x ?? '').localeCompare(String(y ?? ''));
      return order.descending ? -result : result;
    });

  const asText = () => [columns.map(column => column.title), ...visible().map(row => columns.map(column => column.copy?.(row) ?? String(column.get(row) ?? '')))]
    .map(cells => cells.join('\t')).join('\n');

  function draw() {
    const shown = visible();
    heads.forEach((head, i) => head.setAttribute('aria-sort', i !== order.column ? 'none' : order.descending ? 'descending' : 'ascending'));
    const isMarked = row => sought !== '' && names(row).some(name => has(sought, name));
    const part = drawsAll ? shown : shown.filter((row, i) => i < first || isMarked(row));
    const focused = body.contains(document.activeElement) ? document.activeElement : null;
    const wanted = new Map();
    for (const row of part) {
      let name = key(row);
      while (wanted.has(name)) name += '\n'; // rows that look the same
      wanted.set(name, row);
    }
    for (const [name, line] of drawn) {
      if (wanted.has(name)) continue;
      line.remove();
      drawn.delete(name);
    }
    let next = body.firstElementChild;
    for (const [name, row] of wanted) {
      const line = drawn.get(name) ?? h('tr', {}, columns.map(column => h('td', { class: column.number ? 'number' : column.wrap === true ? 'wrap' : column.wrap ?? null })));
      drawn.set(name, line);
      fill(line, row);
      line.classList.toggle('marked', isMarked(row));
      if (line === next) next = next.nextElementSibling;
      else body.insertBefore(line, next);
    }
    if (focused && document.activeElement !== focused && body.contains(focused)) focused.focus({ preventScroll: true });
    more.hidden = part.length === shown.length;
    more.textContent = `Show all ${shown.length.toLocaleString('en')}`;
    if (current.length > filteredFrom) search.hidden = false; // and stays: what moves a row up and down does not make it come and go
    tools.hidden = box.hidden = current.length === 0;
    nothing.hidden = current.length > 0;
  }

  function fill(line, row) {
    columns.forEach((column, i) => {
      const cell = line.children[i];
      if (column.keep && cell.childNodes.length > 0) return;
      const shown = column.show ? column.show(row) : String(column.get(row) ?? '');
      const href = column.link?.(row);
      if (href) {
        const link = cell.firstElementChild ?? h('a');
        if (link.textContent !== shown) link.textContent = shown;
        if (link.getAttribute('href') !== href) link.setAttribute('href', href);
        if (link.parentNode !== cell) cell.replaceChildren(link);
      } else if (typeof shown !== 'string') {
        cell.replaceChildren(shown);
      } else if (cell.textContent !== shown || cell.firstElementChild) {
        cell.textContent = shown;
        if (shown.length > 60) cell.title = shown;
        else cell.removeAttribute('title');
      }
    });
  }

  draw();
  return { element, update(next) {
    current = next ?? [];
    draw();
  }, filterBy(text) {
    search.value = text;
    words = text.toLowerCase();
    if (text !== '') search.hidden = false;
    draw();
  }, mark(text) {
    sought = text;
    draw();
    return body.querySelector('tr.marked') !== null;
  }, reveal() {
    const marked = body.querySelector('tr.marked');
    let top = element; // with its heading
    while (top.previousElementSibling?.matches('h2, .lead')) top = top.previousElementSibling;
    if (marked) marked.scrollIntoView({ block: 'center' });
    else top.scrollIntoView({ block: 'start' });
    (tools.hidden ? nothing : search.hidden ? box : search).focus({ preventScroll: true });
  } };
}

// Whether a text has a name as a word of its own.
function has(text, name) {
  if (!name || name.length < 3) return false;
  const isLetter = at => at >= 0 && at < text.length && /[\w-]/.test(text[at]);
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) if (!isLetter(at - 1) && !isLetter(at + name.length)) return true;
  return false;
}

/** A column of times: local time on the page, UTC in copies. Zero is no time. */
export const moments = (title, unixMs, link) => ({ title, get: unixMs, link, show: row => unixMs(row) > 0 ? format.time(unixMs(row)) : '', copy: row => unixMs(row) > 0 ? new Date(unixMs(row)).toISOString() : '' });

// Only pages over HTTPS or on loopback have a clipboard; elsewhere the browser copies the selection.
async function copyText(text) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // the user has denied access
    }
  }
  const before = document.activeElement;
  const area = h('textarea', { class: 'copied', 'aria-hidden': 'true' });
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  before?.focus({ preventScroll: true });
  return copied;
}
