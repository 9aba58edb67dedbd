import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findTooLarge } from '../../../src/resources/apply/sizes.ts';
import { formatPath } from '../../../src/resources/problem.ts';
import type { Destination } from '../../../src/resources/resource.ts';
import { exampleDestination } from '../examples.ts';

function places(changes: Partial<Destination>): readonly string[] {
  return findTooLarge(exampleDestination(changes)).map(({ path }) => formatPath(path));
}

function headersOf(count: number, value = 'x'): Readonly<Record<string, string>> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, value]));
}

const url = 'https://a.example.com/';

test('what every worker holds and each request carries has bounds, and what is within them is taken', () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `Name ${index}`);
  assert.deepEqual(
    places({
      webhooks: [{ url: url + 'x'.repeat(8_000), headers: headersOf(100) }],
      eventNames: names,
      sharedSecret: 'x'.repeat(1_024),
    }),
    [],
  );
  assert.deepEqual(
    places({
      webhooks: [
        { url, headers: headersOf(101) },
        { url: url + 'x'.repeat(8_192), headers: headersOf(20, 'x'.repeat(1_000)) },
      ],
      notify: { url: url + 'x'.repeat(8_192) },
      eventNames: [...names, 'x'.repeat(1_025)],
      sharedSecret: 'x'.repeat(1_025),
    }),
    [
      'webhooks[0].headers',
      'webhooks[1].url',
      'webhooks[1].headers',
      'notify.url',
      'sharedSecret',
      'eventNames[1000]',
      'eventNames',
    ],
  );
});
