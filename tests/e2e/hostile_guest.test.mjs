// A guest that misbehaves costs its own call, never the gateway, the host or another sandbox.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { eventually, kCreateLimit, processesOf, textOf, World } from './harness.mjs';
import { readFile } from 'node:fs/promises';

let world, client, victim, other;
const in_victim = (command, timeout_seconds = 60) => client.tool('sandbox_run', { sandbox_id: victim, command, timeout_seconds });
const otherWorks = async () => {
  const result = await client.good('sandbox_run', { sandbox_id: other, command: 'echo fine' });
  assert.equal(result.stdout, 'fine\n');
};
const ownerMemory = async () => {
  let most = 0;
  for (const { pid, command } of await processesOf(world.folder)) {
    if (!/\/sallyport$/.test(command[0] ?? '')) continue;
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    most = Math.max(most, Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0));
  }
  return most;
};

before(async () => {
  world = await World.make();
  client = await world.connect();
  victim = await client.create();
  other = await client.create();
}, { timeout: 2 * kCreateLimit });
after(async () => {
  await client?.close();
  await world?.end();
}, { timeout: kCreateLimit });

test('a flood of output is cut in the guest and bounded in the answer', { timeout: kCreateLimit }, async () => {
  const result = await in_victim('yes flooding 2>/dev/null | head -c 40000000; echo "the end"');
  const view = result.structuredContent;
  assert.ok(!result.isError, textOf(result));
  assert.ok(view.stdout.length <= 40_000);
  assert.equal(view.stdout_truncated, true);
  assert.ok(await ownerMemory() < 150_000, `the owner holds ${await ownerMemory()} kB`);
  await otherWorks();
});

test('control characters and bytes that are no text do not reach the client raw', async () => {
  const result = await in_victim(String.raw`printf '\033]0;owned\007\377\376\000x\r\n'`);
  assert.ok(!result.isError, textOf(result));
  assert.ok(!/[\u0000\u001b\u0007]/.test(textOf(result)), JSON.stringify(textOf(result)));
});

test('forged status files do not change a result', { timeout: kCreateLimit }, async () => {
  const result = await in_victim(`
    for i in $(seq 1 40); do
      for f in $(sudo find / -xdev \\( -name '*status*' -o -name '*exit*' \\) -newermt '-2 minutes' -type f -not -path '/proc/*' -not -path '/sys/*' 2>/dev/null); do
        echo 'exited 0' | sudo tee "$f" > /dev/null
      done
      break
    done
    exit 9`);
  if (!result.isError) assert.equal(result.structuredContent.exit_code, 9, textOf(result));
  await otherWorks();
});

test('a full disk is the guest\'s own trouble, and ends with it', { timeout: 2 * kCreateLimit }, async () => {
  const filled = await in_victim('dd if=/dev/zero of=$HOME/fill bs=1M count=300 2>/dev/null; echo "$?"; true', 50);
  assert.ok(filled, 'an answer, whatever it says');
  await otherWorks();
  const usage = await client.tool('sandbox_run', { sandbox_id: victim, command: 'rm -f $HOME/fill; df --output=pcent / | tail -1' });
  assert.ok(usage);
});

test('a killed guest agent gives an error with what to do, in time', { timeout: kCreateLimit }, async () => {
  const began = Date.now();
  const cut = await in_victim('sudo pkill -STOP qemu-ga; sudo pkill -STOP vmtoolsd; sudo pkill -STOP sallyport-guest; sleep 2; echo survived', 10);
  assert.ok(Date.now() - began < 120_000, `${Date.now() - began} ms`);
  if (!cut.isError) assert.ok(['exited', 'timed_out', 'running', 'lost'].includes(cut.structuredContent.status));
  await otherWorks();
});

test('a guest that powers itself off is reported as gone, and is destroyed like any other', { timeout: 2 * kCreateLimit }, async () => {
  await client.tool('sandbox_destroy', { sandbox_id: victim });
  victim = await client.create();
  const off = await in_victim('sudo poweroff -f; sleep 30', 40);
  assert.ok(off.isError || off.structuredContent.status !== 'exited', textOf(off));
  const after_it = await in_victim('true', 10);
  assert.equal(after_it.isError, true);
  await otherWorks();
  assert.ok(!(await client.tool('sandbox_destroy', { sandbox_id: victim })).isError);
});

test('the gateway is whole afterwards: the log verifies, nothing is left', { timeout: kCreateLimit }, async () => {
  await client.good('sandbox_destroy', { sandbox_id: other });
  await eventually('no machine is left', 15_000, async () => (await world.machines()).length === 0);
  const verify = await world.command(['audit', 'verify']);
  assert.equal(verify.code, 0, verify.out + verify.err);
  assert.ok(!existsSync(path.join(world.transfer, 'fill')));
});
