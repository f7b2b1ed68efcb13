// A gateway that is set up wrong starts, lists its tools, and every call says what is wrong and what to do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { baseVmx, kMinute, textOf, World } from './harness.mjs';

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
test('a policy that is not there', limit, () => refuses({ policy: ['/nowhere/policy.yaml'] }, /policy/));
test('a policy that does not parse, with its line', limit, () =>
  refuses((world) => ({ policy: [path.join(world.folder, 'broken.yaml')] }), /broken\.yaml:\d+/,
    (world) => writeFile(path.join(world.folder, 'broken.yaml'), 'rules:\n  - [unclosed\n')));
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

test('no home and no setting: an error that says what to set', limit, async () => {
  const world = await World.make();
  try {
    const said = await world.command(['status'], { env: { SALLYPORT_CONFIG: undefined, HOME: undefined, XDG_STATE_HOME: undefined } });
    assert.notEqual(said.code, 0);
    assert.match(said.out + said.err, /state_dir|HOME/);
  } finally {
    await world.end();
  }
});
