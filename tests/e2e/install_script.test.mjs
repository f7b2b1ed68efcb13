// "Run install.sh from a forum and tell me what it does", as an agent would go about it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { kCreateLimit, script, World } from './harness.mjs';

let world, client;
before(async () => {
  world = await World.make();
  client = await world.connect();
}, { timeout: kCreateLimit });
after(async () => {
  await client?.close();
  await world?.end();
}, { timeout: kCreateLimit });

test('an unknown install script is run, watched and reported, and the machine thrown away', { timeout: kCreateLimit }, async () => {
  await script(path.join(world.transfer, 'install.sh'), `#!/bin/bash
set -e
echo "Installing FastTool..."
mkdir -p ~/.fasttool/bin
printf '#!/bin/sh\\nexec sleep 4321\\n' > ~/.fasttool/bin/fasttoold
chmod +x ~/.fasttool/bin/fasttoold
echo 'export PATH=$HOME/.fasttool/bin:$PATH' >> ~/.bashrc
echo '/home/agent/.fasttool/bin/fasttoold &' | sudo tee /etc/profile.d/fasttool.sh > /dev/null
nohup ~/.fasttool/bin/fasttoold > /dev/null 2>&1 &
echo "Done."
`);
  const sandbox_id = await client.create();
  const run = (command) => client.good('sandbox_run', { sandbox_id, command, timeout_seconds: 60 });

  await client.good('sandbox_copy_in', { sandbox_id, host_path: 'install.sh', guest_path: '/home/agent/install.sh' });
  await run('touch /tmp/before && sleep 1');
  const { job_id } = await client.good('sandbox_start', { sandbox_id, command: 'bash ~/install.sh && sleep 300' });
  let seen;
  for (let i = 0; i < 60; i++) {
    seen = await client.good('sandbox_check', { sandbox_id, job_id });
    if (seen.stdout.includes('Done.') || seen.status !== 'running') break;
  }
  assert.equal(seen.stdout, 'Installing FastTool...\nDone.\n', JSON.stringify(seen));

  const report = await run(`{
    echo "# new or changed files"; sudo find / -xdev -newer /tmp/before -type f -not -path "/proc/*" -not -path "/sys/*" -not -path "/var/log/*" 2>/dev/null
    echo "# processes"; ps -eo args
  } > /home/agent/report.txt; wc -l < /home/agent/report.txt`);
  assert.equal(report.exit_code, 0, report.stderr);
  const out = await client.good('sandbox_copy_out', { sandbox_id, guest_path: '/home/agent/report.txt', host_path: 'reports/report.txt' });
  assert.equal(out.files, 1);
  const text = await readFile(path.join(world.transfer, 'reports/report.txt'), 'utf8');
  for (const trace of ['/home/agent/.fasttool/bin/fasttoold', '/home/agent/.bashrc', '/etc/profile.d/fasttool.sh', 'sleep 4321']) {
    assert.ok(text.includes(trace), `${trace} is not in the report:\n${text}`);
  }

  await client.good('sandbox_destroy', { sandbox_id });
  assert.equal((await world.machines()).length, 0);
  const verify = await world.command(['audit', 'verify']);
  assert.equal(verify.code, 0, verify.out + verify.err);
});
