// Charts of metrics over the page's time range. Dragging on one zooms all, and they share the cursor. What happened is a mark on every
// chart: a line with a letter on top, so that colour is not all that tells marks apart.
import { h, empty } from './dom.js';
import * as format from './format.js';

const colours = ['--s1', '--s2', '--s3', '--s4', '--s5'];
const height = 150;
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** series: [{ metric, label, colour? }] of one unit. */
export function chart({ title, unit, series, zoom }) {
  const now = h('p', { class: 'now' });
  const plot = h('div', { class: 'plot' });
  const legend = h('div', { class: 'legend' }, series.length < 2 ? null : series.map((one, i) => h('span', {}, h('span', { class: `key ${one.key ?? `s${i}`}` }), one.label)));
  const element = h('figure', { class: 'chart', 'data-metrics': series.map(one => one.metric).join(' ') }, h('h3', {}, title), now, legend, plot);
  const show = format.byUnit(unit);
  let drawn = null;
  let columns = series.map(() => []);
  let marks = [];

  let last = null;

  function update(history, events) {
    last = history;
    marks = events;
    if (drawn?.select.width > 0) return; // somebody is dragging
    columns = series.map(one => history.series[one.metric]?.mean ?? history.times.map(() => null));
    if (!drawn || drawn.cursor.idx === null || drawn.cursor.idx === undefined) showLatest();
    element.dataset.points = columns[0].filter(value => value !== null).length;
    if (!window.uPlot) {
      plot.replaceChildren(asTable(history.times, columns));
      return;
    }
    const data = [history.times, ...columns];
    if (drawn && drawn.width === plot.clientWidth) {
      drawn.setData(data);
      return;
    }
    drawn?.destroy();
    plot.replaceChildren();
    drawn = new window.uPlot(options(plot.clientWidth || 400), data, plot);
  }

  const values = each => each.map((value, i) => (series.length > 1 ? `${series[i].label} ` : '') + format.text(show(value ?? null))).join(', ');

  function showLatest() {
    const latest = columns.map(column => column.findLast(value => value !== null));
    now.textContent = latest.every(value => value === undefined) ? 'nothing was observed in this time' : `${last.live ? 'now' : 'at the end'} ${values(latest)}`;
  }

  function showAt(index) {
    now.textContent = `${format.time(last.times[index] * 1000)}: ${columns.every(column => column[index] === null) ? 'nothing was observed' : values(columns.map(column => column[index]))}`;
  }

  function asTable(times, columns) {
    if (times.length === 0) return empty('There is no history yet.');
    const step = Math.max(1, Math.floor(times.length / 8));
    const rows = times.map((at, i) => [at, i]).filter(([, i]) => i % step === 0);
    return h('table', {}, h('tbody', {}, rows.map(([at, i]) => h('tr', {}, h('td', {}, format.time(at * 1000)), columns.map(column => h('td', { class: 'number' }, format.text(show(column[i]))))))));
  }

  function options(width) {
    const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui' };
    return {
      width, height, legend: { show: false }, cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 5 }, sync: { key: 'charts', setSeries: false, filters: { pub: type => type === 'mousemove' || type === 'mouseleave' } } },
      scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) <= 0 ? 1 : high * 1.08] } },
      axes: [axis, { ...axis, size: 62, values: (_, ticks) => ticks.map(tick => format.text(show(tick))) }],
      series: [{}, ...series.map((one, i) => ({ label: one.label, stroke: colour(one.key ? `--${one.key}` : colours[i]), width: 1.5, spanGaps: false }))],
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
          u.ctx.font = `600 ${10 * scale}px system-ui`;
          u.ctx.textAlign = 'center';
          u.ctx.textBaseline = 'top';
          let lettered = -Infinity; // letters that would overlap are left out; the list below the charts has all
          for (const mark of marks) {
            const x = Math.round(u.valToPos(mark.at, 'x', true));
            if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
            u.ctx.fillStyle = colour(mark.colour);
            u.ctx.fillRect(x, u.bbox.top + (11 * scale), 1.5, u.bbox.height - (11 * scale));
            if (Math.abs(x - lettered) < 9 * scale) continue;
            u.ctx.fillText(mark.letter, x, u.bbox.top);
            lettered = x;
          }
        }],
      },
    };
  }

  return { element, metrics: series.map(one => one.metric), update, redraw() {
    drawn?.destroy();
    drawn = null;
    if (last) update(last, marks);
  } };
}
