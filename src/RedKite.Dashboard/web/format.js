// Numbers and times as the page shows them: at most four significant digits, with the unit next to them.

const byteUnits = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

export function count(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return ['unknown', ''];
  if (value === 0) return ['0', ''];
  for (const [size, unit] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k']]) {
    if (Math.abs(value) >= size) return [digits(value / (unit === 'k' ? 1e3 : size)), unit];
  }
  return [digits(value), ''];
}

export function bytes(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return ['unknown', ''];
  if (value === 1) return ['1', 'byte'];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < byteUnits.length - 1) {
    value /= 1024;
    unit++;
  }
  return [digits(value), byteUnits[unit]];
}

export function microseconds(value) {
  if (value === null || value === undefined || value < 0) return ['unknown', ''];
  if (value >= 1e6) return [digits(value / 1e6), 's'];
  if (value >= 1e3) return [digits(value / 1e3), 'ms'];
  return [digits(value), 'µs'];
}

export function seconds(value) {
  if (value === null || value === undefined) return ['unknown', ''];
  if (value >= 172800) return [rounded(value / 86400), 'days'];
  if (value >= 7200) return [rounded(value / 3600), 'h'];
  if (value >= 120) return [String(Math.round(value / 60)), 'min'];
  return [digits(value), 's'];
}

export const percent = value => value === null || value === undefined ? ['unknown', ''] : [share(value), '%'];

// Seconds of CPU in each second, as the share of one core.
export const cores = value => percent(value === null || value === undefined ? value : value * 100);

export function byUnit(unit) {
  return { bytes, microseconds, seconds, percent, cores, milliseconds: v => microseconds(v === null ? null : v * 1000) }[unit] ?? count;
}

/** A number of things: 1 client, 3 clients, 2 entries. Every count with its noun is shown by it. */
export function counted(value, noun) {
  const number = Math.round(value).toLocaleString('en');
  return `${number} ${number === '1' ? noun : noun.endsWith('ry') ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;
}

/** A count that should be zero. */
export const orNone = value => value === 0 ? 'none' : text(count(value));

export const text = pair => pair[1] === '' ? pair[0] : `${pair[0]} ${pair[1]}`;

export function time(unixMs) {
  const at = new Date(unixMs);
  const pad = n => String(n).padStart(2, '0');
  const clock = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  return at.toDateString() === new Date().toDateString() ? clock : `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${clock}`;
}

/** The same in few letters: without seconds where it was on another day. */
export function moment(unixMs) {
  const at = new Date(unixMs);
  return at.toDateString() === new Date().toDateString() ? time(unixMs) : `${at.getDate()} ${at.toLocaleString('en', { month: 'short' })} ${time(unixMs).split(' ')[1].slice(0, 5)}`;
}

// As a person would say it: 0.04 %, 4.2 %, 42 %; near the whole, what is missing matters.
function share(value) {
  const size = Math.abs(value);
  if (size > 0 && size < 0.01) return '< 0.01';
  return String(Number(value.toFixed(size < 1 ? 2 : size < 10 || (size > 99 && size < 100) ? 1 : 0)));
}

// Of ten and more, a tenth says nothing.
const rounded = value => String(Number(value.toFixed(value < 10 ? 1 : 0)));

function digits(value) {
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en');
  if (Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(size >= 100 ? 4 : 3)));
}
