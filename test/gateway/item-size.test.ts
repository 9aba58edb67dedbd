import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { largestItemBytes } from '../../src/gateway/item-size.ts';
import { anyCall } from '../event/some-calls.ts';

test('the largest call is measured as it stands in the body, whatever its strings contain', () => {
  const quoted = fc.constantFrom('{', '}', '[', ']', '"', '\\', '\\"', '\\\\', '{"a":[1]}');
  const anyItem = fc.tuple(anyCall, quoted).map(([call, text]) => ({ ...call, [text]: text }));
  const anyIndent = fc.constantFrom(undefined, 1, '\t\n');
  fc.assert(
    fc.property(fc.array(anyItem, { minLength: 1, maxLength: 4 }), anyIndent, (items, indent) => {
      const calls = items.map((item) => JSON.stringify(item, undefined, indent));
      const body = `{"sentAt" : "}]\\"{[" ,"batch": [ ${calls.join(' , ')} ] }`;
      const largest = Math.max(...calls.map((call) => Buffer.byteLength(call)));
      assert.equal(largestItemBytes(Buffer.from(body)), largest);
    }),
  );
});

test('a batch without objects has no call', () => {
  for (const body of ['{}', '{"batch":[]}', '{"batch":[1,"{}",null]}']) {
    assert.equal(largestItemBytes(Buffer.from(body)), 0);
  }
});
