// `kill -9` at random moments of create, run, copy and destroy; the owner, vmrun and QEMU in turn. Whatever dies,
// nothing is lost, left over, or mistaken for something else. Fails at the first thing that is.
// usage: soak_kills.mjs BIN KILLS [SEED]
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const kAlone = import.meta.url === pathToFileURL(process.argv[1]).href;
if (kAlone) process.env.SALLYPORT_BIN ??= process.argv[2];
const { baseVmx, eventually, kMinute, machinesOf, processesOf, run, sallyport, sleep, vmrun, World } =
  await import('./harness.mjs');

const kPhases = ['create', 'run', 'copy_in', 'copy_out', 'destroy'];
const kVictims = ['owner', 'vmrun', 'qemu'];
const kSettle = 3 * kMinute; // until everything is as it should be again after a kill, on a busy host
const kPatience = { timeout: 10 * kMinute, maxTotalTimeout: 10 * kMinute };
const kSettings = { reattach: '1h', max_age: '6h', boot_timeout: '540s' };

// Numbers between 0 and 1 that a seed repeats.
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function statOf(pid) {
  try {
    const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /s, '').split(' ');
    return { state: fields[0], parent: Number(fields[1]), start: fields[19] };
  } catch {
    return null;
  }
}

async function programOf(pid) {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')[0];
  } catch {
    return '';
  }
}

// What must not change in the base machine's folder.
async function fingerprint(folder) {
  const lines = [];
  for (const name of (await readdir(folder)).sort()) {
    const info = await stat(path.join(folder, name));
    if (!info.isFile() || name.endsWith('.vmsd')) continue;
    const small = info.size < 1 << 20 ? createHash('sha256').update(await readFile(path.join(folder, name))).digest('hex') : '';
    lines.push(`${name} ${info.size} ${info.mtimeMs} ${info.mode} ${info.uid} ${small}`);
  }
  return lines.join('\n');
}

export class Soak {
  static async make(seed, say = console.log) {
    const soak = new Soak();
    soak.random = randomFrom(seed);
    soak.say = say;
    soak.runtime = await mkdtemp('/tmp/sp-rt-');
    soak.world = await World.make(kSettings, { runtime: soak.runtime });
    soak.other = await World.make(kSettings, { runtime: soak.runtime });
    soak.kills = 0;
    soak.durations = { create: 6000, run: 1500, copy_in: 1000, copy_out: 1000, destroy: 200 };
    soak.tally = {};
    return soak;
  }

  // Machines that nothing of this may touch: one outside of Sallyport, one of another state folder.
  async bystand() {
    this.base = await fingerprint(path.dirname(baseVmx));
    this.outsider = path.join(this.runtime, '..', path.basename(this.runtime) + '-outside', 'machine.vmx');
    const login = JSON.parse(await readFile(path.join(path.dirname(baseVmx), 'guest.json'), 'utf8'));
    this.login = ['-gu', login.user, '-gp', login.password];
    const settings = { env: { ...process.env, SALLYPORT_VMRUN_DIR: this.runtime } };
    this.vmrun = async (...words) => run(vmrun, ['-T', 'ws', ...words], settings);
    await mkdir(path.dirname(this.outsider), { mode: 0o700 });
    for (const words of [['clone', baseVmx, this.outsider, 'linked', '-snapshot=clean'], ['start', this.outsider, 'nogui']]) {
      const { code, out } = await this.vmrun(...words);
      assert.equal(code, 0, out);
    }
    // Both boot at the same time.
    this.neighbour = await this.other.connect();
    this.neighbours = (await this.neighbour.good('sandbox_create', {}, kPatience)).sandbox_id;
    await this.neighbour.good('sandbox_run', { sandbox_id: this.neighbours, command: 'echo here > /tmp/mark' });
    await eventually('the outsider answers', 10 * kMinute, async () => (await this.vmrun('checkToolsState', this.outsider)).out === 'running\n');
    this.untouched = await this.bystanders();
    assert.equal(this.untouched.length, 2);
  }

  async bystanders() {
    const found = [];
    for (const folder of [path.dirname(this.outsider), this.other.folder]) {
      for (const { pid, vmx } of await machinesOf(folder, this.runtime)) found.push(`${pid} ${(await statOf(pid))?.start} ${vmx}`);
    }
    return found;
  }

  async bystandersAnswer() {
    const seen = await this.neighbour.good('sandbox_run', { sandbox_id: this.neighbours, command: 'cat /tmp/mark' });
    assert.equal(seen.stdout, 'here\n', 'the other state folder\'s sandbox works');
    const { code, out } = await this.vmrun(...this.login, 'runProgramInGuest', this.outsider, '/bin/true');
    assert.equal(code, 0, `the machine outside works: ${out}`);
  }

  async connected() {
    if (this.client && !this.client.dead) return this.client;
    await this.client?.close().catch(() => {});
    this.client = await eventually('a client connects', kMinute, async () => {
      try {
        const client = await this.world.connect();
        client.onclose = () => (client.dead = true);
        return client;
      } catch {
        return null;
      }
    });
    return this.client;
  }

  // A call that may be lost with whoever was killed: { result } or { error }.
  async tool(name, args) {
    try {
      const client = await this.connected();
      const result = await client.tool(name, args, kPatience);
      return result.isError ? { error: JSON.stringify(result.structuredContent ?? result.content) } : { result: result.structuredContent };
    } catch (error) {
      if (this.client) this.client.dead = true;
      return { error: String(error) };
    }
  }

  async list() {
    const { result, error } = await this.tool('sandbox_list', {});
    if (error) return null;
    return result.sandboxes;
  }

  async sandbox() {
    const listed = await eventually('the list', kMinute, () => this.list());
    const ready = listed.find(({ status, state }) => (status ?? state) === 'ready');
    if (ready) return ready.sandbox_id;
    const { result, error } = await this.tool('sandbox_create', {});
    if (error) throw new Error(`create without a kill: ${error}`);
    return result.sandbox_id;
  }

  async owner() {
    for (const { pid, command } of await processesOf(this.world.folder, this.runtime)) {
      if (command[0]?.endsWith('sallyport') && command.includes('daemon')) return pid;
    }
    return null;
  }

  async victim(kind) {
    if (kind === 'owner') return this.owner();
    if (kind === 'qemu') return (await machinesOf(this.world.folder, this.runtime))[0]?.pid ?? null;
    const owner = await this.owner();
    for (const entry of await readdir('/proc')) {
      if (!/^\d+$/.test(entry) || (await statOf(entry))?.parent !== owner || owner === null) continue;
      if ((await programOf(entry)).endsWith('sallyport-vmrun')) return Number(entry);
    }
    return null;
  }

  // Kills one process that this soak started, as soon as there is one of the kind; false when there was none.
  async kill(kind, ended) {
    for (;;) {
      const pid = await this.victim(kind);
      if (pid) {
        try {
          process.kill(pid, 'SIGKILL');
          return true;
        } catch {
          // It ended just now.
        }
      }
      if (ended()) return false;
      await sleep(2);
    }
  }

  async round(kind, phase) {
    const calls = {
      create: () => this.tool('sandbox_create', {}),
      run: (id) => this.tool('sandbox_run', { sandbox_id: id, command: 'seq 1 3000; sleep 0.3; echo end' }),
      copy_in: (id) => this.tool('sandbox_copy_in', { sandbox_id: id, host_path: 'in', guest_path: '/tmp/in' }),
      copy_out: (id) => this.tool('sandbox_copy_out', { sandbox_id: id, guest_path: '/etc', host_path: 'out' }),
      destroy: (id) => this.tool('sandbox_destroy', { sandbox_id: id }),
    };
    const id = phase === 'create' ? null : await this.sandbox();
    await this.connected();
    const began = Date.now();
    let ended = false;
    const call = calls[phase](id).finally(() => (ended = true));
    const wait = this.random() * this.durations[phase];
    await Promise.race([sleep(wait), call]);
    const at = Date.now() - began;
    const killed = await this.kill(kind, () => ended);
    const { result, error } = await call;
    if (killed) this.kills++;
    else this.durations[phase] = Math.max(200, 0.7 * this.durations[phase] + 0.3 * (Date.now() - began) * 0.9);
    const key = `${phase}/${kind}: ${killed ? 'killed' : 'missed'}, call ${error ? 'failed' : 'answered'}`;
    this.tally[key] = (this.tally[key] ?? 0) + 1;
    if (result && phase === 'run') assert.ok(result.status !== 'exited' || result.stdout.endsWith('3000\nend\n'), JSON.stringify(result));
    this.last = `kill ${this.kills}: ${kind} ${at} ms into ${phase}, ${killed ? 'hit' : 'missed'}: ${error ? error.slice(0, 160) : 'answered'}`;
    this.say(this.last);
    await this.settled(phase === 'destroy' && id);
  }

  // Machines, folders and the list agree, and nobody else was touched.
  async settled(destroyed) {
    let why = '';
    await eventually('everything is as it should be', kSettle, async () => {
      const listed = await this.list();
      if (!listed) return (why = 'no list', false);
      const names = listed.map(({ sandbox_id }) => sandbox_id).sort();
      const machines = (await machinesOf(this.world.folder, this.runtime)).map(({ vmx }) => path.basename(path.dirname(vmx))).sort();
      const clones = path.join(this.world.state, 'clones');
      const folders = existsSync(clones) ? (await readdir(clones)).filter((name) => !name.startsWith('.')).sort() : [];
      why = JSON.stringify({ listed, machines, folders });
      if (listed.some(({ status, state }) => !['ready', 'lost'].includes(status ?? state))) return false;
      const ready = listed.filter(({ status, state }) => (status ?? state) === 'ready').map(({ sandbox_id }) => sandbox_id).sort();
      for (const { sandbox_id } of listed.filter(({ status, state }) => (status ?? state) === 'lost')) {
        await this.tool('sandbox_destroy', { sandbox_id });
        return false;
      }
      // A machine that died unnoticed is found by the next call in it.
      for (const id of ready.filter((name) => !machines.includes(name))) {
        await this.tool('sandbox_run', { sandbox_id: id, command: 'true' });
        return false;
      }
      if (destroyed && names.includes(destroyed)) await this.tool('sandbox_destroy', { sandbox_id: destroyed });
      return String(machines) === String(ready) && String(folders) === String(names) && !(destroyed && names.includes(destroyed));
    }).catch((error) => {
      throw new Error(`${error.message}: ${why}`);
    });
    assert.deepEqual(await this.bystanders(), this.untouched, 'somebody else\'s machine was touched');
  }

  async verify() {
    // Outcomes that died with an owner are the one warning there may be.
    const { code, out, err } = await this.world.command(['audit', 'verify']);
    const warnings = out.split('\n').filter((line) => line.startsWith('warning: '));
    assert.ok((code === 0 || code === 4) && out.startsWith('verdict: good') &&
      warnings.every((line) => /^warning: \d+ outcomes? (is|are) lost: the process ended/.test(line)), `audit verify: ${code} ${out}${err}`);
  }

  // Nothing left but what the bystanders have.
  async finish() {
    for (const { sandbox_id } of (await eventually('the list', kMinute, () => this.list())) ?? []) {
      const { error } = await this.tool('sandbox_destroy', { sandbox_id });
      if (error) throw new Error(`the last destroy: ${error}`);
    }
    await this.verify();
    await this.bystandersAnswer();
    // What is left half-made by a kill is removed once it is old enough that nobody can be at work on it.
    const clones = path.join(this.world.state, 'clones');
    const old = new Date(Date.now() - 3600_000);
    for (const name of await readdir(clones)) {
      if (name.startsWith('.new-')) await utimes(path.join(clones, name), old, old);
    }
    await this.client.close();
    this.client = null;
    await eventually('the owner ends', kMinute, async () => (await processesOf(this.world.folder, this.runtime)).length === 0)
      .catch(async (error) => {
        throw new Error(`${error.message}: ${JSON.stringify(await processesOf(this.world.folder, this.runtime))}`);
      });
    const again = await this.world.command(['sandbox', 'ls']);
    assert.equal(again.code, 0, again.err);
    await eventually('the last owner ends', kMinute, async () => (await processesOf(this.world.folder, this.runtime)).length === 0);
    const left = [];
    for (const name of await readdir(clones)) {
      const own = /^\.owner-[0-9a-f]{32}\.lock$/.test(name);
      if (own) (this.ownerLocks ??= []).push(name);
      else left.push(`clones/${name}`);
    }
    if ((this.ownerLocks?.length ?? 0) > 1) left.push(...this.ownerLocks);
    for (const name of await readdir(this.world.state)) {
      if (/\.sock$/.test(name)) left.push(`state/${name}`);
    }
    const listed = (await this.vmrun('list')).out;
    assert.equal(listed.split('\n')[0], 'Total running VMs: 2', listed);
    const here = new Set((await this.bystanders()).map((line) => line.split(' ').slice(2).join(' ')));
    for (const name of await readdir(this.runtime)) {
      if (name === 'boot') continue;
      const vmx = await readFile(path.join(this.runtime, name, 'vmx'), 'utf8').catch(() => '');
      if (!here.has(vmx.trimEnd())) left.push(`runtime/${name} of ${vmx.trimEnd() || 'nothing'}`);
    }
    const folder = path.dirname(baseVmx);
    if (await fingerprint(folder) !== this.base) left.push(`base: ${await fingerprint(folder)}\nwas: ${this.base}`);
    for (const line of (await readFile(baseVmx.replace(/x$/, 'sd'), 'utf8')).split('\n')) {
      if (line.includes(this.world.folder)) left.push(`base's record of a clone: ${line}`);
    }
    if (existsSync(baseVmx + '.lck')) left.push('base.lck');
    assert.deepEqual(left, []);
    assert.deepEqual(await this.bystanders(), this.untouched, 'somebody else\'s machine was touched');
  }

  async end() {
    await this.client?.close().catch(() => {});
    await this.neighbour?.close().catch(() => {});
    if (this.outsider) {
      await this.vmrun('stop', this.outsider, 'hard');
      await this.vmrun('deleteVM', this.outsider);
      await rm(path.dirname(this.outsider), { recursive: true, force: true });
    }
    await this.world.end().catch((error) => this.say(String(error)));
    await this.other.end().catch((error) => this.say(String(error)));
    await rm(this.runtime, { recursive: true, force: true });
  }

  async killSome(count) {
    await writeFile(path.join(this.world.transfer, 'in'), 'x'.repeat(300_000));
    for (let i = 0; this.kills < count; i++) {
      if (i > count * 4) throw new Error('too many rounds in which there was nothing to kill');
      await this.round(kVictims[i % 3], kPhases[Math.floor(i / 3) % kPhases.length]);
      if (i % 25 === 24) {
        await this.verify();
        await this.bystandersAnswer();
      }
    }
  }
}

if (kAlone) {
  const count = Number(process.argv[3] ?? 300);
  const seed = Number(process.argv[4] ?? Date.now() % 2 ** 31);
  console.log(`${count} kills, seed ${seed}, with ${sallyport}`);
  const soak = await Soak.make(seed);
  const began = Date.now();
  try {
    await soak.bystand();
    await soak.killSome(count);
    await soak.finish();
    console.log(Object.entries(soak.tally).sort().map(([key, number]) => `${String(number).padStart(5)}  ${key}`).join('\n'));
    console.log(`${soak.kills} kills in ${Math.round((Date.now() - began) / 1000)} s: nothing lost, left or touched; the log verifies (seed ${seed})`);
  } catch (error) {
    console.log(`FAILED after ${soak.last} (seed ${seed})`);
    console.log(error);
    process.exitCode = 1;
  } finally {
    await soak.end();
  }
  process.exit();
}
