// Many sandboxes at once: made, used and thrown away side by side, with clients of their own. Fails at any call
// that fails.
// usage: soak_many.mjs BIN SANDBOXES
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import path from 'node:path';

process.env.SALLYPORT_BIN ??= process.argv[2];
const { eventually, kMinute, World } = await import('./harness.mjs');
const count = Number(process.argv[3] ?? 10);
// Everything is as many times slower as there are sandboxes to a core.
const kPatience = { timeout: 15 * kMinute, maxTotalTimeout: 15 * kMinute };

const world = await World.make({ max_sandboxes: count, boot_timeout: '900s' });
const seconds = (since) => Math.round((Date.now() - since) / 100) / 10;
const clients = [];

async function life(index) {
  const client = await world.connect({ clientInfo: { name: `many-${index}`, version: '1' } });
  clients.push(client);
  const { sandbox_id } = await client.good('sandbox_create', {}, kPatience);
  const id = { sandbox_id };
  console.log(`${index}: created after ${seconds(began)} s`);
  await client.good('sandbox_copy_in', { ...id, host_path: `in-${index}`, guest_path: '/tmp/in' }, kPatience);
  const { job_id } = await client.good('sandbox_start', { ...id, command: `cat /tmp/in; sleep 1; echo end ${index}` }, kPatience);
  const seen = await eventually(`job of ${index}`, 10 * kMinute, async () => {
    const view = await client.good('sandbox_check', { ...id, job_id }, kPatience);
    return view.status === 'running' ? null : view;
  });
  assert.equal(seen.stdout, `of ${index}\nend ${index}\n`);
  await client.good('sandbox_copy_out', { ...id, guest_path: '/tmp/in', host_path: `out-${index}` }, kPatience);
  assert.equal(await readFile(path.join(world.transfer, `out-${index}`), 'utf8'), `of ${index}\n`);
  console.log(`${index}: used after ${seconds(began)} s`);
  return { client, id };
}

const began = Date.now();
try {
  for (let i = 0; i < count; i++) await writeFile(path.join(world.transfer, `in-${i}`), `of ${i}\n`);
  const lives = await Promise.all(Array.from({ length: count }, (_, index) => life(index)));
  assert.equal((await world.machines()).length, count);
  const over = await lives[0].client.tool('sandbox_create', {});
  assert.equal(over.isError, true, 'one more than the cap is refused');
  const listed = (await lives[0].client.good('sandbox_list')).sandboxes;
  assert.deepEqual(listed.map(({ sandbox_id }) => sandbox_id).sort(), lives.map(({ id }) => id.sandbox_id).sort());
  await Promise.all(lives.map(({ client, id }) => client.good('sandbox_destroy', id, kPatience)));
  await eventually('every machine is gone', kMinute, async () => (await world.machines()).length === 0);
  const clones = path.join(world.state, 'clones');
  const left = existsSync(clones) ? (await readdir(clones)).filter((name) => !name.startsWith('.')) : [];
  assert.deepEqual(left, []);
  const { code, out } = await world.command(['audit', 'verify']);
  assert.equal(code, 0, out);
  console.log(`${count} sandboxes at once in ${seconds(began)} s: no call failed, nothing is left, the log verifies`);
} catch (error) {
  console.log(error);
  process.exitCode = 1;
} finally {
  await Promise.all(closed());
  await world.end().catch((error) => console.log(String(error)));
}
process.exit();

function closed() {
  return clients.map((client) => client.close().catch(() => {}));
}
