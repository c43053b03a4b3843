// The frame of the page: views, one time range for all of them, updates once a second while the page is visible.
import { h, empty } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { around } from './links.js';
import { moments, table } from './table.js';
import { loadingText } from './durability.js';
import { views } from './views.js';

const ranges = [['5 min', 300], ['1 h', 3600], ['1 day', 86400], ['2 weeks', 1209600]];
const main = document.getElementById('view');
const state = document.getElementById('state');
let source = null;
let shown = null; // { name, view, charts }
let timer = 0;
let updates = new AbortController();
let updatesDone = 0;
let lastFindings = null;
const badge = h('span', { class: 'badge', hidden: true });
const missing = h('p', { class: 'missing', role: 'status', hidden: true });

// The kinds of marks on charts. A finding's colour shows its severity.
const markKinds = {
  finding: { letter: '!', title: 'finding' },
  started: { letter: 'R', title: 'the server started', colour: '--soft' },
  settingchanged: { letter: 'S', title: 'a setting was changed', colour: '--s2' },
  action: { letter: 'A', title: 'the server acted by itself', colour: '--s4' },
  saved: { letter: 'D', title: 'the data was saved', colour: '--s3' },
  rewritten: { letter: 'L', title: 'the append-only file was rewritten', colour: '--s7' },
};

const rangeNames = ['from', 'to', 'last'];

// The address holds the view, the range and what the view is to find: #memory?from=..&to=.., #memory?last=300 or #clients?find=name
function address() {
  const [name, query] = location.hash.slice(1).split('?');
  const parameters = new URLSearchParams(query ?? '');
  const known = views.some(view => view.name === name);
  return { name: known ? name : 'overview', parameters, unknown: known || name === '' ? '' : name };
}

function go(name, changes) {
  const { name: before, parameters } = address();
  if (name !== before) for (const key of [...parameters.keys()].filter(key => !rangeNames.includes(key))) parameters.delete(key);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) parameters.delete(key);
    else parameters.set(key, value);
  }
  const query = parameters.toString();
  location.hash = query === '' ? name : `${name}?${query}`;
}

export function range() {
  const { parameters } = address();
  const now = source.live ? Date.now() / 1000 : source.now;
  if (parameters.has('from')) return { from: Number(parameters.get('from')), to: Number(parameters.get('to')) };
  return { from: now - Number(parameters.get('last') ?? 300), to: now };
}

// Null: back to the last five minutes. A range that would reach into the future ends now.
function zoom(from, to) {
  const late = from === null ? 0 : Math.max(0, to - (source.live ? Date.now() / 1000 : source.now));
  const chosen = from === null ? null : [Math.floor(from - late), Math.ceil(to - late)];
  go(address().name, { from: chosen && chosen[0], to: chosen && chosen[1], last: null });
}

// For what changes the range by the one of now: what is drawn may still be of another one.
zoom.range = range;

// The range in words, for tables that follow it.
function rangeText() {
  const { parameters } = address();
  if (parameters.has('from')) return `${format.moment(Number(parameters.get('from')) * 1000)} to ${format.moment(Number(parameters.get('to')) * 1000)}`;
  return { 300: 'the last 5 minutes', 3600: 'the last hour', 86400: 'the last day', 1209600: 'the last two weeks' }[parameters.get('last') ?? 300] ?? 'the chosen time';
}

// The events that a table shows: all of them, or those in the range that was chosen on a chart.
function chosen(rows, at) {
  if (!rows || !address().parameters.has('from')) return rows;
  const { from, to } = range();
  return rows.filter(row => at(row) >= from && at(row) <= to);
}

// On a phone the views are behind a button.
const bar = document.querySelector('header');
const menu = document.getElementById('menu');
function openMenu(isOpen) {
  bar.classList.toggle('open', isOpen);
  menu.setAttribute('aria-expanded', String(isOpen));
}
menu.addEventListener('click', () => openMenu(!bar.classList.contains('open')));
new ResizeObserver(() => document.documentElement.style.setProperty('--bar', `${bar.offsetHeight}px`)).observe(bar); // what is scrolled to is below it

function drawFrame() {
  const { name, parameters } = address();
  const kept = new URLSearchParams([...parameters].filter(([key]) => rangeNames.includes(key))).toString();
  document.getElementById('views').replaceChildren(...views.filter(view => source.live || !view.liveOnly).map(view =>
    h('a', { href: `#${view.name}${kept === '' ? '' : `?${kept}`}`, 'aria-current': view.name === name ? 'page' : null }, view.title, view.name === 'overview' ? badge : null)));
  const last = parameters.has('from') ? 0 : Number(parameters.get('last') ?? 300);
  const buttons = parameters.has('from') ? [] : ranges.map(([title, length]) =>
    h('button', { type: 'button', 'aria-pressed': String(last === length), onclick: () => go(address().name, { last: length, from: null, to: null }) }, title));
  if (parameters.has('from')) {
    const zoomed = range();
    const length = zoomed.to - zoomed.from;
    const step = (text, title, from, to) => h('button', { type: 'button', title, 'aria-label': title, onclick: () => zoom(from, to) }, text);
    buttons.unshift(step('‹', 'Earlier', zoomed.from - (length / 2), zoomed.to - (length / 2)),
      h('button', { type: 'button', 'aria-pressed': 'true', title: 'Back to the last five minutes', onclick: () => go(address().name, { last: 300, from: null, to: null }) },
        `${rangeText()} ×`),
      step('›', 'Later', zoomed.from + (length / 2), zoomed.to + (length / 2)), step('−', 'Twice as long', zoomed.from - (length / 2), zoomed.to + (length / 2)));
  }
  document.getElementById('range').replaceChildren(...buttons);
  menu.textContent = views.find(view => view.name === name).title;
  openMenu(false);
}

async function show() {
  const { name, unknown } = address();
  drawFrame();
  if (shown?.name !== name) {
    shown?.view.close?.();
    const view = views.find(each => each.name === name);
    document.title = `${view.title} · RedKite`;
    const opened = view.open({ zoom, source, go, chosen, range, rangeText });
    shown = { name, view: opened, sought: '' };
    const marks = opened.charts?.length > 0 ? markList() : null;
    shown.marks = marks;
    main.replaceChildren(h('h1', {}, view.title), h('p', { class: 'lead' }, view.question), ...opened.elements);
    if (marks) main.querySelector('.charts').after(marks.element);
  }
  missing.hidden = unknown === '';
  missing.textContent = `There is no view “${unknown}”: this is the overview.`;
  if (!missing.hidden) main.prepend(missing);
  const what = soughtNow();
  if (what.has('about') && what.toString() !== shown.sought) [shown.about, shown.found] = [what.get('about'), false];
  await update();
  return look();
}

// What the address has beside the range.
function soughtNow() {
  const { parameters } = address();
  for (const key of rangeNames) parameters.delete(key);
  return parameters;
}

// Shows what a link is to find in its view: a row, or a key. Only when it changes, because it replaces the user's own filter.
// Returns whether the focus has moved there.
function look() {
  const parameters = soughtNow();
  if (!shown || parameters.toString() === shown.sought) return false;
  shown.sought = parameters.toString();
  if (parameters.has('about')) return shown.found === true; // the update has shown it, or the next one will
  if (!shown.view.look) return false;
  shown.view.look(parameters);
  return shown.sought !== '';
}

// The rows that a finding names, in the middle of the window; without one, the charts at its time. As soon as both have been read.
function showFinding() {
  if (!shown?.about || !lastFindings) return;
  const finding = [...lastFindings.open, ...lastFindings.ended].find(each => each.name === shown.about);
  shown.about = null;
  const text = finding ? `${finding.title} ${finding.evidence} ${finding.culprit}` : '';
  const marked = (shown.view.tables ?? []).filter(each => each.mark(text));
  if (marked.length > 0) marked[0].reveal();
  else scrollTo(0, 0);
  shown.found = marked.length > 0;
}

// Marks are rare: they are read with every fifth update.
async function marksOf(current, signal) {
  if (!current.happened || current.marksAge >= 4) [current.happened, current.marksAge] = [await api.report('marks', signal), 0];
  else current.marksAge++;
  return current.happened;
}

// The marks as text, for users who cannot distinguish them on a chart.
function markList() {
  const summary = h('summary');
  const list = table({ caption: 'Events in this time range', sort: 0, descending: true, columns: [
    moments('When', mark => mark.unix_ms, mark => around('clients', mark.unix_ms, { at: 'timeline' })), { title: 'Mark', get: mark => mark.letter },
    { title: 'What', get: mark => markKinds[mark.kind].title }, { title: 'Detail', get: mark => mark.detail }] });
  const element = h('details', { class: 'marks', hidden: true }, summary, list.element);
  return { element, update(marks) {
    element.hidden = marks.length === 0;
    const letters = Object.values(markKinds).filter(kind => marks.some(mark => mark.letter === kind.letter));
    summary.textContent = `${format.counted(marks.length, 'mark')} on the charts: ${letters.map(kind => `${kind.letter} ${kind.title}`).join(', ')}`;
    list.update(marks);
  } };
}

async function update() {
  clearTimeout(timer);
  updates.abort();
  updates = new AbortController();
  const signal = updates.signal;
  const current = shown;
  try {
    await current.view.prepare?.(signal, address().parameters);
    if (signal.aborted || current !== shown) return;
    const { from, to } = range();
    const charts = current.view.charts ?? [];
    const metrics = [...new Set(charts.flatMap(chart => chart.metrics))];
    // The past does not change: a range that has ended is read once.
    const isPast = !source.live || to < Date.now() / 1000 - 2;
    const wanted = isPast ? `${from} ${to} ${metrics}` : null;
    const known = wanted !== null && current.past?.wanted === wanted ? current.past : null;
    const [, happened, history, findings] = await Promise.all([
      current.view.update?.(signal),
      known ? known.happened : charts.length > 0 ? marksOf(current, signal) : null,
      known ? known.history : metrics.length > 0 ? api.history(metrics, from, to, 240, signal) : null,
      updatesDone % 5 === 0 || current.about ? api.report('findings', signal) : null,
    ]);
    if (signal.aborted || current !== shown) return;
    if (wanted !== null) current.past = { wanted, happened, history };
    if (history && !known) {
      const marks = (happened ?? []).filter(mark => markKinds[mark.kind]).map(mark => ({ ...mark, at: mark.unix_ms / 1000, letter: markKinds[mark.kind].letter, colour: markKinds[mark.kind].colour ?? `--${mark.severity}` }));
      for (const chart of charts) chart.measure();
      for (const chart of charts) chart.update({ ...history, live: !isPast }, marks);
      current.marks?.update(marks.filter(mark => mark.at >= from && mark.at <= to));
    }
    main.dataset.updates = ++updatesDone;
    if (findings) showBadge((lastFindings = findings).open);
    if (findings) showFinding();
    state.textContent = source.live ? await stateOf(signal) : 'This is a debug package: nothing here changes.';
    main.dataset.ready = current.name;
  } catch (failure) {
    if (signal.aborted) return;
    if (failure instanceof api.LoginNeeded) {
      logIn();
      return;
    }
    source.loading = source.live; // when it answers again, it may have been started again
    state.textContent = `The server does not answer (${failure.message}). The values shown are from ${format.time(Date.now())}.`;
  }
  if (source.live && !document.hidden) timer = setTimeout(update, 1000);
}

// While the server loads its data, every view says so.
async function stateOf(signal) {
  if (!source.loading) return '';
  const { loading } = await api.report('durability', signal);
  source.loading = loading.in_progress;
  return loading.in_progress ? loadingText(loading) : '';
}

// Shows on every view how many findings need attention.
function showBadge(open) {
  const count = open.filter(finding => finding.severity !== 'notice').length;
  badge.hidden = count === 0;
  badge.textContent = String(count);
  badge.title = `${format.counted(count, 'finding')} ${count === 1 ? 'needs' : 'need'} attention`;
  badge.className = `badge ${open[0]?.severity ?? ''}`;
}

function logIn() {
  shown?.view.close?.();
  shown = null;
  clearTimeout(timer);
  const problem = h('p', { class: 'danger', role: 'alert' });
  const password = h('input', { type: 'password', name: 'password', autocomplete: 'current-password', required: true });
  const user = h('input', { name: 'user', autocomplete: 'username', value: 'default', required: true });
  const form = h('form', { class: 'login panel', onsubmit: async event => {
    event.preventDefault();
    const status = await api.post('login', { user: user.value, password: password.value });
    if (status === 204) show();
    else problem.textContent = status === 429 ? 'Too many attempts are waiting. Try again in a few seconds.' : 'Wrong user or password. Only users that may do everything can log in.';
  } }, h('h1', {}, 'Log in'), h('label', {}, 'User', user), h('label', {}, 'Password', password), h('button', { type: 'submit' }, 'Log in'), problem);
  main.replaceChildren(form);
  main.dataset.ready = 'login';
  password.focus();
}

// A new view has the focus; within a view it stays where it is, so that the keys of a chart go on working.
addEventListener('hashchange', async () => {
  if (!source) return;
  const before = shown?.name;
  const found = await show();
  if (!found && shown?.name !== before) main.focus({ preventScroll: true });
});
addEventListener('click', event => {
  const target = event.target.closest?.('a')?.getAttribute('href');
  if (target === '#view') { // the address holds the view: the browser would leave it
    event.preventDefault();
    main.focus();
  } else if (target === location.hash && shown) {
    shown.sought = null; // the link leads to where the user is: what it looks for is shown again
    show();
  }
});
document.addEventListener('visibilitychange', () => {
  clearTimeout(timer);
  shown?.view.visible?.(!document.hidden);
  if (shown && !document.hidden) update();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => shown?.view.charts?.forEach(chart => chart.redraw()));
addEventListener('resize', () => shown?.view.charts?.forEach(chart => chart.redraw()));

try {
  source = await api.get('api/source');
  await show();
} catch (failure) {
  console.error(failure);
  main.replaceChildren(empty('The server does not answer.'));
}
