// Starts the real gateway in a folder of its own, with a public MCP client in front and real machines behind.
import { execFile, spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const bin = process.env.SALLYPORT_BIN ?? path.join(root, 'build/release/bin');
export const sallyport = path.join(bin, 'sallyport');
export const vmrun = path.join(bin, 'sallyport-vmrun');
const caches = process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache');
export const baseVmx = path.join(caches, 'sallyport/images/debian-12/debian-12.vmx');

// What no correct answer takes longer than, under software emulation.
export const kMinute = 60_000;
export const kCreateLimit = 3 * kMinute;

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Tries `probe` until it gives something true, or throws.
export async function eventually(what, limit, probe) {
  const end = Date.now() + limit;
  for (;;) {
    const answer = await probe();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`not within ${limit} ms: ${what}`);
    await sleep(50);
  }
}

// Where the stand-in keeps what it knows of running machines, for programs with this environment.
export function runtimeRoot({ SALLYPORT_VMRUN_DIR, XDG_RUNTIME_DIR } = {}) {
  if (SALLYPORT_VMRUN_DIR) return SALLYPORT_VMRUN_DIR;
  return XDG_RUNTIME_DIR ? path.join(XDG_RUNTIME_DIR, 'sallyport-vmrun') : `/tmp/sallyport-vmrun-${process.getuid()}`;
}

// Machines of the stand-in whose .vmx is below the folder: { pid, command, vmx }. The emulator's own words and
// environment say nothing of where its files are.
export async function machinesOf(folder, runtime = runtimeRoot()) {
  const found = [];
  for (const entry of existsSync(runtime) ? await readdir(runtime) : []) {
    try {
      const vmx = (await readFile(path.join(runtime, entry, 'vmx'), 'utf8')).trimEnd();
      const [pid, start] = (await readFile(path.join(runtime, entry, 'pid'), 'utf8')).trim().split(' ');
      const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /s, '').split(' ');
      if (!vmx.startsWith(folder + '/') || fields[19] !== start || 'ZX'.includes(fields[0])) continue;
      const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').filter(Boolean);
      found.push({ pid: Number(pid), command, vmx });
    } catch {
      // No machine, or it ended.
    }
  }
  return found;
}

// Processes that belong to a state folder: it stands in their arguments or their environment, or they are its
// machines.
export async function processesOf(folder, runtime) {
  const found = await machinesOf(folder, runtime);
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    try {
      const command = (await readFile(`/proc/${entry}/cmdline`, 'utf8')).split('\0').filter(Boolean);
      const environment = await readFile(`/proc/${entry}/environ`, 'utf8');
      if (command.some((word) => word.includes(folder)) || environment.includes(folder)) {
        found.push({ pid: Number(entry), command });
      }
    } catch {
      // It ended, or is not ours to read.
    }
  }
  return found;
}

export class World {
  // settings: keys of sallyport.yaml that differ from the test's own; runtime: the stand-in's runtime folder.
  static async make(settings = {}, { runtime } = {}) {
    const world = new World();
    world.runtime = runtime;
    world.folder = await mkdtemp(path.join(os.tmpdir(), 'sp-'));
    world.transfer = path.join(world.folder, 'transfer');
    world.state = path.join(world.folder, 'state');
    world.config = path.join(world.folder, 'sallyport.yaml');
    await mkdir(world.transfer);
    await world.configure(settings);
    return world;
  }

  async configure(settings) {
    const all = {
      vmrun,
      base_vmx: baseVmx,
      state_dir: this.state,
      transfer_dir: this.transfer,
      idle_exit: '1s',
      ...settings,
    };
    const lines = Object.entries(all)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => `${key}: ${Array.isArray(value) ? `[${value.map((v) => JSON.stringify(v)).join(', ')}]` : JSON.stringify(value)}`);
    await writeFile(this.config, ['sallyport: settings/v1', ...lines].join('\n') + '\n');
  }

  environment(more = {}) {
    const { PATH, HOME, USER, LOGNAME, XDG_CACHE_HOME } = process.env;
    const own = { SALLYPORT_CONFIG: this.config, SALLYPORT_VMRUN_DIR: this.runtime };
    return JSON.parse(JSON.stringify({ PATH, HOME, USER, LOGNAME, XDG_CACHE_HOME, ...own, ...more }));
  }

  // An MCP client of its own; `client.tool(name, arguments)` gives the result. `prepare` gets it before it connects.
  async connect({ clientInfo = { name: 'e2e', version: '1' }, env = {}, capabilities = {}, prepare = () => {} } = {}) {
    const transport = new StdioClientTransport({
      command: sallyport,
      args: ['serve'],
      env: this.environment(env),
      stderr: 'pipe',
    });
    const client = new Client(clientInfo, { capabilities });
    prepare(client);
    client.errors = '';
    client.stray = [];
    client.onerror = (error) => client.stray.push(error);
    transport.stderr?.on('data', (chunk) => (client.errors += chunk));
    await client.connect(transport, { timeout: 30_000 });
    // The SDK validates structuredContent against the output schemas it has seen.
    client.tools = (await client.listTools(undefined, { timeout: 30_000 })).tools;
    client.tool = (name, args = {}, options = {}) =>
      client.callTool({ name, arguments: args }, undefined, { timeout: kCreateLimit, ...options });
    client.good = async (name, args, options) => {
      const result = await client.tool(name, args, options);
      if (result.isError) throw new Error(`${name} failed: ${JSON.stringify(result.content)}`);
      return result.structuredContent;
    };
    client.create = async (args = {}) => (await client.good('sandbox_create', args)).sandbox_id;
    client.pid = transport.pid;
    return client;
  }

  // A command of sallyport: { code, out, err }.
  command(args, { input = '', env = {}, limit = kCreateLimit } = {}) {
    return run(sallyport, args, { env: this.environment(env), input, limit });
  }

  // Ends the owner; the next client starts one with its own environment.
  stop() {
    return this.command(['daemon', '--stop'], { limit: kMinute });
  }

  // The log as its lines; proves nothing, `audit verify` does.
  async records() {
    const folder = path.join(this.state, 'audit');
    const records = [];
    if (!existsSync(folder)) return records;
    for (const name of (await readdir(folder)).sort()) {
      if (!name.endsWith('.jsonl') && !name.endsWith('.log')) continue;
      for (const line of (await readFile(path.join(folder, name), 'utf8')).split('\n')) {
        if (line) records.push(JSON.parse(line));
      }
    }
    return records;
  }

  machines() {
    return machinesOf(this.folder, runtimeRoot(this.environment()));
  }

  // Ends everything and fails when something of it does not go.
  async end() {
    await this.command(['kill-switch', 'on'], { limit: kMinute }).catch(() => {});
    let left = [];
    try {
      await eventually('every process of the test is gone', 30_000, async () => {
        left = await processesOf(this.folder, this.runtime);
        return left.length === 0;
      });
    } finally {
      for (const { pid } of left) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // Gone meanwhile.
        }
      }
      await rm(this.folder, { recursive: true, force: true });
    }
  }
}

// Runs a program to its end: { code, out, err, ms }.
export function run(program, args, { env, input = '', limit = kMinute, cwd } = {}) {
  return new Promise((resolve, reject) => {
    const began = Date.now();
    const child = execFile(program, args, { env, cwd, timeout: limit, killSignal: 'SIGKILL', maxBuffer: 64 << 20 },
      (error, out, err) => {
        if (error && error.killed) return reject(new Error(`${program} ${args.join(' ')}: not within ${limit} ms\n${out}${err}`));
        if (error && typeof error.code !== 'number') return reject(error);
        resolve({ code: error ? error.code : 0, out, err, ms: Date.now() - began });
      });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

// A server driven by hand, line by line.
export class RawServer {
  constructor(world, env = {}) {
    this.child = spawn(sallyport, ['serve'], { env: world.environment(env), stdio: ['pipe', 'pipe', 'pipe'] });
    this.lines = [];
    this.waiting = [];
    this.errors = '';
    let rest = '';
    this.child.stdout.setEncoding('utf8');
    this.child.stdout.on('data', (chunk) => {
      rest += chunk;
      for (let at; (at = rest.indexOf('\n')) >= 0; rest = rest.slice(at + 1)) this.take(rest.slice(0, at));
    });
    this.child.stderr.on('data', (chunk) => (this.errors += chunk));
    this.child.stdin.on('error', () => {});
    this.ended = new Promise((resolve) => this.child.on('exit', (code, signal) => resolve({ code, signal })));
  }
  take(line) {
    const next = this.waiting.shift();
    if (next) next(line);
    else this.lines.push(line);
  }
  write(bytes) {
    this.child.stdin.write(bytes);
  }
  send(message) {
    this.write(JSON.stringify(message) + '\n');
  }
  // The next line as JSON, whatever it is.
  async next(limit = 30_000) {
    const line = this.lines.shift() ?? (await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no line within ${limit} ms; stderr: ${this.errors}`)), limit);
      this.waiting.push((text) => {
        clearTimeout(timer);
        resolve(text);
      });
    }));
    return JSON.parse(line);
  }
  async answer(id, limit) {
    for (;;) {
      const message = await this.next(limit);
      if (message.id === id) return message;
    }
  }
  async initialize(protocolVersion = '2025-11-25') {
    this.send({ jsonrpc: '2.0', id: 'init', method: 'initialize',
      params: { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } } });
    const answer = await this.answer('init');
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return answer;
  }
  async tool(id, name, args, limit) {
    this.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
    return this.answer(id, limit);
  }
  async end() {
    this.child.stdin.end();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 10_000);
    const how = await this.ended;
    clearTimeout(timer);
    return how;
  }
}

export async function script(file, text) {
  await writeFile(file, text);
  await chmod(file, 0o755);
  return file;
}

// What a refusal says, for messages of assertions.
export const textOf = (result) => result.content.map((part) => part.text ?? `[${part.type}]`).join('\n');
