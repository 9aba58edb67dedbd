import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeResource,
  encodeResource,
  maskResource,
  toDocument,
} from '../../../src/resources/config/stored.ts';
import { formatPath } from '../../../src/resources/problem.ts';
import type { Destination, Webhook } from '../../../src/resources/resource.ts';
import { parseResource } from '../../../src/resources/schema/schema.ts';
import { exampleDestination, exampleHook, exampleKeys } from '../examples.ts';

const url = 'https://crm.example.com/users/{{userId}}?a={{properties.accountId|none}}';

function webhookOf(changes: object): Webhook | undefined {
  const { webhooks } = exampleDestination({
    webhooks: [{ url: 'https://crm.example.com/', ...changes }],
  });
  return webhooks[0];
}

function issuesOf(...webhooks: readonly object[]): string[] {
  const parsed = parseResource({ ...toDocument(exampleDestination()), webhooks });
  return 'issues' in parsed
    ? parsed.issues.map(({ path, reason }) => `${formatPath(path)}: ${reason}`)
    : [];
}

test('the usual method is stored as none, so that former releases can read the destination', () => {
  assert.equal(webhookOf({})?.method, undefined);
  assert.equal(webhookOf({ method: 'POST' })?.method, undefined);
  assert.equal(webhookOf({ method: 'PUT' })?.method, 'PUT');
});

test('with placeholders a method is stored, so that former releases do not take them for the URL', () => {
  assert.equal(webhookOf({ url })?.method, 'POST');
  assert.equal(webhookOf({ url, method: 'PATCH' })?.method, 'PATCH');
});

test('who cannot read a secret URL knows its placeholders, and no document has them', () => {
  const destination = exampleDestination({
    webhooks: [{ url }, { url: 'https://crm.example.com/{{userId}}', method: 'PUT' }],
    secretUrl: true,
  });
  assert.deepEqual(destination.urlPaths, ['userId', 'properties.accountId']);
  const stored = decodeResource(destination, encodeResource(destination, exampleKeys));
  const masked = maskResource(stored) as Destination;
  assert.deepEqual(masked.urlPaths, ['userId', 'properties.accountId']);
  assert.doesNotMatch(JSON.stringify(masked.webhooks), /userId/);
  assert.deepEqual(
    masked.webhooks.map(({ method }) => method),
    ['POST', 'PUT'],
  );
  assert.doesNotMatch(JSON.stringify(toDocument(masked)), /accountId/);
});

test('a mistake in a URL with placeholders, or in a method, is told', () => {
  assert.deepEqual(issuesOf({ url: 'https://{{userId}}.example.com/' }), [
    'webhooks[0].url: must not have a placeholder in its scheme, host or port',
  ]);
  assert.deepEqual(issuesOf({ url: 'https://a.example.com/{{propertys.id}}' }), [
    'webhooks[0].url: has {{propertys.id}}, which begins with propertys; did you mean properties?',
  ]);
  assert.deepEqual(issuesOf({ url: 'https://a.example.com/{{userId}} x' }), [
    'webhooks[0].url: must not contain spaces or control characters',
  ]);
  assert.deepEqual(issuesOf({ url, method: 'DELETE' }), [
    'webhooks[0].method: must be one of POST, PUT, PATCH',
  ]);
  const many = Array.from({ length: 11 }, (_, index) => `{{properties.p${index}}}`);
  assert.deepEqual(issuesOf({ url: `https://a.example.com/${many.join('/')}` }), [
    'webhooks: must have placeholders with at most 10 different paths',
  ]);
});

test('a notice hook has neither placeholders nor a method', () => {
  const issues = (changes: object): unknown => {
    const parsed = parseResource({ ...toDocument(exampleHook()), ...changes });
    return 'issues' in parsed && parsed.issues.map(({ reason }) => reason);
  };
  assert.deepEqual(issues({ url }), ['must not have placeholders: a notice is no call']);
  assert.match(String(issues({ method: 'PUT' })), /is not a known field/);
});
