import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { parse } from 'yaml';
import { install, type Ended, type Installation } from '../harness/postrider.ts';

/** `diff`, and `apply --dry-run`, which is the same. */

let postrider: Installation;

const shop = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk-one'] };
const crm = {
  kind: 'Destination',
  id: 'crm',
  name: 'CRM',
  sources: ['shop'],
  rateLimit: '100/s',
  sharedSecret: 'zq-old-secret',
  webhooks: [
    { url: 'https://e.test/in?token=zq-old-token', headers: { Authorization: 'zq-old-header' } },
  ],
};
const newCrm = {
  ...crm,
  rateLimit: '50/s',
  events: ['track'],
  sharedSecret: 'zq-new-secret',
  webhooks: [
    { url: 'https://e.test/in?token=zq-new-token', headers: { Authorization: 'zq-new-header' } },
    { url: 'https://f.test/?token=zq-new-token', headers: { 'X-Key': 'zq-new-header' } },
  ],
};

before(async () => {
  postrider = await install();
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  assert.equal((await run(['apply'], [shop, crm])).code, 0);
});

function run(words: readonly string[], resources: readonly object[]): Promise<Ended> {
  const [command = '', ...args] = words;
  return postrider.run([command, '-f', '-', ...args], { stdin: JSON.stringify(resources) });
}

test('nothing differs: nothing is printed on stdout, and the exit code is 0', async () => {
  for (const command of [['diff'], ['apply', '--dry-run']]) {
    const { code, stdout, stderr } = await run(command, [shop, crm]);
    assert.deepEqual([code, stdout, stderr], [0, '', 'nothing would change\n']);
  }
});

test('each field that differs is shown as it is and as it would be, and the exit code is 3', async () => {
  const changed = [{ ...shop, name: 'Web shop', writeKeys: ['wk-one', 'wk-two'] }, newCrm];
  const app = { ...shop, id: 'app', writeKeys: [] };
  for (const command of [['diff'], ['apply', '--dry-run']]) {
    const { code, stdout, stderr } = await run(command, [...changed, app]);
    assert.equal(code, 3, stderr);
    assert.equal(stderr, 'postrider: 3 of 3 resources would change\n');
    assert.equal(
      stdout,
      `update Source shop
  name: "Shop" → "Web shop"
  writeKeys: "(1 key, not shown)" → "(2 keys, not shown)"
create Source app
update Destination crm (X-Signature has room for one secret: the new one counts at once)
  webhooks[0].url: (secret) changed
  webhooks[0].headers.Authorization: (secret) changed
  webhooks[1]: not set → {"url":"https://f.test/?(not shown)","headers":{"X-Key":"(set, not shown)"}}
  events: not set → ["track"]
  sharedSecret: (secret) changed
  rateLimit: "100/s" → "50/s"
`,
    );
    assert.doesNotMatch(stdout + stderr, /zq-/);
  }
  const { stdout } = await postrider.run(['get', 'source', 'shop', '-o', 'json']);
  assert.match(stdout, /"name": "Shop"/);
});

test('for programs, the same in JSON and YAML, without what is the same', async () => {
  const expected = {
    compared: true,
    changes: [
      {
        action: 'update',
        kind: 'Destination',
        id: 'crm',
        fields: [
          { path: 'sharedSecret', secret: true },
          { path: 'rateLimit', before: '100/s', after: null },
        ],
        note: 'X-Signature has room for one secret: the new one counts at once',
      },
    ],
  };
  const { rateLimit, ...rest } = crm;
  assert.ok(rateLimit);
  const resources = [shop, { ...rest, sharedSecret: 'zq-new-secret' }];
  const json = await run(['diff', '-o', 'json'], resources);
  const yaml = await run(['diff', '-o', 'yaml'], resources);
  assert.deepEqual([json.code, yaml.code], [3, 3], json.stderr);
  assert.deepEqual(JSON.parse(json.stdout), expected);
  assert.deepEqual(parse(yaml.stdout), expected);
  const applied = await run(['apply', '-o', 'json'], [shop, crm]);
  assert.equal(applied.code, 0);
  assert.match(applied.stdout, /"action": "unchanged"/);
});

test('what --prune would delete is shown with what waits for it', async () => {
  const { code, stdout, stderr } = await run(['diff', '--prune'], [shop]);
  assert.deepEqual([code, stdout], [3, 'delete Destination crm\n']);
  assert.equal(
    stderr,
    'Destination crm: no event waits for it\npostrider: 1 of 2 resources would change\n',
  );
});

test('a control character in a value cannot reach the terminal', async () => {
  const { stdout } = await run(['diff'], [shop, { ...crm, eventNames: ['\u009b2J\u202e'] }]);
  assert.match(stdout, / {2}eventNames: not set → \["\\u009b2J\\u202e"\]\n/);
});

test('a source that is neither in the files nor stored is a mistake, and nothing is compared', async () => {
  const { code, stdout, stderr } = await run(['diff'], [{ ...crm, sources: ['web'] }]);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^standard input:1: sources\[0\]: source web does not exist\n/);
});

interface Shown {
  readonly changes: readonly { readonly id: string; readonly last?: readonly object[] }[];
}

test('the last calls of a source are counted that a changed filter would treat differently, and previewed', async () => {
  const calls = Array.from({ length: 12 }, (_, total) => ({
    type: 'track',
    event: 'Order',
    userId: `u${total}`,
    messageId: `m${total}`,
    properties: { total },
  }));
  const stdin = calls.map((call) => JSON.stringify(call)).join('\n');
  assert.equal((await postrider.run(['produce', '--source', 'shop'], { stdin })).code, 0);
  const filtered = { ...crm, filter: { 'properties.total': { gte: 9 } } };
  const { code, stdout } = await run(['diff', '--last', '10'], [filtered]);
  assert.equal(code, 3);
  assert.match(stdout, /^ {2}of the last 10 calls of shop, \d fewer would be sent$/m);
  const json = await run(['diff', '--last', '100', '-o', 'json'], [filtered]);
  const [change] = (JSON.parse(json.stdout) as Shown).changes;
  const last = { source: 'shop', calls: 12, more: 0, fewer: 9, otherBody: 0 };
  assert.deepEqual(change?.last, [last]);

  const args = ['preview', '--last', '100', '--source', 'shop'];
  const stored = await postrider.run([...args, '-o', 'json']);
  const sent = (text: string): number =>
    (JSON.parse(text) as { destinations: { sent: boolean }[] }[]).filter(
      ({ destinations }) => destinations[0]?.sent === true,
    ).length;
  assert.deepEqual([stored.code, sent(stored.stdout)], [0, 12], stored.stderr);
  const changed = JSON.stringify([filtered]);
  const files = await postrider.run([...args, '-f', '-', '-o', 'json'], { stdin: changed });
  assert.deepEqual([files.code, sent(files.stdout)], [0, 3], files.stderr);
  assert.doesNotMatch(stored.stdout + files.stdout, /zq-old-(?:secret|header)/);
});
