// The commands that check, test and explain policies: no owner, no machine, files in and answers out.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile, chmod } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { root, run, sallyport } from './harness.mjs';

const head = 'sallyport: policy/v1\ntier: user\nname: mine\ndefault: deny\n';
const shipped = ['default.yaml', 'locked-down.yaml', 'read-only.yaml', 'ci.yaml', 'outbound-quarantine.yaml'].map((name) => path.join(root, 'policies', name));
let folder, env;
before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'sp-policy-'));
  const config = path.join(folder, 'sallyport.yaml');
  await writeFile(config, `sallyport: settings/v1\nstate_dir: ${folder}/state\ntransfer_dir: ${folder}/transfer\n`);
  env = { PATH: process.env.PATH, HOME: folder, SALLYPORT_CONFIG: config };
});
after(() => rm(folder, { recursive: true, force: true }));

const sp = (args, input = '') => run(sallyport, args, { env, cwd: folder, input });
const file = async (name, text) => {
  await writeFile(path.join(folder, name), text);
  return name;
};
const good = async (args, input) => {
  const said = await sp(args, input);
  assert.equal(said.code, 0, `${args.join(' ')}: ${said.out}${said.err}`);
  return said.out;
};

test('policy check tells all errors of all files, as text, JSON and SARIF', async () => {
  await file('a.yaml', `${head}actions:\n  r: { allow: create, netwrok: web }\n  s: { allow: creat }\n`);
  await file('b.yaml', `${head}tests:\n  - { call: create, expect: allow }\n  - { call: nothing, expect: deny }\n`);
  const text = await sp(['policy', 'check', 'a.yaml', 'b.yaml']);
  assert.equal(text.code, 1);
  assert.match(text.err, /^a\.yaml:6:23: error\[P0107\]: unknown key `netwrok` in rule `r`; did you mean `network`\?$/m);
  assert.match(text.err, /^a\.yaml:7:15: error\[P0110\]: .*`creat`/m);

  const json = await sp(['policy', 'check', '--format', 'json', 'a.yaml', 'b.yaml']);
  assert.equal(json.code, 1);
  const { findings, digest } = JSON.parse(json.out);
  assert.equal(digest, undefined);
  assert.deepEqual(findings.map(({ file, line, code, severity }) => [file, line, code, severity]), [
    ['a.yaml', 6, 'P0107', 'error'],
    ['a.yaml', 7, 'P0110', 'error'],
  ]);
  const fine = JSON.parse(await good(['policy', 'check', '--format', 'json', shipped[0]]));
  assert.match(fine.digest, /^[0-9a-f]{64}$/);
  assert.deepEqual(fine.findings, []);

  const { version, runs: [only] } = JSON.parse((await sp(['policy', 'check', '--format', 'sarif', 'a.yaml'])).out);
  assert.equal(version, '2.1.0');
  assert.equal(only.tool.driver.name, 'sallyport policy check');
  const ids = only.tool.driver.rules.map((rule) => rule.id);
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(only.results.length, 2);
  for (const { ruleId, level, message, locations: [{ physicalLocation }] } of only.results) {
    assert.ok(ids.includes(ruleId));
    assert.equal(level, 'error');
    assert.ok(message.text.length > 0);
    assert.equal(physicalLocation.artifactLocation.uri, 'a.yaml');
    assert.ok(physicalLocation.region.startLine >= 1 && physicalLocation.region.startColumn >= 1);
  }
});

test('policy check takes folders, says what is missing, and 2 is usage', async () => {
  await mkdir(path.join(folder, 'set'));
  await file('set/one.yaml', `${head}actions:\n  r: { allow: list }\n`);
  await file('set/two.yml', `${head}actions:\n  s: { allow: create }\n`);
  await file('set/notes.txt', 'not a policy');
  assert.match(await good(['policy', 'check', 'set']), /^good: mine, digest [0-9a-f]{64}$/m);
  await mkdir(path.join(folder, 'empty'));
  for (const where of ['empty', 'nowhere.yaml']) assert.equal((await sp(['policy', 'check', where])).code, 1);
  for (const args of [['policy', 'check', '--format', 'xml'], ['policy', 'explain'], ['policy', 'chekc'],
    ['policy', 'explain', '--call', 'create', 'network=wob'], ['policy', 'explain', '--call', 'creat'],
    ['policy', 'who-can', 'create', 'as=x'], ['policy', 'show'], ['check', 'nothing']]) {
    assert.equal((await sp(args)).code, 2, args.join(' '));
  }
});

test('hostile text of a policy cannot command the terminal', async () => {
  await file('sly.yaml', `${head}actions:\n  "\u001b[31m": { allow: list }\n`);
  for (const command of ['check', 'test']) {
    const said = await sp(['policy', command, 'sly.yaml']);
    assert.equal(said.code, 1);
    assert.doesNotMatch(said.out + said.err, /\u001b/);
  }
  const said = await sp(['policy', 'explain', '--call', 'run', 'command=\u001b]0;x\u0007', shipped[0]]);
  assert.doesNotMatch(said.out + said.err, /[\u001b\u0007]/);
});

test('policy explain says which rule, where, and what came near', async () => {
  assert.equal(await good(['policy', 'explain', '--call', 'create', 'network=web']), [
    'create: deny by rule `web-off` at default.yaml:23:3 [deny.rule]',
    '  why: network web is not set up here',
    '  hint: use network none, or have the operator set up web access',
    '  tier user `default`: deny by rule `web-off` at default.yaml:23:3 (explicit)',
    '  matched: deny rule `web-off` at default.yaml:23:3',
    '  near: allow rule `create` at default.yaml:12:3 does not match, for `network` is `web` and it asks `none`',
    '  near: allow rule `create-web` at default.yaml:22:3 does not match, for `settings.web` is `false` and it asks `true`',
    '  near: deny rule `nat-off` at default.yaml:31:3 does not match, for `network` is `web` and it asks `nat`',
    '',
  ].join('\n'));
  for (const statement of [['network=web', 'settings.web=true'], ['{ network: web, settings: { web: true } }'],
    ['{"network":"web","settings":{"web":true}}']]) {
    const said = JSON.parse(await good(['policy', 'explain', '--json', '--call', 'create', ...statement]));
    assert.deepEqual([said.effect, said.rule, said.explicit], ['allow', 'create-web', true]);
  }
  const copy = JSON.parse(await good(['policy', 'explain', '--json', '--call', 'copy_in', 'host_path=src',
    'guest_path=/tmp/x', '{"bytes":"51MiB"}', shipped[1]]));
  assert.deepEqual([copy.effect, copy.code, copy.explicit, copy.near[0].rule, copy.near[0].unmet],
    ['deny', 'deny.default', false, 'bring', 'bytes']);
  const as = JSON.parse(await good(['policy', 'explain', '--json', '--call', 'image_build', '--as', 'terminal']));
  assert.equal(as.effect, 'allow');
});

test('policy test prints each test and the rules without one', async () => {
  assert.match(await good(['policy', 'test', shipped[1]]), /^pass  .*locked-down\.yaml:\d+:\d+: .*expect: allow create/m);
  await file('loose.yaml', `${head}sets: { spare: { paths: [a] } }\nactions:\n  r: { allow: list }\n  s: { allow: list }\n`
    + '  t: { allow: create }\ntests:\n  - { call: list, expect: allow }\n');
  const loose = await sp(['policy', 'test', 'loose.yaml']);
  assert.equal(loose.code, 0);
  assert.match(loose.out, /^no test or example: rule `t`/m);
  const checked = JSON.parse((await good(['policy', 'check', '--format', 'json', 'loose.yaml']))).findings;
  assert.deepEqual(checked.map(({ line, code }) => [line, code]), [[5, 'P0307'], [8, 'P0303'], [9, 'P0309']]);
  for (const { line, code } of checked) assert.match(loose.err, new RegExp(`^loose\\.yaml:${line}:\\d+: warning\\[${code}\\]`, 'm'));
  assert.deepEqual(JSON.parse(await good(['policy', 'test', '--format', 'json', 'loose.yaml'])).findings, checked);
  assert.equal((await sp(['policy', 'check', '--strict', 'loose.yaml'])).code, 1);
  await file('fails.yaml', `${head}actions:\n  r: { allow: list }\ntests:\n  - { call: list, expect: deny }\n`);
  const said = await sp(['policy', 'test', '--format', 'json', 'fails.yaml']);
  assert.equal(said.code, 1);
  const report = JSON.parse(said.out);
  assert.equal(report.failed, 1);
  assert.deepEqual(report.not_covered, []);
  assert.match(report.tests[0].message, /expected `deny`, got `allow r`/);
});

test('who-can, facts and the compiled-in rules', async () => {
  assert.equal(await good(['policy', 'who-can', 'image_build', 'name=x']),
    'terminal      allow  images  default.yaml:55:3\nanybody else  deny   default\n');
  const facts = JSON.parse(await good(['policy', 'facts', '--format', 'json']));
  assert.deepEqual(facts.facts.find((fact) => fact.fact === 'network').choices, ['none', 'web', 'nat']);
  assert.match(await good(['policy', 'facts', '--format', 'markdown']), /^\| host_path \| host path \| copy_in, copy_out \|/m);
  assert.match(await good(['policy', 'facts']), /^timeout +duration +run/m);
  const builtin = await good(['policy', 'show', '--builtin']);
  assert.match(builtin, /builtin:kill-switch\n  allow a caller over cli: kill_switch/);
  assert.match(builtin, /deny on the base machine or on none: .*deleteVM/);
});

test('check request answers every line, bad ones with a deny', async () => {
  const lines = [
    '{"id":1,"action":"create"}',
    '{"id":2,"action":"create","args":{"network":"nat"}}',
    '{"id":3,"action":"create","action":"list"}',
    'nonsense',
    `{"id":4,"action":"run","args":{"command":"${'x'.repeat(1 << 20)}"}}`,
    '{"id":"last","action":"fetch","args":{"url":"https://example.org/"}}',
  ];
  const answers = (await good(['check', 'request'], lines.join('\n'))).trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(answers.map(({ id, effect, code }) => [id, effect, code]), [
    [1, 'allow', 'allow'],
    [2, 'deny', 'deny.rule'],
    [3, 'deny', 'request.invalid'],
    [undefined, 'deny', 'request.invalid'],
    [undefined, 'deny', 'request.invalid'],
    ['last', 'deny', 'deny.default'],
  ]);
  assert.deepEqual(Object.keys(answers[0]), ['id', 'effect', 'rule', 'tier', 'src', 'code', 'unknown']);
  assert.equal(answers[1].src, 'default.yaml:31:3');
});

test('check url answers every line, bad ones with a refusal', async () => {
  const lines = [
    '{"id":1,"url":"http://example.org"}',
    '{"id":2,"url":"http://0x7f.1/"}',
    'nonsense \u001b[2J',
    `{"id":3,"url":"http://example.org/${'x'.repeat(1 << 20)}"}`,
    '{"id":"last","method":"CONNECT","target":"[::1]:443","host":["[::1]:443"]}',
  ];
  const answers = (await good(['check', 'url'], lines.join('\n'))).trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(answers.map(({ id, verdict, code, target, address }) => [id, verdict, code ?? target, address]), [
    [1, 'normalise', 'example.org:80/', 'dns'],
    [2, 'refuse', 'ambiguous-ipv4', undefined],
    [undefined, 'refuse', 'request.invalid', undefined],
    [undefined, 'refuse', 'request.invalid', undefined],
    ['last', 'normalise', '[::1]:443', 'refuse: loopback'],
  ]);
});

test('the schema takes every policy there is and refuses broken ones', async () => {
  const validate = new Ajv2020({ allErrors: true, strict: true, strictTypes: false, strictRequired: false })
    .compile(JSON.parse(await good(['policy', 'schema'])));
  const accepts = (text) => validate(parse(text, { version: '1.2' }));
  for (const name of shipped) {
    assert.ok(accepts(await readFile(name, 'utf8')), `${name}: ${JSON.stringify(validate.errors)}`);
  }
  const page = await readFile(path.join(root, 'docs/policy.md'), 'utf8');
  const blocks = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => text);
  assert.ok(blocks.length >= 10);
  for (const text of blocks) {
    assert.ok(accepts(text.startsWith('sallyport:') ? text : head + text), `${text}: ${JSON.stringify(validate.errors)}`);
  }
  const broken = [
    'acions: {}',
    'actions: { r: { allow: creat } }',
    'actions: { r: { allow: create, netwrok: web } }',
    'actions: { r: { allow: create, network: wob } }',
    'actions: { r: { allow: create, deny: list } }',
    'actions: { r: { network: web } }',
    'actions: { r: { allow: run, timeout: { max: 10 } } }',
    'actions: { r: { allow: copy_in, host_path: src } }',
    'actions: { r: { allow: copy_in, bytes: 200 } }',
    'actions: { r: { allow: list, when: { settings.wob: true } } }',
    'actions: { r: { allow: [] } }',
    'limits: { l: { calls: 3, per: everyone } }',
    'limits: { l: { jobs: 1, calls: 1/1m } }',
    'subjects: { s: {} }',
    'sets: { s: { hots: [a] } }',
    'web: { r: { allow: get, hosts: any } }',
    'web: { r: { allow: any, hosts: any, tls: maybe } }',
    'input: { r: { allow: run } }',
    'vmrun: { v: { allow: start } }',
    'vmrun: { v: { deny: explode } }',
    'tests: [ { call: create } ]',
    'tests: [ { call: create, expect: perhaps } ]',
    'tests: [ { call: any, expect: deny } ]',
  ];
  for (const text of broken) {
    assert.ok(!accepts(head + text + '\n'), text);
    // What the schema refuses the compiler refuses too.
    await file('broken.yaml', head + text + '\n');
    assert.equal((await sp(['policy', 'check', 'broken.yaml'])).code, 1, text);
  }
  assert.ok(!accepts('tier: user\ndefault: deny\n'));
  assert.ok(!accepts('sallyport: policy/v2\ntier: user\ndefault: deny\n'));
});

test('policy fmt lays files out, keeps comments and rights, and --check only tells', async () => {
  const name = await file('wide.yaml', `${head}# about rules\nactions:\n      r:   {allow: [list,run]}   # why\n\n\n`);
  await chmod(path.join(folder, name), 0o640);
  const check = await sp(['policy', 'fmt', '--check', name]);
  assert.equal(check.code, 1);
  assert.equal(check.out, 'wide.yaml\n');
  await good(['policy', 'fmt', name]);
  assert.equal(await readFile(path.join(folder, name), 'utf8'),
    `${head}# about rules\nactions:\n  r: { allow: [list, run] }   # why\n`);
  assert.equal((await stat(path.join(folder, name))).mode & 0o777, 0o640);
  assert.equal(await good(['policy', 'fmt', '--check', name, ...shipped]), '');
});

// Lines after `$` are a command for a shell; what follows is what it prints, with … for anything.
test('the commands that docs/policy.md shows print what it says', async () => {
  const page = await readFile(path.join(root, 'docs/policy.md'), 'utf8');
  const where = await mkdtemp(path.join(folder, 'page-'));
  let commands = 0;
  for (const [, block] of page.matchAll(/^```console\n(.*?)^```$/gms)) {
    for (const step of block.split(/^\$ /m).slice(1)) {
      const [command, ...lines] = step.split('\n');
      const said = await run('/bin/sh', ['-c', `exec 2>&1; ${command}`],
        { env: { ...env, PATH: `${path.dirname(sallyport)}:${process.env.PATH}` }, cwd: where });
      const pattern = lines.join('\n').split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*');
      assert.match(said.out, new RegExp(`^${pattern}$`), command);
      commands += 1;
    }
  }
  assert.ok(commands >= 24, `${commands} commands`);
});

test('policy diff shows calls that became possible, as tests that can be pasted', async () => {
  const old = await file('old.yaml', `${head}actions:\n  r: { allow: create, network: none }\n`);
  const next = await file('new.yaml', `${head}actions:\n  r: { allow: create, network: [none, nat] }\n  no: { deny: list }\n`);
  const said = await sp(['policy', 'diff', '--fail-on-widening', old, next]);
  assert.equal(said.code, 1);
  assert.match(said.out, /^changed: rule `r` of tier user$/m);
  assert.match(said.out, /^added: rule `no` of tier user$/m);
  assert.match(said.out, /may still have become possible/);
  const [, statement] = /^- (\{ call: create, network: nat, expect: allow r \})$/m.exec(said.out);
  for (const [name, code] of [[next, 0], [old, 1]]) {
    const text = await readFile(path.join(folder, name), 'utf8');
    await file('pasted.yaml', `${text}tests:\n  - ${statement}\n`);
    assert.equal((await sp(['policy', 'test', 'pasted.yaml'])).code, code);
  }
  assert.equal((await sp(['policy', 'diff', old, next])).code, 0);
  assert.equal((await sp(['policy', 'diff', '--fail-on-widening', next, old])).code, 0);
  assert.equal((await sp(['policy', 'diff', old, 'nowhere.yaml'])).code, 2);
  const json = JSON.parse(await good(['policy', 'diff', '--format', 'json', old, next]));
  assert.deepEqual([json.widens, json.complete, json.widenings.length], [true, true, 1]);
});
