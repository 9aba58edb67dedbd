import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { firstLine } from '../bench/measure.ts';
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
  for (const document of ['docs/client.md', 'README.md']) {
    const text = await readFile(new URL(`../../${document}`, import.meta.url), 'utf8');
    const named = text.match(/[\w.-]+\.tgz/g);
    assert.deepEqual(named, [basename(consumer.tarball)], document);
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
    assert.match(stdout, /^no-kafkajs true\n/);
  }
});

test('what keeps the Kafka side from being loaded is told, and forgotten once it has passed', async () => {
  for (const [name, text] of Object.entries(outOfFilesPrograms)) {
    const file = await consumer.write(name, text);
    const limited = 'ulimit -n 100 && exec "$0" "$1"';
    const { stdout } = await run('sh', ['-c', limited, process.execPath, file]);
    const [first, second, ...others] = JSON.parse(stdout) as string[];
    assert.match(
      first ?? '',
      /^The transport 'kafka' could not be loaded \(when bundling, keep postrider-client and kafkajs external\): Error: EMFILE/,
    );
    assert.match(
      second ?? '',
      /^The transport 'kafka' needs the package kafkajs: Error: Cannot find/,
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

for (const name of ['use.mts', 'use.cts']) {
  test(`${name} is checked against the installed types`, async () => {
    const file = await consumer.write(name, typed);
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
    await tool('typescript/bin/tsc', [...flags, file], consumer.folder);
  });
}

test("the README's first example delivers its call", async () => {
  const file = await exampleFile('quick-start.mjs');
  await run(process.execPath, [file], { env: { POSTRIDER_URL: gateway.url } });
  assert.equal(gateway.calls.at(-1)?.['event'], 'Order Completed');
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
