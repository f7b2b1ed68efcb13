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

// Every program in the guest's /usr/bin writes its arguments down before it runs. It cannot miss one that is
// quickly over, as a look at /proc now and then would.
const kGuestWrapper = `
import os, stat
os.chdir('/usr/bin')
open('/var/tmp/argv', 'w').close()
os.chmod('/var/tmp/argv', 0o666)
for name in sorted(os.listdir('.')):
    mode = os.lstat(name).st_mode
    if not stat.S_ISREG(mode) or mode & (stat.S_ISUID | stat.S_ISGID) or name == 'dash' or name.startswith('python'):
        continue
    with open(name, 'rb') as f:
        if f.read(4) != b'\\x7fELF':
            continue
    os.rename(name, name + '.real')
    with open(name, 'w') as f:
        f.write('#!/bin/dash\\nprintf "%s\\\\n" "$0 $*" >> /var/tmp/argv\\nexec "$0.real" "$@"\\n')
    os.chmod(name, 0o755)
`;

test('a canary in every string parameter is in no argv', { timeout: 3 * kCreateLimit }, async () => {
  const sandbox_id = await client.create();
  await writeFile(path.join(world.transfer, 'wrap.py'), kGuestWrapper);
  await client.good('sandbox_copy_in', { sandbox_id, host_path: 'wrap.py', guest_path: '/home/agent/wrap.py' });
  const wrapped = await client.good('sandbox_run', { sandbox_id, command: 'sudo python3 /home/agent/wrap.py' });
  assert.equal(wrapped.exit_code, 0, wrapped.stderr);
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
    ['sandbox_copy_in', { sandbox_id: kCanary, host_path: 'wrap.py', guest_path: '/tmp/n' }],
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
    ['sandbox_create', { image: kCanary }],
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
  const told = (i) => JSON.stringify(answers[i][2].content);
  for (const i of [1, 3, 9, 10, 12, 13]) assert.ok(!answers[i][2].isError, `${answers[i][0]}: ${told(i)}`);
  assert.equal(await readFile(path.join(world.transfer, `back-${kCanary}.txt`), 'utf8'), kCanary);
  assert.equal(await readFile(path.join(world.transfer, `tree-${kCanary}`, `file-${kCanary}`), 'utf8'), kCanary);

  // The command that reads what was written down comes as a file like any other.
  const inGuest = async () => (await client.good('sandbox_run', { sandbox_id, command: 'while read -r line; do echo "$line"; done < /var/tmp/argv' })).stdout.split('\n');
  const words = await inGuest();
  assert.ok(words.some((line) => /\/tar .*--extract/.test(line)) && words.some((line) => /\/tar .*--create/.test(line)),
    `the guest's programs wrote down ${words.length} lines, none of tar`);
  assert.deepEqual(words.filter((line) => line.includes(kCanary)), []);
  const argv = await readFile(argvLog, 'latin1');
  assert.ok(argv.includes('runProgramInGuest'), 'the wrapper saw no command');
  assert.ok(!argv.includes(kCanary), argv.split('\n').filter((line) => line.includes(kCanary)).join('\n'));
  watching = false;
  await onHost;
  assert.deepEqual([...seenOnHost], []);

  // What watches is not blind: a program that the agent asks for, with the canary as its argument, is seen.
  await client.good('sandbox_run', { sandbox_id, command: `env true ${kCanary}` });
  assert.ok((await inGuest()).some((line) => line.includes(`env true ${kCanary}`)));
  await client.good('sandbox_destroy', { sandbox_id });
});
