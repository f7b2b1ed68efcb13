// The MCP Inspector's command line, as a client that is not ours.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { kMinute, root, run, sallyport, World } from './harness.mjs';

const inspector = path.join(root, 'tests/e2e/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
let world;
before(async () => {
  world = await World.make();
  await mkdir(path.join(world.folder, 'home'));
});
after(() => world.end(), { timeout: kMinute });

// It keeps state in the home folder, starts `node` by name, and gives a server little of its environment.
const inspect = (...args) => run(process.execPath, [inspector, '--cli', '-e', `SALLYPORT_CONFIG=${world.config}`, ...args, '--', sallyport, 'serve'], {
  env: world.environment({
    HOME: path.join(world.folder, 'home'),
    PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`,
  }),
  limit: 2 * kMinute,
});

test('every schema is portable: --strict finds nothing', { timeout: 3 * kMinute }, async () => {
  const said = await inspect('--strict', '--method', 'tools/list');
  assert.equal(said.code, 0, said.out + said.err);
});

test('a call goes through and its result is JSON', { timeout: 3 * kMinute }, async () => {
  const said = await inspect('--format', 'json', '--method', 'tools/call', '--tool-name', 'sandbox_list');
  assert.equal(said.code, 0, said.out + said.err);
  assert.match(said.out, /sandboxes/);
});

test('a refused call is a tool error to it', { timeout: 3 * kMinute }, async () => {
  const said = await inspect('--method', 'tools/call', '--tool-name', 'sandbox_create', '--tool-arg', 'network=nat');
  assert.equal(said.code, 5, said.out + said.err);
});
