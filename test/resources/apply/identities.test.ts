import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  identitiesBefore,
  identityRecords,
  newIdentity,
} from '../../../src/resources/apply/identities.ts';
import type { Change } from '../../../src/resources/apply/plan.ts';
import type { ResourceName } from '../../../src/resources/config/stored.ts';
import { pauseRecord, uidRecord } from '../../../src/resources/pauses/pause.ts';
import { Pauses } from '../../../src/resources/pauses/pauses.ts';
import { exampleDestination, exampleSource } from '../examples.ts';

const topic = 'p.pauses';
const crm = { kind: 'Destination', id: 'crm' } as const;
const ops = { kind: 'NoticeHook', id: 'ops' } as const;

function created(uid?: string): Change {
  const resource = exampleDestination(uid === undefined ? {} : { uid });
  return { ...crm, action: 'create', fields: [], resource, value: '{}' };
}

function deleted({ kind, id }: ResourceName): Change {
  return { kind, id, action: 'delete', fields: [], value: null };
}

function pausesWith(...records: readonly ReturnType<typeof pauseRecord>[]): Pauses {
  const pauses = new Pauses();
  for (const { key, value } of records)
    pauses.apply({
      key: Buffer.from(String(key)),
      value: value === null ? null : Buffer.from(value),
      timestampMs: 0,
    });
  return pauses;
}

test('no two destinations get the same uid', () => {
  const uids = Array.from({ length: 100 }, () => newIdentity().uid);
  assert.equal(new Set(uids).size, 100);
  for (const uid of uids) assert.match(uid ?? '', /^[\w-]{12}$/);
});

test('after the config topic was lost, each destination is the one that it was, and its name says so', () => {
  const changes = [created('second'), { ...created(), ...ops }];
  const written = identityRecords(changes, [], topic).before;
  assert.deepEqual(written, [uidRecord(topic, 'crm', 'second')]);
  const since = new Date(0).toISOString();
  const lost = identitiesBefore(
    pausesWith(...written, pauseRecord(topic, { id: 'ads' }, { since })),
  );
  assert.deepEqual(
    [crm, { ...crm, id: 'ads' }, ops].map((name) => lost(name).uid),
    ['second', undefined, undefined],
  );
  assert.match(lost(crm).note ?? '', /^the config topic is empty: .* last destination of this id/);
  assert.match(lost(ops).note ?? '', /^the config topic is empty: .* first destination of this id/);
  assert.deepEqual(identitiesBefore(pausesWith())(crm), { uid: undefined });
});

test('what pauses has under the id of a deleted destination goes with it', () => {
  const source = { ...created(), kind: 'Source', id: 'shop', resource: exampleSource() } as const;
  const changes = [deleted(crm), deleted(ops), deleted(source), source];
  const { before, after } = identityRecords(changes, ['ads'], topic);
  assert.deepEqual(before, [{ topic, key: 'ended:ads', value: null }]);
  assert.deepEqual(
    after.map(({ key, value }) => [key, value]),
    ['crm', 'notices:ops'].flatMap((id) => [
      [id, null],
      [`resumed:${id}`, null],
      [`recalled:${id}`, null],
      [`uid:${id}`, null],
    ]),
  );
});
