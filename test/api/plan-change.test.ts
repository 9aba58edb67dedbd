import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scopes, type Caller } from '../../src/api/access/caller.ts';
import { Directory } from '../../src/api/directory.ts';
import { viewOf } from '../../src/api/view.ts';
import { planChange, type PlannedChange, type Wanted } from '../../src/api/plan-change.ts';
import { ProblemError } from '../../src/http-api/problem.ts';
import type { FollowedResources } from '../../src/resources/config/config-topic.ts';
import { encodeResource, recordKey } from '../../src/resources/config/stored.ts';
import { decodeStored } from '../../src/resources/config/stored-resources.ts';
import type { Destination, Resource } from '../../src/resources/resource.ts';
import {
  exampleBounds,
  exampleDestination,
  exampleKeys,
  exampleSource,
} from '../resources/examples.ts';

const everybody: Caller = { user: 'ops', scopes: new Set(scopes), customers: undefined };
const acme: Caller = { user: 'link 1', scopes: new Set(scopes), customers: new Set(['acme']) };

function theirs(id: string, customer: string, more: Partial<Destination> = {}): Destination {
  return exampleDestination({ id, customer, managedBy: 'api', uid: `uid-${id}`, ...more });
}

function directoryOf(resources: readonly Resource[]): Directory {
  const stored = resources.map((resource) => {
    const key = recordKey(resource);
    return [key, decodeStored(key, encodeResource(resource, exampleKeys))] as const;
  });
  const followed = { resources: new Map(stored), onChange: () => undefined };
  return new Directory(followed as unknown as FollowedResources);
}

const all = directoryOf([
  exampleSource(),
  exampleSource({ id: 'inner', writeKeys: ['wk_inner'] }),
  theirs('acme-1', 'acme', { maxInFlight: 8 }),
  theirs('acme-2', 'acme2'),
  theirs('nobody-s', 'other'),
]);

function plan(
  wanted: Partial<Wanted>,
  caller: Caller = acme,
  mostDestinations = 20,
  directory = all,
): PlannedChange {
  return planChange(
    { method: 'put', kind: 'Destination', id: 'new', conditions: {}, caller, ...wanted },
    directory,
    {
      plan: { ...exampleBounds, secretKeys: exampleKeys, identityOf: () => ({ uid: 'made' }) },
      customers: { mostDestinations, sources: ['shop'] },
    },
  );
}

function refusal(
  wanted: Partial<Wanted>,
  caller: Caller = acme,
  most?: number,
  directory?: Directory,
): ProblemError {
  try {
    plan(wanted, caller, most, directory);
  } catch (error) {
    assert.ok(error instanceof ProblemError, String(error));
    return error;
  }
  assert.fail('it was allowed');
}

const body = { name: 'Hook', webhooks: [{ url: 'https://hook.example.com' }] };

test("a customer's new destination is theirs, gets the sources that customers may have, and a secret", () => {
  const { change, madeSecret } = plan({ body });
  const { resource } = change;
  assert.ok(resource?.kind === 'Destination');
  assert.deepEqual(
    [resource.customer, resource.managedBy, resource.sources, resource.uid],
    ['acme', 'api', ['shop'], 'made'],
  );
  assert.match(madeSecret ?? '', /^whsec_/);
  assert.equal(resource.sharedSecret, madeSecret);
});

test('a link may not be widened: no parameter leads to what is not theirs', () => {
  for (const customer of ['acme2', 'acm', 'ACME', 'other'])
    assert.equal(refusal({ body: { ...body, customer } }).status, 422, customer);
  for (const id of ['acme-2', 'nobody-s']) {
    assert.equal(refusal({ id, body }).status, 409);
    assert.match(refusal({ id, body }).message, /^The id [a-z0-9-]+ is taken/);
    for (const method of ['patch', 'delete', 'roll-secret'] as const)
      assert.equal(refusal({ id, method, body: { customer: 'acme' } }).status, 404, method);
  }
  const moved = refusal({ id: 'acme-1', method: 'patch', body: { customer: 'acme2' } });
  assert.deepEqual(moved.parts.errors?.[0]?.pointer, '/customer');
  const left = refusal({ id: 'acme-1', method: 'patch', body: { customer: null } });
  assert.deepEqual(left.parts.errors?.[0]?.pointer, '/customer');
});

test("a customer sets nothing of the platform's own means, and no source that is not for customers", () => {
  for (const more of [
    { topic: 'dedicated' },
    { rateLimit: '1000/s' },
    { disableAfter: 'never' },
    { maxInFlight: 4 },
    { retry: { window: '1h' } },
  ]) {
    const [field = ''] = Object.keys(more);
    const { parts } = refusal({ body: { ...body, ...more } });
    assert.deepEqual(
      parts.errors?.map(({ pointer }) => pointer),
      [`/${field}`],
    );
  }
  const foreign = refusal({ body: { ...body, sources: ['inner'] } });
  assert.deepEqual(
    foreign.parts.errors?.map(({ pointer }) => pointer),
    ['/sources/0'],
  );
  const unknown = refusal({ body: { ...body, sources: ['shopp'] } });
  assert.equal(unknown.parts.errors?.[0]?.detail, foreign.parts.errors[0]?.detail);
  const patched = plan({ id: 'acme-1', method: 'patch', body: { name: 'Mine' } });
  assert.ok(patched.change.resource?.kind === 'Destination');
  assert.equal(patched.change.resource.maxInFlight, 8);
});

test('a customer has so many destinations at the most, whoever makes them; those that it has can change', () => {
  for (const caller of [acme, everybody]) {
    const one = { ...body, customer: 'acme', sources: ['shop'] };
    const { parts } = refusal({ body: one }, caller, 1);
    assert.match(parts.errors?.[0]?.detail ?? '', /has 1 destination, and API_MAX_DEST/);
  }
  const patch = { id: 'acme-1', method: 'patch', body: { enabled: false } } as const;
  assert.equal(plan(patch, acme, 1).change.action, 'update');
});

test('a replacement without a secret keeps the one that there is; a new one signs beside the former', () => {
  const { change } = plan({ id: 'acme-1', body });
  assert.ok(change.resource?.kind === 'Destination');
  assert.deepEqual([change.resource.sources, change.resource.maxInFlight], [['shop'], 8]);
  assert.equal(change.resource.sharedSecret, exampleDestination().sharedSecret);
  const rolled = plan({ id: 'acme-1', method: 'roll-secret' });
  assert.ok(rolled.change.resource?.kind === 'Destination');
  assert.equal(rolled.change.resource.sharedSecret, rolled.madeSecret);
  assert.deepEqual(
    rolled.change.fields.map(({ path }) => path),
    ['sharedSecret'],
  );
});

test('of a thousand wrong fields a hundred are told, and the sentence says how many there are', () => {
  const unknown = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, index) => [`webhok${index}`, 1]),
  );
  const { parts, message } = refusal({ body: { ...body, ...unknown } });
  assert.equal(parts.errors?.length, 100);
  assert.match(
    message,
    /\/webhok0 is not a known field; did you mean webhooks\?.*, and 999 more\.$/,
  );
});

test('whoever may not read a hidden URL cannot have it shown either, by changing or replacing the destination', () => {
  const hidden = 'https://hooks.example.com/T0/B0/xyz';
  const directory = directoryOf([
    exampleSource(),
    theirs('slack', 'acme', {
      secretUrl: true,
      webhooks: [{ url: hidden, headers: { 'X-Token': 's3cret' } }],
      notify: { url: `${hidden}/notices` },
    }),
  ]);
  const stored = directory.get('Destination', 'slack');
  assert.ok(stored?.sealed);
  const { webhooks, notify } = viewOf(stored.sealed.sealed);
  const shown = { name: 'Slack', sources: ['shop'], webhooks, notify };
  for (const wanted of [
    { method: 'patch', body: { secretUrl: false } },
    { method: 'patch', body: { secretUrl: null } },
    { method: 'put', body: shown },
  ] as const) {
    const { parts, message } = refusal({ ...wanted, id: 'slack' }, acme, 20, directory);
    assert.deepEqual(
      parts.errors?.map(({ pointer }) => pointer),
      ['/webhooks/0/url', '/notify/url'],
    );
    assert.doesNotMatch(message, /xyz/);
  }
  const given = { webhooks: [{ url: hidden }], notify: { url: `${hidden}/notices` } };
  for (const wanted of [
    { method: 'patch', body: { secretUrl: false, ...given } },
    { method: 'patch', body: { name: 'Renamed' } },
    { method: 'put', body: { ...shown, secretUrl: true } },
  ] as const) {
    const { resource } = plan({ ...wanted, id: 'slack' }, acme, 20, directory).change;
    assert.ok(resource?.kind === 'Destination');
    assert.equal(resource.webhooks[0]?.url, hidden);
  }
});
