import assert from 'node:assert/strict';
import { test } from 'node:test';
import { install } from '../harness/postrider.ts';

test('a role without topics ends with one sentence that says how to make them', async () => {
  const postrider = await install();
  for (const role of ['router', 'delivery']) {
    const { code, stderr } = await postrider.run([role]);
    assert.equal(code, 1);
    const said = stderr.split('\n').filter((line) => line.startsWith('postrider: '));
    assert.equal(said.length, 1, stderr);
    assert.match(
      said.join(),
      /^postrider: topic .*ingest and \d+ more do not exist; create them with `postrider topics --create`$/,
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
    [['apply', '-f', '-'], /^create Source shop\n$/],
    [['get', 'source'], /^ID /],
    [['rejected', 'list'], /^PLACE /, 'reading all 3 partitions, 0 records\nno call matches\n'],
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
    ...{ kind: 'Destination', id, name: id, sources: ['shop'], sharedSecret: 'teehee' },
    webhooks: [{ url: 'https://crm.example.com/' }],
  });
  const otherKey = { SECRET_KEY: Buffer.alloc(32, 4).toString('base64') };
  for (const [args, env, resource] of [
    [[], {}, source],
    [[], {}, destination('crm')],
    [['--new-key'], otherKey, destination('erp')],
  ] as const) {
    const { code, stderr } = await postrider.run(['apply', '-f', '-', ...args], {
      ...{ env, stdin: JSON.stringify(resource) },
    });
    assert.equal(code, 0, stderr);
  }
  const { code, stderr } = await postrider.run(['send-test', 'crm'], { env: otherKey });
  assert.equal(code, 1);
  const [reason, last] = stderr.trimEnd().split('\n');
  assert.match(reason ?? '', /Destination crm: .* was encrypted with a key other than SECRET_KEY;/);
  assert.equal(
    last,
    'postrider: destination crm is not readable with these keys and this version; the log says why',
  );
});
