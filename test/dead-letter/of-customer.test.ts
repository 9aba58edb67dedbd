import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lettersOfCustomer } from '../../src/dead-letter/of-customer.ts';
import type { DeadLetter } from '../../src/dead-letter/dead-letter.ts';
import { recordKey } from '../../src/resources/config/stored.ts';
import type { StoredResources } from '../../src/resources/config/stored-resources.ts';
import { exampleDestination } from '../resources/examples.ts';

const stored: StoredResources = new Map(
  [
    exampleDestination({ id: 'crm', uid: 'second', customer: 'acme' }),
    exampleDestination({ id: 'dwh', customer: 'acme' }),
    exampleDestination({ id: 'ads', customer: 'acme-two' }),
    exampleDestination({ id: 'own' }),
  ].map((sealed) => [recordKey(sealed), { name: sealed, sealed: { sealed } }] as const),
);

function letter(
  destinationId: string,
  uid?: string,
): Pick<DeadLetter, 'destinationId' | 'envelope'> {
  const envelope = { destinationId, uid } as NonNullable<DeadLetter['envelope']>;
  return { destinationId, envelope };
}

test("a customer's letters are those of the destinations that they have now, and of no earlier one of the same id", () => {
  const own = lettersOfCustomer(stored, 'acme');
  assert.deepEqual([...own.destinations], ['crm', 'dwh']);
  assert.ok(own.has(letter('crm', 'second')));
  assert.ok(own.has(letter('dwh')));
  for (const other of [letter('crm'), letter('crm', 'third'), letter('ads'), letter('own')])
    assert.ok(!own.has(other));
  assert.ok(!own.has({ destinationId: 'dwh', envelope: undefined }), 'cannot be read');
});

test('a customer without destinations is told, with the one that was meant', () => {
  assert.throws(() => lettersOfCustomer(stored, 'acne'), {
    message: 'no destination is of customer acne; did you mean acme?',
  });
});
