import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import { consoleTokens } from '../../src/console/access/tokens.ts';
import { parseTokens } from '../../src/http-api/tokens.ts';
import { parseResource } from '../../src/resources/schema/schema.ts';
import { runCommand } from '../harness/run-command.ts';
import { blocksOf, codeIn, rowsOf, sectionOf } from './blocks.ts';
import { pages, readPage } from './pages.ts';

interface Shown {
  readonly page: string;
  readonly documents: readonly object[];
}

/** What pages show to be applied. */
const shown = pages.map((page): Shown => ({ page, documents: documentsOf(readPage(page)) }));

for (const { page, documents } of shown.filter((each) => each.documents.length > 0)) {
  test(`apply takes every resource that ${page} shows`, async () => {
    const yaml = documents.map((document) => stringify(document)).join('---\n');
    const environment = {
      PATH: process.env['PATH'] ?? '',
      LOG_FORMAT: 'json',
      ...variablesIn(yaml),
    };
    const ended = await runCommand(['apply', '--dry-run', '-f', '-'], environment, yaml);
    assert.equal(ended.code, 0, `${ended.stderr}\n${yaml}`);
    assert.match(ended.stderr, /the files are valid/);
  });
}

test('the pages of destinations and audiences show resources of every kind', () => {
  const kinds = new Set(
    shown.flatMap(({ page, documents }) =>
      /destinations|audiences/.test(page) ? documents.map(kindOf) : [],
    ),
  );
  assert.deepEqual([...kinds].sort(), [
    'Audience',
    'ComputedTrait',
    'Destination',
    'NoticeHook',
    'Source',
  ]);
});

for (const [kind, page, heading] of [
  ['Source', 'docs/destinations.md', 'Sources'],
  ['Destination', 'docs/destinations.md', 'Destinations'],
  ['NoticeHook', 'docs/destinations.md', 'Notice hooks'],
] as const) {
  test(`${page} lists exactly the fields of a ${kind}`, () => {
    const [table = ''] = sectionOf(readPage(page), heading).split('\n### ');
    const listed = rowsOf(table).flatMap(([name]) => codeIn(name));
    assert.deepEqual(listed.sort(), allowedFields({ kind }).sort());
  });
}

test('docs/audiences.md lists exactly the fields of an Audience and a ComputedTrait', () => {
  const listed = rowsOf(sectionOf(readPage('docs/audiences.md'), 'Fields')).flatMap(([name]) =>
    codeIn(name),
  );
  const allowed = ['Audience', 'ComputedTrait'].flatMap((kind) => allowedFields({ kind }));
  assert.deepEqual(listed.sort(), [...new Set(allowed)].sort());
});

test('docs/audiences.md lists exactly the fields of where lists come from', () => {
  const page = sectionOf(readPage('docs/audiences.md'), 'Where lists come from');
  const [table = ''] = page.split('\n### ');
  const listed = rowsOf(table).flatMap(([name]) => codeIn(name));
  const sources = [{ file: 'x.csv' }, { postgres: 'x' }, { sql: 'x' }];
  const allowed = sources.flatMap((from) =>
    allowedFields({ kind: 'ComputedTrait', values: from }, 'values'),
  );
  assert.deepEqual(listed.sort(), [...new Set(allowed)].sort());
});

test('the console takes the file of tokens that its page shows', () => {
  const [file] = blocksOf(readPage('docs/console.md')).filter(({ text }) =>
    text.includes('sha256:'),
  );
  const tokens = parseTokens(consoleTokens, 'tokens.yaml', file?.text ?? '');
  assert.deepEqual(
    tokens.map(({ role }) => role),
    ['operator', 'viewer'],
  );
});

/** Resources, and where a list comes from as part of one. */
function documentsOf(markdown: string): object[] {
  const yaml = blocksOf(markdown).filter(({ language }) => language === 'yaml');
  const inCommands = [...markdown.matchAll(/<<'YAML'\n([^]*?)^YAML$/gm)].map(
    ([, text = '']) => text,
  );
  return [...yaml.map(({ text }) => text), ...inCommands].flatMap((text) =>
    parseAllDocuments(text).flatMap((document, index) => {
      const value = document.toJS() as unknown;
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
      if ('kind' in value) return 'apiVersion' in value ? [] : [value];
      const [kind] = 'members' in value ? ['Audience'] : 'values' in value ? ['ComputedTrait'] : [];
      const id = `list-${index}`;
      return kind === undefined ? [] : [{ kind, id, name: id, source: 'shop', ...value }];
    }),
  );
}

function kindOf(document: object): unknown {
  return 'kind' in document ? document.kind : undefined;
}

/** A value for each variable that the text names, of the kind that its name tells. */
function variablesIn(text: string): Record<string, string> {
  const names = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name);
  const valueOf = (name: string): string =>
    name === 'DATABASE_URL'
      ? 'postgres://user:password@host:5432/database'
      : name.endsWith('_URL')
        ? 'https://chat.example.com/hook'
        : 'teehee';
  return Object.fromEntries(names.map((name) => [name, valueOf(name)]));
}

/** What the schema says is allowed, in answer to a field that is not. */
function allowedFields(document: object, field?: string): string[] {
  const withOdd = { ...document, zzzzzzzz: 1 };
  const nested = field === undefined ? withOdd : { ...document, [field]: oddIn(document, field) };
  const parsed = parseResource(nested);
  const issues = 'issues' in parsed ? parsed.issues : [];
  const issue = issues.find(({ path }) => path.at(-1) === 'zzzzzzzz');
  const [, allowed = ''] = /allowed: (.*)$/i.exec(issue?.reason ?? '') ?? [];
  assert.notEqual(allowed, '', JSON.stringify(issues));
  return allowed.split(', ');
}

function oddIn(document: object, field: string): object {
  const given: unknown = Object.entries(document).find(([name]) => name === field)?.[1];
  return { ...(given as object), zzzzzzzz: 1 };
}
