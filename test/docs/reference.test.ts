import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { everyMetric } from '../harness/every-metric.ts';
import { describeDefaults } from '../../src/settings/read.ts';
import { badges, badgesPath } from './badges.ts';
import { readPage, root } from './pages.ts';
import { referencePages } from './reference/pages.ts';
import { topology } from './reference/topics.ts';

const pages = await referencePages();

for (const [path, text] of pages)
  test(`${path} says what the code says`, () => {
    assert.equal(readPage(path), text, `run "npm run docs:reference", which writes ${path}`);
  });

test('the badges of the first page say what the manifests say', () => {
  assert.equal(readPage(badgesPath), badges(), 'run "npm run docs:reference"');
});

test('nobody writes a page of the reference by hand', () => {
  const found = readdirSync(new URL('docs/reference/', root)).map(
    (name) => `docs/reference/${name}`,
  );
  assert.deepEqual(found.sort(), [...pages.keys()].sort());
});

describe('the reference has a heading for each', () => {
  const headings = (path: string): string[] =>
    [...(pages.get(path) ?? '').matchAll(/^###? ([a-zA-Z_.\\<>0-9-]+)$/gm)].map(([, name = '']) =>
      name.replaceAll('\\', ''),
    );

  test('setting', () => {
    const found = headings('docs/reference/settings.md').filter((name) => /^[A-Z_]+$/.test(name));
    assert.deepEqual(found.sort(), Object.keys(describeDefaults()).sort());
  });

  test('topic', () => {
    const found = headings('docs/reference/topics.md').filter((name) => name.includes('.'));
    const wanted = [...topology.all, topology.dedicatedTopic('<id>')].map(({ name }) => name);
    assert.deepEqual(found.sort(), wanted.sort());
  });

  test('metric', () => {
    const found = headings('docs/reference/metrics.md').filter((name) => name.includes('_'));
    const metrics = everyMetric().getMetricsAsArray();
    const wanted = metrics.map(({ name }) => name).filter((name) => name.startsWith('postrider_'));
    assert.deepEqual(found.sort(), wanted.sort());
  });
});
