// The frame of the page: views, one time range for all of them, updates once a second while the page is visible.
import { h, empty } from './dom.js';
import * as api from './api.js';
import * as format from './format.js';
import { views } from './views.js';

const ranges = [['5 min', 300], ['1 h', 3600], ['1 day', 86400], ['2 weeks', 1209600]];
const main = document.getElementById('view');
const state = document.getElementById('state');
let source = null;
let shown = null; // { name, view, charts }
let timer = 0;
let updates = new AbortController();

// The address holds the view and the range: #memory?from=..&to=.. or #memory?last=300
function address() {
  const [name, query] = location.hash.slice(1).split('?');
  const parameters = new URLSearchParams(query ?? '');
  return { name: views.some(view => view.name === name) ? name : 'overview', parameters };
}

function go(name, changes) {
  const { parameters } = address();
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

const zoom = (from, to) => go(address().name, { from: Math.floor(from), to: Math.ceil(to), last: null });

function drawFrame() {
  const { name, parameters } = address();
  const kept = new URLSearchParams([...parameters].filter(([key]) => ['from', 'to', 'last'].includes(key))).toString();
  document.getElementById('views').replaceChildren(...views.filter(view => source.live || !view.liveOnly).map(view =>
    h('a', { href: `#${view.name}${kept === '' ? '' : `?${kept}`}`, 'aria-current': view.name === name ? 'page' : null }, view.title)));
  const last = parameters.has('from') ? 0 : Number(parameters.get('last') ?? 300);
  const buttons = ranges.map(([title, length]) =>
    h('button', { type: 'button', 'aria-pressed': String(last === length), onclick: () => go(address().name, { last: length, from: null, to: null }) }, title));
  if (parameters.has('from')) {
    const zoomed = range();
    buttons.unshift(h('button', { type: 'button', 'aria-pressed': 'true', title: 'Back to the last five minutes', onclick: () => go(address().name, { last: 300, from: null, to: null }) },
      `${format.time(zoomed.from * 1000)} to ${format.time(zoomed.to * 1000)} ×`));
  }
  document.getElementById('range').replaceChildren(...buttons);
}

async function show() {
  const { name } = address();
  drawFrame();
  if (shown?.name !== name) {
    shown?.view.close?.();
    const view = views.find(each => each.name === name);
    document.title = `${view.title} · RedKite`;
    const opened = view.open({ zoom, source, go });
    shown = { name, view: opened };
    main.replaceChildren(h('h1', {}, view.title), h('p', { class: 'lead' }, view.question), ...opened.elements);
  }
  await update();
}

async function update() {
  clearTimeout(timer);
  updates.abort();
  updates = new AbortController();
  const signal = updates.signal;
  const current = shown;
  try {
    const { from, to } = range();
    const charts = current.view.charts ?? [];
    const metrics = [...new Set(charts.flatMap(chart => chart.metrics))];
    const [, findings, history] = await Promise.all([
      current.view.update?.(signal),
      charts.length > 0 ? api.report('findings', signal) : null,
      metrics.length > 0 ? api.history(metrics, from, to, 240, signal) : null,
    ]);
    if (signal.aborted || current !== shown) return;
    const marks = [...findings?.open ?? [], ...findings?.ended ?? []].map(finding => ({ at: finding.since_unix_ms / 1000, colour: `--${finding.severity}` }));
    if (history) for (const chart of charts) chart.update(history, marks);
    state.textContent = source.live ? '' : 'This is a debug package: nothing here changes.';
    main.dataset.ready = current.name;
  } catch (failure) {
    if (signal.aborted) return;
    if (failure instanceof api.LoginNeeded) {
      logIn();
      return;
    }
    state.textContent = `The server does not answer (${failure.message}). What you see is from ${format.time(Date.now())}.`;
  }
  if (source.live && !document.hidden) timer = setTimeout(update, 1000);
}

function logIn() {
  shown?.view.close?.();
  shown = null;
  clearTimeout(timer);
  const problem = h('p', { class: 'danger', role: 'alert' });
  const password = h('input', { type: 'password', name: 'password', autocomplete: 'current-password', required: true });
  const form = h('form', { class: 'login panel', onsubmit: async event => {
    event.preventDefault();
    const status = await api.post('/login', { user: 'default', password: password.value });
    if (status === 204) show();
    else problem.textContent = status === 429 ? 'Too many tries. Wait a minute.' : 'That is not the password.';
  } }, h('h1', {}, 'Log in'), h('label', {}, 'Password (requirepass)', password), h('button', { type: 'submit' }, 'Log in'), problem);
  main.replaceChildren(form);
  main.dataset.ready = 'login';
  password.focus();
}

addEventListener('hashchange', () => show().then(() => main.focus({ preventScroll: true })));
document.addEventListener('visibilitychange', () => document.hidden ? clearTimeout(timer) : shown && update());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => shown?.view.charts?.forEach(chart => chart.redraw()));
addEventListener('resize', () => shown?.view.charts?.forEach(chart => chart.redraw()));

try {
  source = await api.get('/api/source');
  await show();
} catch (failure) {
  console.error(failure);
  main.replaceChildren(empty('The server does not answer.'));
}
