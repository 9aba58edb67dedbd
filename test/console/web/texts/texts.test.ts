import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';
import { de } from '../../../../src/console/web/texts/de.ts';
import { deManaging } from '../../../../src/console/web/texts/de-managing.ts';
import { en } from '../../../../src/console/web/texts/en.ts';
import { enManaging } from '../../../../src/console/web/texts/en-managing.ts';
import { ImportGraph } from '../../../harness/import-graph.ts';

const root = path.resolve(import.meta.dirname, '../../../..');
const web = 'src/console/web/';

/** What customers' pages load: the frame, their part, and nothing of staff's. */
function customersFiles(): readonly string[] {
  const graph = new ImportGraph(root);
  const staff = `${web}staff.tsx`;
  const files = ['main.tsx', 'app.tsx', 'customer.tsx'].flatMap((name) => [
    ...graph.reachedFrom(`${web}${name}`, (file) => file === staff),
  ]);
  return [...new Set(files)].filter((file) => file.startsWith(web) && file !== staff);
}

const attributesOfText = new Set(['title', 'label', 'alt', 'placeholder', 'caption', 'what']);

/** Texts for people in a file: what stands between tags, in an attribute that is read, or is a sentence. */
function literalTexts(name: string, source: string): readonly string[] {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    if (ts.isJsxText(node) && /\p{L}/u.test(node.text)) found.push(node.text.trim());
    const text = literalOf(node);
    if (text !== undefined && isForPeople(node, text)) found.push(text);
    ts.forEachChild(node, look);
  };
  look(file);
  return found;
}

function literalOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  return ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node)
    ? node.text
    : undefined;
}

function isForPeople(node: ts.Node, text: string): boolean {
  let at = node.parent;
  while (!ts.isJsxAttribute(at) && !ts.isJsxExpression(at) && !ts.isSourceFile(at)) at = at.parent;
  const attribute = ts.isJsxAttribute(at)
    ? at
    : ts.isJsxExpression(at) && ts.isJsxAttribute(at.parent)
      ? at.parent
      : undefined;
  if (attribute === undefined) return /\p{L}{2,},? \p{L}{2,}/u.test(text);
  const name = attribute.name.getText();
  return (attributesOfText.has(name) || /^aria-label$/.test(name)) && /\p{L}/u.test(text);
}

test('the files that customers reach have no text for people but those of the folder texts', () => {
  const files = customersFiles();
  assert.ok(files.length > 40, `only ${files.length} files`);
  assert.ok(!files.includes(`${web}screens/pipeline.tsx`));
  const found = files
    .filter((file) => !file.startsWith(`${web}texts/`) && !allowed.has(file))
    .flatMap((file) =>
      literalTexts(file, readFileSync(path.join(root, file), 'utf8')).map(
        (text) => `${file}: ${text}`,
      ),
    );
  assert.deepEqual(found, []);
});

/** Status lines of HTTP, which are in no language; programs; shapes that are drawn. */
const allowed = new Set(
  ['parts/answer.tsx', 'screens/manage/receivers.ts', 'parts/glyph.tsx'].map((file) => web + file),
);

test('a text between tags, in an attribute and as a sentence is found', () => {
  const source = `const a = <p class="note bad" title="Close">{ok ? 'Well done then' : name} Save</p>;`;
  assert.deepEqual(literalTexts('x.tsx', source), ['Close', 'Well done then', 'Save']);
});

/** `a.b.c` → the places of the text, in any order. */
function slotsOf(texts: object, at = ''): readonly string[] {
  return Object.entries(texts).flatMap(([name, text]: [string, unknown]) => {
    const here = `${at}.${name}`;
    if (typeof text !== 'string') return slotsOf(text as object, here);
    const slots = [...text.matchAll(/\{\w+\}/g)].map(([slot]) => slot);
    return `${here} ${slots.toSorted().join(' ')}`;
  });
}

test('each text has the same places to fill in, in both languages', () => {
  assert.deepEqual(slotsOf(de), slotsOf(en));
  assert.deepEqual(slotsOf(deManaging), slotsOf(enManaging));
});

test('no text is left in English', () => {
  const same = sameTexts({ ...en, ...enManaging }, { ...de, ...deManaging });
  const words = same.filter((text) => /\p{L}{3,} \p{L}{3,}/u.test(text.replaceAll(/\{\w+\}/g, '')));
  assert.deepEqual(words, []);
});

function sameTexts(one: object, other: object): readonly string[] {
  return Object.entries(one).flatMap(([name, text]: [string, unknown]) => {
    const match = (other as Readonly<Record<string, unknown>>)[name];
    if (typeof text === 'string') return text === match ? [text] : [];
    return sameTexts(text as object, match as object);
  });
}
