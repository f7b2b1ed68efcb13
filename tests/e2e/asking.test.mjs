// Rules that ask the user in his client: with the public clients of both eras, and line by line where they cannot
// misbehave. No machine is needed.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client as StatelessClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as StatelessTransport } from '@modelcontextprotocol/client/stdio';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { eventually, kMinute, RawServer, sallyport, textOf, World } from './harness.mjs';

const limit = { timeout: 2 * kMinute };
const kPolicy = `sallyport: policy/v1
tier: user
name: asking
default: deny
subjects:
  oncall: { uid: 4000000 }
actions:
  see: { ask: list, who: client, within: 4s, why: "who looks\\nis asked" }
  end: { ask: destroy, who: oncall }
`;
const kYes = { action: 'accept', content: { approve: true } };

describe('asking in the client', () => {
  let world;
  const records = async () =>
    (await world.command(['audit', 'show', 'last:1000', '--json'])).out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const questions = async () => JSON.parse((await world.command(['approve', 'list', '--json'])).out);
  const nothingOpen = () => eventually('no question is left', 15_000, async () => (await questions()).length === 0);

  before(async () => {
    world = await World.make();
    const file = path.join(world.folder, 'asking.yaml');
    await writeFile(file, kPolicy);
    // Questions live as long as their owner.
    await world.configure({ policy: [file], idle_exit: '1m', max_wait: '2s' });
  }, limit);
  after(async () => {
    await world?.stop();
    await world?.configure({});
    await world?.end();
  }, limit);

  // A client whose user says this, and what he was shown.
  const withUser = async (says) => {
    const shown = [];
    const client = await world.connect({
      capabilities: { elicitation: {} },
      prepare: (made) => made.setRequestHandler(ElicitRequestSchema, (request, extra) => {
        shown.push(request.params);
        return says(request, extra);
      }),
    });
    return { client, shown };
  };

  test('a yes in the client lets one call pass, and the log says how it came', limit, async () => {
    const { client, shown } = await withUser(() => kYes);
    const first = await client.tool('sandbox_list');
    assert.equal(first.isError ?? false, false, textOf(first));
    assert.equal(shown.length, 1);
    assert.match(shown[0].message, /^action: "list"$/m);
    assert.match(shown[0].message, /^why a person is asked: "who looks\\nis asked"$/m);
    assert.match(shown[0].message, /^ {4}\{\}$/m, 'all arguments');
    await client.tool('sandbox_list');
    assert.equal(shown.length, 2, 'each call is asked anew');
    await client.close();
    const log = await records();
    assert.equal(log.filter((record) => record.act === 'approval.shown').length, 2);
    const answers = log.filter((record) => record.act === 'approval.answer' && record.dec);
    assert.deepEqual(answers.map((record) => [record.obj.answer, record.obj.via, record.dec.rule]),
      [['allow', 'client', 'builtin:client-answers'], ['allow', 'client', 'builtin:client-answers']]);
    const passed = log.filter((record) => record.dec?.code === 'allow.approved');
    assert.equal(passed.length, 2);
    assert.equal(passed[0].dec.appr.via, 'client');
    assert.equal(passed[0].dec.appr.by, `uid:${process.getuid()}`);
    assert.equal((await world.command(['audit', 'verify'])).code, 0);
  });

  for (const [what, answer, code] of [
    ['declining', { action: 'decline' }, /approval\.denied/],
    ['sending without the tick', { action: 'accept', content: { approve: false } }, /approval\.denied/],
    ['closing', { action: 'cancel' }, /approval\.dismissed/],
  ]) {
    test(`${what} refuses, and the same call is not asked again at once`, limit, async () => {
      const { client, shown } = await withUser(() => answer);
      for (let i = 0; i < 2; ++i) {
        const refused = await client.tool('sandbox_list');
        assert.equal(refused.isError, true);
        assert.match(JSON.stringify(refused), code);
      }
      assert.equal(shown.length, 1);
      await client.close();
      await new Promise((resolve) => setTimeout(resolve, 4_500)); // the refusal stands as long as the question would
    });
  }

  test('a user who never answers costs the deadline: first waiting with an id, then the dialog is taken away', limit, async () => {
    let taken = false;
    const { client } = await withUser((request, { signal }) => new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        taken = true;
        resolve({ action: 'cancel' });
      });
    }));
    const began = Date.now();
    const waiting = await client.tool('sandbox_list');
    assert.ok(Date.now() - began < 3_800, `${Date.now() - began} ms`);
    assert.equal(waiting.structuredContent.code, 'approval.waiting');
    assert.match(waiting.structuredContent.approval_id, /^ask-[0-9a-f]{32}$/);
    assert.equal(waiting.structuredContent.approval_who, 'client');
    assert.match(textOf(waiting), /the client shows a question/);
    await eventually('the dialog was taken away', 15_000, async () => taken);
    assert.equal((await questions()).length, 0);
    await client.close();
    assert.ok((await records()).some((record) => record.act === 'approval.expired'));
  });

  test('an answer that comes after the wait is found by the next call', limit, async () => {
    let answer;
    const { client, shown } = await withUser(() => new Promise((resolve) => (answer = resolve)));
    assert.equal((await client.tool('sandbox_list')).structuredContent.code, 'approval.waiting');
    answer(kYes);
    const found = await client.tool('sandbox_list');
    assert.equal(found.isError ?? false, false, textOf(found));
    assert.equal(shown.length, 1);
    await client.close();
  });

  test('a refusal by command takes the dialog away', limit, async () => {
    let taken = false;
    const { client } = await withUser((request, { signal }) => new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        taken = true;
        resolve(kYes);
      });
    }));
    const calling = client.tool('sandbox_list');
    let open;
    await eventually('the question is open', 5_000, async () => (open = (await questions())[0]) !== undefined);
    assert.equal((await world.command(['approve', 'deny', open.id])).code, 0);
    assert.equal((await calling).structuredContent.code, 'approval.denied');
    await eventually('the dialog was taken away', 5_000, async () => taken);
    await client.close();
    await new Promise((resolve) => setTimeout(resolve, 4_500));
  });

  test('a client without the capability, and a rule that asks somebody else, are as they were', limit, async () => {
    const plain = await world.connect();
    const waiting = await plain.tool('sandbox_list');
    assert.equal(waiting.structuredContent.code, 'approval.waiting');
    assert.match(textOf(waiting), /approve list/);
    await plain.close();
    await nothingOpen();
  });

  // The stateless era, with the client that has it.
  const stateless = async (says) => {
    const shown = [];
    const client = new StatelessClient({ name: 'e2e', version: '2' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } });
    client.setRequestHandler('elicitation/create', (request) => {
      shown.push(request.params);
      return says(request);
    });
    await client.connect(new StatelessTransport({ command: sallyport, args: ['serve'], env: world.environment(), stderr: 'ignore' }));
    return { client, shown, list: () => client.callTool({ name: 'sandbox_list', arguments: {} }) };
  };

  test('stateless: a question is a result, and the call with its answer passes', limit, async () => {
    const { client, shown, list } = await stateless(() => kYes);
    const passed = await list();
    assert.equal(passed.isError ?? false, false, textOf(passed));
    assert.equal(shown.length, 1);
    assert.match(shown[0].message, /^action: "list"$/m);
    await list();
    assert.equal(shown.length, 2);
    await client.close();
  });

  test('stateless: declining refuses', limit, async () => {
    const { client, shown, list } = await stateless(() => ({ action: 'decline' }));
    for (let i = 0; i < 2; ++i) assert.match(textOf(await list()), /approval\.denied|said no/);
    assert.equal(shown.length, 1);
    await client.close();
    await new Promise((resolve) => setTimeout(resolve, 4_500));
  });

  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
  const raw = async (body) => {
    const server = new RawServer(world);
    let id = 0;
    const call = async (more = {}, args = {}) => {
      server.send({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { name: 'sandbox_list', arguments: args, _meta, ...more } });
      return server.answer(id);
    };
    try {
      await body(server, call);
    } finally {
      await server.end();
    }
  };

  test('stateless: a yes counts once; a bent state is refused; without an answer it is asked again', limit, async () => {
    await raw(async (server, call) => {
      const { result } = await call();
      assert.equal(result.resultType, 'input_required');
      const { requestState } = result;
      const answered = { requestState, inputResponses: { approval: kYes } };
      const bent = requestState.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
      assert.equal((await call({ ...answered, requestState: bent })).error.code, -32602);
      assert.equal((await call({ requestState })).result.resultType, 'input_required');
      assert.equal((await call({ inputResponses: { approval: kYes } })).result.resultType, 'input_required');
      const passed = await call(answered);
      assert.equal(passed.result.resultType, 'complete');
      assert.equal(passed.result.isError, false, JSON.stringify(passed));
      const replayed = await call(answered);
      assert.equal(replayed.result.resultType, 'input_required', 'an answer is for one call');
      assert.notEqual(replayed.result.requestState, requestState);
      const other = new RawServer(world);
      other.send({ jsonrpc: '2.0', id: 1, method: 'tools/call',
        params: { name: 'sandbox_destroy', arguments: { sandbox_id: 'sbx-' + '0'.repeat(32) }, _meta, ...answered } });
      assert.equal((await other.answer(1)).error.code, -32602, 'the state is for these words');
      await other.end();
    });
    await nothingOpen();
  });

  test('what is no answer ends the dialog and lets nothing pass', limit, async () => {
    for (const [revision, reply] of [
      ['2025-06-18', { result: { action: 'accept', content: {} } }],
      ['2025-11-25', { result: { action: 'accept', content: { approve: 'true' } } }],
      ['2025-11-25', { error: { code: -32601, message: 'no' } }],
    ]) {
      await raw(async (server) => {
        server.send({ jsonrpc: '2.0', id: 'init', method: 'initialize',
          params: { protocolVersion: revision, capabilities: { elicitation: {} }, clientInfo: { name: 'raw', version: '1' } } });
        await server.answer('init');
        server.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'sandbox_list', arguments: {} } });
        const asked = await server.next();
        assert.equal(asked.method, 'elicitation/create');
        assert.equal(asked.params.mode, revision === '2025-06-18' ? undefined : 'form');
        for (const id of ['elicit-999', 1, null]) server.send({ jsonrpc: '2.0', id, result: kYes });
        server.send({ jsonrpc: '2.0', id: asked.id, ...reply });
        server.send({ jsonrpc: '2.0', id: asked.id, result: kYes });
        const { result } = await server.answer(1);
        assert.equal(result.structuredContent.code, 'approval.waiting');
        assert.match(textOf(result), /approve list/);
      });
      await nothingOpen();
    }
    assert.ok((await records()).some((record) => record.act === 'approval.unreadable'));
  });
});
