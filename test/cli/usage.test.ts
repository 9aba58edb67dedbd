import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { runCommand, type Ended } from '../harness/run-command.ts';

/** Nothing listens there: every connection is refused at once. */
const nowhere = '127.0.0.1:1';

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-'));
});

after(() => rm(folder, { recursive: true }));

async function postrider(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return runCommand(args, { PATH: process.env['PATH'] ?? '', LOG_FORMAT: 'json', ...env });
}

const wrong: readonly (readonly [args: readonly string[], says: RegExp])[] = [
  [['gett', 'source'], /unknown command 'gett' \(Did you mean get\?\)/],
  [
    ['get'],
    /missing required argument 'kind'; for example: postrider get destination crm -o yaml$/m,
  ],
  [['rejected', 'show'], /argument 'place'; for example: postrider rejected show 0:77$/m],
  [
    ['help', 'statuss'],
    /there is no help on "statuss"; did you mean status\? Allowed: settings, dev, /,
  ],
  [
    ['get', 'source', '-o', 'xml'],
    /argument 'xml' is invalid. Allowed choices are table, wide, json, yaml/,
  ],
  [['get', 'sources', 'a', 'b'], /too many arguments/],
  [['apply'], /required option '-f, --file <files...>' not specified/],
  [['produce'], /required option '--source <id>' not specified/],
  [
    ['delete-user', '-Kx7'],
    /unknown option '-Kx7'; write -- before an argument that begins with a hyphen/,
  ],
  [['topics', '--creat'], /unknown option '--creat' \(Did you mean --create\?\)/],
  [['listen', '--port', '70000'], /Allowed: a whole number from 0 to 65535/],
  [['listen', '--delay', '6'], /Allowed: a duration such as 250ms, 6s or 1m/],
  [['preview', '--last', '10'], /--last needs --source, whose calls it reads$/m],
  [['preview', '--last', '10001', '--source', 'shop'], /Allowed: up to 10,000 calls\.$/m],
  [['preview', '-f', '-'], /resources and calls cannot both come from stdin$/m],
  [
    ['preview', '-f', 'a.yaml', 'b.yaml'],
    /b\.yaml is no file with calls; write -f before each file with resources$/m,
  ],
  [['rejected', 'show', '7'], /Allowed: <partition>:<offset>/],
];
suite('wrong usage is one sentence and exit code 2', { concurrency: 3 }, () => {
  for (const [args, says] of wrong) {
    test(`postrider ${args.join(' ')}`, async () => {
      const { code, stdout, stderr } = await postrider(args);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, /^postrider: .*\n$/);
      assert.match(stderr, says);
    });
  }
});

suite('a file that cannot be read is told before Kafka is asked', { concurrency: 3 }, () => {
  for (const command of [
    ['delete-user', '--file'],
    ['produce', '--source', 'shop'],
  ])
    for (const [file, why] of [
      ['nowhere.txt', 'does not exist'],
      ['/', 'is a folder; allowed: a file, or - for stdin'],
    ] as const)
      test(`${command.join(' ')} ${file}`, async () => {
        const ended = await postrider([...command, file], { KAFKA_BROKERS: nowhere });
        assert.deepEqual(
          [ended.code, ended.stdout, ended.stderr],
          [1, '', `postrider: ${file} ${why}\n`],
        );
      });
});

test('--version prints the version of the package', async () => {
  const { code, stdout } = await postrider(['--version']);
  assert.equal(code, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

/** A command gives up after ten seconds. */
const soon = { NODE_OPTIONS: `--import=${import.meta.resolve('../harness/short-waits.ts')}` };

suite('Kafka away', { concurrency: 3 }, () => {
  for (const args of [
    ['get', 'source'],
    ['rejected', 'list'],
  ]) {
    test(`${args.join(' ')} says soon that it tries again, and gives up with one sentence`, async () => {
      const { code, stdout, stderr } = await postrider(args, {
        ...soon,
        KAFKA_BROKERS: nowhere,
        TOPIC_REPLICATION_FACTOR: '1',
      });
      assert.deepEqual([code, stdout], [1, ''], stderr);
      const [first = '', last = '', ...more] = stderr.trimEnd().split('\n');
      assert.match(first, /^postrider: Kafka cannot be reached: .*127\.0\.0\.1:1; trying again$/);
      assert.match(last, /^postrider: Kafka cannot be reached: .*127\.0\.0\.1:1$/);
      assert.deepEqual(more, []);
    });
  }

  test('a broker that accepts connections and never answers is told too', async (t) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const env = { ...soon, KAFKA_BROKERS: `127.0.0.1:${port}` };
    const { code, stderr } = await postrider(['topics'], env);
    assert.equal(code, 1);
    assert.match(stderr, /^postrider: .*; trying again\npostrider: Kafka cannot be reached: .*\n$/);
  });
});

test('dev reports a wrong file before it starts anything', async () => {
  const file = join(folder, 'wrong.yaml');
  await writeFile(file, 'kind: Destination\nid: crm\nname: CRM\nsources: [shop]\nwebhooks: []\n');
  // Without Java and Docker, a broker could not even be started.
  const { code, stdout, stderr } = await postrider(['dev', '-f', file], { PATH: '' });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /wrong\.yaml:5: webhooks: must hold 1 to 5 webhooks\n/);
  assert.match(stderr, /^postrider: nothing was applied, because of a problem\n$/m);
});

test('dev reports a maxInFlight that DELIVERY_MAX_IN_FLIGHT does not allow', async () => {
  const file = join(folder, 'greedy.yaml');
  const shop = 'kind: Source\nid: shop\nname: Shop\nwriteKeys: []\n---\n';
  const crm = 'kind: Destination\nid: crm\nname: CRM\nsources: [shop]\nmaxInFlight: 11\n';
  await writeFile(file, `${shop}${crm}webhooks:\n  - url: https://crm.example.com\n`);
  const env = { PATH: '', DELIVERY_MAX_IN_FLIGHT: '40' };
  const { stderr } = await postrider(['dev', '-f', file], env);
  assert.match(stderr, /greedy\.yaml:10: maxInFlight: must be at most 10, a quarter of .* \(40\)/);
});

test('dev on an empty broker reports a source that does not exist before it starts anything', async () => {
  const file = join(folder, 'no-source.yaml');
  const webhooks = 'webhooks:\n  - url: https://crm.example.com\n';
  await writeFile(file, `kind: Destination\nid: crm\nname: CRM\nsources: [shop]\n${webhooks}`);
  const { stderr } = await postrider(['dev', '-f', file], { PATH: '' });
  assert.match(stderr, /no-source\.yaml:4: sources\[0\]: source shop does not exist\n/);
});

suite('files are checked before Kafka is asked', { concurrency: 3 }, () => {
  const shop = 'kind: Source\nid: shop\nname: Shop\nwriteKeys: [wk]\n';
  const crm = 'kind: Destination\nid: crm\nname: CRM\nsources: [shop]\nwebhooks: [{ url: URL }]\n';
  const given = async (name: string, text: string): Promise<string> => {
    const file = join(folder, name);
    await writeFile(file, text);
    return file;
  };

  const isOnlyLooking = (args: readonly string[]): boolean =>
    args.includes('diff') || args.includes('--dry-run');
  for (const args of [['apply'], ['apply', '--prune'], ['apply', '--dry-run'], ['diff']]) {
    test(`a wrong file is told by ${args.join(' ')} at once, with no broker running`, async () => {
      const file = await given(`bad-${args.join('')}.yaml`, `${shop}---\n${crm}`);
      for (const env of [{}, { KAFKA_BROKERS: nowhere }]) {
        const { code, stdout, stderr } = await postrider([...args, '-f', file], env);
        assert.deepEqual([code, stdout], [1, '']);
        const [problem = '', ...more] = stderr.trimEnd().split('\n');
        assert.match(problem, /bad-.*\.yaml:10: webhooks\[0\]\.url: /);
        const kept = 'nothing was changed; what was applied before stays in force';
        const last = 'postrider: nothing was applied, because of a problem';
        assert.deepEqual(more, isOnlyLooking(args) ? [last] : [kept, last]);
      }
    });
  }

  test('a preview of a file needs no broker, and ends with 1 if a call would be rejected', async () => {
    const acme = crm.replace('URL', 'https://e.test/in').concat('filter: { userId: u1 }\n');
    const resources = await given('preview.yaml', `${shop}---\n${acme}`);
    const lines = ['u1', 'u2'].map((userId) => JSON.stringify({ type: 'page', userId }));
    const calls = await given('calls.ndjson', lines.join('\n'));
    const whole = await postrider(['preview', '-f', resources, calls]);
    assert.deepEqual([whole.code, whole.stderr], [0, '']);
    assert.match(whole.stdout, /^ {4}POST https:\/\/e\.test\/in$/m);
    assert.match(
      whole.stdout,
      /^ {2}crm: not sent; its filter wants userId: "u1"; userId is "u2"$/m,
    );
    const bad = await given('bad.ndjson', [...lines, '{}'].join('\n'));
    const ended = await postrider(['preview', '-f', resources, bad, '-o', 'json']);
    assert.equal(ended.code, 1);
    assert.equal((JSON.parse(ended.stdout) as unknown[]).length, 3);
    assert.match(
      ended.stderr,
      /^postrider: 1 of 3 calls would not be routed, for the reasons above\n$/,
    );
  });

  test('a wrong file is told by preview too', async () => {
    const file = await given('bad-preview.yaml', `${shop}---\n${crm}`);
    const { code, stderr } = await postrider(['preview', '-f', file]);
    assert.equal(code, 1);
    assert.match(stderr, /^postrider: there is no preview, because of a problem$/m);
  });

  test('without KAFKA_BROKERS, a dry run checks the files and says so', async () => {
    const good = crm.replace('URL', 'https://e.test/');
    const both = await given('both.yaml', `${shop}---\n${good}`);
    const whole = await postrider(['apply', '--dry-run', '--prune', '-f', both]);
    assert.deepEqual(
      [whole.code, whole.stdout, whole.stderr],
      [
        0,
        '',
        'the files are valid; they were not compared with stored resources, because KAFKA_BROKERS is not set\n',
      ],
    );
    const part = await given('part.yaml', good);
    const { code, stdout, stderr } = await postrider(
      ['apply', '--dry-run', '-o', 'json', '-f', part],
      {},
    );
    assert.equal(code, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), { compared: false, changes: [] });
    assert.match(
      stderr,
      /is not set, and references to resources outside of them were not checked\n$/,
    );

    const pruned = await postrider(['apply', '--dry-run', '--prune', '-f', part]);
    assert.equal(pruned.code, 1);
    assert.match(pruned.stderr, /part\.yaml:4: sources\[0\]: source shop does not exist\n/);

    const inner = await given('inner.yaml', crm.replace('URL', 'http://10.1.2.3/'));
    const warned = await postrider(['apply', '--dry-run', '-f', inner]);
    assert.equal(warned.code, 0);
    assert.match(
      warned.stderr,
      /^warning: .*inner\.yaml:5: webhooks\[0\]\.url: 10\.1\.2\.3 is not a public address; /,
    );
  });

  test('write keys and ids that clash among the files are found without a broker', async () => {
    const twin = shop.replace('id: shop', 'id: app');
    const clash = await given('clash.yaml', `${shop}---\n${twin}`);
    const { code, stderr } = await postrider(['apply', '--dry-run', '-f', clash]);
    assert.equal(code, 1);
    assert.match(stderr, /clash\.yaml:9: writeKeys\[0\]: wk is already a write key of source shop/);
  });

  test('whoever writes a file gets neither a setting nor a shown field from the environment', async () => {
    const env = { SECRET_KEY: Buffer.alloc(32, 7).toString('base64'), TOKEN: 'token-zq1' };
    const headerOf = crm.replace('URL', 'https://e.test/, headers: { X: "${TOKEN}" }');
    const nameOf = shop.replace(/name: .*/, 'name: ${TOKEN}');
    const takes = await postrider(
      ['apply', '--dry-run', '-f', await given('takes.yaml', headerOf)],
      env,
    );
    assert.equal(takes.code, 0, takes.stderr);
    for (const [file, text, says] of [
      ['key.yaml', headerOf.replace('TOKEN', 'SECRET_KEY'), /\$\{SECRET_KEY\} is not for resource/],
      ['aws.yaml', headerOf.replace('TOKEN', 'AWS_SESSION_TOKEN'), /belong to the platform/],
      ['name.yaml', nameOf, /name: must not come from a variable/],
    ] as const) {
      const name = await given(file, text);
      for (const args of [['apply', '--dry-run'], ['apply'], ['diff']]) {
        const { code, stdout, stderr } = await postrider([...args, '-f', name], env);
        assert.equal(code, 1);
        assert.match(stderr, says);
        assert.doesNotMatch(stdout + stderr, /zq1|BwcHBw/);
      }
    }
  });

  test('a comparison needs Kafka', async () => {
    const good = await given('good.yaml', shop);
    for (const args of [
      ['diff', '-f', good],
      ['apply', '-f', good],
    ]) {
      const { code, stderr } = await postrider(args);
      assert.equal(code, 1);
      assert.match(stderr, /^postrider: KAFKA_BROKERS is not set, allowed: host:port,…\n$/m);
    }
    const env = { ...soon, KAFKA_BROKERS: nowhere };
    const { code, stderr } = await postrider(['apply', '--dry-run', '-f', good], env);
    assert.equal(code, 1);
    assert.match(stderr, /postrider: Kafka cannot be reached: .*127\.0\.0\.1:1\n$/);
  });
});
