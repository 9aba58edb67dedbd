import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTypes } from '../../../../../src/event/call.ts';
import {
  changedBy,
  entriesOf,
  entryAt,
  eventFaults,
  fieldsOf,
  merged,
  newId,
  noEntries,
  noNotes,
  notesAfter,
  patchOf,
  urlFaults,
  type Entries,
  type Managed,
  type UrlEntry,
} from '../../../../../src/console/web/screens/manage/entries.ts';

const managed: Managed = {
  id: 'crm',
  name: 'CRM',
  managedBy: 'api',
  webhooks: [
    { url: 'https://a.example/in', headers: { 'X-Token': '(secret)' } },
    { url: 'https://b.example/in', method: 'PUT' },
  ],
  events: ['track', 'identify'],
  eventNames: ['Order Completed'],
  notify: { url: 'https://a.example/notices' },
};
const entries = entriesOf(managed);

test('what was not changed is not written', () => {
  assert.deepEqual(patchOf(managed, entries), {});
});

test('a changed URL goes back with what else its webhook has, and its neighbors as they came', () => {
  const [a, b] = entries.urls;
  const changed = { ...entries, urls: [{ ...a, url: ' https://c.example/in ' }, b ?? { url: '' }] };
  assert.deepEqual(patchOf(managed, changed), {
    webhooks: [
      { url: 'https://c.example/in', headers: { 'X-Token': '(secret)' } },
      { url: 'https://b.example/in', method: 'PUT' },
    ],
  });
});

test('of a removed URL nothing goes to another, and a new one has nothing but itself', () => {
  const urls = [...entries.urls.slice(1), { url: 'https://new.example' }];
  assert.deepEqual(patchOf(managed, { ...entries, urls }), {
    webhooks: [{ url: 'https://b.example/in', method: 'PUT' }, { url: 'https://new.example' }],
  });
});

test('all events, whatever their name, and no notices are fields that go', () => {
  const all: Entries = { ...entries, types: callTypes, names: undefined, notify: ' ' };
  assert.deepEqual(patchOf(managed, all), { events: null, eventNames: null, notify: null });
  const noTrack: Entries = { ...entries, types: ['page'] };
  assert.deepEqual(patchOf(managed, noTrack), { events: ['page'], eventNames: null });
});

test('a new endpoint has only what was entered, and a signature that can change its secret', () => {
  const typed = { ...noEntries, name: 'CRM', urls: [{ url: 'https://a.example/in' }] };
  const least = { name: 'CRM', webhooks: [{ url: 'https://a.example/in' }], signature: 'standard' };
  assert.deepEqual(fieldsOf(typed), least);
  const some: Entries = { ...typed, types: ['track'], names: ['A*'], notify: 'https://n.example' };
  assert.deepEqual(fieldsOf(some), {
    ...least,
    events: ['track'],
    eventNames: ['A*'],
    notify: { url: 'https://n.example' },
  });
});

test("after somebody else's change, own entries stay and the others are theirs", () => {
  const mine = { ...entries, name: 'My CRM' };
  const theirs = {
    ...entries,
    name: 'Their CRM',
    urls: [{ url: 'https://new.example', was: 'https://new.example' }],
  };
  assert.deepEqual(changedBy(entries, theirs), ['name', 'urls']);
  assert.deepEqual(merged(entries, mine, theirs), { ...theirs, name: 'My CRM' });
});

test('own URLs keep the webhooks that they belong to, also where somebody else has changed or removed one', () => {
  const [a, b] = entries.urls;
  assert.ok(a !== undefined && b !== undefined);
  const mine = { ...entries, urls: [{ ...a, url: 'https://mine.example' }, b] };
  const moved = { url: 'https://moved.example', was: 'https://moved.example' };
  assert.deepEqual(merged(entries, mine, { ...entries, urls: [moved, b] }).urls, [
    { url: 'https://mine.example', was: 'https://moved.example' },
    b,
  ]);
  const fewer = merged(entries, mine, { ...entries, urls: [b] });
  assert.deepEqual(
    patchOf({ ...managed, webhooks: managed.webhooks.slice(1) }, fewer)['webhooks'],
    [{ url: 'https://mine.example' }, { url: 'https://b.example/in', method: 'PUT' }],
  );
});

test('a URL that somebody else removed or changed does not come back because another one was entered', () => {
  const [a, b] = entries.urls;
  assert.ok(a !== undefined && b !== undefined);
  const [c, d] = [
    { url: 'https://c.example' },
    { url: 'https://d.example', was: 'https://d.example' },
  ];
  const mine = { ...entries, urls: [a, b, c] };
  const after = (...theirs: readonly UrlEntry[]): readonly UrlEntry[] =>
    merged(entries, mine, { ...entries, urls: theirs }).urls;
  assert.deepEqual(after(b), [b, c]);
  assert.deepEqual(after(d, b), [d, b, c]);
  // It was removed, and another one added behind.
  assert.deepEqual(after(b, d), [b, c]);
  const onlyA = { ...entries, urls: [a] };
  assert.deepEqual(merged(entries, onlyA, { ...entries, urls: [b] }).urls, [b]);
});

test('no problem of a URL stands at another one after a URL has come or gone', () => {
  const notes = {
    ...noNotes,
    faults: [
      { at: 'urls', index: 1, fault: 'url-wrong' },
      { at: 'names', index: 0, fault: 'names-missing' },
    ],
    refused: [
      { pointer: '/webhooks/1/url', detail: 'is an inner address' },
      { pointer: '/name', detail: 'is too long' },
    ],
  } as const;
  const [a, b] = entries.urls;
  assert.ok(a !== undefined && b !== undefined);
  assert.deepEqual(notesAfter(notes, entries, { ...entries, urls: [b] }), {
    ...noNotes,
    faults: notes.faults.slice(1),
    refused: notes.refused.slice(1),
  });
  const typed = { ...entries, urls: [a, { ...b, url: 'https://b.example/i' }] };
  assert.deepEqual(notesAfter(notes, entries, typed), notes);
});

test("the API's pointers lead to the entries", () => {
  assert.deepEqual(entryAt('/webhooks/1/url'), { field: 'urls', index: 1 });
  assert.deepEqual(entryAt('/eventNames/3'), { field: 'names', index: 0 });
  assert.equal(entryAt('/rateLimit'), undefined);
});

test('a missing URL, one without a host, no kind and no name are seen before they are sent', () => {
  const urls = [' ', 'https://example.com', 'example.com/in'].map((url) => ({ url }));
  assert.deepEqual(urlFaults({ urls }), [
    { at: 'urls', index: 0, fault: 'url-missing' },
    { at: 'urls', index: 2, fault: 'url-wrong' },
  ]);
  const faultsOf = (wanted: Partial<Entries>): readonly string[] =>
    eventFaults({ ...noEntries, ...wanted }).map(({ fault }) => fault);
  assert.deepEqual(faultsOf({ types: [] }), ['types-missing']);
  assert.deepEqual(faultsOf({ names: [] }), ['names-missing']);
  assert.deepEqual(faultsOf({ types: ['page'], names: [] }), []);
});

test('a new id tells the host, and is one that the API takes', () => {
  const id = newId('https://Hooks.Acme.example:8443/in?x=1', () => 0.5);
  assert.equal(id, 'hooks-acme-example-iiiiii');
  for (const url of [
    'https://[::1]/in',
    'https://münchen.example',
    'nothing',
    `https://${'a'.repeat(63)}.example`,
  ])
    assert.match(newId(url), /^[a-z0-9][a-z0-9-]{0,46}$/);
});
