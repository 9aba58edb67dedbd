import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { beginCommand, runCommand } from '../harness/run-command.ts';

/** Clears the screen, in three spellings, turns the direction of writing, and begins a line of its own. */
const hostile = '\u001b[2J\u009b2J\u202e\u200f\u2066\u0007\r\npostrider: all is well';
/** As a terminal gets it. */
const shown = String.raw`\u001b[2J\u009b2J\u202e\u200f\u2066\u0007\u000d\u000apostrider: all is well`;
const path = { PATH: process.env['PATH'] ?? '', LOG_FORMAT: 'json' };
/** Nothing listens there. */
const nowhere = { ...path, KAFKA_BROKERS: '127.0.0.1:1', OPS_PORT: '0', GATEWAY_PORT: '0' };

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-'));
});
after(() => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

function assertHarmless(...said: readonly string[]): void {
  assert.doesNotMatch(said.join(''), /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  assert.doesNotMatch(said.join(''), /^postrider: all is well/m);
}

const key = JSON.stringify(hostile);

/** Ways out that need no broker: of what is typed, of settings, and of files. */
const ways: Readonly<Record<string, () => Promise<readonly [args: string[], env?: object]>>> = {
  'the name of a command': () => Promise.resolve([[hostile]]),
  'an option': () => Promise.resolve([['topics', `--${hostile}`]]),
  'an argument that is refused': () => Promise.resolve([['listen', '--port', hostile]]),
  'a topic of help': () => Promise.resolve([['help', hostile]]),
  'a kind': () => Promise.resolve([['get', hostile], nowhere]),
  'a setting': () => Promise.resolve([['topics'], { RETRY_WINDOW: hostile }]),
  'the name of a variable': () =>
    Promise.resolve([['topics'], { 'KAFKA_BROKERS\u202e\u009b': 'x' }]),
  'the file of a secret': () => Promise.resolve([['topics'], { SECRET_KEY_FILE: hostile }]),
  'the name of a file of calls': () =>
    Promise.resolve([['produce', '--source', 's', hostile], nowhere]),
  'the name of a file of users': () =>
    Promise.resolve([['delete-user', '--file', hostile], nowhere]),
  'the name of a resource file': () => Promise.resolve([['diff', '-f', hostile]]),
  'a field of a resource': async () => [
    [
      'diff',
      '-f',
      await file('field.yaml', `{kind: Source, id: a, name: A, writeKeys: [], ${key}: 1}`),
    ],
  ],
  'a header of a webhook': async () => [
    [
      'diff',
      '-f',
      await file(
        'header.yaml',
        `{kind: Destination, id: a, name: A, sources: [], webhooks: [{url: "http://a", headers: {${key}: x}}]}`,
      ),
    ],
  ],
  'a variable that a file names': async () => [
    ['diff', '-f', await file('variable.yaml', 'name: ${\u001b[2J\u202e}')],
  ],
  'an alias': async () => [
    ['diff', '-f', await file('alias.yaml', '\u202e\u009b: *gone\u202e\u009b2J')],
  ],
  'what is no YAML': async () => [
    ['diff', '-f', await file('bad.yaml', '%X\u202e\u009b2J y\n---\nkind: Source')],
  ],
  'an error with its stack': () => Promise.resolve([['--verbose', 'help', hostile]]),
};

suite('no text commands the terminal, or begins a line of its own', { concurrency: 2 }, () => {
  for (const [what, way] of Object.entries(ways)) {
    test(what, async () => {
      const [args, env = {}] = await way();
      const { code, stdout, stderr } = await runCommand(args, { ...path, ...env });
      assert.notEqual(code, 0);
      assert.match(stdout + stderr, /\\u(?:001b|202e|009b)/);
      assertHarmless(stdout, stderr);
    });
  }
});

test('what is told of a field is one line, which spells what is in its name', async () => {
  const where = await file('f.yaml', `kind: Source\nid: a\nname: A\nwriteKeys: []\n${key}: 1\n`);
  const { stderr } = await runCommand(['dev', '-f', where], path);
  const [line = '', ...more] = stderr.trimEnd().split('\n');
  assert.equal(
    line,
    `${where}:5: ${shown}: is not a known field; allowed: kind, id, name, writeKeys`,
  );
  assert.deepEqual(more, ['postrider: nothing was applied, because of a problem']);
});

for (const format of ['json', 'pretty']) {
  test(`neither does what is logged in ${format} lines, whose JSON says what was said`, async () => {
    const name = `KAFKA_\u202e\u009b2J`;
    const more = { LOG_FORMAT: format, KAFKA_RACK: hostile, [name]: 'x' };
    const running = beginCommand(['router'], { ...nowhere, ...more });
    await eventually(() => {
      assert.match(running.stderr(), /Kafka cannot be reached/);
    });
    running.kill('SIGKILL');
    const { stderr } = await running.ended;
    assert.match(stderr, /\\u001b\[2J\\u009b2J\\u202e/);
    assertHarmless(stderr);
    if (format === 'pretty') {
      assert.match(stderr, /KAFKA_\\u202e\\u009b2J is not a setting/);
      return;
    }
    const [{ settings } = {}, { msg } = {}] = stderr
      .split('\n')
      .slice(0, 2)
      .map((line) => JSON.parse(line) as { settings?: Record<string, string>; msg?: string });
    assert.equal(settings?.['KAFKA_RACK'], hostile);
    assert.equal(msg, `${name} is not a setting`);
  });
}

test('letters of every script stay as they are', async () => {
  const { stderr } = await runCommand(['help', 'مرحبا', 'שלום', 'Grüße'], path);
  assert.match(stderr, /no help on "مرحبا שלום Grüße"/);
});
