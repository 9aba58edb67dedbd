import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ShortStayTable } from '../../../src/kafka/kafkajs/replacements.ts';
import fc from '../../harness/fast-check.ts';
import { oldGarbageBytes } from '../../harness/old-garbage.ts';

describe('a table for keys that come and go', () => {
  test('holds what a Map would', () => {
    const key = fc.oneof(fc.nat(9), fc.constantFrom('a|1', 'toString', '__proto__'));
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('set', 'delete', 'clear'), key)), (steps) => {
        const table = new ShortStayTable<string | number, object>();
        const map = new Map<string | number, object>();
        for (const [step, of] of steps) {
          if (step === 'clear') for (const each of [table, map]) each.clear();
          else if (step === 'delete') assert.equal(table.delete(of), map.delete(of));
          else {
            const value = {};
            table.set(of, value);
            map.set(of, value);
          }
          assert.equal(table.has(of), map.has(of));
          assert.equal(table.get(of), map.get(of));
          assert.equal(table.size, map.size);
        }
        const visited: object[] = [];
        table.forEach((value) => visited.push(value));
        assert.deepEqual(new Set(visited), new Set(map.values()));
        assert.deepEqual(new Set(table.values()), new Set(map.values()));
      }),
    );
  });

  test('leaves what is gone to a young collection', () => {
    const table = new ShortStayTable<number, unknown[]>();
    let key = 0;
    const grown = oldGarbageBytes(() => {
      for (let count = 0; count < 1_000; count += 1) {
        table.set(key, new Array(100).fill(key));
        table.delete(key - 5);
        key += 1;
      }
    });
    // All that came would be 40 MB; a Map keeps them.
    assert.ok(grown < 2_000_000, `${grown} bytes`);
  });
});
