// One sandbox's whole life through the official client: every tool, the shape of every result.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { kCreateLimit, sleep, textOf, World } from './harness.mjs';

const kTools = ['sandbox_create', 'sandbox_list', 'sandbox_run', 'sandbox_start', 'sandbox_check', 'sandbox_stop',
  'sandbox_copy_in', 'sandbox_copy_out', 'sandbox_screenshot', 'sandbox_click', 'sandbox_type', 'sandbox_key',
  'sandbox_destroy'];

let world, client, sandbox;
const onlyOf = (id) => ({ sandbox_id: id });

before(async () => {
  world = await World.make();
  client = await world.connect();
}, { timeout: kCreateLimit });
after(async () => {
  await client?.close();
  await world?.end();
}, { timeout: kCreateLimit });

test('the list has the 13 tools, each with title, annotations and both schemas', () => {
  assert.deepEqual(client.tools.map(({ name }) => name).sort(), [...kTools].sort());
  for (const tool of client.tools) {
    assert.ok(tool.title, tool.name);
    assert.ok(tool.description.length > 20 && Buffer.byteLength(tool.description) <= 2048, tool.name);
    for (const hint of ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']) {
      assert.equal(typeof tool.annotations[hint], 'boolean', `${tool.name} ${hint}`);
    }
    assert.equal(tool.inputSchema.type, 'object', tool.name);
    assert.equal(tool.inputSchema.additionalProperties, false, tool.name);
    for (const [name, field] of Object.entries(tool.inputSchema.properties ?? {})) {
      assert.ok(field.type && field.description, `${tool.name}.${name}`);
    }
    assert.equal(tool.outputSchema?.type, 'object', tool.name);
  }
});

test('the server tells a model how to do its three jobs', () => {
  const text = client.getInstructions();
  for (const word of ['sandbox_create', 'sandbox_copy_in', 'sandbox_run', 'sandbox_start', 'sandbox_destroy']) {
    assert.match(text, new RegExp(word));
  }
});

test('create reports progress and gives a sandbox that is listed', { timeout: kCreateLimit }, async () => {
  const steps = [];
  const made = await client.good('sandbox_create', { network: 'none' }, { onprogress: (step) => steps.push(step) });
  sandbox = made.sandbox_id;
  assert.match(sandbox, /^sbx-[0-9a-f]{32}$/);
  assert.ok(Date.parse(made.expires_at) > Date.now());
  assert.ok(steps.length >= 2, JSON.stringify(steps));
  for (let i = 1; i < steps.length; i++) assert.ok(steps[i].progress > steps[i - 1].progress, JSON.stringify(steps));
  const { sandboxes } = await client.good('sandbox_list');
  assert.equal(sandboxes.length, 1);
  assert.equal(sandboxes[0].sandbox_id, sandbox);
  assert.equal(sandboxes[0].network, 'none');
});

test('run gives output, exit code and duration of an ordinary user\'s bash', async () => {
  const result = await client.good('sandbox_run', {
    ...onlyOf(sandbox),
    command: 'id -un; pwd; echo "${BASH_VERSION:+bash}"; echo warn >&2; read line; echo "stdin:$?"; exit 3',
  });
  assert.equal(result.status, 'exited');
  assert.equal(result.exit_code, 3);
  assert.equal(result.stdout, 'agent\n/home/agent\nbash\nstdin:1\n');
  assert.equal(result.stderr, 'warn\n');
  assert.equal(result.stdout_truncated, false);
  assert.ok(result.duration_ms >= 0);
  assert.ok(Date.parse(result.expires_at) > Date.now());
});

test('text that a shell could misread arrives as it is', async () => {
  const odd = String.raw`a"b'c$HOME\`id\`$(id);|&<>*?{1..3}~!#` + '\nzweite Zeile ü €\t.';
  const result = await client.good('sandbox_run', {
    ...onlyOf(sandbox),
    command: `cat <<'EOF_OF_TEST'\n${odd}\nEOF_OF_TEST`,
  });
  assert.equal(result.stdout, odd + '\n');
});

test('there is no network adapter in a sandbox of network none', async () => {
  const result = await client.good('sandbox_run', { ...onlyOf(sandbox), command: 'ls /sys/class/net' });
  assert.equal(result.stdout.trim(), 'lo');
});

test('a command past its timeout is killed with its children, and what it printed is kept', async () => {
  const result = await client.good('sandbox_run', {
    ...onlyOf(sandbox),
    command: 'echo before; (setsid sleep 987 & ); sleep 987; echo after',
    timeout_seconds: 3,
  });
  assert.equal(result.status, 'timed_out');
  assert.equal(result.exit_code, undefined);
  assert.equal(result.stdout, 'before\n');
  const rest = await client.good('sandbox_run', { ...onlyOf(sandbox), command: 'pgrep -fc "^sleep 987" || true' });
  assert.equal(rest.stdout.trim(), '0');
});

test('a background command runs, is read on by offset, and is stopped with its children', async () => {
  const { job_id: job } = await client.good('sandbox_start', {
    ...onlyOf(sandbox),
    command: 'for i in $(seq 1 1000); do echo "line $i"; sleep 0.3; done & sleep 988 & wait',
  });
  assert.match(job, /^job-[0-9a-f]{32}$/);
  let seen;
  for (let i = 0; i < 40 && !seen?.stdout?.includes('line 2\n'); i++) {
    await sleep(300);
    seen = await client.good('sandbox_check', { ...onlyOf(sandbox), job_id: job });
  }
  assert.equal(seen.status, 'running');
  assert.equal(seen.exit_code, undefined);
  assert.match(seen.stdout, /^line 1\nline 2\n/);
  await client.good('sandbox_stop', { ...onlyOf(sandbox), job_id: job });
  const ended = await client.good('sandbox_check', { ...onlyOf(sandbox), job_id: job });
  assert.equal(ended.status, 'stopped');
  assert.match(ended.stdout, /^line 1\n/);
  const rest = await client.good('sandbox_run', { ...onlyOf(sandbox), command: 'pgrep -fc "^sleep 988" || true' });
  assert.equal(rest.stdout.trim(), '0');
  const again = await client.tool('sandbox_stop', { ...onlyOf(sandbox), job_id: job });
  assert.ok(!again.isError, 'stopping what has ended is no error');
});

test('a command that ends by itself keeps its exit code and output', async () => {
  const { job_id: job } = await client.good('sandbox_start', { ...onlyOf(sandbox), command: 'echo done; exit 7' });
  let seen;
  for (let i = 0; i < 40; i++) {
    seen = await client.good('sandbox_check', { ...onlyOf(sandbox), job_id: job });
    if (seen.status !== 'running') break;
    await sleep(300);
  }
  assert.equal(seen.status, 'exited');
  assert.equal(seen.exit_code, 7);
  assert.equal(seen.stdout, 'done\n');
});

test('much output: the newest part in the answer, the totals told, the rest read on', async () => {
  const result = await client.good('sandbox_run', { ...onlyOf(sandbox), command: 'seq 1 30000' });
  assert.equal(result.exit_code, 0);
  assert.equal(result.stdout_truncated, true);
  assert.ok(result.stdout.length <= 40_000);
  assert.ok(result.stdout.endsWith('29999\n30000\n'));
  assert.equal(result.stdout_total, 168_894);
  let whole = '';
  let at = 0;
  while (at < result.stdout_total) {
    const part = await client.good('sandbox_check', { ...onlyOf(sandbox), job_id: result.job_id, stdout_offset: at });
    assert.ok(part.stdout_next_offset > at, JSON.stringify({ at, next: part.stdout_next_offset }));
    whole += part.stdout;
    at = part.stdout_next_offset;
  }
  assert.equal(whole, Array.from({ length: 30_000 }, (_, i) => `${i + 1}\n`).join(''));
});

test('files and folders go in and come out; odd entries are left out and counted', async () => {
  await mkdir(path.join(world.transfer, 'in/deep'), { recursive: true });
  await writeFile(path.join(world.transfer, 'in/a.txt'), 'eins\n');
  await writeFile(path.join(world.transfer, 'in/deep/b.bin'), Buffer.from([0, 1, 2, 255]));
  const put = await client.good('sandbox_copy_in', { ...onlyOf(sandbox), host_path: 'in', guest_path: '/home/agent/in' });
  assert.equal(put.files, 2);
  assert.equal(put.bytes, 9);
  const look = await client.good('sandbox_run', {
    ...onlyOf(sandbox),
    command: 'cd in && cat a.txt && od -An -tu1 deep/b.bin && test ! -x a.txt && ln -s /etc/passwd link && echo report > deep/r.txt',
  });
  assert.equal(look.exit_code, 0, look.stderr);
  const got = await client.good('sandbox_copy_out', { ...onlyOf(sandbox), guest_path: '/home/agent/in', host_path: 'out' });
  assert.equal(got.files, 3);
  assert.equal(got.skipped_total, 1, JSON.stringify(got));
  assert.equal(await readFile(path.join(world.transfer, 'out/deep/r.txt'), 'utf8'), 'report\n');
  assert.deepEqual(await readFile(path.join(world.transfer, 'out/deep/b.bin')), Buffer.from([0, 1, 2, 255]));
});

test('a folder with a link is refused on its way in', async () => {
  await mkdir(path.join(world.transfer, 'linked'), { recursive: true });
  await symlink('/etc/passwd', path.join(world.transfer, 'linked/p'));
  const result = await client.tool('sandbox_copy_in', { ...onlyOf(sandbox), host_path: 'linked', guest_path: '/tmp/x' });
  assert.equal(result.isError, true);
  assert.match(textOf(result), /link/);
});

test('no path leaves the transfer folder, in either direction', async () => {
  for (const host_path of ['../secret', '/etc/passwd', 'a/../../b', 'in/../../../etc', '..', 'a\u0000b', '']) {
    for (const [tool, args] of [
      ['sandbox_copy_in', { host_path, guest_path: '/tmp/x' }],
      ['sandbox_copy_out', { host_path, guest_path: '/etc/hostname' }],
    ]) {
      const result = await client.tool(tool, { ...onlyOf(sandbox), ...args });
      assert.equal(result.isError, true, `${tool} ${JSON.stringify(host_path)}`);
    }
  }
});

test('a screenshot is a PNG picture', async () => {
  const result = await client.tool('sandbox_screenshot', onlyOf(sandbox));
  assert.ok(!result.isError, textOf(result));
  const picture = result.content.find(({ type }) => type === 'image');
  assert.equal(picture.mimeType, 'image/png');
  const bytes = Buffer.from(picture.data, 'base64');
  assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
  assert.equal(bytes.subarray(-8, -4).toString(), 'IEND');
});

test('what is switched off says so and how it is switched on', async () => {
  for (const [tool, args] of [
    ['sandbox_click', { ...onlyOf(sandbox), x: 1, y: 1 }],
    ['sandbox_type', { ...onlyOf(sandbox), text: 'hello' }],
    ['sandbox_key', { ...onlyOf(sandbox), keys: 'ctrl+c' }],
    ['sandbox_create', { network: 'web' }],
    ['sandbox_create', { network: 'nat' }],
  ]) {
    const result = await client.tool(tool, args);
    assert.equal(result.isError, true, tool);
    assert.ok(textOf(result).length > 20, tool);
  }
});

test('destroy is the end of it: machine, folder and id', { timeout: 60_000 }, async () => {
  assert.equal((await world.machines()).length, 1);
  await client.good('sandbox_destroy', onlyOf(sandbox));
  assert.equal((await world.machines()).length, 0);
  assert.deepEqual((await client.good('sandbox_list')).sandboxes, []);
  const result = await client.tool('sandbox_run', { ...onlyOf(sandbox), command: 'true' });
  assert.equal(result.isError, true);
});

test('every step stands in a log that verifies', async () => {
  const verify = await world.command(['audit', 'verify']);
  assert.equal(verify.code, 0, verify.out + verify.err);
  const records = await world.records();
  const decided = records.filter(({ ph }) => ph === 'req');
  for (const act of ['sandbox.create', 'sandbox.run', 'sandbox.start', 'sandbox.check', 'sandbox.stop', 'copy.in',
    'copy.fetch', 'copy.publish', 'screen.shot', 'sandbox.destroy', 'sandbox.list', 'vmrun.exec']) {
    assert.ok(decided.some((record) => record.act === act && record.dec.eff === 'allow'), act);
  }
  const refused = decided.filter(({ dec }) => dec.eff === 'deny');
  assert.ok(refused.length >= 5, `${refused.length} refusals`);
  for (const { dec } of refused) assert.ok(dec.rule && dec.code, JSON.stringify(dec));
  assert.equal(client.stray.length, 0, String(client.stray[0]));
});
