// Policy files that change under a running gateway: other rules decide at once, and a broken file changes nothing.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { eventually, kMinute, processesOf, textOf, World } from './harness.mjs';

const limit = { timeout: 2 * kMinute };
const head = (more = '') => `sallyport: policy/v1\ntier: user\nname: house\ndefault: deny\n${more}`;
const kAll = head('serial: 5\nactions:\n  all: { allow: [list, create, run, start, check, stop, destroy, copy_in] }\n');
const kFew = head('serial: 6\nactions:\n  few: { allow: list }\n');

describe('policy files that change', () => {
  let world, client, file, changes = 0;
  const names = async () => (await client.listTools()).tools.map((tool) => tool.name);
  const status = async () => JSON.parse((await world.command(['status', '--json'])).out);
  const records = async () =>
    (await world.command(['audit', 'show', 'last:1000', '--json'])).out.split('\n').filter(Boolean).map((line) => JSON.parse(line));

  before(async () => {
    world = await World.make();
    await mkdir(path.join(world.folder, 'policies'));
    file = path.join(world.folder, 'policies', 'house.yaml');
    await writeFile(file, kAll);
    await world.configure({ policy: [path.dirname(file)] });
    client = await world.connect();
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes += 1;
    });
  }, limit);
  after(async () => {
    await client?.close();
    await world?.end();
  }, limit);

  test('only tools that some call could get are offered', limit, async () => {
    assert.deepEqual(client.tools.map((tool) => tool.name).sort(), ['sandbox_check', 'sandbox_copy_in', 'sandbox_create',
      'sandbox_destroy', 'sandbox_list', 'sandbox_run', 'sandbox_start', 'sandbox_stop']);
    const hidden = await client.tool('sandbox_screenshot', { sandbox_id: 'sbx-' + '0'.repeat(32) });
    assert.equal(hidden.isError, true);
    assert.match(textOf(hidden), /sandbox\.unknown|deny\.default/);
  });

  test('an edit decides from the next call on, and the client is told', limit, async () => {
    await writeFile(file + '.new', kFew);
    await rename(file + '.new', file);
    await eventually('the client heard of other tools', 5_000, async () => changes > 0);
    assert.deepEqual(await names(), ['sandbox_list']);
    assert.match(textOf(await client.tool('sandbox_create')), /deny\.default/);
    assert.ok((await client.good('sandbox_list')).count === 0);
    const loaded = (await records()).filter((record) => record.act === 'policy.loaded');
    assert.equal(loaded.length, 1);
    assert.equal(loaded[0].obj.digest, 'sha256:' + (await status()).policy_digest);
  });

  test('a broken file changes nothing, and says so', limit, async () => {
    await writeFile(file, kAll + 'actionz: {}\n');
    await eventually('status names the mistake', 5_000, async () =>
      (await status()).problems.some((problem) => problem.includes('house.yaml:8:1') && problem.includes('actionz')));
    assert.deepEqual(await names(), ['sandbox_list'], 'the last good one is in force');
    assert.ok(await client.good('sandbox_list'));
    const rejected = (await records()).find((record) => record.act === 'policy.rejected');
    assert.match(rejected.obj.why, /actionz/);
    assert.equal(rejected.obj.kept, 'sha256:' + (await status()).policy_digest);
    await rm(file);
    await eventually('status names the empty folder', 5_000, async () =>
      (await status()).problems.some((problem) => problem.includes('no *.yaml file')));
    assert.deepEqual(await names(), ['sandbox_list']);
  });

  test('an older serial does not come back, not even after a restart', limit, async () => {
    await writeFile(file, kAll);
    await eventually('status names the serial', 5_000, async () =>
      (await status()).problems.some((problem) => problem.includes('policy.rolled_back')));
    assert.deepEqual(await names(), ['sandbox_list']);
    await client.close();
    await world.command(['daemon', '--stop']);
    client = await world.connect();
    assert.match(textOf(await client.tool('sandbox_list')), /serial 5, and serial 6/);
    await writeFile(file, kAll.replace('serial: 5', 'serial: 7'));
    await eventually('the new serial is in force', 5_000, async () => !(await client.tool('sandbox_list')).isError);
  });

  test('SIGHUP reads them now', limit, async () => {
    const owner = (await processesOf(world.folder)).find(({ command }) => command.includes('daemon'));
    await writeFile(file, kFew.replace('serial: 6', 'serial: 8'));
    process.kill(owner.pid, 'SIGHUP');
    await eventually('the few are in force', 900, async () => (await names()).length === 1);
  });

  test('the log verifies', limit, async () => {
    const verified = await world.command(['audit', 'verify']);
    assert.equal(verified.code, 0, verified.out + verified.err);
  });
});

test('a job that the new policy refuses is ended', { timeout: 8 * kMinute }, async () => {
  const world = await World.make();
  try {
    const file = path.join(world.folder, 'house.yaml');
    await writeFile(file, kAll);
    await world.configure({ policy: [file] });
    const client = await world.connect();
    const sandbox_id = await client.create();
    const kept = await client.good('sandbox_start', { sandbox_id, command: 'echo kept; sleep 600' });
    const ended = await client.good('sandbox_start', { sandbox_id, command: 'echo miner; sleep 600' });
    await writeFile(file, kAll.replace('serial: 5', 'serial: 6') + '  no-mining: { deny: [run, start], command: { glob: "*miner*" } }\n');
    await eventually('the job was ended', 60_000, async () =>
      (await client.good('sandbox_check', { sandbox_id, job_id: ended.job_id })).status !== 'running');
    const view = await client.good('sandbox_check', { sandbox_id, job_id: ended.job_id });
    assert.equal(view.status, 'stopped');
    assert.match(view.stdout, /miner/);
    assert.equal((await client.good('sandbox_check', { sandbox_id, job_id: kept.job_id })).status, 'running');
    const shown = (await world.command(['audit', 'show', 'last:1000', '--json'])).out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    const withdrawn = shown.filter((record) => record.act === 'grant.withdrawn');
    assert.equal(withdrawn.length, 1);
    assert.equal(withdrawn[0].obj.rule, 'no-mining');
    await client.good('sandbox_destroy', { sandbox_id });
    await client.close();
  } finally {
    await world.end();
  }
});
