import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { loadFiles } from '../../../src/resources/apply/load-files.ts';
import { formatProblem } from '../../../src/resources/problem.ts';

let folder: string;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postrider-files-'));
  await mkdir(path.join(folder, 'inner'));
  await mkdir(path.join(folder, 'empty'));
  const files: Record<string, string | Buffer> = {
    'b.yaml': 'id: b\n---\nid: c\n',
    'a.json': '{"id": "a"}',
    'notes.txt': 'not a resource',
    'inner/d.yaml': 'id: d\n',
    'empty.txt': '# nothing\n',
    'latin.txt': Buffer.from([0x61, 0x3a, 0x20, 0xe4]),
  };
  for (const [name, content] of Object.entries(files))
    await writeFile(path.join(folder, name), content);
});

after(() => rm(folder, { recursive: true }));

async function load(
  names: readonly string[],
  stdin = '',
): Promise<{ values: unknown[]; problems: string[] }> {
  const { documents, problems } = await loadFiles(
    names.map((name) => (name === '-' ? name : path.join(folder, name))),
    { environment: { NAME: 'n' }, settings: new Set(), stdin: Readable.from([stdin]) },
  );
  return {
    values: documents.map(({ value }) => value),
    problems: problems.map((each) => formatProblem(each).replaceAll(`${folder}${path.sep}`, '')),
  };
}

test('a folder stands for the resource files directly in it, by name', async () => {
  assert.deepEqual(await load(['.']), {
    values: [{ id: 'a' }, { id: 'b' }, { id: 'c' }],
    problems: [],
  });
});

test('several files are read in the order given', async () => {
  const { values } = await load(['inner/d.yaml', 'a.json']);
  assert.deepEqual(values, [{ id: 'd' }, { id: 'a' }]);
});

test('a hyphen stands for standard input', async () => {
  assert.deepEqual((await load(['-'], 'id: ${NAME}')).values, [{ id: 'n' }]);
  assert.deepEqual((await load(['-'], 'id: ${OTHER}')).problems, [
    'standard input:1: id: the environment variable OTHER is not set',
  ]);
});

test('what cannot be read is a problem that names the file, and the others are still read', async () => {
  const loaded = await load(['missing.yaml', 'empty.txt', 'latin.txt', 'empty', 'a.json']);
  assert.deepEqual(loaded, {
    values: [{ id: 'a' }],
    problems: [
      'missing.yaml: does not exist',
      'empty.txt: holds no resource',
      'latin.txt: is not UTF-8 text',
      'empty: has no .yaml, .yml, .json file in it',
    ],
  });
});
