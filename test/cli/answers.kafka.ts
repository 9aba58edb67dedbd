import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { install } from '../harness/postrider.ts';
import { collect, spawnCommand } from '../harness/run-command.ts';

test('a role without topics ends with one sentence that says how to make them', async () => {
  const postrider = await install();
  for (const role of ['router', 'delivery']) {
    const { code, stderr } = await postrider.run([role]);
    assert.equal(code, 1);
    const said = stderr.split('\n').filter((line) => line.startsWith('postrider: '));
    assert.equal(said.length, 1, stderr);
    assert.match(
      said.join(),
      /^postrider: topic \S+ and \d+ more do not exist; create them with `postrider topics --create`$/,
    );
  }
});

test('commands for letters say how to make a topic that is missing', async () => {
  const postrider = await install();
  const commands = [
    ['dead-letters', 'list'],
    ['dead-letters', 'redrive', '--dry-run'],
    ['rejected', 'show', '0:0'],
    ['rejected', 'redrive'],
  ];
  const ended = await Promise.all(commands.map((args) => postrider.run(args)));
  for (const { code, stdout, stderr } of ended) {
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      /^postrider: topic .* not exist; create (?:it|them) with `postrider topics --create`\n$/,
    );
  }
});

test('nothing stands before the answer of a command, not even right after the topics were made', async () => {
  const postrider = await install();
  const stdin = JSON.stringify({ kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] });
  for (const [args, answer, notes = ''] of [
    [['topics', '--create'], /^TOPIC /],
    [['apply', '-f', '-'], /^create Source shop\n1 created\n$/],
    [['get', 'source'], /^ID /],
    [['rejected', 'list'], /^PLACE /, 'reading all 3 partitions (0 records)\nno call matches\n'],
  ] as const) {
    const { code, stdout, stderr } = await postrider.run(args, { stdin });
    assert.deepEqual([code, stderr], [0, notes]);
    assert.match(stdout, answer);
  }
});

test('a destination that the key cannot read is not said to be missing', async () => {
  const postrider = await install();
  await postrider.run(['topics', '--create']);
  const source = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] };
  const destination = (id: string): object => ({
    kind: 'Destination',
    id,
    name: id,
    sources: ['shop'],
    sharedSecret: 'teehee',
    webhooks: [{ url: 'https://crm.example.com/' }],
  });
  const otherKey = { SECRET_KEY: Buffer.alloc(32, 4).toString('base64') };
  for (const [args, env, resource] of [
    [[], {}, source],
    [[], {}, destination('crm')],
    [['--new-key'], otherKey, destination('erp')],
  ] as const) {
    const { code, stderr } = await postrider.run(['apply', '-f', '-', ...args], {
      env,
      stdin: JSON.stringify(resource),
    });
    assert.equal(code, 0, stderr);
  }
  const { code, stderr } = await postrider.run(['send-test', 'crm'], { env: otherKey });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^postrider: destination crm is not readable here: Destination crm: .* was encrypted with a key other than SECRET_KEY;/,
  );
});

/** `get` prints what `apply` takes: a document each. */
function parseDocuments(text: string): unknown {
  return parseAllDocuments(text).map((document) => document.toJS() as unknown);
}

test('whatever prints data says it in JSON and YAML alike, and in tables', async (t) => {
  const postrider = await install();
  const endpoint = createServer((_request, response) => {
    response.writeHead(422).end('no such \u001b[2Jlist');
  }).listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  t.after(() => {
    endpoint.close();
    endpoint.closeAllConnections();
  });
  const { port } = endpoint.address() as AddressInfo;
  await postrider.run(['topics', '--create']);
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    {
      kind: 'Destination',
      id: 'crm',
      name: 'CRM',
      sources: ['shop'],
      webhooks: [{ url: `http://127.0.0.1:${port}/` }],
    },
    {
      kind: 'Audience',
      id: 'vip',
      name: 'VIP',
      source: 'shop',
      members: { file: 'vip.csv', userId: 'user' },
    },
  ];
  const applied = await postrider.run(['apply', '-f', '-'], { stdin: JSON.stringify(resources) });
  assert.equal(applied.code, 0, applied.stderr);

  const answer = async (args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await postrider.run(args);
    assert.equal(code, args[0] === 'send-test' ? 1 : 0, stderr);
    return stdout;
  };
  assert.match(await answer(['suppress-user', 'u1', 'u2']), /^calls of 2 users are not routed/);
  assert.match(await answer(['suppress-user', 'u2', '--lift']), /^calls of user u2 are routed/);
  // How long an answer took is another time each time.
  const read = (text: string, parseText: (text: string) => unknown): unknown =>
    parseText(text.replaceAll(/(tookMs"?: )[\d.]+/g, '$10'));
  for (const [args, head] of [
    [['topics'], /^TOPIC +STATE /],
    [['get', 'destination'], /^ID +NAME +SOURCES +ENABLED +WEBHOOKS\n/],
    [['dead-letters', 'list'], /^PLACE +AGE +REASON +DESTINATION +MESSAGE\n/],
    [['rejected', 'list'], /^PLACE +AGE +REASON +KEY +DETAIL\n/],
    [['audience-sync', '--history'], /^STARTED +TRAIT /],
    [['delete-user', 'u1', '--dry-run'], /^SOURCE +DESTINATION +NOTIFICATIONS\n/],
    [['suppress-user', '--list'], /^USER +SINCE\nu1 +\d{4}-[^\n]*\n$/],
    [
      ['send-test', 'crm'],
      /answered 422 \(http-422 by default\); it said: no such \\u001b\[2Jlist\n$/,
    ],
  ] as const) {
    const [table, wide, json, yaml] = await Promise.all([
      answer(args),
      answer([...args, '-o', 'wide']),
      answer([...args, '-o', 'json']),
      answer([...args, '-o', 'yaml']),
    ]);
    assert.match(table, head);
    assert.equal(wide.split('\n')[0]?.split(' ')[0], table.split('\n')[0]?.split(' ')[0]);
    const parseYaml = args[0] === 'get' ? parseDocuments : parse;
    assert.deepEqual(read(yaml, parseYaml), read(json, JSON.parse), args.join(' '));
  }
  assert.match(await answer(['get', 'destination', '-o', 'wide']), /^ID .* TOPIC +LIMITS +SIGNED /);
  for (const args of [
    ['audience-sync', '--history'],
    ['delete-user', 'u1', '--dry-run'],
  ])
    assert.equal(await answer([...args, '--json']), await answer([...args, '-o', 'json']));
});

test('an id of a destination that is almost right is told with the right one, and completed', async () => {
  const postrider = await install();
  const run = async (args: readonly string[]): Promise<readonly [number | null, string]> => {
    const { code, stderr } = await postrider.run(args);
    return [code, stderr];
  };
  await run(['topics', '--create']);
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    {
      kind: 'Destination',
      id: 'crm',
      name: 'CRM',
      sources: ['shop'],
      webhooks: [{ url: 'https://crm.example.com/' }],
    },
  ];
  await postrider.run(['apply', '-f', '-'], { stdin: JSON.stringify(resources) });
  const unknown = 'there is no destination crn';
  assert.deepEqual(await run(['status', 'crn']), [1, `postrider: ${unknown}; did you mean crm?\n`]);
  const [code, said] = await run(['attempts', 'crn']);
  assert.equal(code, 0);
  assert.match(
    said,
    /^no line matches since \d{4}-.*Z; use --since to look further back\nthere is no destination crn now; did you mean crm\?\n$/,
  );
  assert.doesNotMatch((await run(['attempts', 'crm']))[1], /there is no destination/);
  const environment = { PATH: process.env['PATH'] ?? '', ...postrider.environment };
  for (const words of [
    ['pause', 'c'],
    ['get', 'destination', ''],
    ['dead-letters', 'list', '--destination', 'c'],
  ]) {
    // The library writes to the process itself.
    const child = spawnCommand(['complete', '--', ...words], environment);
    const stdout = collect(child.stdout);
    await once(child, 'close');
    assert.deepEqual(stdout().split('\n'), ['crm\t', ':4', ''], words.join(' '));
  }
});

test('one of a kind is said as one, and none as none', async () => {
  const postrider = await install();
  await postrider.run(['topics', '--create']);
  const none = await postrider.run(['audience-sync']);
  assert.deepEqual([none.code, none.stderr], [0, 'there are no audiences or computed traits\n']);
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    {
      kind: 'Destination',
      id: 'crm',
      name: 'CRM',
      sources: ['shop'],
      webhooks: [{ url: 'https://crm.example.com/' }],
    },
  ];
  await postrider.run(['apply', '-f', '-'], { stdin: JSON.stringify(resources) });
  const { code, stdout, stderr } = await postrider.run(['status']);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^1 destination: 1 unknown$/m);
});
