import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, test } from 'node:test';
import { install, type Ended, type Installation } from '../harness/postrider.ts';

const [first, second, third] = Array.from({ length: 3 }, () => randomBytes(32).toString('base64'));

let postrider: Installation;

function destination(id: string): string {
  return JSON.stringify({
    kind: 'Destination',
    id,
    name: id,
    sources: ['shop'],
    sharedSecret: 'teehee',
    webhooks: [{ url: 'https://crm.example.com/', headers: { 'X-Token': 'tok' } }],
  });
}

const source = JSON.stringify({ kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] });
const resources = [source, destination('crm'), destination('erp')].join('\n---\n');

function rotate(current: string = '', previous: string = ''): Promise<Ended> {
  const env = { SECRET_KEY: current, SECRET_KEY_PREVIOUS: previous };
  return postrider.run(['secrets', 'rotate'], { env });
}

/** Whether this key alone reads anything. */
async function reads(secretKey: string = ''): Promise<boolean> {
  const env = { SECRET_KEY: secretKey };
  const { code } = await postrider.run(['diff', '-f', '-'], { env, stdin: resources });
  return code === 0;
}

before(async () => {
  postrider = await install({ SECRET_KEY: first ?? '' });
  await postrider.run(['topics', '--create']);
  const { code, stderr } = await postrider.run(['apply', '-f', '-'], { stdin: resources });
  assert.equal(code, 0, stderr);
});

test('without a key, or with a wrong previous one, nothing is written and one sentence says why', async () => {
  const without = await rotate();
  assert.deepEqual([without.code, without.stdout], [1, '']);
  assert.match(without.stderr, /^postrider: SECRET_KEY is not set, allowed: 32 bytes in base64\n$/);
  for (const previous of [third, '']) {
    const { code, stdout, stderr } = await rotate(second, previous);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      /^postrider: Destination crm: .* was encrypted with a key other than .*; set SECRET_KEY_PREVIOUS to that key, or apply the resource again \(and 1 more like it\); do not drop any key yet\n$/,
    );
  }
  assert.equal(await reads(first), true);
});

test('a rotation leaves nothing to the previous key, and finds nothing to do when repeated', async () => {
  const { code, stdout, stderr } = await rotate(second, first);
  assert.deepEqual([code, stderr], [0, '']);
  assert.equal(
    stdout,
    'encrypted Destination/crm again\nencrypted Destination/erp again\n' +
      '2 resources encrypted again; no secret needs another key\n',
  );
  for (const previous of [first, '']) {
    const again = await rotate(second, previous);
    assert.equal(again.stdout, '0 resources encrypted again; no secret needs another key\n');
  }
  assert.deepEqual([await reads(second), await reads(first)], [true, false]);
});
