// Whole processes against the clock, and against npm's server-everything in the same run: compare the ratios.
// usage: process_bench.mjs BIN
//
// A regression here is a person waiting: for a sandbox, for a client's start, for every call.
import { execFileSync, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

process.env.SALLYPORT_BIN ??= process.argv[2];
const { eventually, processesOf, root, sallyport, sleep, World } = await import('../e2e/harness.mjs');
const everything = [process.execPath, path.join(root, 'tests/e2e/node_modules/@modelcontextprotocol/server-everything/dist/index.js'), 'stdio'];

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
const rows = [];
function report(what, value, unit, limit, holds) {
  rows.push({ what, measured: `${value.toFixed(unit === 'x' ? 2 : 1)} ${unit}`, limit, holds: holds ? 'yes' : 'NO' });
  console.log(`${what}: ${rows.at(-1).measured} (${limit})${holds ? '' : '  <-- missed'}`);
}

// As little client as possible: what is measured is the server.
class Lines {
  constructor(command, env) {
    this.child = spawn(command[0], command.slice(1), { env, stdio: ['pipe', 'pipe', 'ignore'] });
    this.waiting = new Map();
    let rest = '';
    this.child.stdout.setEncoding('utf8');
    this.child.stdout.on('data', (chunk) => {
      rest += chunk;
      for (let at; (at = rest.indexOf('\n')) >= 0; rest = rest.slice(at + 1)) {
        const message = JSON.parse(rest.slice(0, at));
        const then = this.waiting.get(message.id);
        this.waiting.delete(message.id);
        then?.(message);
      }
    });
    this.id = 0;
  }
  ask(method, params) {
    const id = ++this.id;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), 240_000);
      this.waiting.set(id, (message) => {
        clearTimeout(timer);
        if (message.error) reject(new Error(JSON.stringify(message.error)));
        else resolve(message.result);
      });
      this.child.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\n');
    });
  }
  async hello() {
    await this.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } });
    this.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return this.ask('tools/list', {});
  }
  async tool(name, args) {
    const result = await this.ask('tools/call', { name, arguments: args });
    if (result.isError) throw new Error(`${name}: ${JSON.stringify(result.content)}`);
    return result;
  }
  end() {
    return new Promise((resolve) => {
      this.child.on('exit', resolve);
      this.child.stdin.end();
      setTimeout(() => this.child.kill('SIGKILL'), 3_000).unref();
    });
  }
}

async function started(command, env) {
  const began = performance.now();
  const server = new Lines(command, env);
  await server.hello();
  const ms = performance.now() - began;
  return { ms, server };
}

// One call after the other, as a model makes them, or several in flight.
function callsPerSecond(command, env, name, args, inFlight = 1) {
  const asked = [name, JSON.stringify(args), String(inFlight), '2', ...command];
  return Number(execFileSync(path.join(bin, 'call_rate'), asked, { env, timeout: 60_000 }));
}

const ours = [sallyport, 'serve'];
const bin = path.dirname(sallyport);
const constant = [path.join(bin, 'constant_server')];
// Nothing of ours runs while a start without an owner is timed.
const world = await World.make({ idle_exit: '1s' });
const env = world.environment();
try {
  const cold = [];
  const everythingCold = [];
  for (let i = 0; i < 5; i++) {
    const mine = await started(ours, env);
    cold.push(mine.ms);
    await mine.server.end();
    await eventually('the owner has ended', 20_000, async () => (await processesOf(world.folder)).length === 0);
    const theirs = await started(everything, process.env);
    everythingCold.push(theirs.ms);
    await theirs.server.end();
  }
  const keeper = await started(ours, env);
  const warm = [];
  for (let i = 0; i < 15; i++) {
    const mine = await started(ours, env);
    warm.push(mine.ms);
    await mine.server.end();
  }
  report('start to tools/list, owner up', median(warm), 'ms', '<= 20 ms', median(warm) <= 20);
  report('start to tools/list, no owner', median(cold), 'ms', '<= 60 ms', median(cold) <= 60);
  report('  server-everything', median(everythingCold), 'ms', 'for comparison', true);
  const ratio = median(cold) / median(everythingCold);
  report('  no owner / server-everything', ratio, 'x', '<= 0.25 x', ratio <= 0.25);

  for (const inFlight of [1, 32]) {
    const rates = [];
    for (let i = 0; i < 3; i++) {
      const mine = callsPerSecond(ours, env, 'sandbox_list', {}, inFlight);
      const theirs = callsPerSecond(everything, process.env, 'echo', { message: 'hi' }, inFlight);
      const most = callsPerSecond(constant, process.env, 'echo', {}, inFlight);
      rates.push({ mine, theirs, most, ratio: mine / theirs });
    }
    const rate = rates.sort((a, b) => a.ratio - b.ratio)[1];
    const with_ = inFlight === 1 ? '' : `, ${inFlight} in flight`;
    report(`sandbox_list over stdio${with_}`, rate.mine, 'calls/s', 'for comparison', true);
    report(`  server-everything echo${with_}`, rate.theirs, 'calls/s', 'for comparison', true);
    report(`  a server that does nothing${with_}`, rate.most, 'calls/s', 'the most this client can ask', true);
    if (inFlight === 1) report('  sandbox_list / echo', rate.ratio, 'x', '>= 2 x', rate.ratio >= 2);
    else report(`  sandbox_list / echo${with_}`, rate.ratio, 'x', 'for comparison', true);
  }

  await sleep(1_000);
  const owner = (await processesOf(world.folder)).find(({ command }) => command.includes('daemon'));
  const resident = Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${owner.pid}/status`, 'utf8'))[1]) / 1024;
  report('resident memory of the owner', resident, 'MB', '<= 32 MB', resident <= 32);

  const creates = [];
  const runs = [];
  for (let i = 0; i < 3; i++) {
    const began = performance.now();
    const { structuredContent } = await keeper.server.tool('sandbox_create', {});
    creates.push((performance.now() - began) / 1000);
    const { sandbox_id } = structuredContent;
    for (let j = 0; j < 3; j++) {
      const start = performance.now();
      await keeper.server.tool('sandbox_run', { sandbox_id, command: 'true' });
      runs.push((performance.now() - start) / 1000);
    }
    await keeper.server.tool('sandbox_destroy', { sandbox_id });
  }
  report('create, from cold', creates[0], 's', '<= 15 s', creates[0] <= 15);
  report('create, median', median(creates), 's', '<= 15 s', median(creates) <= 15);
  report('run true, median', median(runs), 's', '<= 2.5 s', median(runs) <= 2.5);
  await keeper.server.end();
} finally {
  await world.end();
}
console.table(rows);
process.exitCode = rows.every(({ holds }) => holds === 'yes') ? 0 : 1;
