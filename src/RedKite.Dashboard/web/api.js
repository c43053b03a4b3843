// The page's addresses, relative to it: a host may have it below a path. A response that requires a login is a separate exception.
export class LoginNeeded extends Error {}

export async function get(path, signal) {
  const response = await fetch(path, { signal });
  if (response.status === 401) throw new LoginNeeded();
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

export const report = (name, signal) => get(`api/reports/${name}`, signal);

export function history(metrics, from, to, points, signal) {
  const query = new URLSearchParams({ metrics: metrics.join(','), from: Math.floor(from), to: Math.floor(to), points });
  return get(`api/history?${query}`, signal);
}

export const commandsOf = ({ from, to }, signal) => get(`api/commands?${new URLSearchParams({ from: Math.floor(from), to: Math.floor(to) })}`, signal);

export const postForFile = path => fetch(path, { method: 'POST', headers: { 'X-RedKite': '1' } });

export async function post(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'X-RedKite': '1', 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return response.status;
}
