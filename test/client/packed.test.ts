import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { firstLine } from '../lab/bench/measure.ts';
import { ok, startFakeGateway, type FakeGateway } from './fake-gateway.ts';
import {
  installPacked,
  kafkaPrograms,
  nodes,
  outOfFilesPrograms,
  readmeExamples,
  tool,
  type Consumer,
} from './packed.ts';

const run = promisify(execFile);

let consumer: Consumer;
let gateway: FakeGateway;

before(async () => {
  consumer = await installPacked(['express', 'fastify']);
  gateway = await startFakeGateway();
});

after(async () => {
  await gateway.close();
  await consumer.remove();
});

test('the file to install has the name that the documents give it', async () => {
  const text = await readFile(new URL('../../src/client/README.md', import.meta.url), 'utf8');
  assert.deepEqual(text.match(/[\w.-]+\.tgz/g), [basename(consumer.tarball)]);
});

test('the package has the two entries, as ES modules and CommonJS, and nothing that replaces kafkajs', async () => {
  const names = consumer.packed.files.map(({ path }) => path.replace(/-[\w-]{8}\./, '.')).sort();
  assert.deepEqual(names, [
    'README.md',
    ...['LICENSE', 'index.cjs', 'index.d.cts', 'index.d.ts', 'index.js', 'kafka.cjs'].map(inDist),
    ...['kafka.js', 'transport.cjs', 'transport.js'].map(inDist),
    ...['verify.cjs', 'verify.d.cts', 'verify.d.ts', 'verify.js'].map(inDist),
    'package.json',
  ]);
  const folder = join(consumer.folder, 'node_modules/postrider-client');
  for (const { path } of consumer.packed.files) {
    const text = await readFile(join(folder, path), 'utf8');
    assert.doesNotMatch(text, /compileFunction|replaceModule|fetchExchange/, path);
  }
});

function inDist(name: string): string {
  return `dist/${name}`;
}

test('the README states the size of the package', async () => {
  const readme = await readFile(new URL('../../src/client/README.md', import.meta.url), 'utf8');
  const [, packed, unpacked] = /(\d+) KB to download, (\d+) KB unpacked/.exec(readme) ?? [];
  const { size, unpackedSize } = consumer.packed;
  for (const [stated, bytes] of [
    [packed, size],
    [unpacked, unpackedSize],
  ] as const) {
    // Compression differs a little between releases of Node.js.
    const ratio = bytes / 1_000 / Number(stated);
    assert.ok(ratio > 0.98 && ratio < 1.02, `${stated} KB stated, ${bytes} bytes`);
  }
});

test('publint finds nothing in the package', async () => {
  await tool('publint/src/cli.js', ['run', consumer.tarball, '--strict'], consumer.folder);
});

test('attw finds nothing in the package', async () => {
  await tool('@arethetypeswrong/cli/dist/index.js', [consumer.tarball], consumer.folder);
});

const use = `
const analytics = new Analytics('wk_shop', { endpoint: process.argv[2] });
try {
  analytics.track({});
} catch (error) {
  if (!(error instanceof AnalyticsError)) throw error;
}
const id = analytics.track({ userId: 'u', event: 'E' });
if (verifySignature('s', 'body', 'x')) throw new Error('verified');
analytics.close().then(() => console.log(id));
`;
const programs = {
  'use.mjs': `
import { Analytics, AnalyticsError } from 'postrider-client';
import { verifySignature } from 'postrider-client/verify';
${use}`,
  'use.cjs': `
const { Analytics, AnalyticsError } = require('postrider-client');
const { verifySignature } = require('postrider-client/verify');
${use}`,
};

for (const [name, text] of Object.entries(programs)) {
  test(`${name} uses the installed package, with each Node.js that is there`, async () => {
    const file = await consumer.write(name, text);
    for (const node of await nodes()) {
      const { stdout } = await run(node, [file, gateway.url]);
      assert.equal(gateway.calls.at(-1)?.messageId, stdout.trim());
    }
  });
}

test('a program that does not close delivers its calls and then ends by itself', async () => {
  const file = await consumer.write(
    'open.mjs',
    `import { Analytics } from 'postrider-client';
    new Analytics('wk_shop', { endpoint: 'http://127.0.0.1:1' });
    const analytics = new Analytics('wk_shop', { endpoint: process.argv[2], flushAfter: 200 });
    console.log(analytics.track({ userId: 'u', event: 'E' }));`,
  );
  for (const node of await nodes()) {
    const { stdout } = await run(node, [file, gateway.url]);
    assert.equal(gateway.calls.at(-1)?.messageId, stdout.trim());
  }
});

test('without kafkajs each call for Kafka is refused with an error of the same class', async () => {
  for (const [name, text] of Object.entries(kafkaPrograms)) {
    const file = await consumer.write(name, text);
    const { stdout } = await run(process.execPath, [file, '127.0.0.1:1', 'ingest']);
    assert.equal(stdout, "no-kafkajs true\n{ 'no-kafkajs': 1 }\n");
  }
});

test('a call waits while the Kafka side cannot be loaded for lack of files, and is refused where kafkajs is absent', async () => {
  const manifest = JSON.parse(
    await readFile(new URL('../../src/client/package.json', import.meta.url), 'utf8'),
  ) as { readonly peerDependencies: { readonly kafkajs: string } };
  const toInstall = `kafkajs@${manifest.peerDependencies.kafkajs}`;
  for (const [name, text] of Object.entries(outOfFilesPrograms)) {
    const file = await consumer.write(name, text);
    const limited = 'ulimit -n 100 && exec "$0" "$1"';
    const { stdout } = await run('sh', ['-c', limited, process.execPath, file]);
    const [first, second, ...others] = JSON.parse(stdout) as string[];
    assert.match(
      first ?? '',
      / The transport 'kafka' could not be loaded \(when bundling, keep postrider-client and kafkajs external\): Error: EMFILE.*; again in \d+ ms/,
    );
    assert.equal(
      second,
      `The transport 'kafka' needs the package kafkajs, which is not installed: npm install ${toInstall}`,
    );
    assert.deepEqual(others, []);
  }
});

const typed = `
import { Analytics, AnalyticsError, type AnalyticsOptions, type TrackCall } from 'postrider-client';
import { verifySignature } from 'postrider-client/verify';

const options: AnalyticsOptions = { flushAt: 5, onError: (error: AnalyticsError) => error.code };
const analytics = new Analytics('wk', options);
const call: TrackCall = { anonymousId: 'a', event: 'E', timestamp: new Date(), properties: { a: 1 } };
const id: string = analytics.track(call);
const valid: boolean = verifySignature('s', new Uint8Array(), id);
interface Traits { plan: string }
const traits: Traits = { plan: 'pro' };
analytics.identify({ userId: 'u', traits });
// @ts-expect-error: nobody it is about
analytics.track({ event: 'E' });
// @ts-expect-error: no event
analytics.track({ userId: 'u' });
// @ts-expect-error: no such transport
new Analytics('wk', { transport: 'tcp' });
export const closed: Promise<void> = valid ? analytics.close({ timeoutMs: 1 }) : analytics.flush();
`;

/** Each call, and what the compiler says of it. */
const incomplete: Readonly<Record<string, string>> = {
  "track({ userId: 'u' })": "Property 'event' is missing",
  "track({ anonymousId: 'a', properties: {} })": "Property 'event' is missing",
  "track({ event: 'E' })": "Property 'anonymousId' is missing … required in type 'WithoutUserId'",
  "track({ userId, event: 'E' })":
    "Property 'anonymousId' is missing … required in type 'WithoutUserId'",
  "track({ userId: 'u', evnt: 'E' })": "'evnt' does not exist … Did you mean to write 'event'?",
  "group({ userId: 'u', traits: {} })": "Property 'groupId' is missing",
  "alias({ userId: 'u' })": "Property 'previousId' is missing",
};

test('the compiler takes what is right, from ES modules and CommonJS, and names what a call lacks', async () => {
  const calls = Object.keys(incomplete).map((call) => `analytics.${call};`);
  const head =
    "import { Analytics } from 'postrider-client'; const analytics = new Analytics('wk'); declare const userId: string | undefined;";
  const whole = "analytics.track({ userId, anonymousId: 'a', event: 'E' });";
  const file = await consumer.write('incomplete.mts', [head, ...calls, whole].join('\n'));
  const files = [file];
  for (const name of ['use.mts', 'use.cts']) files.push(await consumer.write(name, typed));
  const flags = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext'];
  const args = [...flags, '--pretty', 'false', ...files];
  const { message } = await tool('typescript/bin/tsc', args, consumer.folder).then(
    () => assert.fail('nothing is missing'),
    (error: unknown) => error as Error,
  );
  assert.doesNotMatch(message, /^use\./m);
  const told = message.split(/^incomplete\.mts\(/m).slice(1);
  assert.equal(told.length, calls.length, message);
  for (const [index, expected] of Object.values(incomplete).entries()) {
    const error = told[index] ?? '';
    assert.ok(error.startsWith(`${index + 2},`), error);
    for (const part of expected.split(' … ')) assert.ok(error.includes(part), error);
  }
});

test("the README's first example delivers its call", async () => {
  const file = await exampleFile('quick-start.mjs');
  await run(process.execPath, [file], { env: { POSTRIDER_URL: gateway.url } });
  assert.equal(gateway.calls.at(-1)?.['event'], 'Order Completed');
});

test("the README's first example ends with exit 1 and says why when its write key is wrong", async (context) => {
  const endpoint = await startFakeGateway();
  context.after(() => endpoint.close());
  endpoint.answer = () => ({ status: 401, body: '{"message":"unknown write key"}' });
  const file = await exampleFile('quick-start.mjs');
  const ended = run(process.execPath, [file], { env: { POSTRIDER_URL: endpoint.url } });
  await assert.rejects(ended, {
    code: 1,
    stderr:
      /1 call was lost: 1 refused \(the endpoint answered 401: unknown write key\)\.[^]*lost: { refused: 1 }/,
  });
});

test("the README's service delivers what is queued when it is told to end", async (context) => {
  const endpoint = await startFakeGateway();
  context.after(() => endpoint.close());
  // Away for longer than it takes until the service's next call.
  const away = { status: 503, headers: { 'retry-after': '2' } };
  endpoint.answer = (nth) => (nth === 1 ? away : ok);
  const file = await exampleFile('service.mjs');
  const child = spawn(process.execPath, [file], {
    env: { POSTRIDER_URL: endpoint.url, DEBUG: 'analytics' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  const [line] = (await once(child.stderr, 'data')) as [Buffer];
  assert.match(line.toString(), /^analytics \S+ queued identify/);
  child.stderr.resume();
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  assert.deepEqual(
    endpoint.calls.map(({ type }) => type),
    ['identify'],
  );
});

const secret = 'teehee';

for (const name of ['receiver-http.mjs', 'receiver-express.mjs', 'receiver-fastify.mjs']) {
  test(`the README's ${name} takes what is signed and refuses the rest`, async () => {
    const file = await exampleFile(name);
    const child = spawn(process.execPath, [file], {
      env: { SHARED_SECRET: secret, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const port = (await firstLine(child)).replace('port ', '');
    const body = '{ "type":"track",  "userId":"u", "properties":{"1":1.0,"name":"Käufer"} }';
    const signature = createHmac('sha1', secret).update(body).digest('hex');
    const statusFor = async (text: string, header: string): Promise<number> => {
      const { status } = await fetch(`http://127.0.0.1:${port}/events`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-signature': header },
        body: text,
      });
      return status;
    };
    assert.equal(await statusFor(body, signature), 200);
    assert.equal(await statusFor(`${body} `, signature), 401);
    assert.equal(await statusFor(body, ''), 401);
    child.kill();
    await once(child, 'exit');
  });
}

async function exampleFile(name: string): Promise<string> {
  const code = (await readmeExamples()).get(name);
  assert.ok(code, `the README has no ${name}`);
  return consumer.write(name, code);
}
