import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { checklist } from './checklist.ts';
import { Production } from './production.ts';
import { render } from './render.ts';

test('the docs have exactly the checklist that is asserted here', () => {
  const docs = new URL('../../docs/', import.meta.url);
  const pages = readdirSync(docs).filter((name) => name.endsWith('.md'));
  const sections = pages.flatMap((page) => {
    const text = readFileSync(new URL(page, docs), 'utf8');
    return text.split('\n## Checklist\n').slice(1);
  });
  assert.equal(sections.length, 1);
  const section = sections[0]?.split('\n## ')[0] ?? '';
  const sentences = [...section.matchAll(/^- (.+)$/gm)].map(([, sentence]) => sentence);
  assert.deepEqual(sentences, Object.keys(checklist));
});

for (const [sentence, check] of Object.entries(checklist)) {
  testNeeding([programs.kustomize], sentence, (kustomize) => {
    check(new Production(render(kustomize, 'everything')));
  });
}
