// The service deployment: what an ordinary user of the computer can do, and what not.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { baseVmx, eventually, kCreateLimit, kMinute, run, sleep, textOf } from './harness.mjs';
import { ServiceWorld } from './service_world.mjs';
import { existsSync } from 'node:fs';

async function whyNot() {
  if (process.getuid() !== 0) return 'only root can become the users of this test';
  const mounts = await run('unshare', ['--mount', 'sh', '-c',
    'mount --make-rprivate / && mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w && mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/u,workdir=/mnt/w /etc'], {});
  if (mounts.code !== 0) return `no mounts of its own here: ${mounts.err}`;
  return false;
}

const skip = await whyNot();
describe('service', { skip }, () => {
  let world, alice, bob, sandbox, aliceUid, bobUid;
  const limit = { timeout: kCreateLimit };
  const transfer = (uid) => `/var/lib/sallyport-transfer/${uid}`;

  before(async () => {
    world = await ServiceWorld.make();
    aliceUid = await world.addUser('sp-alice', 'sallyport-users');
    bobUid = await world.addUser('sp-bob', 'sallyport-users');
    await world.addUser('sp-mallory');
    await world.start();
  }, { timeout: kMinute });
  after(() => world?.end(), { timeout: kMinute });

  test('the unit is understood by systemd', limit, async (t) => {
    if (!existsSync('/usr/bin/systemd-analyze')) return t.skip('no systemd-analyze here');
    const said = await world.asRoot('sh', '-c', 'systemd-analyze --man=no verify sallyport.service 2>&1 || true');
    assert.doesNotMatch(said, /sallyport\.service/);
  });

  test('the service runs as its user, with no rights but that user\'s', limit, async () => {
    const status = await readFile(`/proc/${world.service.pid}/status`, 'utf8');
    const uid = Number((await world.asRoot('id', '-u', 'sallyport')).trim());
    assert.match(status, new RegExp(`^Uid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm'));
    assert.match(status, /^NoNewPrivs:\t1$/m);
    assert.match(status, /^CapBnd:\t0+$/m);
    const socket = await stat(world.inside('/run/sallyport/owner.sock'));
    assert.equal(socket.mode & 0o777, 0o660);
  });

  test('a user\'s client creates, runs, copies both ways', limit, async () => {
    alice = await world.connect('sp-alice');
    assert.equal(alice.tools.length, 13);
    sandbox = (await alice.good('sandbox_create')).sandbox_id;
    assert.equal((await alice.good('sandbox_run', { sandbox_id: sandbox, command: 'echo $((6*7))' })).stdout, '42\n');
    const made = await world.shell('sp-alice', `umask 022; echo from alice > ${transfer(aliceUid)}/in.txt; mkdir ${transfer(aliceUid)}/results`);
    assert.equal(made.code, 0, made.err);
    await alice.good('sandbox_copy_in', { sandbox_id: sandbox, host_path: 'in.txt', guest_path: '/tmp/in.txt' });
    await alice.good('sandbox_run', { sandbox_id: sandbox, command: 'mkdir -p /tmp/out/deep && tr a-z A-Z < /tmp/in.txt > /tmp/out/deep/loud.txt' });
    const out = await alice.good('sandbox_copy_out', { sandbox_id: sandbox, guest_path: '/tmp/out', host_path: 'results/new' });
    assert.equal(out.saved_to, `${transfer(aliceUid)}/results/new`);
    // The result is the user's own: to read, to change, to throw away.
    const used = await world.shell('sp-alice', `cd ${transfer(aliceUid)}/results/new && cat deep/loud.txt && echo more >> deep/loud.txt && mv deep/loud.txt deep/x && rm -r deep`);
    assert.equal(used.out, 'FROM ALICE\n', used.err);
    assert.equal(used.code, 0, used.err);
  });

  test('a user\'s shell reads and changes nothing of the service', limit, async () => {
    const image = `/var/lib/sallyport/images/debian-12/${baseVmx.split('/').at(-1)}`;
    const [machine] = await world.machines();
    const owner = world.service.pid;
    // [what is tried, what shows that there was something to reach]
    const tries = [
      ['cat /var/lib/sallyport/audit/*', 'ls /var/lib/sallyport/audit/*.jsonl'],
      ['ls /var/lib/sallyport', 'ls /var/lib/sallyport'],
      ['ls /var/lib/sallyport/audit', 'ls /var/lib/sallyport/audit'],
      ['ls /var/lib/sallyport/clones', 'ls /var/lib/sallyport/clones/sbx-*'],
      ['ls /var/lib/sallyport/machines', 'ls /var/lib/sallyport/machines'],
      ['cat /var/lib/sallyport/images/debian-12/guest.json', 'cat /var/lib/sallyport/images/debian-12/guest.json'],
      [`cat ${image}`, `cat ${image}`],
      ['echo x > /var/lib/sallyport/kill-switch', 'test ! -e /var/lib/sallyport/kill-switch'],
      ['touch /var/lib/sallyport/owner.lock', 'ls /var/lib/sallyport/owner.lock'],
      ['echo x >> /etc/sallyport/sallyport.yaml', 'cat /etc/sallyport/sallyport.yaml'],
      ['echo x > /etc/sallyport/policy.d/99-mine.yaml', 'ls /etc/sallyport/policy.d'],
      ['rm /run/sallyport/owner.sock', 'ls /run/sallyport/owner.sock'],
      ['mv /run/sallyport/owner.sock /run/sallyport/x', 'ls /run/sallyport/owner.sock'],
      ['ls /run/sallyport/vm', 'ls /run/sallyport/vm'],
      ['ls /var/lib/sallyport-transfer', 'ls /var/lib/sallyport-transfer'],
      [`cat /proc/${owner}/environ`, `cat /proc/${owner}/environ`],
      [`kill -0 ${owner}`, `kill -0 ${owner}`],
      [`kill -9 ${owner}`, `kill -0 ${owner}`],
      [`kill -9 ${machine.pid}`, `kill -0 ${machine.pid}`],
      [`cat /proc/${machine.pid}/environ`, `cat /proc/${machine.pid}/environ`],
    ];
    for (const [attempt, control] of tries) {
      await world.asRoot('sh', '-c', `${control} > /dev/null`);
      const said = await world.shell('sp-alice', `${attempt} > /dev/null`);
      assert.notEqual(said.code, 0, attempt);
      assert.match(said.err, /denied|not permitted|cannot create/i, attempt);
    }
    assert.equal((await alice.good('sandbox_list')).sandboxes.length, 1);
  });

  test('what concerns every user is for root alone', limit, async () => {
    for (const words of [['kill-switch', 'on'], ['kill-switch', 'off'], ['daemon', '--stop'], ['image', 'rm', 'debian-12'], ['image', 'build']]) {
      const said = await world.as('sp-alice', ['/usr/bin/sallyport', ...words]);
      assert.equal(said.code, 1, words.join(' '));
      assert.match(said.err, /service\.administrator/, words.join(' '));
    }
    assert.equal((await alice.good('sandbox_list')).sandboxes.length, 1);
    const said = await world.asRoot('/usr/bin/sallyport', 'status', '--json');
    assert.equal(JSON.parse(said).deployment, 'service');
    await world.asRoot('/usr/bin/sallyport', 'audit', 'verify', '--deployment', 'service');
    const refused = await world.asRoot('sh', '-c', 'cat /var/lib/sallyport/audit/*.jsonl');
    assert.match(refused, /service\.administrator/);
  });

  test('nothing is copied in with the service\'s rights', limit, async () => {
    const folder = transfer(aliceUid);
    await world.shell('sp-alice', `ln -s /etc/sallyport/sallyport.yaml ${folder}/link; ln -s /var/lib/sallyport ${folder}/state; mkfifo ${folder}/pipe`);
    for (const name of ['link', 'state/audit', 'pipe', '../' + bobUid, '/var/lib/sallyport/audit']) {
      const result = await alice.tool('sandbox_copy_in', { sandbox_id: sandbox, host_path: name, guest_path: '/tmp/x' });
      assert.equal(result.isError, true, name);
    }
    // A file that its owner keeps from the service stays with its owner.
    await world.shell('sp-alice', `umask 077; echo secret > ~/secret; cp -p ~/secret ${folder}/secret`);
    const kept = await alice.tool('sandbox_copy_in', { sandbox_id: sandbox, host_path: 'secret', guest_path: '/tmp/x' });
    assert.equal(kept.isError, true);
    assert.match(textOf(kept), /permission|gateway's user/);
  });

  test('a second user sees nothing of the first one', limit, async () => {
    bob = await world.connect('sp-bob');
    assert.deepEqual((await bob.good('sandbox_list')).sandboxes, []);
    const code = async (id) => {
      const result = await bob.tool('sandbox_run', { sandbox_id: id, command: 'true' });
      assert.equal(result.isError, true);
      return textOf(result).replaceAll(id, 'ID');
    };
    assert.equal(await code(sandbox), await code('sbx-' + '0'.repeat(32)));
    const destroyed = await bob.tool('sandbox_destroy', { sandbox_id: sandbox });
    assert.equal(destroyed.isError, true);
    const seen = await world.shell('sp-bob', `ls ${transfer(aliceUid)}`);
    assert.notEqual(seen.code, 0);
    assert.match(seen.err, /denied/i);
    assert.equal((await world.shell('sp-bob', `ls ${transfer(bobUid)}`)).code, 0);
    await bob.close();
  });

  test('a user outside the group is told so, and gets no owner beside the service', limit, async () => {
    const said = await world.as('sp-mallory', ['/usr/bin/sallyport', 'status']);
    assert.equal(said.code, 1);
    assert.match(said.err, /adduser sp-mallory sallyport-users/);
    const client = await world.connect('sp-mallory');
    const refused = await client.tool('sandbox_create');
    assert.equal(refused.isError, true);
    assert.match(textOf(refused), /adduser sp-mallory sallyport-users/);
    await client.close();
    assert.equal((await world.shell('sp-mallory', 'ls ~/.local')).code, 2);
    const doctor = await world.as('sp-mallory', ['/usr/bin/sallyport', 'doctor', '--quick']);
    assert.equal(doctor.code, 1);
    assert.match(doctor.out, /adduser sp-mallory sallyport-users/);
    // Unless that was asked for.
    const own = await world.as('sp-mallory', ['/usr/bin/sallyport', 'status', '--json'], { env: { SALLYPORT_DEPLOYMENT: 'personal' } });
    assert.equal(JSON.parse(own.out).deployment, 'personal', own.err);
    await world.as('sp-mallory', ['/usr/bin/sallyport', 'daemon', '--stop'], { env: { SALLYPORT_DEPLOYMENT: 'personal' } });
  });

  test('a stopped service leaves its machines, and the next one takes them up', limit, async () => {
    await alice.close();
    const [machine] = await world.machines();
    await world.stop();
    assert.deepEqual((await world.machines()).map(({ pid }) => pid), [machine.pid]);
    await world.start();
    alice = await world.connect('sp-alice');
    const said = await alice.good('sandbox_run', { sandbox_id: sandbox, command: 'cat /tmp/in.txt' });
    assert.equal(said.stdout, 'from alice\n');
    await alice.good('sandbox_destroy', { sandbox_id: sandbox });
    assert.deepEqual(await world.machines(), []);
    await alice.close();
  });

  test('a system policy that others could have written stops everything', limit, async () => {
    const file = world.inside('/etc/sallyport/policy.d/10-site.yaml');
    await writeFile(file, 'sallyport: policy/v1\ntier: org\ndefault: deny\nactions:\n  look: { allow: [list] }\n');
    const refusal = async () => {
      await world.stop();
      await world.start();
      const client = await world.connect('sp-alice');
      const result = await client.tool('sandbox_create');
      await client.close();
      assert.equal(result.isError, true);
      return textOf(result);
    };
    // A sound one narrows what the service's own policy allows.
    assert.match(await refusal(), /default/);
    await chmod(file, 0o666);
    assert.match(await refusal(), /may be written by others/);
    await chmod(file, 0o644);
    await chmod(world.inside('/etc/sallyport/policy.d'), 0o700);
    assert.match(await refusal(), /policy\.d.*cannot be examined|cannot read the folder|cannot look at/);
    await chmod(world.inside('/etc/sallyport/policy.d'), 0o755);
    await writeFile(file, 'sallyport: policy/v1\ntier: org\nactions: [\n');
    assert.match(await refusal(), /10-site\.yaml/);
  });

  test('what a rule asks is answered by the people it means, once, and by nobody else', limit, async () => {
    await world.asRoot('sh', '-c', `mkdir -p -m 0755 /etc/sallyport/policy.d; rm -f /etc/sallyport/policy.d/*; cat > /etc/sallyport/policy.d/50-ask.yaml <<'END'
sallyport: policy/v1
tier: org
name: house
default: deny
subjects:
  oncall: { os_user: sp-bob }
actions:
  all: { allow: any }
  see: { ask: list, within: 2m, why: who looks is asked }
  make: { ask: create, who: oncall, within: 2m }
END
chmod 0644 /etc/sallyport/policy.d/50-ask.yaml`);
    // Not below the client that asks: this test is what started it.
    const apart = async (user, ...words) => {
      const command = ['setsid', '--fork', 'sh', '-c', `exec 2>&1; sleep 0.2; ${words.join(' ')}; echo "code $?"`];
      return user === 'root' ? world.asRoot(...command) : (await world.as(user, command)).out;
    };
    const client = await world.connect('sp-alice');
    try {
      let asked;
      await eventually('the rule asks', 10_000, async () => {
        const listing = client.tool('sandbox_list');
        const answered = await Promise.race([listing, sleep(700).then(() => null)]);
        if (answered === null) asked = listing;
        return asked !== undefined;
      });
      const open = JSON.parse((await world.as('sp-alice', ['/usr/bin/sallyport', 'approve', 'list', '--json'])).out);
      assert.equal(open.length, 1);
      assert.deepEqual([open[0].action, open[0].rule, open[0].user], ['list', 'see', 'sp-alice']);
      assert.equal((await world.as('sp-mallory', ['/usr/bin/sallyport', 'approve', 'list'])).code, 1, 'no user of the service');
      const allow = ['/usr/bin/sallyport', 'approve', 'allow', open[0].id];
      assert.match(await apart('sp-alice', ...allow), /approval\.same_user[^]*code 1/);
      assert.match(await apart('sp-bob', ...allow), /approval\.not_asked[^]*code 1/);
      assert.match((await world.asRoot('sh', '-c', `${allow.join(' ')} 2>&1 || true`)), /approval\.same_client/);
      assert.match(await apart('root', ...allow), /approved[^]*code 0/);
      assert.equal((await asked).isError ?? false, false);
      assert.match(await apart('root', ...allow), /approval\.unknown/, 'an approval is for one call');

      const making = client.tool('sandbox_create', { network: 'nat' });
      const refused = await making;
      assert.match(textOf(refused), /nat-off/, 'what is refused is not asked');
      const other = client.tool('sandbox_list');
      let id;
      await eventually('the second question is open', 10_000, async () => {
        id = JSON.parse((await world.as('sp-alice', ['/usr/bin/sallyport', 'approve', 'list', '--json'])).out)[0]?.id;
        return id !== undefined;
      });
      assert.match(await apart('sp-alice', '/usr/bin/sallyport', 'approve', 'deny', id), /refused[^]*code 0/);
      assert.match(textOf(await other), /approval\.denied|said no/);
      await world.asRoot('/usr/bin/sallyport', 'audit', 'verify', '--deployment', 'service');
    } finally {
      await client.close();
      await world.asRoot('rm', '/etc/sallyport/policy.d/50-ask.yaml');
      world.service.kill('SIGHUP'); // a tier that is gone is believed only then
    }
  });
});
