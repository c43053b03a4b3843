// Where the rows of tables lead: a view, the range of time to look at, and what to look for there.
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

/** A client's row, and what delayed it. A client without a name is found by its address. */
export const client = row => row.name || row.address ? here('clients', { find: row.name || row.address }) : null;

/** A command's slow requests. */
export const slow = command => here('slow', { find: command });

/** A key in the browser, which only a running server has. */
export const key = (source, row) => source.live ? here('keys', { key: row.key, database: row.database }) : null;
