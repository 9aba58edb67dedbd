import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { parseKind, presentList, presentOne } from '../../src/resources/present.ts';
import { toDocument } from '../../src/resources/config/stored.ts';
import {
  exampleAudience,
  exampleComputedTrait,
  exampleDestination,
  exampleSource,
} from './examples.ts';

test('a kind is known in the spellings that people type', () => {
  for (const text of ['Source', 'source', 'sources', 'SOURCES'])
    assert.equal(parseKind(text), 'Source');
  for (const text of ['ComputedTrait', 'computedtraits', 'computed-trait', 'Computed-Traits'])
    assert.equal(parseKind(text), 'ComputedTrait');
  for (const text of ['', 's', 'sourcess', 'audiencess', 'computed', 'toString'])
    assert.throws(() => parseKind(text), {
      code: 'usage',
      message: /[Aa]llowed: source, destination, audience, computed-trait, notice-hook$/,
    });
});

test('a table shows one aligned line for each resource', () => {
  const sources = [exampleSource(), exampleSource({ id: 'b', name: 'B', writeKeys: [] })];
  assert.equal(
    presentList('Source', sources, 'table'),
    ['ID    NAME      WRITE KEYS', 'shop  Web shop  wk_shop', 'b     B         -'].join('\n'),
  );
  const limited = exampleDestination({ rateLimit: '90/m', maxInFlight: 2, enabled: false });
  assert.match(presentOne(limited, 'table'), /\ncrm +CRM +shop +no +https:\/\/crm\.example\.com$/);
  assert.match(
    presentOne(limited, 'wide'),
    /\ncrm +CRM +- +shop +no +shared +90\/m, 2 in flight +yes +https:\/\/crm\.example\.com +files$/,
  );
});

test('a table names customers and the manager where there is something to tell', () => {
  const plain = exampleDestination();
  const told = exampleDestination({ id: 'erp', customer: 'acme', managedBy: 'api' });
  assert.doesNotMatch(presentOne(plain, 'table'), /CUSTOMER|MANAGED/);
  const [head, ...rows] = presentList('Destination', [plain, told], 'table').split('\n');
  assert.match(head ?? '', /^ID +NAME +CUSTOMER .* MANAGED BY$/);
  assert.match(rows.join('\n'), /^crm +CRM +- .* files\nerp +CRM +acme .* api$/);
  assert.match(presentOne(told, 'yaml'), /^# managed by the API\nkind: Destination/);
  assert.partialDeepStrictEqual(JSON.parse(presentOne(told, 'json')), {
    customer: 'acme',
    managedBy: 'api',
  });
});

test('a table says under which trait an audience is delivered, and where its members are', () => {
  assert.match(
    presentOne(exampleAudience({ destinations: ['crm'] }), 'table'),
    /\nbig-spenders +Big Spenders +big_spenders +shop +crm +postgres$/,
  );
  assert.match(
    presentOne(exampleComputedTrait(), 'table'),
    /\nltv +Lifetime Value +lifetime_value +shop +all +ltv\.parquet$/,
  );
});

test('a table cannot be used to move the cursor of a terminal', () => {
  const escape = exampleDestination({ eventNames: ['\u001b[2J'] });
  // eslint-disable-next-line no-control-regex -- looking for one is the point
  assert.doesNotMatch(presentOne(escape, 'table') + presentOne(escape, 'yaml'), /\u001b/);
});

test('YAML and JSON are in the spelling of resource files', () => {
  const resources = [exampleDestination({ rateLimit: '90/m' }), exampleDestination({ id: 'b' })];
  const documents = resources.map(toDocument);
  const yaml = presentList('Destination', resources, 'yaml');
  assert.deepEqual(
    parseAllDocuments(yaml).map((document) => document.toJS() as unknown),
    documents,
  );
  assert.match(yaml, /^rateLimit: 90\/m$/m);
  assert.deepEqual(JSON.parse(presentList('Destination', resources, 'json')), documents);
  assert.deepEqual(JSON.parse(presentOne(exampleSource(), 'json')), exampleSource());
});

test('nothing to show is an empty list in every format', () => {
  assert.equal(presentList('Source', [], 'table'), 'ID  NAME  WRITE KEYS');
  assert.equal(presentList('Source', [], 'yaml'), '');
  assert.equal(presentList('Source', [], 'json'), '[]');
});
