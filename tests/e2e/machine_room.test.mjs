// Machines as they are asked for, and machines on a bad day: a vmrun that is late, lies and lags, a guest that is
// restarted, an owner that is killed while others use the same base.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { eventually, kCreateLimit, kMinute, machinesOf, processesOf, sallyport, sleep, World } from './harness.mjs';

let first, second;
before(async () => {
  first = await World.make();
  second = await World.make();
});
after(async () => {
  await first?.end();
  await second?.end();
}, { timeout: kCreateLimit });

test('a sandbox has the processors, memory and disk that were asked for', { timeout: 2 * kCreateLimit }, async () => {
  const client = await first.connect();
  const sandbox = await client.create({ cpus: 1, memory_mb: 700, disk_gb: 6 });
  const { stdout } = await client.good('sandbox_run', {
    sandbox_id: sandbox,
    command: "nproc; grep MemTotal /proc/meminfo; df --output=size -B1M / | tail -1",
  });
  const [cpus, memory, disk] = stdout.split('\n').map((line) => Number(line.replace(/\D/g, '')));
  assert.equal(cpus, 1);
  assert.ok(memory > 560_000 && memory < 700 * 1024, stdout);
  assert.ok(disk > 5500 && disk <= 6 * 1024, stdout);

  const refused = await client.tool('sandbox_create', { cpus: 32 });
  assert.ok(refused.isError);
  assert.equal(refused.structuredContent.rule, 'too-large');
  const unknown = await client.tool('sandbox_create', { image: 'nothing-of-that-name' });
  assert.equal(unknown.structuredContent.code, 'image.unknown');
  const escaping = await client.tool('sandbox_create', { image: '../../etc' });
  assert.equal(escaping.structuredContent.code, 'argument.image');
  await client.good('sandbox_destroy', { sandbox_id: sandbox });
  await client.close();
});

test('a vmrun that is late, lies and lags costs time and nothing else', { timeout: 3 * kCreateLimit }, async () => {
  const faults = 'hold-stdout,tools-late=3,tools-installed,list-lags=2,path-spelling,usage-mixed@list,quantum=300,delay=20';
  const client = await second.connect({ env: { VMRUN_FAULT: faults } });
  const sandbox = await client.create();
  const { stdout, exit_code } = await client.good('sandbox_run', { sandbox_id: sandbox, command: 'echo here; exit 3' });
  assert.equal(stdout, 'here\n');
  assert.equal(exit_code, 3);
  await client.good('sandbox_destroy', { sandbox_id: sandbox });
  assert.deepEqual(await machinesOf(second.folder), []);
  await client.close();
  await second.stop();
});

test('a copy that vmrun cuts short is an error, never half a file', { timeout: 3 * kCreateLimit }, async () => {
  const client = await second.connect({ env: { SALLYPORT_BOOT_TIMEOUT: '15s', VMRUN_FAULT: 'truncated-copy=4096@CopyFileFromHostToGuest' } });
  const sandbox = await client.create().catch((error) => error);
  // The launcher itself is longer than that, so even making one must say what went wrong.
  assert.ok(sandbox instanceof Error, String(sandbox));
  assert.match(sandbox.message, /guest/);
  assert.deepEqual(await machinesOf(second.folder), []);
  await client.close();
  await second.stop();
});

test('a copy that its client gives up leaves nothing behind, and the sandbox works', { timeout: 3 * kCreateLimit }, async () => {
  const id = /sbx-[0-9a-f]{32}/.exec((await first.command(['sandbox', 'create'])).out)[0];
  const made = await first.command(['sandbox', 'run', id, 'head -c 120000000 /dev/urandom > /home/agent/big']);
  assert.equal(made.code, 0, made.err);
  for (const wait of [1500, 4000]) {
    const copying = spawn(sallyport, ['sandbox', 'cp', `${id}:/home/agent/big`, 'big'], { env: first.environment(), stdio: 'ignore' });
    await sleep(wait);
    copying.kill('SIGTERM');
    await new Promise((resolve) => copying.once('exit', resolve));
    const ran = await first.command(['sandbox', 'run', id, 'echo alive']);
    assert.equal(ran.out, 'alive\n', ran.err);
  }
  for (const kept of ['copies', 'staging'])
    await eventually(`nothing is left in ${kept}`, kMinute, async () =>
      (await readdir(path.join(first.state, 'machines', kept))).length === 0);
  assert.equal(existsSync(path.join(first.transfer, 'big')), false);
  assert.equal((await first.command(['sandbox', 'rm', id])).code, 0);
});

test('jobs of a guest that was restarted are lost, and the sandbox goes on', { timeout: 3 * kCreateLimit }, async () => {
  const client = await first.connect();
  const sandbox = await client.create();
  const { job_id } = await client.good('sandbox_start', { sandbox_id: sandbox, command: 'echo begun; sleep 600' });
  await client.tool('sandbox_start', { sandbox_id: sandbox, command: 'sudo reboot -f' });
  const lost = await eventually('the job is lost', 2 * kMinute, async () => {
    const answer = await client.tool('sandbox_check', { sandbox_id: sandbox, job_id });
    const { status, code } = answer.structuredContent;
    return (status === 'lost' || code === 'job.lost') && answer;
  });
  assert.ok(lost);
  const again = await client.good('sandbox_run', { sandbox_id: sandbox, command: 'uptime -s > /dev/null && echo up' });
  assert.equal(again.stdout, 'up\n');
  await client.good('sandbox_destroy', { sandbox_id: sandbox });
  await client.close();
});

test('the first call to a new owner knows the sandbox of the one that died', { timeout: 4 * kCreateLimit }, async () => {
  const id = /sbx-[0-9a-f]{32}/.exec((await first.command(['sandbox', 'create'])).out)[0];
  const killOwner = async () => {
    const owner = (await processesOf(first.folder)).find(({ command }) => command.includes('daemon'));
    process.kill(owner.pid, 'SIGKILL');
  };
  await killOwner();
  const ran = await first.command(['sandbox', 'run', id, 'echo alive']);
  assert.equal(ran.out, 'alive\n', ran.err);
  // A machine that does not answer for a while is not one that is off.
  const [{ pid }] = await machinesOf(first.folder);
  process.kill(pid, 'SIGSTOP');
  try {
    await killOwner();
    assert.match((await first.command(['sandbox', 'ls'])).out, new RegExp(`${id}.*ready`));
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  assert.equal((await first.command(['sandbox', 'run', id, 'echo alive'])).out, 'alive\n');
  await killOwner();
  const gone = await first.command(['sandbox', 'rm', id]);
  assert.equal(gone.code, 0, gone.err);
  assert.deepEqual(await machinesOf(first.folder), []);
});

test('two state folders on one base do not touch each other', { timeout: 4 * kCreateLimit }, async () => {
  const [one, two] = [await first.connect(), await second.connect()];
  const [mine, theirs] = await Promise.all([one.create(), two.create()]);
  assert.equal((await one.good('sandbox_list')).count, 1);
  assert.equal((await two.tool('sandbox_run', { sandbox_id: mine, command: 'true' })).isError, true);
  const killed = await machinesOf(second.folder);
  assert.equal(killed.length, 1);
  process.kill(killed[0].pid, 'SIGKILL');
  await eventually('the dead machine is told', kMinute, async () =>
    (await two.tool('sandbox_run', { sandbox_id: theirs, command: 'true' })).isError);
  assert.equal((await one.good('sandbox_run', { sandbox_id: mine, command: 'echo alive' })).stdout, 'alive\n');
  await two.good('sandbox_destroy', { sandbox_id: theirs });
  await one.good('sandbox_destroy', { sandbox_id: mine });
  for (const world of [first, second]) assert.deepEqual(await machinesOf(world.folder), []);
  await one.close();
  await two.close();
});
