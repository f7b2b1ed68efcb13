// A computer with the Sallyport service on it, for one test: its own /etc, /usr, /var/lib and /run in a mount
// namespace, the files of the Debian package in place, and the service started as its unit says, without systemd.
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { baseVmx, bin, eventually, kCreateLimit, machinesOf, root, run } from './harness.mjs';

// What a unit file says, as lists of values by key; a later empty value takes the earlier ones back.
export async function readUnit(file) {
  const unit = {};
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    const found = /^([A-Za-z]+)=(.*)$/.exec(line);
    if (!found) continue;
    const [, key, value] = found;
    if (value === '') unit[key] = [];
    else (unit[key] ??= []).push(value);
  }
  return unit;
}

export class ServiceWorld {
  static async make() {
    const world = new ServiceWorld();
    try {
      await world.build();
    } catch (error) {
      await world.end();
      throw error;
    }
    return world;
  }

  async build() {
    const world = this;
    world.folder = await mkdtemp(path.join(os.tmpdir(), 'sps-'));
    // Overlays over the computer's own folders. One overlay cannot lie on another.
    const script = `
      set -e
      mount --make-rprivate /
      if [ "$(stat -f -c %T ${world.folder})" = overlayfs ]; then mount -t tmpfs none ${world.folder}; fi
      for part in etc usr var/lib; do
        upper=${world.folder}/$(echo $part | tr / _)
        mkdir $upper $upper-work
        mount -t overlay overlay -o lowerdir=/$part,upperdir=$upper,workdir=$upper-work /$part
      done
      mount -t tmpfs -o mode=0755 none /run
      mount -t tmpfs -o mode=0755 none /home
      echo ready
      exec sleep 3600`;
    world.holder = spawn('unshare', ['--mount', 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve, reject) => {
      world.holder.stdout.once('data', resolve);
      world.holder.once('exit', () => reject(new Error('the mount namespace was not made')));
    });
    await world.asRoot(path.join(root, 'gateway/service/install.sh'), '/', bin);
    await world.asRoot(path.join(root, 'gateway/service/accounts.sh'));
    world.unit = await readUnit(world.inside('/usr/lib/systemd/system/sallyport.service'));
    // The base image: as an administrator has it made, here a copy.
    await cp(path.dirname(baseVmx), world.inside('/var/lib/sallyport/images/debian-12'), { recursive: true });
    const user = world.one('User');
    await world.asRoot('sh', '-c', 'rm -rf /var/lib/sallyport/images/debian-12/clones; chmod 0700 /var/lib/sallyport/images; ' +
      `chown -R ${user}:${world.one('Group')} /var/lib/sallyport/images`);
  }

  one(key) {
    return this.unit[key]?.at(-1);
  }
  words(key) {
    return (this.unit[key] ?? []).flatMap((value) => value.split(' '));
  }
  // A path of that computer as this process sees it.
  inside(file) {
    return `/proc/${this.holder.pid}/root${file}`;
  }
  enter() {
    return ['nsenter', `--mount=/proc/${this.holder.pid}/ns/mnt`, '--wd=/', '--'];
  }
  async asRoot(...words) {
    const [program, ...rest] = [...this.enter(), ...words];
    const said = await run(program, rest, { env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } });
    if (said.code !== 0) throw new Error(`${words.join(' ')}: ${said.out}${said.err}`);
    return said.out;
  }

  // An account; `group` of the service when it is one of its users.
  async addUser(name, ...groups) {
    await this.asRoot('useradd', '--create-home', '--shell', '/bin/sh', ...(groups.length ? ['--groups', groups.join(',')] : []), name);
    return Number((await this.asRoot('id', '-u', name)).trim());
  }
  wordsOf(user, ...words) {
    return [...this.enter(), 'setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups', '--', ...words];
  }
  environmentOf(user, more = {}) {
    return { PATH: '/usr/bin:/bin:/usr/sbin', HOME: `/home/${user}`, USER: user, LOGNAME: user, ...more };
  }
  // A command as that user: { code, out, err }.
  as(user, words, { env = {}, input = '' } = {}) {
    const [program, ...rest] = this.wordsOf(user, ...words);
    return run(program, rest, { env: this.environmentOf(user, env), input, limit: kCreateLimit });
  }
  shell(user, command, options) {
    return this.as(user, ['sh', '-c', command], options);
  }

  // As systemd starts it: folders, user, groups, umask, capabilities, environment and command of the unit.
  async start() {
    const user = this.one('User'), group = this.one('Group');
    for (const [key, base] of [['StateDirectory', '/var/lib'], ['RuntimeDirectory', '/run']]) {
      for (const name of this.words(key)) {
        await this.asRoot('install', '-d', '-m', this.one(`${key}Mode`), '-o', user, '-g', group, `${base}/${name}`);
      }
    }
    const env = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOME: '/var/lib/sallyport', USER: user, LOGNAME: user };
    for (const entry of this.words('Environment')) env[entry.split('=')[0]] = entry.slice(entry.indexOf('=') + 1);
    const words = [...this.enter(), 'setpriv', `--reuid=${user}`, `--regid=${group}`,
      `--groups=${[group, ...this.words('SupplementaryGroups')].join(',')}`,
      ...(this.one('NoNewPrivileges') === 'yes' ? ['--no-new-privs'] : []),
      ...(this.unit.CapabilityBoundingSet?.length === 0 ? ['--bounding-set=-all', '--inh-caps=-all', '--ambient-caps=-all'] : []),
      'sh', '-c', `umask ${this.one('UMask')}; exec ${this.one('ExecStart')}`];
    const [program, ...rest] = words;
    this.log = '';
    this.service = spawn(program, rest, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.service.stderr.on('data', (chunk) => (this.log += chunk));
    this.service.ended = new Promise((resolve) => this.service.once('exit', resolve));
    await eventually(`the service listens: ${this.log}`, 10_000, async () => {
      if (this.service.exitCode !== null) throw new Error(`the service ended: ${this.log}`);
      return (await run('test', ['-S', this.inside('/run/sallyport/owner.sock')], {})).code === 0;
    });
  }
  // As systemd stops it with KillMode=process: a signal to the one process.
  async stop() {
    if (this.one('KillMode') !== 'process') throw new Error('this runner knows KillMode=process only');
    this.service.kill('SIGTERM');
    await this.service.ended;
  }

  // An MCP client of that user's.
  async connect(user, env = {}) {
    const [command, ...args] = this.wordsOf(user, '/usr/bin/sallyport', 'serve');
    const transport = new StdioClientTransport({ command, args, env: this.environmentOf(user, env), stderr: 'pipe' });
    const client = new Client({ name: 'service-e2e', version: '1' }, { capabilities: {} });
    await client.connect(transport, { timeout: 30_000 });
    client.tools = (await client.listTools(undefined, { timeout: 30_000 })).tools;
    client.tool = (name, given = {}) => client.callTool({ name, arguments: given }, undefined, { timeout: kCreateLimit });
    client.good = async (name, given) => {
      const result = await client.tool(name, given);
      if (result.isError) throw new Error(`${name} failed: ${JSON.stringify(result.content)}\n${this.log}`);
      return result.structuredContent;
    };
    return client;
  }

  // Machines that run for the service.
  async machines() {
    return machinesOf('/var/lib/sallyport', this.inside('/run/sallyport/vm'));
  }

  async end() {
    if (this.service?.exitCode === null && this.service.signalCode === null) {
      await this.asRoot('/usr/bin/sallyport', 'kill-switch', 'on').catch(() => {});
      await this.stop();
    }
    for (const { pid } of this.service ? await this.machines() : []) process.kill(pid, 'SIGKILL');
    this.holder?.kill('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }
}
