import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Command } from 'commander';
import { registerApply } from '../../src/cli/commands/apply.ts';
import { createContext, type Context } from '../../src/cli/context.ts';
import { registerDelete } from '../../src/cli/commands/delete.ts';
import { registerGet } from '../../src/cli/commands/get.ts';
import { registerTopics } from '../../src/cli/commands/topics.ts';
import { secretMask } from '../../src/resources/schema/schema-parts.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';

let folder: string;
let environment: Record<string, string>;

before(async () => {
  const { brokers } = await testBroker();
  folder = await mkdtemp(path.join(tmpdir(), 'postrider-cli-'));
  environment = {
    KAFKA_BROKERS: brokers.join(','),
    TOPIC_PREFIX: testPrefix(),
    TOPIC_PARTITIONS: '1',
    TOPIC_REPLICATION_FACTOR: '1',
    RETRY_TIERS: '1s',
    LOG_LEVEL: 'silent',
    SECRET_KEY: Buffer.alloc(32, 5).toString('base64'),
    CRM_SECRET: 's3cret-value',
    DATABASE_URL: 'postgres://sync:pa55word@db.example.com/shop',
  };
});

after(() => rm(folder, { recursive: true }));

/** What the command prints; rejects as the command does. */
async function postrider(...args: readonly string[]): Promise<string> {
  const lines: string[] = [];
  const context: Context = {
    ...createContext(environment),
    print: (line) => {
      lines.push(line);
    },
  };
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  for (const register of [registerApply, registerGet, registerDelete, registerTopics])
    register(program, context);
  await program.parseAsync(args, { from: 'user' });
  return lines.join('\n');
}

async function file(name: string, text: string): Promise<string> {
  const where = path.join(folder, name);
  await writeFile(where, text);
  return where;
}

const shop = 'kind: Source\nid: shop\nname: Web shop\nwriteKeys: [wk_shop]\n';
const crm = `kind: Destination
id: crm
name: CRM
sources: [shop]
sharedSecret: \${CRM_SECRET}
webhooks:
  - url: https://crm.example.com/events
    headers: { Authorization: "Bearer \${CRM_SECRET}" }
retry: { on: [409], window: 2h }
`;

test('resources are applied, shown without their secrets, and deleted', async (t) => {
  t.mock.method(process.stderr, 'write', () => true);
  await assert.rejects(postrider('get', 'sources'), {
    message: /topic .*config does not exist; create it with `postrider topics --create`/,
  });
  await assert.rejects(postrider('topics', '--check'), { code: 'topics-differ', exitCode: 1 });
  assert.match(await postrider('topics', '--create', '--check'), /config +ok +1 /);

  const resources = await file('resources.yaml', `${shop}---\n${crm}`);
  await assert.rejects(postrider('apply', '--dry-run', '-f', resources), {
    code: 'resources-differ',
    exitCode: 3,
    message: '2 of 2 resources would change',
  });
  assert.equal(await postrider('get', 'source', '-o', 'json'), '[]');
  assert.equal(
    await postrider('apply', '-f', resources),
    'create Source shop\ncreate Destination crm\n2 created',
  );
  assert.equal(await postrider('apply', '-f', resources), '2 unchanged');

  for (const format of ['table', 'yaml', 'json']) {
    const shown = await postrider('get', 'destination', 'crm', '-o', format);
    assert.match(shown, /crm\.example\.com/);
    assert.doesNotMatch(shown, /s3cret-value|Bearer|v1\./);
    // Applying what was shown would replace the secrets by the mask.
    if (format === 'table') continue;
    assert.ok(shown.includes(secretMask));
    await assert.rejects(postrider('apply', '-f', await file(`shown.${format}`, shown)), {
      message: 'nothing was applied, because of 2 problems',
    });
  }

  environment['RETRY_WINDOW'] = '1h';
  assert.match(
    await postrider('get', 'destination', 'crm', '-o', 'yaml'),
    /^# retry\.window is more than RETRY_WINDOW \(1h\), which counts instead\n[^]*\nretry:\n {2}on:\n/,
  );
  delete environment['RETRY_WINDOW'];

  await assert.rejects(postrider('get', 'destination', 'other'), {
    code: 'not-found',
    message: 'there is no Destination other',
  });
  await assert.rejects(postrider('delete', 'source', 'shop'), {
    exitCode: 1,
    message: 'Source shop cannot be deleted, because it is named by Destination crm',
  });
  assert.equal(await postrider('delete', 'destination', 'crm', '--yes'), 'delete Destination crm');
  assert.equal(await postrider('delete', 'source', 'shop', '--yes'), 'delete Source shop');
  await assert.rejects(postrider('get', 'source', 'shop'), { message: 'there is no Source shop' });
  await assert.rejects(postrider('delete', 'source', 'shop'), {
    message: 'there is no Source shop',
  });
});

test("an audience's database is never shown, and its trait outlives its name", async () => {
  const audience = (name: string): string => `kind: Audience
id: big-spenders
name: ${name}
source: shop
members: { postgres: "\${DATABASE_URL}", query: select customer_id from big_spenders }
`;
  await postrider('apply', '-f', await file('a.yaml', `${shop}---\n${audience('Big Spenders')}`));
  for (const format of ['table', 'yaml', 'json']) {
    const shown = await postrider('get', 'audience', 'big-spenders', '-o', format);
    assert.match(shown, /big_spenders/);
    assert.doesNotMatch(shown, /pa55word|db\.example|v1\./);
  }
  const renamed = await file('renamed.yaml', audience('Whales'));
  assert.match(await postrider('apply', '-f', renamed), /: name \(the trait stays big_spenders,/);
  assert.match(await postrider('apply', '--rename', '-f', renamed), /the trait becomes whales/);
  await assert.rejects(postrider('delete', 'source', 'shop'), {
    message: 'Source shop cannot be deleted, because it is named by Audience big-spenders',
  });
  await postrider('delete', 'audience', 'big-spenders', '--yes');
  await postrider('delete', 'source', 'shop', '--yes');
});

test('every problem is one line on stderr, and nothing is applied', async (t) => {
  const broken = await file('broken.yaml', `${shop}color: red\n---\n${crm}payload: half\n`);
  const written = t.mock.method(process.stderr, 'write', () => true);
  await assert.rejects(postrider('apply', '-f', broken), {
    exitCode: 1,
    message: 'nothing was applied, because of 2 problems',
  });
  written.mock.restore();
  assert.deepEqual(
    written.mock.calls.map(({ arguments: [line] }) => line),
    [
      `${broken}:5: color: is not a known field; allowed: kind, id, name, writeKeys\n`,
      `${broken}:16: payload: must be one of standard, full\n`,
      'nothing was changed; what was applied before stays in force\n',
    ],
  );
  assert.equal(await postrider('get', 'sources', '-o', 'json'), '[]');
});

test('after an apply that fails, what was applied before is in force, and the log says so', async (t) => {
  await postrider('apply', '-f', await file('before.yaml', shop));
  const other = shop.replace('Web shop', 'Other shop');
  const broken = await file('after.yaml', `${other}---\n${crm}payload: half\n`);
  const gone = path.join(folder, 'no-such-file.yaml');
  for (const name of [broken, gone]) {
    const written = t.mock.method(process.stderr, 'write', () => true);
    await assert.rejects(postrider('apply', '-f', name));
    written.mock.restore();
    const [last] = written.mock.calls.at(-1)?.arguments ?? [];
    assert.equal(last, 'nothing was changed; what was applied before stays in force\n');
  }
  assert.match(await postrider('get', 'sources', '-o', 'yaml'), /name: Web shop/);
  await postrider('delete', 'source', 'shop', '--yes');
});

test('an id that is almost right is told with the right one', async () => {
  await postrider('apply', '-f', await file('near.yaml', shop));
  const message = 'there is no Source shopp; did you mean shop?';
  await assert.rejects(postrider('get', 'source', 'shopp'), { code: 'not-found', message });
  await assert.rejects(postrider('delete', 'source', 'shopp'), { code: 'not-found', message });
  await postrider('delete', 'source', 'shop', '--yes');
});

test('a webhook that delivery will refuse is told, unless the setting here allows it', async (t) => {
  const urls = [
    'http://10.1.2.3/',
    'http://localhost:9000/',
    'http://[::ffff:169.254.169.254]/',
    'http://0x7f.1/',
    'https://crm.example.com/',
  ];
  const webhooks = urls.map((url) => `  - url: ${url}\n`).join('');
  const inner = await file(
    'inner.yaml',
    `${shop}---\nkind: Destination\nid: inner\nname: I\nsources: [shop]\nwebhooks:\n${webhooks}`,
  );
  const told = async (allowed: string): Promise<unknown[]> => {
    environment['DELIVERY_ALLOW_NETWORKS'] = allowed;
    const written = t.mock.method(process.stderr, 'write', () => true);
    await assert.rejects(postrider('apply', '--dry-run', '-f', inner), {
      code: 'resources-differ',
    });
    written.mock.restore();
    delete environment['DELIVERY_ALLOW_NETWORKS'];
    return written.mock.calls.map(({ arguments: [line] }) => line);
  };
  const warning = (line: number, index: number, host: string): string =>
    `warning: ${inner}:${line}: webhooks[${index}].url: ${host} is not a public address; deliveries there are refused unless DELIVERY_ALLOW_NETWORKS of the workers allows them\n`;
  const metadata = warning(13, 2, '::ffff:a9fe:a9fe');
  assert.deepEqual(await told(''), [
    warning(11, 0, '10.1.2.3'),
    warning(12, 1, 'localhost'),
    metadata,
    warning(14, 3, '127.0.0.1'),
  ]);
  assert.deepEqual(await told('127.0.0.0/8,10.0.0.0/8'), [metadata]);
});

test('wrong usage is refused before Kafka is asked', async () => {
  await assert.rejects(postrider('get', 'sink'), { code: 'usage', exitCode: 2 });
  await assert.rejects(postrider('get', 'source', '-o', 'xml'), {
    code: 'commander.invalidArgument',
  });
  await assert.rejects(postrider('apply'), { code: 'commander.missingMandatoryOptionValue' });
});
