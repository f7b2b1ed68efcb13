// Text of an agent stands on no command line, on the host or in the guest. A canary is planted in every string
// parameter of every tool; meanwhile the host's processes, vmrun's arguments and the guest's processes are watched.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { kCreateLimit, script, vmrun, World } from './harness.mjs';

const kCanary = 'zqcanary7f3a';
let world, client, argvLog;
let watching = true;
const seenOnHost = new Set();

// Our own test program and its client hold the canary in memory, not in their arguments.
async function watchHost() {
  while (watching) {
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/.test(pid)) continue;
      const words = await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');
      if (words.includes(kCanary)) seenOnHost.add(words.replaceAll('\0', ' '));
    }
  }
}

before(async () => {
  world = await World.make();
  argvLog = path.join(world.folder, 'argv.log');
  const watched = await script(path.join(world.folder, 'vmrun'), `#!/bin/bash
printf '%s\\0' "$@" >> '${argvLog}'
printf '\\n' >> '${argvLog}'
exec '${vmrun}' "$@"
`);
  await world.configure({ vmrun: watched, remote_input: 'on' });
  client = await world.connect();
}, { timeout: kCreateLimit });
after(async () => {
  watching = false;
  await client?.close();
  await world?.end();
}, { timeout: kCreateLimit });

// A watcher that shows itself neither the needle nor anything else of the agent's.
const kGuestWatcher = `
import os
needle = open('/home/agent/needle').read().strip().encode()
seen = open('/home/agent/seen', 'ab', buffering=0)
told = set()
rounds = 0
while True:
    rounds += 1
    for pid in os.listdir('/proc'):
        if pid.isdigit():
            try:
                with open('/proc/' + pid + '/cmdline', 'rb') as f:
                    words = f.read()
            except OSError:
                continue
            if needle in words and words not in told:
                told.add(words)
                seen.write(words.replace(b'\\0', b' ') + b'\\n')
    if rounds % 50 == 0:
        open('/home/agent/rounds', 'w').write(str(rounds))
`;

test('a canary in every string parameter is in no argv', { timeout: 3 * kCreateLimit }, async () => {
  const sandbox_id = await client.create();
  await writeFile(path.join(world.transfer, 'watcher.py'), kGuestWatcher);
  await writeFile(path.join(world.transfer, 'needle'), kCanary);
  for (const name of ['watcher.py', 'needle']) {
    await client.good('sandbox_copy_in', { sandbox_id, host_path: name, guest_path: `/home/agent/${name}` });
  }
  await client.good('sandbox_start', { sandbox_id, command: 'exec python3 /home/agent/watcher.py' });
  const onHost = watchHost();

  await mkdir(path.join(world.transfer, `dir-${kCanary}`));
  await writeFile(path.join(world.transfer, `dir-${kCanary}`, `file-${kCanary}`), kCanary);
  const planted = new Set();
  // The builtins of bash keep the canary to themselves: a program started by the command would be the named exception.
  const calls = [
    ['sandbox_create', { network: kCanary }],
    ['sandbox_run', { sandbox_id, command: `x=${kCanary}; echo "$x" >&2; sleep 1; : ${kCanary}` }],
    ['sandbox_run', { sandbox_id: kCanary, command: `: ${kCanary}` }],
    ['sandbox_start', { sandbox_id, command: `x=${kCanary}; echo "$x"; sleep 1` }],
    ['sandbox_start', { sandbox_id: kCanary, command: 'true' }],
    ['sandbox_check', { sandbox_id, job_id: kCanary }],
    ['sandbox_check', { sandbox_id: kCanary, job_id: kCanary }],
    ['sandbox_stop', { sandbox_id, job_id: kCanary }],
    ['sandbox_stop', { sandbox_id: kCanary, job_id: kCanary }],
    ['sandbox_copy_in', { sandbox_id, host_path: `dir-${kCanary}/file-${kCanary}`, guest_path: `/tmp/${kCanary}.txt` }],
    ['sandbox_copy_in', { sandbox_id, host_path: `dir-${kCanary}`, guest_path: `/tmp/tree-${kCanary}` }],
    ['sandbox_copy_in', { sandbox_id: kCanary, host_path: 'needle', guest_path: '/tmp/n' }],
    ['sandbox_copy_out', { sandbox_id, guest_path: `/tmp/${kCanary}.txt`, host_path: `back-${kCanary}.txt` }],
    ['sandbox_copy_out', { sandbox_id, guest_path: `/tmp/tree-${kCanary}`, host_path: `tree-${kCanary}` }],
    ['sandbox_copy_out', { sandbox_id, guest_path: `/nowhere/${kCanary}`, host_path: `x-${kCanary}` }],
    ['sandbox_copy_out', { sandbox_id: kCanary, guest_path: '/tmp/n', host_path: 'n' }],
    ['sandbox_screenshot', { sandbox_id: kCanary }],
    ['sandbox_click', { sandbox_id, x: 1, y: 1, button: kCanary }],
    ['sandbox_click', { sandbox_id: kCanary, x: 1, y: 1 }],
    ['sandbox_type', { sandbox_id, text: kCanary }],
    ['sandbox_type', { sandbox_id: kCanary, text: 'x' }],
    ['sandbox_key', { sandbox_id, keys: kCanary }],
    ['sandbox_key', { sandbox_id: kCanary, keys: 'Return' }],
    ['sandbox_destroy', { sandbox_id: kCanary }],
  ];
  const answers = [];
  for (const [name, args] of calls) {
    for (const [parameter, value] of Object.entries(args)) {
      if (typeof value === 'string' && value.includes(kCanary)) planted.add(`${name}.${parameter}`);
    }
    const result = await client.tool(name, args).catch((error) => ({ isError: true, content: [{ text: error.message }] }));
    answers.push([name, args, result]);
  }

  // Every string parameter was planted, and what should work did.
  for (const tool of client.tools) {
    for (const [parameter, field] of Object.entries(tool.inputSchema.properties ?? {})) {
      if (field.type === 'string') assert.ok(planted.has(`${tool.name}.${parameter}`), `${tool.name}.${parameter} is not planted`);
    }
  }
  const failed = (i) => JSON.stringify(answers[i][2].content);
  for (const i of [1, 3, 9, 10, 12, 13]) assert.ok(!answers[i][2].isError, `${answers[i][0]}: ${failed(i)}`);
  assert.equal(await readFile(path.join(world.transfer, `back-${kCanary}.txt`), 'utf8'), kCanary);
  assert.equal(await readFile(path.join(world.transfer, `tree-${kCanary}`, `file-${kCanary}`), 'utf8'), kCanary);

  const guest = await client.good('sandbox_run', { sandbox_id, command: 'cat /home/agent/rounds; echo; cat /home/agent/seen' });
  const [rounds, ...seenInGuest] = guest.stdout.split('\n');
  assert.ok(Number(rounds) >= 50, `the guest's watcher looked ${rounds} times`);
  assert.deepEqual(seenInGuest.filter(Boolean), []);
  const argv = await readFile(argvLog, 'latin1');
  assert.ok(argv.includes('runProgramInGuest'), 'the wrapper saw no command');
  assert.ok(!argv.includes(kCanary), argv.split('\n').filter((line) => line.includes(kCanary)).join('\n'));
  watching = false;
  await onHost;
  assert.deepEqual([...seenOnHost], []);

  // The watcher is not blind: a program that the agent asks for, with the canary as its argument, is seen.
  await client.good('sandbox_run', { sandbox_id, command: `python3 -c 'import time; time.sleep(2)' ${kCanary}` });
  const proof = await client.good('sandbox_run', { sandbox_id, command: 'cat /home/agent/seen' });
  assert.match(proof.stdout, new RegExp(`time.sleep.* ${kCanary}`));
  await client.good('sandbox_destroy', { sandbox_id });
});
