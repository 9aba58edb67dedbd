import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { printable } from '../../src/printable.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

/** Marks that a resource's name may have, and what else calls, files and answers may. */
const marks = 'A\u202e\u200f\u2066B';
const hostile = `${marks}\u001b[2J\u009b2J\u0007`;

let postrider: Installation;
let folder: string;
let roles: readonly RunningRole[] = [];

const endpoint = createServer((_request, response) => {
  response.writeHead(422, { 'Content-Type': 'text/plain' });
  response.end(hostile);
});

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-'));
  await once(endpoint.listen(0, '127.0.0.1'), 'listening');
  const { port } = endpoint.address() as AddressInfo;
  postrider = await install({ AUDIENCE_FILES_DIR: folder });
  await run(['topics', '--create']);
  await writeFile(join(folder, 'lists.csv'), `${hostile},${marks}\n${hostile},1\n`);
  await writeFile(join(folder, 'broken.csv'), `${hostile},id\n"a${hostile}"${hostile}b,1\n`);
  const resources = [
    { kind: 'Source', id: 'shop', name: marks, writeKeys: ['wk'] },
    {
      kind: 'Destination',
      id: 'crm',
      name: marks,
      sources: ['shop'],
      eventNames: [hostile],
      webhooks: [{ url: `http://127.0.0.1:${port}/` }],
    },
    ...['lists.csv', 'broken.csv'].map((file, index) => ({
      kind: 'Audience',
      id: `list-${index}`,
      name: `List ${index}${marks}`,
      source: 'shop',
      members: { file, userId: index === 0 ? marks : 'id' },
    })),
    {
      kind: 'Audience',
      id: 'no-column',
      name: 'No column',
      source: 'shop',
      members: { file: 'lists.csv', userId: `${marks}C` },
    },
  ];
  await run(['apply', '-f', '-'], resources.map((each) => JSON.stringify(each)).join('\n---\n'));
  const call = { type: 'track', userId: hostile, event: hostile, messageId: hostile };
  await run(['produce', '--source', 'shop'], JSON.stringify(call));
  // Its calls are rejected, because no router has seen it.
  await run(['apply', '-f', '-'], '{kind: Source, id: gone, name: Gone, writeKeys: [wk2]}');
  await run(['produce', '--source', 'gone'], JSON.stringify(call));
  await run(['delete', 'source', 'gone', '--yes']);
  roles = await Promise.all([postrider.start('router'), postrider.start('delivery')]);
  await eventually(async () => {
    for (const what of ['dead-letters', 'rejected']) {
      const { stdout } = await postrider.run([what, 'list', '-o', 'json']);
      assert.equal((JSON.parse(stdout) as unknown[]).length, 1);
    }
  });
});

after(async () => {
  await Promise.all(roles.map((role) => role.kill('SIGTERM')));
  endpoint.close();
  await rm(folder, { recursive: true });
});

async function run(args: readonly string[], stdin: string = ''): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args, { stdin });
  assert.equal(code, 0, stderr);
  return stdout;
}

const formats = ['wide', 'json', 'yaml'] as const;

/** In every format. */
const answers: readonly (readonly string[])[] = [
  ['get', 'sources'],
  ['get', 'destination', 'crm'],
  ['get', 'audiences'],
  ['topics'],
  ['attempts', '--since', '1h'],
  ['dead-letters', 'list'],
  ['dead-letters', 'redrive', '--dry-run'],
  ['rejected', 'list'],
  ['send-test', 'crm'],
  ['delete-user', hostile, '--dry-run'],
  ['audience-sync', 'list-0', '--dry-run', '--yes'],
  ['audience-sync', '--history'],
];
/** Errors and notes, and what people get. */
const others: readonly (readonly string[])[] = [
  ['rejected', 'redrive', '--dry-run'],
  ['attempts', '--since', '1h'],
  ['audience-sync', 'list-1', '--dry-run', '--yes'],
  ['audience-sync', 'no-column', '--dry-run', '--yes'],
  ['audience-sync', hostile],
  ['get', 'source', hostile],
  ['delete', 'source', hostile],
  ['produce', '--source', hostile],
  ['dead-letters', 'list', '--destination', hostile],
  ['attempts', hostile],
];
const commands = [
  ...others,
  ...answers.flatMap((args) => formats.map((format) => [...args, '-o', format])),
];

suite('what records, lists and endpoints say commands no terminal', { concurrency: 2 }, () => {
  for (const args of commands) {
    test(printable(args.join(' ')), async () => {
      const { stdout, stderr } = await postrider.run(args);
      assert.notEqual(stdout + stderr, '');
      assert.doesNotMatch(stdout + stderr, /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      // With `attempts`, an object a line.
      const texts = args[0] === 'attempts' ? stdout.split('\n') : [stdout];
      for (const text of texts.filter((each) => each !== ''))
        if (args.at(-1) === 'json') JSON.parse(text);
        else if (args.at(-1) === 'yaml')
          assert.deepEqual(
            parseAllDocuments(text).flatMap(({ errors }) => errors),
            [],
          );
    });
  }
});

test('the first of each is shown as a whole in every format, and programs get what was sent', async () => {
  for (const what of ['dead-letters', 'rejected']) {
    const list = JSON.parse(await run([what, 'list', '-o', 'json'])) as Record<string, unknown>[];
    const { partition, offset } = list[0] ?? {};
    for (const format of [...formats, 'table']) {
      const shown = await run([
        what,
        'show',
        `${String(partition)}:${String(offset)}`,
        '-o',
        format,
      ]);
      assert.match(shown, /\\u202e/);
      assert.doesNotMatch(shown, /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      if (format === 'json') assert.ok(JSON.stringify(JSON.parse(shown)).includes('\u009b2J'));
    }
  }
  const [source] = JSON.parse(await run(['get', 'sources', '-o', 'json'])) as { name: string }[];
  assert.equal(source?.name, marks);
  const yaml = parseAllDocuments(await run(['get', 'sources', '-o', 'yaml']));
  assert.equal((yaml[0]?.toJS() as { name: string }).name, marks);
});

test('neither do lines that cannot be sent, and the roles that met all this', async () => {
  const { stderr } = await postrider.run(['produce', '--source', 'shop'], {
    stdin: `{"${hostile}\n`,
  });
  assert.match(stderr, /^line 1: /);
  assert.doesNotMatch(
    stderr + roles.map((role) => role.log()).join(''),
    /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u,
  );
});
