// What a client may get wrong on the wire, and how the process begins and ends. No machine is needed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, kMinute, processesOf, RawServer, World } from './harness.mjs';

let world;
before(async () => {
  world = await World.make();
});
after(() => world.end(), { timeout: kMinute });

async function withServer(body) {
  const server = new RawServer(world);
  try {
    await body(server);
  } finally {
    await server.end();
  }
}
const alive = async (server) => {
  server.send({ jsonrpc: '2.0', id: 'alive', method: 'tools/list' });
  assert.equal((await server.answer('alive')).result.tools.length, 13);
};

for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
  test(`initialize ${version} is answered in its own revision`, () => withServer(async (server) => {
    const { result } = await server.initialize(version);
    assert.equal(result.protocolVersion, version);
    assert.equal(result.serverInfo.name, 'sallyport');
    await alive(server);
  }));
}

test('a line of nothing asks for nothing', () => withServer(async (server) => {
  server.write('\n  \n\t\r\n');
  await server.initialize();
  server.write('\n\n');
  await alive(server);
  assert.deepEqual(server.lines, []);
}));

test('an unknown revision gets the newest that has a handshake', () => withServer(async (server) => {
  assert.equal((await server.initialize('1999-01-01')).result.protocolVersion, '2025-11-25');
}));

test('the stateless revision: discover, then a list without a handshake', () => withServer(async (server) => {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} };
  server.send({ jsonrpc: '2.0', id: 'server-discover-probe-1', method: 'server/discover', params: { _meta } });
  const { result } = await server.answer('server-discover-probe-1');
  assert.ok(result.supportedVersions.includes('2026-07-28'), JSON.stringify(result));
  server.send({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: { _meta } });
  assert.equal((await server.answer(2)).result.tools.length, 13);
}));

const bad = {
  'not JSON': ['hello\n', -32700],
  'half an object': ['{"jsonrpc":"2.0","id":1,\n', -32700],
  'not UTF-8': [Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}\n', 'latin1'), -32700],
  'nested 10,000 deep': ['['.repeat(10_000) + ']'.repeat(10_000) + '\n', undefined],
  'a number': ['42\n', -32600],
  'a batch': ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32600],
  'an unknown method': ['{"jsonrpc":"2.0","id":1,"method":"no/such"}\n', -32601],
  'a method that is a number': ['{"jsonrpc":"2.0","id":1,"method":7}\n', -32600],
  'two keys of one name': ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}\n', undefined],
};
for (const [what, [line, code]] of Object.entries(bad)) {
  test(`${what}: an error, and the session goes on`, () => withServer(async (server) => {
    await server.initialize();
    server.write(line);
    const { error } = await server.next();
    assert.ok(error, 'an error answer');
    if (code) assert.equal(error.code, code, JSON.stringify(error));
    await alive(server);
  }));
  test(`${what} as the very first line`, () => withServer(async (server) => {
    server.write(line);
    assert.ok((await server.next()).error);
    assert.equal((await server.initialize()).result.serverInfo.name, 'sallyport');
  }));
}

test('a line just over 10 MiB is refused and skipped, one below is read', () => withServer(async (server) => {
  await server.initialize();
  const line = (bytes) => {
    const head = '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"sandbox_run","arguments":{"sandbox_id":"x","command":"';
    return head + 'a'.repeat(bytes - head.length - 4) + '"}}}\n';
  };
  server.write(line(10.1 * 1024 * 1024 | 0));
  assert.ok((await server.next()).error);
  server.write(line(9.9 * 1024 * 1024 | 0));
  const read = await server.answer(5);
  assert.ok(read.error || read.result.isError);
  await alive(server);
}));

for (const [what, name, args] of [
  ['an unknown tool', 'sandbox_format', {}],
  ['an unknown argument', 'sandbox_list', { colour: 'red' }],
  ['a missing argument', 'sandbox_run', { sandbox_id: 'sbx-' + '0'.repeat(32) }],
  ['a number where text belongs', 'sandbox_run', { sandbox_id: 7, command: ['x'] }],
  ['a sandbox that is not there', 'sandbox_run', { sandbox_id: 'sbx-' + '0'.repeat(32), command: 'true' }],
  ['arguments that are a list', 'sandbox_list', []],
]) {
  test(`${what}: an answer that says so, and no change`, () => withServer(async (server) => {
    await server.initialize();
    const answer = await server.tool(1, name, args);
    assert.ok(answer.error ?? answer.result.isError, JSON.stringify(answer));
    assert.equal((await world.machines()).length, 0);
    await alive(server);
  }));
}

test('bytes that arrive one by one, and messages that arrive together, are the same messages', () => withServer(async (server) => {
  const message = JSON.stringify({ jsonrpc: '2.0', id: 'init', method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'ü', version: '1' } } }) + '\r\n';
  for (const byte of Buffer.from(message)) {
    server.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await server.answer('init');
  server.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n');
  await server.answer(1);
  await server.answer(2);
}));

test('end of input and SIGTERM end the process within two seconds', async () => {
  for (const end of [(s) => s.child.stdin.end(), (s) => s.child.kill('SIGTERM')]) {
    const server = new RawServer(world);
    await server.initialize();
    const began = Date.now();
    end(server);
    await server.ended;
    assert.ok(Date.now() - began < 2_000, `${Date.now() - began} ms`);
  }
});

test('end of input in the middle of a message ends cleanly', async () => {
  const server = new RawServer(world);
  await server.initialize();
  server.write('{"jsonrpc":"2.0","id":1,"meth');
  const { code } = await server.end();
  assert.equal(code, 0);
});

test('many servers started at once share one owner', { timeout: kMinute }, async () => {
  const servers = Array.from({ length: 6 }, () => new RawServer(world));
  await Promise.all(servers.map((server) => server.initialize()));
  const owners = (await processesOf(world.folder)).filter(({ command }) => command.includes('daemon'));
  assert.equal(owners.length, 1, JSON.stringify(owners));
  await Promise.all(servers.map((server) => server.end()));
  await eventually('the owner ends when nobody needs it', 20_000, async () => (await processesOf(world.folder)).length === 0);
});
