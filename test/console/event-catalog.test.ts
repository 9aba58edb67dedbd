import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCatalog } from '../../src/console/api/event-catalog.ts';

test('a catalogue of events is read in its order', () => {
  const text = `
- name: Order Completed
  description: A customer has paid.
  example: { event: Order Completed, properties: { total: 12 } }
- { type: page, name: Home }
- { type: identify }
`;
  assert.deepEqual(parseCatalog('events.yaml', text), [
    {
      type: 'track',
      name: 'Order Completed',
      description: 'A customer has paid.',
      example: { event: 'Order Completed', properties: { total: 12 } },
    },
    { type: 'page', name: 'Home' },
    { type: 'identify' },
  ]);
});

test('one that is wrong is refused with its line', () => {
  for (const [text, message] of [
    ['- { name: a }\n- { type: delete, name: b }', /^events\.yaml:2: type: must be one of track/],
    ['- { name: a }\n- { nmae: b }', /^events\.yaml:2: nmae: unknown field; allowed: type, name/],
    ['- { description: x }', /^events\.yaml:1: .*a track event needs a name/],
    ['- { name: a }\n- { name: a }', /^events\.yaml:2: name: a is there twice/],
    ['- { name: a, example: text }', /example: must be a map/],
    ['- name: [', /^events\.yaml:/],
    [`- { name: '${'x'.repeat(2 ** 20)}' }`, /longer than 1 MB/],
  ] as const)
    assert.throws(() => parseCatalog('events.yaml', text), { code: 'setting-invalid', message });
});
