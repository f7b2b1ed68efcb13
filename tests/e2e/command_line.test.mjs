// `sallyport` as a person uses it. Every command passes the same door.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { existsSync } from 'node:fs';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { kCreateLimit, kMinute, World } from './harness.mjs';

let world, sandbox;
before(async () => {
  world = await World.make();
});
after(() => world.end(), { timeout: kCreateLimit });
const good = async (...args) => {
  const said = await world.command(args);
  assert.equal(said.code, 0, `sallyport ${args.join(' ')}: ${said.out}${said.err}`);
  return said.out;
};

test('sandbox create, ls, run, cp, rm', { timeout: 2 * kCreateLimit }, async () => {
  sandbox = /sbx-[0-9a-f]{32}/.exec(await good('sandbox', 'create'))[0];
  assert.match(await good('sandbox', 'ls'), new RegExp(sandbox));
  assert.match(await good('sandbox', 'run', sandbox, 'echo "hello from $(hostname)"'), /^hello from /m);
  const failed = await world.command(['sandbox', 'run', sandbox, 'exit 4']);
  assert.equal(failed.code, 4, failed.out + failed.err);
  // More than one answer holds, on both streams, and more than is kept.
  const both = await world.command(['sandbox', 'run', sandbox, 'seq 30000; seq 20000 >&2']);
  const numbers = (to) => Array.from({ length: to }, (_, i) => `${i + 1}\n`).join('');
  assert.ok(both.out === numbers(30000), `${both.out.length} characters of stdout`);
  assert.ok(both.err.endsWith(numbers(20000)), `${both.err.length} characters of stderr`);
  const lost = await world.command(['sandbox', 'run', sandbox, 'seq 400000']);
  assert.ok(lost.out.endsWith('\n399999\n400000\n') && lost.out.length >= 1_000_000, String(lost.out.length));
  assert.match(lost.err, /bytes of stdout are no longer kept/);
  for (const odd of [['--cpus', '0'], ['--disk-gb', '0'], ['--image', '']]) {
    const refused = await world.command(['sandbox', 'create', ...odd]);
    assert.notEqual(refused.code, 0, odd.join(' '));
  }
  await writeFile(path.join(world.transfer, 'note.txt'), 'a note\n');
  await good('sandbox', 'cp', 'note.txt', `${sandbox}:/home/agent/note.txt`);
  await good('sandbox', 'run', sandbox, 'tr a-z A-Z < note.txt > loud.txt');
  await good('sandbox', 'cp', `${sandbox}:/home/agent/loud.txt`, 'loud.txt');
  assert.equal(await readFile(path.join(world.transfer, 'loud.txt'), 'utf8'), 'A NOTE\n');
  const outside = await world.command(['sandbox', 'cp', '/etc/passwd', `${sandbox}:/tmp/p`]);
  assert.notEqual(outside.code, 0);
  await good('sandbox', 'rm', sandbox);
  assert.equal((await world.machines()).length, 0);
  for (const kept of ['jobs', 'copies', 'staging'])
    assert.deepEqual(await readdir(path.join(world.state, 'machines', kept)), [], kept);
});

test('the kill switch destroys what runs and refuses until it is lifted', { timeout: 2 * kCreateLimit }, async () => {
  const client = await world.connect();
  try {
    await client.create();
    assert.equal((await world.machines()).length, 1);
    await good('kill-switch', 'on');
    assert.equal((await world.machines()).length, 0);
    const refused = await client.tool('sandbox_create', {});
    assert.equal(refused.isError, true);
    assert.match(JSON.stringify(refused.content), /kill/);
    await good('kill-switch', 'off');
    assert.deepEqual((await client.good('sandbox_list')).sandboxes, []);
  } finally {
    await client.close();
  }
});

test('audit verify finds one changed byte, with its place', { timeout: kMinute }, async () => {
  await good('audit', 'verify');
  assert.ok((await good('audit', 'show')).includes('create'));
  const folder = path.join(world.state, 'audit');
  const file = (await readdir(folder, { recursive: true })).find((name) => /\.(jsonl|log)$/.test(name));
  const bytes = await readFile(path.join(folder, file));
  const at = bytes.indexOf('"act":"') + 8;
  bytes[at] ^= 1;
  const copy = path.join(world.folder, 'damaged');
  await cp(folder, copy, { recursive: true });
  await writeFile(path.join(copy, file), bytes);
  const said = await world.command(['audit', 'verify', '--log', copy]);
  assert.equal(said.code, 1, said.out + said.err);
});

test('status says what runs', { timeout: kMinute }, async () => {
  assert.match(await good('status'), /policy|sandbox/);
});

test('init writes a commented configuration and prints the line for the client', { timeout: kMinute }, async () => {
  const folder = path.join(world.folder, 'fresh');
  const said = await world.command(['init', '--no-image', folder], { env: { SALLYPORT_CONFIG: undefined, HOME: world.folder } });
  assert.equal(said.code, 0, said.out + said.err);
  assert.ok(existsSync(path.join(folder, 'sallyport.yaml')), (await readdir(world.folder)).join(' '));
  assert.match(said.out, /claude mcp add/);
});

test('where there is no image yet, making one is not refused for that', { timeout: 2 * kMinute }, async () => {
  const bare = await World.make({ base_vmx: undefined });
  try {
    const env = { SALLYPORT_IMAGES_DIR: path.join(bare.folder, 'images') };
    const refused = await bare.command(['sandbox', 'create'], { env });
    assert.match(refused.err, /image build/);
    // It gets as far as the mirror, which is nobody.
    const said = await bare.command(['image', 'build', '--mirror', 'http://127.0.0.1:9/debian'], { env });
    assert.equal(said.code, 1);
    assert.match(said.err, /image\.build/, said.out + said.err);
    assert.match(said.out + said.err, /image: nothing was changed/);
  } finally {
    await bare.end();
  }
});

test('an unknown command is named, with the nearest one', { timeout: kMinute }, async () => {
  const top = await world.command(['statsu']);
  assert.equal(top.code, 2);
  assert.match(top.err, /`statsu`.*`status`/);
  assert.match(top.err, /kill-switch/);
  const below = await world.command(['--max-age', '1h', 'sandbox', 'lss']);
  assert.equal(below.code, 2);
  assert.match(below.err, /`sandbox lss`.*`ls`/);
});

test('tools and version without an owner', { timeout: kMinute }, async () => {
  assert.match(await good('tools', '--markdown'), /sandbox_create/);
  assert.match(await good('--version'), /\d+\.\d+\.\d+/);
});
