// Charts of the history: lines over the page's time range, which is the same for all. Without uPlot (if it was missing at build time) they are tables.
// An event is a vertical line with a letter on top, so that marks differ by more than colour. With the focus on a chart, the arrows move the
// range, + and - change its length, and Escape returns to the last five minutes.
import { h, svg, empty, value } from './dom.js';
import * as format from './format.js';

const colours = ['--s1', '--s2', '--s3', '--s4', '--s5', '--s6', '--s7', '--s8'];
const height = 160;
const day = 86400;

// Colours are read once for all charts that are drawn together: each reading makes the browser compute the styles of what has changed.
let palette = null;
function colour(name) {
  if (!palette) {
    palette = new Map();
    setTimeout(() => palette = null);
  }
  if (!palette.has(name)) palette.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return palette.get(name);
}

// Ticks of bytes are powers of two, so that they are round in KiB, MiB and GiB.
const powersOfTwo = Array.from({ length: 50 }, (_, i) => 2 ** i);

/** The values between two gaps, which are no lines: they are drawn as points. For a rare command, these are all. */
export const alone = (plot, index, areAllPoints) => areAllPoints ? null : plot.data[index].flatMap((value, i, all) =>
  value !== null && (all[i - 1] ?? null) === null && (all[i + 1] ?? null) === null ? [i] : []);

/** series: [{ metric, label, key?, peak? }] of one unit. With peak, a step of a long range shows its largest value instead of its mean. */
export function chart({ title, unit, series, zoom }) {
  const now = h('span', { class: 'now' });
  const plot = h('div', { class: 'plot', tabindex: 0, role: 'group', 'aria-label': `${title}: arrows move the time range, plus and minus change its length`, onkeydown: move });
  const legend = h('p', { class: 'legend' });
  const element = h('figure', { class: 'chart' }, h('div', { class: 'title' }, h('h3', {}, title), now), legend, plot);
  const show = format.byUnit(unit);
  let drawn = null;
  let width = 0;
  let figures = [];
  let columns = [];
  let marks = [];
  let last = null;
  follow(series);

  // Shows other series from the next update on, of another command for instance.
  function follow(next) {
    const metrics = next.map(one => one.metric).join(' ');
    if (metrics === element.dataset.metrics) return;
    element.dataset.metrics = metrics;
    series = next;
    figures = series.map(() => h('b'));
    columns = series.map(() => []);
    legend.replaceChildren(...series.map((one, i) => h('span', {}, series.length < 2 ? null : h('span', { class: `key ${one.key ?? `s${i}`}` }), series.length < 2 ? null : `${one.label} `, figures[i])));
    drawn?.destroy();
    drawn = null;
  }

  function update(history, events) {
    if (series.length === 0) return;
    last = history;
    marks = events;
    if (drawn?.select.width > 0) return; // a selection is in progress
    columns = series.map(one => history.series[one.metric]?.[one.peak ? 'max' : 'mean'] ?? history.times.map(() => null));
    if (!drawn || drawn.cursor.idx === null || drawn.cursor.idx === undefined) showLatest();
    element.dataset.from = history.times[0] ?? '';
    element.dataset.to = history.times.at(-1) ?? '';
    element.dataset.points = columns[0].filter(point => point !== null).length;
    if (!window.uPlot) {
      plot.replaceChildren(asTable(history.times, columns));
      return;
    }
    const data = [history.times, ...columns];
    if (drawn && drawn.width === width) {
      drawn.setData(data);
      return;
    }
    drawn?.destroy();
    plot.replaceChildren();
    drawn = new window.uPlot(options(width || 400), data, plot);
  }

  // Before any chart is drawn: reading a width between two drawings makes the browser lay out the page again.
  function measure() {
    width = plot.clientWidth;
  }

  function showLatest() {
    const latest = columns.map(column => column.findLast(point => point !== null));
    const isEmpty = latest.every(point => point === undefined);
    now.textContent = isEmpty ? 'no data' : last.live ? 'now' : 'at the end';
    figures.forEach((figure, i) => figure.textContent = isEmpty ? '' : format.text(show(latest[i] ?? null)));
  }

  function showAt(index) {
    now.textContent = format.time(last.times[index] * 1000);
    figures.forEach((figure, i) => figure.textContent = columns[i][index] === null ? 'not observed' : format.text(show(columns[i][index])));
  }

  function asTable(times, columns) {
    if (times.length === 0) return empty('There is no history yet.');
    const step = Math.max(1, Math.floor(times.length / 8));
    const rows = times.map((at, i) => [at, i]).filter(([, i]) => i % step === 0);
    return h('table', {}, h('tbody', {}, rows.map(([at, i]) => h('tr', {}, h('td', {}, format.time(at * 1000)), columns.map(column => h('td', { class: 'number' }, format.text(show(column[i]))))))));
  }

  function move(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { from, to } = zoom.range(); // keys may be faster than data
    const length = to - from;
    const by = { ArrowLeft: [-length / 4, -length / 4], ArrowRight: [length / 4, length / 4], '+': [length / 4, -length / 4], '-': [-length / 2, length / 2], Escape: null }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    if (by === null) zoom(null, null);
    else if (length + by[1] - by[0] >= 10) zoom(from + by[0], to + by[1]);
  }

  function timeTicks(ticks, step) {
    const pad = n => String(n).padStart(2, '0');
    let before = null;
    return ticks.map(tick => {
      const at = new Date(tick * 1000);
      const date = `${at.getDate()} ${at.toLocaleString('en', { month: 'short' })}`;
      const isNewDay = before !== null && before !== at.getDate();
      before = at.getDate();
      if (step >= day || (isNewDay && step >= 3600)) return date;
      return `${pad(at.getHours())}:${pad(at.getMinutes())}${step < 60 ? `:${pad(at.getSeconds())}` : ''}`;
    });
  }

  function options(width) {
    const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui' };
    return {
      width, height, padding: [12, 16, 0, 0], legend: { show: false },
      cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 5 }, sync: { key: 'charts', setSeries: false, filters: { pub: type => type === 'mousemove' || type === 'mouseleave' } } },
      scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) <= 0 ? 1 : high * 1.08] } },
      axes: [
        { ...axis, size: 22, gap: 4, space: 52, values: (_, ticks, __, ___, step) => timeTicks(ticks, step) },
        { ...axis, size: 66, gap: 6, space: 32, ...unit === 'bytes' ? { incrs: powersOfTwo } : {}, values: (_, ticks) => ticks.map(tick => format.text(show(tick))) },
      ],
      series: [{}, ...series.map((one, i) => {
        const stroke = colour(one.key ? `--${one.key}` : colours[i]);
        return { label: one.label, stroke, width: 1.5, spanGaps: false, points: { size: 4, fill: stroke, filter: alone } };
      })],
      hooks: {
        setSelect: [u => {
          if (u.select.width < 5) return;
          zoom(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'));
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
        setCursor: [u => {
          if (u.cursor.idx === null || u.cursor.idx === undefined || u.cursor.left < 0) showLatest();
          else showAt(u.cursor.idx);
        }],
        draw: [u => {
          const scale = window.devicePixelRatio || 1;
          u.ctx.save(); // the font of the axes stays theirs
          u.ctx.font = `600 ${10 * scale}px system-ui`;
          u.ctx.textAlign = 'center';
          u.ctx.textBaseline = 'bottom';
          let lettered = -Infinity; // letters that would overlap are left out; the list below the charts has all
          for (const mark of marks) {
            const x = Math.round(u.valToPos(mark.at, 'x', true));
            if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
            u.ctx.fillStyle = colour(mark.colour);
            u.ctx.fillRect(x, u.bbox.top, 1.5, u.bbox.height);
            if (Math.abs(x - lettered) < 9 * scale) continue;
            u.ctx.fillText(mark.letter, x, u.bbox.top - 1);
            lettered = x;
          }
          u.ctx.restore();
        }],
      },
    };
  }

  return { element, get metrics() { return series.map(one => one.metric); }, follow, measure, update, redraw() {
    drawn?.destroy();
    drawn = null;
    measure();
    if (last) update(last, marks);
  } };
}

/** A current number with its history as a small line. read(values of the metrics) returns the number of one moment, or null; note(the latest values) ends the title. */
export function tile({ title, metrics, read, show, note }) {
  const name = h('div', { class: 'name' }, title);
  const figure = h('div', { class: 'value' });
  const line = svg('path', { class: 'line' });
  const fill = svg('path', { class: 'fill' });
  const element = h('div', { class: 'card tile' }, name, figure, svg('svg', { viewBox: '0 0 120 28', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, fill, line));
  return { element, metrics, measure() {}, redraw() {}, update(history) {
    const columns = metrics.map(metric => history.series[metric]?.mean ?? []);
    const points = history.times.map((_, i) => columns.some(column => column[i] === null || column[i] === undefined) ? null : read(columns.map(column => column[i])));
    const latest = points.findLast(point => point !== null);
    figure.replaceChildren(...value(latest === undefined ? ['none', ''] : show(latest)));
    if (note) name.textContent = `${title}${note(columns.map(column => column.findLast(point => point !== null)))}`;
    const most = Math.max(...points.filter(point => point !== null), 1e-9);
    let path = '', area = '', begin = null, x = 0;
    points.forEach((point, i) => {
      if (point === null) {
        if (begin !== null) area += `L${x},28 L${begin},28Z`;
        begin = null;
        return;
      }
      x = (120 * i / Math.max(1, points.length - 1)).toFixed(1);
      const at = `${begin === null ? 'M' : 'L'}${x},${(26 - (22 * Math.max(0, point) / most)).toFixed(1)}`;
      if (begin === null) begin = x;
      path += at;
      area += at;
    });
    if (begin !== null) area += `L${x},28 L${begin},28Z`;
    line.setAttribute('d', path);
    fill.setAttribute('d', area);
  } };
}
