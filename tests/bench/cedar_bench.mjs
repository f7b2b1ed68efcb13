// Cedar on rules like those of policy_bench, in the same run: compare the ratio, not the times.
// usage: cedar_bench.mjs POLICY_BENCH_JSON
//
// Reads what policy_bench measured, measures Cedar (WebAssembly, policies parsed beforehand), and says which limits
// hold. A regression here is paid by every call of every sandbox.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

const cedar = createRequire(new URL('../e2e/package.json', import.meta.url))('@cedar-policy/cedar-wasm/nodejs');
const own = JSON.parse(await readFile(process.argv[2], 'utf8')).benchmarks;

const actions = ['run', 'stop', 'screenshot', 'destroy'];
const folder = (rule) => `team${rule % 97}/service${rule}`;
const subjects = (rules) => Math.ceil(rules / 4);

// The same rules as in many_rules.cc; Cedar's `*` also crosses `/`, which changes nothing for folders.
const shapes = {
  spread: {
    rule: (n, rules) =>
      `permit(principal == User::"user${n % subjects(rules)}", action == Action::"${actions[Math.floor(n / subjects(rules))]}", resource);`,
    question: (n, rules, miss, near) => ({
      user: miss && !near ? `stranger${n}` : `user${n % subjects(rules)}`,
      action: miss && near ? 'key' : actions[Math.floor(n / subjects(rules))],
      context: {},
    }),
  },
  dense: {
    rule: (n) =>
      `permit(principal == User::"user0", action == Action::"copy_in", resource) when { context.path like "${folder(n)}/*" };`,
    question: (n, rules, miss, near) => ({
      user: 'user0',
      action: 'copy_in',
      context: {
        path: miss && !near ? `home/nobody${n}/notes.txt` : `${folder(n)}${miss ? '-other' : ''}/src/main.cc`,
      },
    }),
  },
};

function dice(seed) {
  return () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

function quantile(times, of) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(of * sorted.length))];
}

// Times in nanoseconds.
function measure(shape, rules) {
  const name = `${shape}-${rules}`;
  const texts = Array.from({ length: rules }, (_, n) => shapes[shape].rule(n, rules));
  const parsed = cedar.preparsePolicySet(name, { staticPolicies: texts.join('\n') });
  if (parsed.type !== 'success') throw new Error(JSON.stringify(parsed.errors[0]));
  const random = dice(7), times = [];
  const count = Math.max(50, Math.min(2000, 200_000 / rules));
  for (let i = -5; i < count; ++i) {
    const miss = i % 10 !== 0;
    const asked = shapes[shape].question(Math.floor(random() * rules), rules, miss, random() < 0.5);
    const call = {
      principal: { type: 'User', id: asked.user },
      action: { type: 'Action', id: asked.action },
      resource: { type: 'Sandbox', id: 's' },
      context: asked.context,
      preparsedPolicySetId: name,
      entities: [],
    };
    const before = process.hrtime.bigint();
    const answer = cedar.statefulIsAuthorized(call);
    const time = Number(process.hrtime.bigint() - before);
    if (answer.response?.decision !== (miss ? 'deny' : 'allow')) throw new Error(JSON.stringify([asked, answer]));
    if (i >= 0) times.push(time);
  }
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

function ours(name) {
  const found = own.find((run) => run.name === name);
  if (!found || found.error_occurred) throw new Error(`${name}: ${found?.error_message ?? 'not measured'}`);
  return found;
}

let missed = 0;
function limit(what, value, unit, bound) {
  const holds = bound.most === undefined ? value >= bound.least : value <= bound.most;
  missed += holds ? 0 : 1;
  const text = bound.most === undefined ? `at least ${bound.least}` : `at most ${bound.most}`;
  console.log(`${what}: ${+value.toPrecision(4)} ${unit} (${text})${holds ? '' : '  <-- missed'}`);
}

for (const shape of Object.keys(shapes)) {
  const run = (rules) => ours(`Evaluate/${shape}/${rules}`);
  let theirs;
  for (const rules of [10, 100, 1000, 10000]) {
    theirs = measure(shape, rules);
    console.log(
      `${shape}, ${rules} rules: p50 ${run(rules).p50_ns} ns, p99 ${run(rules).p99_ns} ns; Cedar p50 ${theirs.p50} ns, p99 ${theirs.p99} ns`,
    );
  }
  limit(`${shape}, 10,000 rules, p50`, run(10000).p50_ns, 'ns', { most: 1000 });
  limit(`${shape}, 10,000 rules, p99`, run(10000).p99_ns, 'ns', { most: 5000 });
  limit(`${shape}, 10,000 rules against 10`, run(10000).p50_ns / run(10).p50_ns, 'x', { most: 4 });
  limit(`${shape}, allocations of an evaluation`, run(10000).allocations, '', { most: 0 });
  limit(`${shape}, 10,000 rules, faster than Cedar`, theirs.p50 / run(10000).p50_ns, 'x', { least: 1000 });
  const compiled = ours(`Compile/${shape}/10000`);
  limit(`${shape}, compiling 10,000 rules with 1,000 tests`, compiled.real_time, 'ms', { most: 1500 });
  limit(`${shape}, memory while compiling`, compiled.peak_MB, 'MB', { most: 50 });
}
process.exitCode = missed ? 1 : 0;
