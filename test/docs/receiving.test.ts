import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { freePort } from '../harness/free-ports.ts';
import { PreparedDestination } from '../../src/delivery/prepared-destination.ts';
import { buildBody, buildDeleteBody, type Payload } from '../../src/event/body.ts';
import { callTypes } from '../../src/event/call.ts';
import { parseCall } from '../../src/event/parse-call.ts';
import { parseResource } from '../../src/resources/schema/schema.ts';
import { newSigningKey, newSigningSecret } from '../../src/resources/signing-secret.ts';
import { eventually } from '../harness/eventually.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { exampleDestination } from '../resources/examples.ts';
import { receivers as shown } from '../../src/console/web/screens/manage/receivers.ts';
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

for (const { name, code } of Object.values(shown))
  test(`the program that a customer's page shows for ${name} is one of docs/receiving.md`, () => {
    assert.ok(receiving.includes(`\n${code}\`\`\`\n`));
  });

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

for (const [name, command] of Object.entries(receivers)) {
  if (!isInstalled(command[0])) continue;
  test(`${name} of docs/receiving.md takes what is signed and refuses the rest`, async () => {
    const body = '{ "type":"track",  "userId":"u", "properties":{"1":1.0,"name":"Käufer"} }';
    // By OpenSSL, as the page says, and not by the code under test.
    const signature = await signatureByOpenssl(body);
    const other = signature.replace(/./, (c) => (c === '0' ? '1' : '0'));
    await withReceiver({ name, command, secret }, async (statusFor) => {
      assert.equal(await statusFor(body, { 'x-signature': signature }), 200);
      assert.equal(await statusFor(`${body} `, { 'x-signature': signature }), 401);
      assert.equal(await statusFor(body, { 'x-signature': other }), 401);
      assert.equal(await statusFor(body, { 'x-signature': 'x' }), 401);
      assert.equal(await statusFor(body, {}), 401);
    });
  });
}

const batchReceivers = {
  'batch-receiver.mjs': [process.execPath],
  'batch_receiver.py': ['python3'],
  'batch-receiver.go': ['go', 'run'],
} as const;

for (const [name, command] of Object.entries(batchReceivers)) {
  if (!isInstalled(command[0])) continue;
  test(`${name} of docs/receiving.md answers for each event, compressed or not, and for a single one`, async () => {
    const batch = JSON.stringify([{ type: 'track', userId: 'Käufer' }, { userId: 'u' }]);
    const headersFor = async (body: string): Promise<Record<string, string>> => ({
      'x-signature': await signatureByOpenssl(body),
    });
    const signed = await headersFor(batch);
    const results = [{ status: 200 }, { status: 422, error: 'it has no type' }];
    await withReceiver({ name, command, secret }, async (statusFor, answerTo) => {
      for (const [body, headers] of [
        [batch, signed],
        [gzipSync(batch), { ...signed, 'content-encoding': 'gzip' }],
      ] as const) {
        const answer = await answerTo(body, headers);
        assert.equal(answer.status, 207);
        assert.deepEqual(await answer.json(), { results });
      }
      assert.equal(await statusFor(`${batch} `, signed), 401);
      for (const [one, status] of [
        ['{"type":"track"}', 200],
        ['{"userId":"u"}', 422],
      ] as const)
        assert.equal(await statusFor(one, await headersFor(one)), status);
    });
  });
}

/** The receivers that verify by the standard's own library for their language, and where each finds it. */
const standardReceivers = [
  { name: 'standard-express.mjs', library: undefined },
  { name: 'standard-fastify.mjs', library: undefined },
  { name: 'standard_flask.py', library: programs.standardWebhooksPython },
  { name: 'standard.go', library: programs.standardWebhooksGo },
] as const;

for (const { name, library } of standardReceivers) {
  if (library === programs.standardWebhooksGo && !isInstalled('go')) continue;
  const title = `${name} of docs/receiving.md takes what is signed by the standard, also while a secret changes, and refuses the rest`;
  testNeeding(library === undefined ? [] : [library], title, async (...paths) => {
    const body = '{"type":"track","userId":"u","properties":{"1":1,"name":"Käufer"}}';
    const own = newSigningSecret();
    const signedWith = (
      sharedSecret: string,
      { agoMs = 0, former }: { readonly agoMs?: number; readonly former?: string } = {},
    ): Record<string, string> => {
      const formerSecrets = former === undefined ? [] : [{ secret: former, untilMs: Infinity }];
      const signing = { sharedSecret, formerSecrets, signature: 'standard' };
      const prepared = new PreparedDestination(exampleDestination(signing));
      return pairsOf(prepared.headersOf('m-1', Buffer.from(body), Date.now() - agoMs));
    };
    const running = { name, secret: own, ...libraryFor(name, paths[0] ?? '') };
    await withReceiver(running, async (statusFor) => {
      const signed = signedWith(own);
      const time = Number(signed['webhook-timestamp']);
      const accepted = [
        signed,
        signedWith(own, { agoMs: 4 * 60_000 }),
        signedWith(newSigningSecret(), { former: own }),
        signedWith(own, { former: newSigningKey() }),
      ];
      for (const headers of accepted) assert.equal(await statusFor(body, headers), 200);
      assert.equal(await statusFor(`${body} `, signed), 401, 'another body');
      assert.equal(await statusFor('', signed), 401, 'no body');
      const refused = {
        'another id': { ...signed, 'webhook-id': 'm-2' },
        'another time': { ...signed, 'webhook-timestamp': String(time + 1) },
        'too old': signedWith(own, { agoMs: 6 * 60_000 }),
        'no time': { ...signed, 'webhook-timestamp': 'x' },
        'another secret': signedWith(newSigningSecret()),
        'another kind': signedWith(newSigningKey()),
        'no signature': { ...signed, 'webhook-signature': '' },
        'not a signature': { ...signed, 'webhook-signature': 'x' },
        'not base64': { ...signed, 'webhook-signature': 'v1,§' },
        unsigned: {},
      };
      for (const [what, headers] of Object.entries(refused))
        assert.equal(await statusFor(body, headers), 401, what);
    });
  });
}

/** @param library the path of what the receiver imports, where npm hasn't it */
function libraryFor(name: string, library: string): Omit<Run, 'name' | 'secret'> {
  if (name.endsWith('.py')) return { command: [join(dirname(library), 'python3')] };
  if (name.endsWith('.mjs'))
    return {
      command: [process.execPath],
      prepare: (folder) => symlink(resolve('node_modules'), join(folder, 'node_modules')),
    };
  const [imported = ''] = /"(.*)\/go"/.exec(programOf(receiving, name))?.slice(1) ?? [];
  const module = ['module receiver', 'go 1.21.0', `require ${imported} v0.0.1`];
  const text = [...module, `replace ${imported} => ${library}`, ''].join('\n');
  return {
    command: ['go', 'run'],
    prepare: (folder) => writeFile(join(folder, 'go.mod'), text),
  };
}

interface Run {
  /** Of the program on the page. */
  readonly name: string;
  readonly secret: string;
  /** What runs it. */
  readonly command: readonly [program: string, ...args: string[]];
  /** Puts beside it what it imports. */
  readonly prepare?: (folder: string) => Promise<void>;
}

type Headers = Readonly<Record<string, string>>;
type StatusFor = (body: string, headers: Headers) => Promise<number>;
type AnswerTo = (body: string | Buffer<ArrayBuffer>, headers: Headers) => Promise<Response>;

/** On a new machine, Go builds its own library first. */
const longestBuildMs = 240_000;

async function withReceiver(
  { name, secret: sharedSecret, command, prepare }: Run,
  use: (statusFor: StatusFor, answerTo: AnswerTo) => Promise<void>,
): Promise<void> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'postrider-receiver-'));
  await writeFile(join(folder, name), programOf(receiving, name));
  await prepare?.(folder);
  const [program, ...args] = command;
  // A group of its own, so that what `go run` has started ends with it.
  const child = spawn(program, [...args, name], {
    cwd: folder,
    env: { ...process.env, SHARED_SECRET: sharedSecret, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const exited = once(child, 'exit');
  const answerTo: AnswerTo = (body, headers) =>
    fetch(`http://127.0.0.1:${port}/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
  const statusFor: StatusFor = async (body, headers) => (await answerTo(body, headers)).status;
  try {
    const first = await eventually(
      () => (child.exitCode === null ? statusFor('{}', {}) : undefined),
      longestBuildMs,
    );
    assert.equal(first, 401, said);
    await use(statusFor, answerTo);
  } finally {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    await exited;
    await rm(folder, { recursive: true });
  }
}

function pairsOf(headers: readonly string[]): Record<string, string> {
  const pairs = headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]]] : []));
  return Object.fromEntries(pairs) as Record<string, string>;
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

async function signatureByOpenssl(body: string): Promise<string> {
  const args = ['dgst', '-sha1', '-hmac', secret];
  const running = promisify(execFile)('openssl', args);
  running.child.stdin?.end(body);
  const { stdout } = await running;
  return stdout.trim().split(' ').at(-1) ?? '';
}
