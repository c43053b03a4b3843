// The links of table rows: a view, the time range to show, and what to find there.
const besideSeconds = 30; // what else happened at that moment

export const to = (view, what = {}) => `#${view}?${new URLSearchParams(what)}`;

/** The view at the range around a moment. */
export function around(view, unixMs, what = {}) {
  const at = Math.round(unixMs / 1000);
  return to(view, { from: at - besideSeconds, to: at + besideSeconds, ...what });
}

/** Keeps the range that the address has. */
export function here(view, what = {}) {
  const range = [...new URLSearchParams(location.hash.split('?')[1] ?? '')].filter(([key]) => ['from', 'to', 'last'].includes(key));
  return to(view, { ...Object.fromEntries(range), ...what });
}

/** A client's row and its delays. A client without a name is found by its address. */
export const client = row => row.name || row.address ? here('clients', { find: row.name || row.address }) : null;

/** A command's slow requests. */
export const slow = command => here('slow', { find: command });

/** A key in the key browser, which needs a running server. */
export const key = (source, row) => source.live ? here('keys', { key: row.key, database: row.database }) : null;
