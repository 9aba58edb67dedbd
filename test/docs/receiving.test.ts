import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { existsSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../harness/free-ports.ts';
import { PreparedDestination } from '../../src/delivery/prepared-destination.ts';
import { buildBody, buildDeleteBody, type Payload } from '../../src/event/body.ts';
import { callTypes } from '../../src/event/call.ts';
import { parseCall } from '../../src/event/parse-call.ts';
import { parseResource } from '../../src/resources/schema/schema.ts';
import { eventually } from '../harness/eventually.ts';
import { blocksOf, codeIn, programOf, rowsOf, sectionOf } from './blocks.ts';
import { readPage } from './pages.ts';

const receiving = readPage('docs/receiving.md');
const secret = 'teehee';
const timestamp = '2026-11-24T10:00:00.000Z';
const userId = '019mr8mf4r';

/** The calls whose bodies the page shows, by the heading of each. */
const calls: Readonly<Record<string, readonly object[]>> = {
  'track: something happened': [
    {
      type: 'track',
      event: 'Order Completed',
      properties: { revenue: 39.95 },
      context: { ip: '203.0.113.7' },
    },
  ],
  'identify: what is known of a user': [
    { type: 'identify', traits: { plan: 'pro' } },
    {
      type: 'identify',
      traits: { big_spenders: true },
      context: {
        audience: {
          id: 'big-spenders',
          name: 'Big Spenders',
          sync: '2026-11-24T18:22:31.398Z-eef4bc8d',
        },
      },
      timestamp: '2026-11-24T18:22:31.398Z',
    },
  ],
  'page: a page was viewed': [
    {
      type: 'page',
      name: 'Pricing',
      category: 'Shop',
      properties: { url: 'https://shop.example.com/pricing' },
    },
  ],
  'screen: a screen of an app was viewed': [
    { type: 'screen', name: 'Cart', properties: { items: 3 } },
  ],
  'group: a user belongs to a group': [
    { type: 'group', groupId: 'acme', traits: { employees: 12 } },
  ],
  'alias: two ids are one user': [{ type: 'alias', previousId: 'anon-7' }],
};

for (const [heading, sent] of Object.entries(calls)) {
  test(`docs/receiving.md shows the body that the pipeline makes of ${heading}`, () => {
    assert.deepEqual(
      bodiesUnder(heading),
      sent.map((call) => bodyOf(call, 'standard')),
    );
  });
}

test('docs/receiving.md shows the body of a deletion, and of a whole call', () => {
  assert.deepEqual(bodiesUnder('delete: forget this user'), [buildDeleteBody(userId, timestamp)]);
  const call = { type: 'track', userId, event: 'Order Completed', properties: { revenue: 39.95 } };
  const whole = bodyOf({ ...call, messageId: 'm-1', writeKey: 'wk_shop_1' }, 'full');
  assert.deepEqual(bodiesUnder('The whole call'), [whole]);
});

test('docs/receiving.md can be handed to a customer: it leads to no other page, and needs no command', () => {
  const links = [...receiving.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
  assert.deepEqual(
    links.filter((link) => !link.startsWith('#')),
    [],
  );
  assert.doesNotMatch(receiving, /\bpostrider [a-z-]+|operator/);
});

test('docs/receiving.md lists the keys of each body in their order', () => {
  const rows = rowsOf(sectionOf(receiving, 'Bodies').split('\n### ')[0] ?? '');
  const listed = new Map(
    rows.map(([type, keys = '']) => [codeIn(type)[0], keys.replaceAll('`', '').split(', ')]),
  );
  const full = { event: 'E', groupId: 'g', previousId: 'p', name: 'n' };
  for (const type of callTypes) {
    const call = { type, ...full, properties: { a: 1 }, traits: { a: 1 }, context: { a: 1 } };
    assert.deepEqual(listed.get(type), keysOf(bodyOf(call, 'standard')), type);
  }
  assert.deepEqual(listed.get('delete'), keysOf(buildDeleteBody(userId, timestamp)));
});

test('docs/receiving.md shows the request that is made, with its signature', () => {
  const [request = ''] = blocksOf(receiving)
    .filter(({ language }) => language === 'http')
    .map(({ text }) => text);
  const [head = '', body = ''] = request.trimEnd().split('\n\n');
  const [line, host, ...headers] = head.split('\n');
  assert.deepEqual([line, host], ['POST /events HTTP/1.1', 'Host: crm.example.com']);
  const { resource } = parseResource({
    kind: 'Destination',
    id: 'crm',
    name: 'CRM',
    sources: ['shop'],
    sharedSecret: secret,
    idempotencyHeader: 'Idempotency-Key',
    webhooks: [{ url: 'https://crm.example.com/events', headers: { 'X-Team': 'growth' } }],
  }) as { readonly resource: ConstructorParameters<typeof PreparedDestination>[0] };
  const prepared = new PreparedDestination(resource);
  const [endpoint = assert.fail('no endpoint')] = prepared.endpoints;
  const own = prepared.headersOf('m-1', Buffer.from(body), Date.now());
  const made = [...endpoint.headers, ...own];
  const pairs = made.flatMap((name, index) =>
    index % 2 === 0 ? `${name}: ${made[index + 1] ?? ''}` : [],
  );
  assert.deepEqual(headers, [...pairs, `Content-Length: ${Buffer.byteLength(body)}`]);
  assert.equal(bodiesUnder('track: something happened')[0], body);
  assert.ok(
    sectionOf(receiving, 'Verify the signature').includes(own[1] ?? assert.fail('no signature')),
  );
});

/** What runs each receiver that the page shows, where the machine has it. */
const receivers = {
  'receiver.mjs': [process.execPath],
  'receiver.py': ['python3'],
  'receiver.go': ['go', 'run'],
} as const;

/** On a new machine, Go builds its own library first. */
const longestBuildMs = 240_000;

for (const [name, [program, ...args]] of Object.entries(receivers)) {
  if (!isInstalled(program)) continue;
  test(`${name} of docs/receiving.md takes what is signed and refuses the rest`, async (t) => {
    const port = await freePort();
    const run = [...args, await written(t, name, programOf(receiving, name))];
    // A group of its own, so that what `go run` has started ends with it.
    const child = spawn(program, run, {
      env: { ...process.env, SHARED_SECRET: secret, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const exited = once(child, 'exit');
    t.after(async () => {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
      await exited;
    });
    const body = '{ "type":"track",  "userId":"u", "properties":{"1":1.0,"name":"Käufer"} }';
    // By OpenSSL, as the page says, and not by the code under test.
    const signature = await signatureByOpenssl(t, body);
    const statusFor = async (text: string, header?: string): Promise<number> => {
      const { status } = await fetch(`http://127.0.0.1:${port}/events`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(header === undefined ? {} : { 'x-signature': header }),
        },
        body: text,
      });
      return status;
    };
    const first = await eventually(() => {
      if (child.exitCode !== null) assert.fail(said);
      return statusFor(body, signature);
    }, longestBuildMs);
    assert.equal(first, 200, said);
    assert.equal(await statusFor(`${body} `, signature), 401);
    assert.equal(
      await statusFor(
        body,
        signature.replace(/./, (c) => (c === '0' ? '1' : '0')),
      ),
      401,
    );
    assert.equal(await statusFor(body, 'x'), 401);
    assert.equal(await statusFor(body), 401);
  });
}

/** The JSON under a heading as it travels: in one line. */
function bodiesUnder(heading: string): string[] {
  const blocks = blocksOf(sectionOf(receiving, heading));
  return blocks
    .filter(({ language }) => language === 'json')
    .map(({ text }) => JSON.stringify(JSON.parse(text)));
}

function bodyOf(call: object, payload: Payload): string {
  const { type } = call as { readonly type: string };
  const value = Buffer.from(JSON.stringify({ type, userId, ...call, ...timeOf(call) }));
  const origin = { topic: 't', partition: 0, offset: 0, appendTimeMs: Date.parse(timestamp) };
  const parsed = parseCall(value, origin).call ?? assert.fail('it is no call');
  return buildBody(parsed, payload);
}

function timeOf(call: object): object {
  return 'timestamp' in call ? {} : { timestamp };
}

function keysOf(body: string): string[] {
  return Object.keys(JSON.parse(body) as object);
}

function isInstalled(program: string): boolean {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return program.includes('/') || folders.some((folder) => existsSync(join(folder, program)));
}

async function written(t: TestContext, name: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-receiver-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

async function signatureByOpenssl(t: TestContext, body: string): Promise<string> {
  const file = await written(t, 'body.json', body);
  const { stdout } = await promisify(execFile)('openssl', ['dgst', '-sha1', '-hmac', secret, file]);
  return stdout.trim().split(' ').at(-1) ?? '';
}
