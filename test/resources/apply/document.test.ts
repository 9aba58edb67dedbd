import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { parseDocuments, type ParsedFile } from '../../../src/resources/apply/document.ts';
import type { Environment } from '../../../src/resources/apply/interpolate.ts';
import { formatProblem } from '../../../src/resources/problem.ts';

function parse(
  text: string,
  environment: Environment = {},
  syntax: 'yaml' | 'json' = 'yaml',
): ParsedFile {
  return parseDocuments('f.yaml', text, syntax, { environment, settings: new Set(['SECRET_KEY']) });
}

function valuesOf(text: string, environment: Environment = {}): unknown[] {
  const { documents, problems } = parse(text, environment);
  assert.deepEqual(problems, []);
  return documents.map(({ value }) => value);
}

function problemsOf(
  text: string,
  environment: Environment = {},
  syntax: 'yaml' | 'json' = 'yaml',
): string[] {
  return parse(text, environment, syntax).problems.map(formatProblem);
}

test('a file holds several documents, and empty ones do not count', () => {
  assert.deepEqual(valuesOf('# first\na: 1\n---\n---\nb: 2\n'), [{ a: 1 }, { b: 2 }]);
  assert.deepEqual(valuesOf('- a: 1\n- b: 2\n'), [{ a: 1 }, { b: 2 }]);
  assert.deepEqual(valuesOf('\uFEFFa: 1\n'), [{ a: 1 }]);
});

test('a part of a document knows its line, and a missing part that of what is around it', () => {
  const { documents } = parse('a: 1\n---\nkind: X\nlist:\n  - url: u\n    headers:\n      N: v\n');
  const lineOf = (...path: PropertyKey[]): number | undefined => documents[1]?.lineOf(path);
  assert.equal(lineOf(), 3);
  assert.equal(lineOf('kind'), 3);
  assert.equal(lineOf('list'), 4);
  assert.equal(lineOf('list', 0), 5);
  assert.equal(lineOf('list', 0, 'headers', 'N'), 7);
  assert.equal(lineOf('list', 0, 'headers', 'missing'), 6);
  assert.equal(lineOf('missing'), 3);
});

test('items of a list know their lines too', () => {
  const { documents } = parse('- a: 1\n- b: 2\n  c: 3\n');
  assert.equal(documents[1]?.lineOf(['c']), 3);
});

test('JSON is read with lines, tabs and escapes, as strictly as JSON.parse does', () => {
  const text = '{\n\t"kind": "Source",\n\t"id": "\\u00fc\\/\\ud83d\\ude00"\n}';
  const { documents } = parse(text, {}, 'json');
  assert.deepEqual(documents[0]?.value, JSON.parse(text));
  assert.equal(documents[0]?.lineOf(['id']), 3);
  for (const [broken, problem] of [
    ['{\n"a": 1,\n}', '3: is not valid JSON: expected double-quoted property name'],
    ['{"a": 1}\n}', '2: is not valid JSON: unexpected non-whitespace character'],
    ['a: 1', '1: is not valid JSON'],
    ['{\n"a": "s3cret",\n"b": tru\n}', '3: is not valid JSON'],
    ['{\n"a": 1,\n"b": nothing,\n"c": 2\n}', '3: is not valid JSON'],
    ['[\n1,\n', '3: is not valid JSON'],
  ] as const)
    assert.deepEqual(problemsOf(broken, {}, 'json'), [`f.yaml:${problem}`]);
});

test('any JSON document reads as JSON.parse reads it', () => {
  // What is, or almost is, a reference to a variable is left to tests of its own.
  const isPlain = (text: string): boolean => !/\$[{A-Z_]/.test(text);
  const keys = fc.string().filter((key) => key !== '__proto__' && isPlain(key));
  const leaf = fc.oneof(fc.string().filter(isPlain), fc.integer(), fc.boolean(), fc.constant(null));
  const documents = fc.dictionary(keys, fc.oneof(leaf, fc.array(leaf)), { noNullPrototype: true });
  fc.assert(
    fc.property(documents, fc.constantFrom(undefined, 2, '\t'), (document, indent) => {
      const parsed = parse(JSON.stringify(document, null, indent), {}, 'json');
      assert.deepEqual(parsed.problems, []);
      assert.deepEqual(parsed.documents[0]?.value, document);
    }),
  );
});

test('a mistake in JSON that JSON.parse takes is told with its line', () => {
  assert.deepEqual(problemsOf('{\n"a": 1,\n"b": { "c": 1,\n"c": 2 }\n}', {}, 'json'), [
    'f.yaml:4: is not valid YAML: Map keys must be unique',
  ]);
  assert.deepEqual(problemsOf('[\n{"a": "${ONE}"},\n{"b": "x${TWO}"}\n]', { ONE: '1' }, 'json'), [
    'f.yaml:3: b: the environment variable TWO is not set',
  ]);
  assert.deepEqual(problemsOf('{"a":\n{"__proto__": 1}}', {}, 'json'), [
    'f.yaml:2: __proto__ is not allowed as a key',
  ]);
});

test('JSON has its variables put in, and knows its lines, whatever its keys are', () => {
  const text = '[{"a": "$${X}"},\n{"a:": "${ONE}", "${k}": "v\\\\"}]';
  const { documents, problems } = parse(text, { ONE: '1' }, 'json');
  assert.deepEqual(problems, []);
  assert.deepEqual(
    documents.map(({ value }) => value),
    [{ a: '${X}' }, { 'a:': '1', '${k}': 'v\\' }],
  );
  assert.equal(documents[1]?.lineOf(['${k}']), 2);
});

test('environment variables are put in, also in flow style and in the middle of a text', () => {
  const environment = { SECRET: 's3:{cret}\n- x', HOST: 'example.com' };
  assert.deepEqual(
    valuesOf(
      'a: ${SECRET}\nb: { c: ${SECRET}, d: [${HOST}] }\ne: "https://${HOST}/${HOST}"\n',
      environment,
    ),
    [
      {
        a: environment.SECRET,
        b: { c: environment.SECRET, d: ['example.com'] },
        e: 'https://example.com/example.com',
      },
    ],
  );
});

test('a variable is always text, and is not looked into again', () => {
  const environment = { NUMBER: '16', REFERENCE: '${NUMBER}' };
  assert.deepEqual(valuesOf('a: ${NUMBER}\nb: ${REFERENCE}', environment), [
    { a: '16', b: '${NUMBER}' },
  ]);
});

test('$${ writes ${ itself', () => {
  assert.deepEqual(valuesOf('a: $${NAME}\nb: { c: $${NAME} }\nd: $$NAME $ {} $${'), [
    { a: '${NAME}', b: { c: '${NAME}' }, d: '$$NAME $ {} ${' },
  ]);
});

test('a missing variable is refused with its name and line, each one', () => {
  assert.deepEqual(problemsOf('a: 1\nb:\n  - ${ONE}\n  - x: { y: "${TWO}${ONE}" }\n'), [
    'f.yaml:3: b[0]: the environment variable ONE is not set',
    'f.yaml:4: b[1].x.y: the environment variable TWO is not set',
    'f.yaml:4: b[1].x.y: the environment variable ONE is not set',
  ]);
});

test('an empty variable is refused like a missing one: it would turn signing off in silence', () => {
  assert.deepEqual(problemsOf('a: ${SECRET}\n', { SECRET: '' }), [
    'f.yaml:1: a: the environment variable SECRET is empty; leave the field out for no value',
  ]);
});

test('a variable without braces is refused, because it would be taken for the text itself', () => {
  const reason = '$TOKEN is not replaced by a value; write ${TOKEN} for the value of the variable';
  assert.deepEqual(problemsOf('a: $TOKEN\nb: { c: Bearer $TOKEN }\n', { TOKEN: 'x' }), [
    `f.yaml:1: a: ${reason}`,
    `f.yaml:2: b.c: ${reason}`,
  ]);
  const query = 'select $BODY$it$BODY$ where a < $1';
  assert.deepEqual(valuesOf(`a: ${query}\nb: costs $5 or US$\n`), [
    { a: query, b: 'costs $5 or US$' },
  ]);
});

test('in a list of resources, a path starts at the resource', () => {
  assert.deepEqual(problemsOf('- a: 1\n- b: [${ONE}]\n'), [
    'f.yaml:2: b[0]: the environment variable ONE is not set',
  ]);
});

test('a reference that cannot be one is refused', () => {
  assert.match(problemsOf('a: ${A:-b}').join(), /f\.yaml:1: a: \$\{A:-b\} is not the name/);
  assert.match(problemsOf('a: ${}').join(), /is not the name/);
  assert.match(problemsOf('a: ${OPEN').join(), /has no closing }/);
});

test('references in keys and comments are left alone', () => {
  assert.deepEqual(valuesOf('# ${NOT_SET}\n"${NOT_SET}": 1\n'), [{ '${NOT_SET}': 1 }]);
});

test('broken YAML is one problem with its line', () => {
  assert.match(problemsOf('a: 1\nb: [1,\n').join('\n'), /^f\.yaml:\d: is not valid YAML: .+$/);
  assert.match(problemsOf('a: 1\na: 2\n').join('\n'), /^f\.yaml:2: is not valid YAML: .*unique/);
  assert.match(problemsOf('a: !secret x').join('\n'), /^f\.yaml:1: is not valid YAML: .*tag/);
  assert.match(problemsOf('? [a]\n: b').join('\n'), /^f\.yaml:1: is not valid YAML: .*string/);
});

test('a problem in one document does not hide those of the others', () => {
  assert.equal(problemsOf('a: ${ONE}\n---\na: ${TWO}\n').length, 2);
});

test('an alias that has no end, or no beginning, is told with its place', () => {
  const circles = 'kind: &k\n  - *k\n---\n&all\nid: { in: [*all] }\n---\nid: *gone\n';
  assert.deepEqual(problemsOf(circles), [
    'f.yaml:2: kind[0]: *k refers to a value that contains itself',
    'f.yaml:5: id.in[0]: *all refers to a value that contains itself',
    'f.yaml:7: id: *gone has no &gone before it',
  ]);
});

test('aliases work, but cannot grow a small file into a large one', () => {
  assert.deepEqual(valuesOf('a: &x [1]\nb: *x'), [{ a: [1], b: [1] }]);
  const levels = 'bcdefghi'.split('').map((name, index) => {
    const before = String.fromCharCode(97 + index);
    return `${name}: &${name} [${Array(9).fill(`*${before}`).join(',')}]`;
  });
  const bomb = ['a: &a [x]', ...levels].join('\n');
  assert.deepEqual(problemsOf(bomb), ['f.yaml:1: uses aliases more than 100 times']);
});

test('hostile nesting and keys are refused', () => {
  assert.match(problemsOf('['.repeat(20_000)).join(), /is not valid YAML/);
  assert.match(problemsOf('a: 1\n__proto__: {a: 1}').join(), /f\.yaml:2: __proto__ is not allowed/);
});

test('a file that the library cannot read has a sentence about the file', () => {
  const deep = '['.repeat(5_000) + ']'.repeat(5_000);
  assert.deepEqual(problemsOf(deep), ['f.yaml:1: is not valid YAML: it is nested too deep']);
  assert.deepEqual(problemsOf('%YAML 1.1\n---\n<<: 5\n'), [
    'f.yaml:3: is not valid YAML: Merge sources must be maps or map aliases',
  ]);
});

test('20,000 aliases are refused at once', () => {
  const start = process.cpuUsage();
  assert.deepEqual(problemsOf(`a: &a x\nb: [${'*a,'.repeat(20_000)}]`), [
    'f.yaml:1: uses aliases more than 100 times',
  ]);
  assert.ok(process.cpuUsage(start).user < 5_000_000, 'in microseconds');
});
