import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDocuments } from '../../../src/resources/apply/document.ts';
import { noVariables } from '../../../src/resources/apply/interpolate.ts';
import { checkFiles } from '../../../src/resources/apply/plan.ts';
import { encodeResource, decodeResource } from '../../../src/resources/config/stored.ts';
import { formatPath } from '../../../src/resources/problem.ts';
import { parseResource } from '../../../src/resources/schema/schema.ts';
import { exampleBounds, exampleDestination, exampleKeys } from '../examples.ts';

function issuesOf(body: unknown, payload = 'standard'): string[] {
  const parsed = parseResource({
    kind: 'Destination',
    id: 'crm',
    name: 'CRM',
    sources: ['shop'],
    webhooks: [{ url: 'https://crm.example.com/' }],
    payload,
    body,
  });
  return 'issues' in parsed
    ? parsed.issues.map(({ path, reason }) => `${formatPath(path)}: ${reason}`)
    : [];
}

const shapes: readonly object[] = [
  { omit: ['context.ip', 'traits.email'] },
  { pick: ['userId', 'properties.a\\.b'], rename: { 'properties.a\\.b': 'ab' } },
  { rename: { properties: 'data', 'properties.revenue': 'data.amount' } },
  { rename: { 'Previous ID': 'previous' } },
  { template: { id: '{{messageId}}', list: ['{{properties.total|0}}', null, 1.5], on: true } },
  { template: [] },
  { template: { text: 'no placeholder, } and {' } },
];

test('a shape is kept as it is written, also in the config topic', () => {
  for (const body of shapes) {
    assert.deepEqual(issuesOf(body), []);
    const destination = exampleDestination({ body });
    assert.deepEqual(destination.body, body);
    const stored = decodeResource(destination, encodeResource(destination, exampleKeys)).sealed;
    assert.deepEqual(stored.kind === 'Destination' && stored.body, body);
  }
});

const mistakes: readonly (readonly [body: unknown, ...issues: string[]])[] = [
  [{}, 'body: must have omit, pick, rename or template'],
  [{ rename: {} }, 'body: must have omit, pick, rename or template'],
  [
    { omits: ['context'] },
    'body.omits: is not a known field; did you mean omit? Allowed: omit, pick, rename, template',
  ],
  ['{{properties}}', 'body: must be a mapping'],
  [{ omit: 'context.ip' }, 'body.omit: must be a list'],
  [{ omit: [] }, 'body.omit: must name at least one path'],
  [{ omit: [1] }, 'body.omit[0]: must be text; put it in quotes'],
  [{ omit: ['context', 'context'] }, 'body.omit[1]: is named twice'],
  [{ omit: ['context..ip'] }, 'body.omit[0]: has an empty key; a dot in a key is written \\.'],
  [
    { omit: ['context'], pick: ['userId'] },
    'body.pick: must not stand beside omit; pick leaves out all else already',
  ],
  [{ omit: ['context'], template: {} }, 'body.template: must not stand beside omit'],
  [
    { omit: ['propertys.total'] },
    'body.omit[0]: is not in a body of payload: standard; did you mean properties? Those have: version, type, userId, anonymousId, event, name, groupId, properties, traits, context, timestamp, Previous ID, User ID',
  ],
  [{ pick: ['userId.x'] }, 'body.pick[0]: goes into userId, which is no mapping'],
  [{ rename: { userId: 'userId' } }, 'body.rename.userId: has the same path as its new one'],
  [
    { rename: { userId: 'id', event: 'id' } },
    'body.rename.event: has the new path id, as another path has',
  ],
  [
    { rename: { userId: 'a..b' } },
    'body.rename.userId: has an empty key; a dot in a key is written \\.',
  ],
  [
    { omit: ['properties'], rename: { 'properties.total': 'total' } },
    'body.rename.properties.total: is left out by omit, as properties',
  ],
  [
    { pick: ['properties.total'], rename: { userId: 'id' } },
    'body.rename.userId: is left out, because pick does not have it',
  ],
  [
    { omit: Array.from({ length: 101 }, (_, index) => `properties.p${index}`) },
    'body: must have at most 100 paths',
  ],
  [{ template: 'text' }, 'body.template: must be a mapping or a list'],
  [{ template: null }, 'body.template: must be a mapping or a list'],
  [{ template: { a: ['{{userId'] } }, 'body.template.a[0]: has {{ without }}'],
  [{ template: { a: '{{ }}' } }, 'body.template.a: has {{}} without a path'],
  [
    { template: { a: '{{properties..total|0}}' } },
    'body.template.a: has {{properties..total|0}}, whose path has an empty key; a dot in a key is written \\.',
  ],
  [
    { template: { a: 'x {{propertys.total}}' } },
    'body.template.a: has {{propertys.total}}, which begins with propertys; did you mean properties?',
  ],
  [
    { template: { a: '{{userId.name}}' } },
    'body.template.a: has {{userId.name}}, which goes into userId, which is a text',
  ],
  [
    { template: { a: '{{writeKey}}' } },
    'body.template.a: has {{writeKey}}, which names the write key, which is never sent',
  ],
  [
    { template: { '{{event}}': 1 } },
    'body.template.{{event}}: must not have a placeholder in its key',
  ],
  [{ template: { a: NaN } }, 'body.template.a: must be a number that JSON has'],
  [
    { template: { a: 'x'.repeat(16_384) } },
    'body.template: must have at most 16,384 characters as JSON',
  ],
  [{ template: nested(21) }, 'body.template: must not be nested deeper than 20'],
  [
    { template: Array.from({ length: 101 }, (_, index) => `{{properties.p${index}}}`) },
    'body.template: must have at most 100 placeholders',
  ],
  [
    { template: [...Array.from({ length: 10 }, () => '{{properties}}'), '{{properties.total}}'] },
    'body.template: must not have properties.total more than 10 times, by itself or in what is around it',
  ],
];

function nested(levels: number): unknown {
  return levels === 0 ? '{{userId}}' : [nested(levels - 1)];
}

for (const [body, ...issues] of mistakes) {
  test(`a shape is refused: ${issues.join('; ').slice(0, 100)}`, () => {
    assert.deepEqual(issuesOf(body), issues);
  });
}

test('with payload: full, a path may name any field of a call but its write key', () => {
  assert.deepEqual(issuesOf({ omit: ['messageId', 'own.field'] }, 'full'), []);
  assert.deepEqual(issuesOf({ omit: ['writeKey', 'propertys'] }, 'full'), [
    'body.omit[0]: names the write key, which is never sent',
    'body.omit[1]: begins with propertys; did you mean properties?',
  ]);
});

test('a mistake in a shape is told with its line', () => {
  const yaml = [
    'kind: Destination',
    'id: crm',
    'name: CRM',
    'sources: []',
    'webhooks: [{ url: https://crm.example.com/ }]',
    'body:',
    '  template:',
    "    id: '{{messageId}}'",
    "    lines: ['{{event', text]",
  ].join('\n');
  const files = parseDocuments('crm.yaml', yaml, 'yaml', noVariables);
  assert.throws(() => {
    checkFiles(files, 'none', exampleBounds);
  }, /^PostriderError: crm\.yaml:9: body\.template\.lines\[0\]: has \{\{ without \}\}$/);
});
