// Sandboxes made, used and thrown away in a loop; fails when something grows or stays behind.
// usage: soak.mjs BIN SECONDS
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { writeFile } from 'node:fs/promises';

process.env.SALLYPORT_BIN ??= process.argv[2];
const { eventually, processesOf, World } = await import('./harness.mjs');
const seconds = Number(process.argv[3] ?? 600);
const world = await World.make();
const end = Date.now() + seconds * 1000;
let rounds = 0;
let first;
let last;

async function ownerMemory() {
  for (const { pid, command } of await processesOf(world.folder)) {
    if (!command.includes('daemon')) continue;
    return Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))[1]);
  }
  throw new Error('no owner runs');
}

let client;
try {
  client = await world.connect();
  await writeFile(path.join(world.transfer, 'in.txt'), 'x'.repeat(100_000));
  while (Date.now() < end) {
    const sandbox_id = await client.create();
    await client.good('sandbox_copy_in', { sandbox_id, host_path: 'in.txt', guest_path: '/tmp/in.txt' });
    for (let i = 0; i < 5; i++) {
      const ran = await client.good('sandbox_run', { sandbox_id, command: 'wc -c < /tmp/in.txt; seq 1 20000' });
      if (!ran.stdout.endsWith('20000\n')) throw new Error(`round ${rounds}: ${JSON.stringify(ran)}`);
    }
    await client.good('sandbox_copy_out', { sandbox_id, guest_path: '/tmp/in.txt', host_path: `out/${rounds % 3}.txt` });
    await client.good('sandbox_destroy', { sandbox_id });
    await eventually('the machine is gone', 15_000, async () => (await world.machines()).length === 0);
    last = await ownerMemory();
    if (++rounds === 2) first = last;
    console.log(`round ${rounds}: owner ${last} kB`);
  }
  const verify = await world.command(['audit', 'verify']);
  if (verify.code !== 0) throw new Error(verify.out + verify.err);
  if (first && last > first * 1.5 + 8_192) throw new Error(`the owner grew from ${first} to ${last} kB`);
  console.log(`${rounds} rounds, owner ${first} -> ${last} kB, log verifies`);
} finally {
  await client?.close();
  await world.end();
}
