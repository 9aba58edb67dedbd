import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../harness/fast-check.ts';
import type { Call } from '../../src/event/call.ts';
import { callPathText, parseCallPath, valueAt, type CallPath } from '../../src/event/call-path.ts';

const call: Call = {
  type: 'track',
  messageId: 'm1',
  userId: 'u1',
  timestamp: '2026-01-01T00:00:00.000Z',
  writeKey: 'secret',
  fields: JSON.parse(
    '{"type":"track","writeKey":"secret","event":"Paid","messageId":"theirs","__proto__":{"a":1},' +
      '"properties":{"a.b":{"c":2},"none":null,"list":[1],"__proto__":3,"back\\\\slash":4}}',
  ) as Record<string, unknown>,
};

describe('a path into a call', () => {
  it('goes through objects by their own keys', () => {
    assert.equal(at('event'), 'Paid');
    assert.equal(at('properties.a\\.b.c'), 2);
    assert.equal(at('properties.none'), null);
    assert.equal(at('properties.back\\\\slash'), 4);
    assert.equal(at('properties.__proto__'), 3);
    assert.equal(at('__proto__.a'), 1);
  });

  it('does not exist where a key is missing, inherited, or looked for in a list or text', () => {
    for (const path of ['other', 'properties.a.b', 'constructor', 'properties.toString'])
      assert.equal(at(path), undefined, path);
    for (const path of [
      'properties.list.length',
      'properties.list.0',
      'event.length',
      'properties.none.x',
    ])
      assert.equal(at(path), undefined, path);
  });

  it("gives a call's resolved ids, and never its write key", () => {
    assert.equal(at('messageId'), 'm1');
    assert.equal(at('timestamp'), call.timestamp);
    assert.equal(at('anonymousId'), undefined);
    assert.equal(at('writeKey'), undefined);
  });

  it('is refused with an empty key, a lonely backslash, or too many keys', () => {
    for (const text of [
      '',
      '.',
      'a..b',
      'a.',
      'a\\',
      'a\\b',
      'a.'.repeat(30) + 'b',
      'x'.repeat(1_001),
    ])
      assert.ok('problem' in parseCallPath(text), text);
  });

  it('is read again from its text', () => {
    const paths = fc.array(fc.string({ minLength: 1, maxLength: 9 }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(paths, (keys) => {
        const path = keys as unknown as CallPath;
        assert.deepEqual(parseCallPath(callPathText(path)), path);
      }),
    );
  });
});

function at(text: string): unknown {
  const path = parseCallPath(text);
  assert.ok(!('problem' in path));
  return valueAt(call, path);
}
