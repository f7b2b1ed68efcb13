// `sallyport doctor` on a real set-up. Each of its checks is spoilt in tests/gateway/doctor_test.cc.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { kCreateLimit, kMinute, World } from './harness.mjs';

let world;
before(async () => {
  world = await World.make({ idle_exit: '60s' });
});
after(() => world.end(), { timeout: kCreateLimit });
const doctor = async (...args) => {
  const said = await world.command(['doctor', '--json', ...args]);
  const report = JSON.parse(said.out);
  assert.equal(said.code, report.ok ? 0 : 1, said.out);
  return { ...report, of: (check) => report.checks.filter((one) => one.check === check) };
};

test('doctor makes a sandbox, uses it and leaves nothing', { timeout: 2 * kCreateLimit }, async () => {
  const report = await doctor();
  assert.equal(report.ok, true, JSON.stringify(report.checks, null, 1));
  for (const step of ['create', 'run', 'copy_in', 'read', 'copy_out', 'screenshot', 'destroy']) {
    const [found] = report.of(step);
    assert.equal(found?.health, 'good', step);
    assert.ok(found.ms >= 0, step);
  }
  assert.deepEqual(await readdir(world.transfer), []);
  assert.equal((await world.machines()).length, 0);
});

test('doctor --quick makes none', { timeout: kMinute }, async () => {
  const report = await doctor('--quick');
  assert.equal(report.ok, true, JSON.stringify(report.checks, null, 1));
  assert.equal(report.of('sandbox')[0].health, 'skipped');
  assert.deepEqual(report.of('create'), []);
});

test('doctor names what is wrong, what to do, and tries no sandbox then', { timeout: 2 * kMinute }, async () => {
  await world.command(['kill-switch', 'on']);
  const stopped = await doctor();
  assert.equal(stopped.ok, false);
  assert.match(stopped.of('owner').map((one) => one.mend).join(), /kill-switch off/);
  assert.equal(stopped.of('sandbox')[0].health, 'skipped');
  await world.command(['kill-switch', 'off']);
  await world.command(['daemon', '--stop']);
  await world.configure({ base_vmx: path.join(world.folder, 'none.vmx'), clones_dir: path.join(world.transfer, 'clones') });
  const broken = await doctor();
  assert.equal(broken.ok, false);
  assert.match(broken.of('image').map((one) => one.mend).join(), /image build/);
  assert.ok(broken.of('overlap').some((one) => one.health === 'bad'));
  assert.ok(broken.of('owner').some((one) => one.health === 'bad'));
  const text = await world.command(['doctor', '--quick']);
  assert.equal(text.code, 1);
  assert.match(text.out, /^bad +image .*\n +-> run `sallyport image build`/m);
});
