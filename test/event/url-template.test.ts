import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { placeholdersOf } from '../../src/event/placeholders.ts';
import {
  fillTarget,
  parseUrlTemplate,
  shownPath,
  urlPathOf,
  urlValuesOf,
  type UrlTemplate,
  type UrlValues,
} from '../../src/event/url-template.ts';
import { callOf } from './some-calls.ts';

function templateOf(url: string): UrlTemplate {
  const template = parseUrlTemplate(url);
  return 'problem' in template ? assert.fail(template.problem) : template;
}

function filled(url: string, values: UrlValues): unknown {
  return fillTarget(templateOf(url), values);
}

test('values stand in the path and in the query, percent-encoded', () => {
  const values = { userId: 'a/b?c#d e%ü', 'properties.n': '1.5' };
  assert.equal(
    filled('https://x.example.com/users/{{userId}}/n{{properties.n}}?by={{userId}}&a=b', values),
    '/users/a%2Fb%3Fc%23d%20e%25%C3%BC/n1.5?by=a%2Fb%3Fc%23d%20e%25%C3%BC&a=b',
  );
  assert.equal(filled('https://x.example.com?u={{userId}}', { userId: '1' }), '/?u=1');
});

test('the rest of the URL is as URL has it', () => {
  assert.equal(
    filled('https://x.example.com/a/../b c/ü/{{userId}}', { userId: '1' }),
    '/b%20c/%C3%BC/1',
  );
});

test('a value that is missing is named, unless there is a default', () => {
  assert.deepEqual(filled('https://x.example.com/{{userId}}/{{traits.id}}', { userId: '1' }), {
    missing: 'traits.id',
  });
  assert.deepEqual(filled('https://x.example.com/{{userId}}', { userId: null }), {
    missing: 'userId',
  });
  assert.equal(filled('https://x.example.com/{{userId|nobody}}', { userId: null }), '/nobody');
  assert.equal(filled('https://x.example.com/{{properties.page|1}}', {}), '/1');
});

test('texts, numbers and truths can stand in a URL; nothing, dots, objects and long texts cannot', () => {
  const properties = {
    text: 'a',
    number: 0.5,
    big: 1e21,
    truth: false,
    none: null,
    empty: '',
    dot: '.',
    dots: '..',
    three: '...',
    object: {},
    list: ['a'],
    long: 'x'.repeat(1_025),
    __proto__: 'p',
  };
  const call = callOf(
    JSON.stringify({ type: 'track', userId: 'u', event: 'e', properties }).replace('"p"', '"p"'),
  );
  const paths = [...Object.keys(properties), 'missing'].map((key) =>
    urlPathOf(`properties.${key}`),
  );
  const values = urlValuesOf(paths, call);
  assert.deepEqual(
    Object.entries(values).map(([path, value]) => [path.replace('properties.', ''), value]),
    [
      ['text', 'a'],
      ['number', '0.5'],
      ['big', '1e+21'],
      ['truth', 'false'],
      ['none', null],
      ['empty', null],
      ['dot', null],
      ['dots', null],
      ['three', '...'],
      ['object', null],
      ['list', null],
      ['long', null],
      ['missing', null],
    ],
  );
});

test('whatever the values are, the URL keeps its origin and its other parts', () => {
  const url = 'https://x.example.com/v1/{{userId}}/a.{{event}}?q={{properties.q}}&r=1';
  const template = templateOf(url);
  const paths = placeholdersOf(template.target).map(({ text }) => urlPathOf(text));
  const anyText = fc.string({
    unit: fc.oneof(
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
      fc.constantFrom('.', '/', '%', '2e', '\\', '?', '#', '&', '{{', '}}'),
    ),
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(anyText, anyText, anyText, (userId, event, q) => {
      const call = callOf({ type: 'track', userId, event, properties: { q } });
      const target = fillTarget(template, urlValuesOf(paths, call));
      if (typeof target !== 'string') {
        assert.ok([userId, event, q].some((value) => /^\.{0,2}$/.test(value)));
        return;
      }
      const parsed = new URL(`https://x.example.com${target}`);
      assert.equal(parsed.href, `https://x.example.com${target}`);
      const [, version, user, kind = ''] = parsed.pathname.split('/');
      assert.equal(version, 'v1');
      assert.equal(decodeURIComponent(user ?? ''), userId.toWellFormed());
      assert.equal(decodeURIComponent(kind), `a.${event.toWellFormed()}`);
      assert.deepEqual(
        [...parsed.searchParams],
        [
          ['q', q.toWellFormed()],
          ['r', '1'],
        ],
      );
    }),
    { numRuns: 500 },
  );
});

test('what is shown of a URL has the names of its placeholders, and no query', () => {
  const shown = (url: string): string => shownPath(templateOf(url));
  assert.equal(
    shown('https://x.example.com/users/{{userId|none}}/x?token=t'),
    '/users/{{userId}}/x',
  );
  assert.equal(shown('https://x.example.com/a?u={{userId}}'), '/a');
});

test('a URL with a placeholder that is no placeholder is refused', () => {
  for (const [url, problem] of [
    ['https://{{userId}}.example.com/', /scheme, host or port/],
    ['https://x.example.com:{{properties.port}}/', /scheme, host or port/],
    ['{{context.page.url}}', /scheme, host or port/],
    ['https://x.example.com/{{userId', /has \{\{ without \}\}/],
    ['https://x.example.com/{{}}', /without a path/],
    ['https://x.example.com/{{userId}}/../a', /must not have \.\. behind a placeholder/],
    ['https://x.example.com/{{userId|..}}', /whose default cannot stand in a URL/],
    ['https://x.example.com:99999/{{userId}}', /valid host and port/],
  ] as const) {
    const template = parseUrlTemplate(url);
    assert.match('problem' in template ? template.problem : '', problem, url);
  }
});
