// What the scripts of this folder share: assertions that are counted, waiting with a limit, and the end of a script.
'use strict';

const assert = require('node:assert');

let statements = 0;

function holds(actual, expected) {
  statements++;
  assert.deepStrictEqual(actual, expected, `statement ${statements}: ${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`);
}

async function eventually(condition, what, seconds = 20) {
  statements++;
  const until = Date.now() + seconds * 1000;
  while (!(await condition())) {
    assert(Date.now() < until, `statement ${statements} is still false: ${what}`);
    await sleep(5);
  }
}

function sleep(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

// Runs the script's parts one after the other with the port as argument. One that fails or hangs ends the script with 1.
async function run(parts, seconds = 60) {
  const port = Number(process.argv[2]);
  let running = 'start';
  const limit = setTimeout(() => {
    console.error(`${running} did not end within ${seconds} s, after ${statements} statements`);
    process.exit(1);
  }, seconds * 1000);
  for (const part of parts) {
    running = part.name;
    await part(port);
  }
  clearTimeout(limit);
  console.log(`${statements} statements hold`);
}

module.exports = { holds, eventually, sleep, run };
