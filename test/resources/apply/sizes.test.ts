import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findTooLarge } from '../../../src/resources/apply/sizes.ts';
import { formatPath } from '../../../src/resources/problem.ts';
import type { Destination } from '../../../src/resources/resource.ts';
import { encodeResource, recordKey } from '../../../src/resources/config/stored.ts';
import { decodeStored } from '../../../src/resources/config/stored-resources.ts';
import { exampleDestination, exampleKeys } from '../examples.ts';

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

test('what a webhook logs in with has bounds, and is still read when it is stored with longer, sealed secrets', () => {
  const loginOf = (more: number): Partial<Destination> => ({
    webhooks: [
      {
        url,
        headers: {},
        oauth2: {
          tokenUrl: url.padEnd(8_192 + more, 'x'),
          clientId: 'id',
          clientSecret: 'é'.repeat(4_096 + more),
          scope: 'x'.repeat(4_096 + more),
          auth: 'basic',
        },
        clientCertificate: { certificate: 'pem', privateKey: 'x'.repeat(65_536 + more) },
      },
    ],
  });
  assert.deepEqual(places(loginOf(0)), []);
  assert.deepEqual(places(loginOf(1)), [
    'webhooks[0].oauth2.tokenUrl',
    'webhooks[0].oauth2.clientSecret',
    'webhooks[0].oauth2.scope',
    'webhooks[0].clientCertificate.privateKey',
  ]);
  const largest = exampleDestination(loginOf(0));
  const stored = decodeStored(recordKey(largest), encodeResource(largest, exampleKeys));
  assert.equal(stored?.sealed?.sealed.id, largest.id);
});

test('the values of a filter and of a body, and their texts, have bounds together', () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => `id ${index}`);
  const listsOf = (count: number): Partial<Destination> => ({
    filter: Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`properties.a${index}`, { in: ids }]),
    ),
  });
  assert.deepEqual(places(listsOf(2)), []);
  assert.deepEqual(places(listsOf(3)), ['filter']);
  const textOf = (count: number): Partial<Destination> => ({
    filter: { userId: 'x'.repeat(count) },
  });
  assert.deepEqual(places(textOf(131_000)), []);
  assert.deepEqual(places(textOf(131_072)), ['filter']);
  const paths = ids.slice(0, 70).map((id) => `properties.${id}${'x'.repeat(950)}`);
  const rename = Object.fromEntries(paths.map((path) => [path, `${path}y`]));
  assert.deepEqual(places({ body: { rename } }), ['body']);
  assert.deepEqual(places({ body: { template: [Array<number>(990).fill(1)] } }), []);
  assert.deepEqual(places({ body: { template: [Array<number>(1_000).fill(1)] } }), ['body']);
});
