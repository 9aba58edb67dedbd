import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { isTraitName, traitName } from '../../../src/resources/schema/trait-name.ts';

test('a name becomes the trait that a data team expects', () => {
  for (const [name, trait] of [
    ['Big Spenders', 'big_spenders'],
    ['Big Spenders (30 Days)', 'big_spenders_30_days'],
    ['VIP30Days', 'vip30_days'],
    ['VIPCustomers', 'vip_customers'],
    ['newUsers', 'new_users'],
    ['HTTPServer2Go', 'http_server2_go'],
    ['ABC', 'abc'],
    ['already_snake_case', 'already_snake_case'],
    ['  Lifetime -- Value £ ', 'lifetime_value'],
    ['__a__b__', 'a_b'],
    ['30 Days', '30_days'],
    ['Große Käufer', 'große_käufer'],
    ['Cafe\u0301s', 'cafés'],
    ['ÉtéÉtranger', 'été_étranger'],
    ['İndirim', 'indirim'],
    ['大口顧客 2026', '大口顧客_2026'],
    ['x\u{1d7d8}Y', 'x\u{1d7d8}_y'],
  ] as const)
    assert.equal(traitName(name), trait);
});

test('a name without letters and digits gives no trait', () => {
  for (const name of ['', ' ', '!?', '___', '\u0301', '€']) assert.equal(traitName(name), '');
});

const names = fc.string({ unit: 'binary', maxLength: 40 });
const plainNames = fc.string({ unit: 'binary-ascii', maxLength: 40 });

test('whatever the name, the trait is words of letters and digits, or nothing', () => {
  fc.assert(
    fc.property(names, (name) => {
      const trait = traitName(name);
      assert.ok(trait === '' || isTraitName(trait), JSON.stringify(trait));
      assert.equal(trait, trait.toLowerCase());
      assert.equal(trait === '', !/[\p{L}\p{N}]/u.test(name.normalize('NFC')));
    }),
    { numRuns: 2_000 },
  );
});

test('spelling the same characters in another way gives the same trait', () => {
  fc.assert(
    fc.property(names, (name) => {
      assert.equal(traitName(name.normalize('NFD')), traitName(name.normalize('NFC')));
    }),
  );
});

test('a trait is its own trait, and what surrounds a name does not matter', () => {
  fc.assert(
    fc.property(plainNames, fc.stringMatching(/^[ _().,!-]{0,5}$/), (name, around) => {
      const trait = traitName(name);
      assert.equal(traitName(trait), trait);
      assert.equal(traitName(`${around}${name}${around}`), trait);
    }),
  );
});

test('no letter or digit is lost or moved', () => {
  fc.assert(
    fc.property(plainNames, (name) => {
      const kept = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');
      assert.equal(kept(traitName(name)), kept(name));
    }),
  );
});
