// Elements from code: h('p', { class: 'x' }, 'text', child).
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined));
  return element;
}

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export const value = ([number, unit]) => unit === '' ? [number] : [number, ' ', h('span', { class: 'unit' }, unit)];

export const empty = text => h('p', { class: 'empty' }, text);

// Text of the documentation: names in backquotes, and links, of which the page shows the words.
export const prose = text => h('span', {}, ...text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1').split('`').map((part, i) => i % 2 === 1 ? h('code', {}, part) : part));
