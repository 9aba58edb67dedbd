import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { batchItems } from '../../src/gateway/batch-items.ts';
import { anyCall, anyJson } from '../event/some-calls.ts';

const itemTexts = (body: string): string[] => batchItems(Buffer.from(body)).map(String);

test('each item is found as it stands in the body, whatever its strings and its neighbours contain', () => {
  const quoted = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\\"',
    'batch',
    '{"a":[1]}',
  );
  const anyItem = fc.oneof(
    fc.tuple(anyCall, quoted).map(([call, text]) => ({ ...call, [text]: text })),
    anyJson,
    quoted,
  );
  const anyIndent = fc.constantFrom(undefined, 1, '\t\n');
  fc.assert(
    fc.property(fc.array(anyItem, { maxLength: 4 }), anyJson, anyIndent, (items, other, indent) => {
      const texts = items.map((item) => JSON.stringify(item, undefined, indent));
      const [before, batch, after] = [
        `"sentAt" : "}]\\"{[" , "context": {"batch":[7],"x":${JSON.stringify(other)}}`,
        `"batch" : [ ${texts.join(' , ')} ]`,
        `"integrations":${JSON.stringify(other)} `,
      ];
      for (const parts of [
        [before, batch, after],
        [batch, before],
        [after, batch],
      ])
        assert.deepEqual(itemTexts(`{ ${parts.join(',')}}`), texts);
    }),
  );
});

test('of several batches the last one counts, as for JSON.parse, also in another spelling', () => {
  assert.deepEqual(itemTexts('{"batch":[1,2],"b\\u0061tch":[3]}'), ['3']);
  assert.deepEqual(itemTexts('{"batch":[1,2],"x":"batch","y":[3]}'), ['1', '2']);
  assert.deepEqual(itemTexts('{"batch":[]}'), []);
});
