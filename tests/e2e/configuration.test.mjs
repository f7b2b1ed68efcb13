// A gateway that is set up wrong starts, lists its tools, and every call says what is wrong and what to do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { baseVmx, kMinute, run, sallyport, textOf, World } from './harness.mjs';

async function refuses(settings, pattern, prepare = async () => {}) {
  const world = await World.make();
  try {
    const given = typeof settings === 'function' ? settings(world) : settings;
    await prepare(world);
    await world.configure(given);
    const client = await world.connect();
    try {
      assert.equal(client.tools.length, 13);
      for (const [name, args] of [
        ['sandbox_create', {}],
        ['sandbox_run', { sandbox_id: 'sbx-' + '0'.repeat(32), command: 'true' }],
      ]) {
        const result = await client.tool(name, args);
        assert.equal(result.isError, true, name);
        if (name === 'sandbox_create') assert.match(textOf(result), pattern);
      }
      assert.equal((await world.machines()).length, 0);
    } finally {
      await client.close();
    }
  } finally {
    await world.end();
  }
}

const limit = { timeout: 2 * kMinute };
test('no vmrun', limit, () => refuses({ vmrun: '/nowhere/vmrun' }, /vmrun/));
test('no image', limit, () => refuses({ base_vmx: '/nowhere/base.vmx' }, /base|image/));
const policies = (world) => path.join(world.folder, 'policies');
test('a policy that is not there', limit, () =>
  refuses((world) => ({ policy: [path.join(policies(world), 'none.yaml')] }), /none\.yaml/, (world) => mkdir(policies(world))));
test('a policy that does not parse, with its line', limit, () =>
  refuses((world) => ({ policy: [path.join(policies(world), 'broken.yaml')] }), /broken\.yaml:\d+/, async (world) => {
    await mkdir(policies(world));
    await writeFile(path.join(policies(world), 'broken.yaml'), 'rules:\n  - [unclosed\n');
  }));
test('an unknown setting', limit, () => refuses({ max_sandboxen: 3 }, /max_sandboxen/));
test('a snapshot that the base has not', limit, () => refuses({ snapshot: 'dirty' }, /snapshot/));
test('a transfer folder that holds the clones', limit, () =>
  refuses((world) => ({ clones_dir: path.join(world.transfer, 'clones') }), /overlap|inside|transfer/));
test('clones inside the base\'s folder', limit, () =>
  refuses({ clones_dir: path.join(path.dirname(baseVmx), 'clones') }, /overlap|inside|base/));
test('a folder that cannot be written', limit, () =>
  refuses((world) => ({ clones_dir: path.join(world.folder, 'file/clones') }), /clones/,
    (world) => writeFile(path.join(world.folder, 'file'), '')));
test('a wrong guest password says so', { timeout: 6 * kMinute }, () =>
  refuses((world) => ({ guest_user: 'agent', guest_password_file: path.join(world.folder, 'password'), boot_timeout: '120s' }),
    /password|login/, async (world) => {
      await writeFile(path.join(world.folder, 'password'), 'wrong-password\n');
      await chmod(path.join(world.folder, 'password'), 0o600);
      await mkdir(path.join(world.folder, 'x'));
    }));

// A user without an entry in the user database has no home but what the environment says.
test('no home and no setting: an error that says what to set',
  { ...limit, skip: process.getuid() !== 0 && 'only root can become a user whom nobody knows' }, async () => {
    const said = await run('setpriv', ['--reuid=54321', '--regid=54321', '--clear-groups', sallyport, 'status'],
      { env: { PATH: process.env.PATH }, cwd: '/' });
    assert.notEqual(said.code, 0);
    assert.match(said.out + said.err, /state_dir/);
  });
