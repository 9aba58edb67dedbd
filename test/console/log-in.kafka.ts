import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Page } from '../../src/console/api/answers/shapes.ts';
import { decodeAuditEntry, type AuditEntry } from '../../src/event/audit-entry.ts';
import { startReceiver } from '../../src/dev/receiver.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { testBroker } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Ended } from '../harness/postrider.ts';
import { Browser, tokensFile, twoTokens } from './access/stand.ts';

const resources = JSON.stringify([
  { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
  ...['crm', 'billing'].map((id) => ({
    kind: 'Destination',
    id,
    name: id,
    ...(id === 'crm' ? { customer: 'acme' } : {}),
    sources: ['shop'],
    webhooks: [{ url: `https://${id}.example/hook` }],
  })),
]);

const settings = {
  CONSOLE_DATA_DIR: mkdtempSync(path.join(tmpdir(), 'postrider-test-')),
  CONSOLE_SESSION_KEY: randomBytes(32).toString('base64'),
  CONSOLE_TOKENS_FILE: tokensFile(twoTokens),
};

test('staff log in by a token, and a customer by a link that console-link prints', async () => {
  const postrider = await install(settings);
  await postrider.run(['topics', '--create']);
  await postrider.run(['apply', '-f', '-'], { stdin: resources });
  const role = await postrider.start('console');
  try {
    const staff = new Browser(role.consoleUrl);
    assert.equal((await staff.get('/api/v1/destinations')).status, 401);
    await staff.submit('/login', { token: 'vera-token' });
    assert.match((await staff.get('/api/v1/destinations')).text, /"id":"billing"/);

    const env = { CONSOLE_URL: role.consoleUrl };
    const { code, stdout, stderr } = await postrider.run(['console-link', 'crm'], { env });
    assert.equal(code, 0, stderr);
    assert.match(
      stderr,
      /^anyone with this link can see destination crm until \d{4}-.*Z; `postrider console-link --revoke \w+` ends it\n$/,
    );
    const customer = new Browser(role.consoleUrl);
    await eventually(async () => {
      assert.equal((await customer.get(stdout.trim())).status, 200);
    });
    assert.match((await customer.get('/api/v1/destinations/crm')).text, /"id":"crm"/);
    for (const route of ['/configuration', '/destinations/billing', '/events?message=m'])
      assert.equal((await customer.get(`/api/v1${route}`)).status, 403, route);

    const [, id = ''] = /--revoke (\w+)/.exec(stderr) ?? [];
    const listed = await postrider.run(['console-link', '--list'], { env });
    assert.match(listed.stdout, new RegExp(`^${id} +crm +- +no +no +\\d{4}-.* system user `, 'm'));
    const asJson = await postrider.run(['console-link', 'billing', '-o', 'json'], { env });
    const other = JSON.parse(asJson.stdout) as { readonly id: string; readonly url: string };
    assert.ok(other.url.startsWith(`${role.consoleUrl}/l/`), asJson.stdout);
    await postrider.run(['delete', 'destination', 'billing', '--yes']);
    const left = await postrider.run(['console-link', '--list', '-o', 'json'], { env });
    assert.deepEqual(
      (JSON.parse(left.stdout) as { readonly id: string }[]).map((each) => each.id),
      [id],
    );
    assert.equal((await postrider.run(['console-link', '--revoke', id], { env })).code, 0);
    await eventually(async () => {
      assert.equal((await customer.get('/api/v1/destinations/crm')).status, 401);
      assert.equal((await customer.get(stdout.trim())).status, 403);
    });
    const none = await postrider.run(['console-link', '--revoke', id], { env });
    assert.match(none.stderr, /^postrider: no link \w+ works; --list prints those that do/);
    assert.equal((await postrider.run(['pause', 'crn'])).code, 1);
    // What a command writes last may come after it has ended.
    await eventually(async () => {
      const { items } = JSON.parse((await staff.get('/api/v1/audit')).text) as Page<AuditEntry>;
      assert.deepEqual(
        items.toReversed().map(({ user, via, action, destination, outcome }) => {
          const who = user.replace(/^system user .*/, 'command').replace(/^link \w+/, 'link');
          return [who, via, action, destination, outcome];
        }),
        [
          ['command', 'command-line', 'apply', undefined, undefined],
          ['vera', undefined, 'log-in', undefined, undefined],
          ['command', 'command-line', 'make-link', 'crm', undefined],
          ['link', undefined, 'open-link', 'crm', undefined],
          ['command', 'command-line', 'make-link', 'billing', undefined],
          ['command', 'command-line', 'delete', undefined, undefined],
          ['command', 'command-line', 'revoke-link', 'crm', undefined],
          ['command', 'command-line', 'pause', 'crn', undefined],
          ['command', 'command-line', 'pause', 'crn', 'refused'],
        ],
      );
    });
  } finally {
    await role.kill('SIGTERM');
  }
});

/** In every place of a destination whose content only its operators may know. */
const marker = 'zebra-token';

test('a customer reads no token, in no answer', async () => {
  const receiver = await startReceiver({ port: 0, answer: () => ({ status: 422, body: 'no' }) });
  const postrider = await install(settings);
  await postrider.run(['topics', '--create']);
  const destination = {
    kind: 'Destination',
    id: 'crm',
    name: 'crm',
    sources: ['shop'],
    sharedSecret: `secret-${marker}`,
    webhooks: [
      { url: `${receiver.url}/hook?token=${marker}`, headers: { 'X-Token': `header-${marker}` } },
    ],
  };
  const stdin = JSON.stringify([
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    destination,
  ]);
  assert.equal((await postrider.run(['apply', '-f', '-'], { stdin })).code, 0);
  const roles = await Promise.all([postrider.start('router'), postrider.start('delivery')]);
  const role = await postrider.start('console');
  try {
    const call = JSON.stringify({ type: 'identify', userId: 'ada', messageId: 'm1' });
    await postrider.run(['produce', '--source', 'shop'], { stdin: call });
    const env = { CONSOLE_URL: role.consoleUrl };
    const { stdout } = await postrider.run(['console-link', 'crm', '--bodies'], { env });
    const customer = new Browser(role.consoleUrl);
    await eventually(async () => {
      assert.equal((await customer.get(stdout.trim())).status, 200);
    });
    const read = async (route: string): Promise<string> =>
      (await customer.get(`/api/v1${route}`)).text;
    // Each of these has something of the event.
    await eventually(async () => {
      assert.match(await read('/destinations/crm'), /"urls":\[\{"url".*"status":422/);
      assert.match(await read('/destinations/crm/series'), /"refused":1/);
      assert.match(await read('/destinations/crm/attempts'), /"kind":"dead-letter"/);
      assert.match(await read('/destinations/crm/dead-letters'), /"messageId":"m1"/);
      assert.match(await read('/events?message=m1'), /"X-Token"/);
    });
    assert.doesNotMatch(await read('/session'), /"version"/);
    const { paths } = JSON.parse(await read('/openapi.json')) as {
      paths: Record<string, { get?: object }>;
    };
    const shown: string[] = [];
    for (const [path, methods] of Object.entries(paths)) {
      if (methods.get === undefined) continue;
      const route = path.replace('{id}', 'crm');
      const { status, text } = await customer.get(`${route}?message=m1`);
      const answer = status === 400 ? await customer.get(route) : { status, text };
      assert.doesNotMatch(answer.text, new RegExp(marker), path);
      if (answer.status === 200) shown.push(path.slice('/api/v1'.length));
      else assert.equal(answer.status, 403, `${path}: ${answer.text}`);
    }
    assert.deepEqual(shown.sort(), [
      '/destinations',
      '/destinations/{id}',
      '/destinations/{id}/attempts',
      '/destinations/{id}/dead-letters',
      '/destinations/{id}/series',
      '/event-names',
      '/events',
      '/session',
    ]);
  } finally {
    await Promise.all([role, ...roles].map((each) => each.kill('SIGKILL')));
    await receiver.close();
  }
});

test('console-link says what it lacks', async () => {
  const postrider = await install({ ...settings, CONSOLE_URL: 'https://console.shop.example' });
  await postrider.run(['topics', '--create']);
  await postrider.run(['apply', '-f', '-'], { stdin: resources });
  const said = async (args: string[], env = {}): Promise<string> => {
    const { code, stdout, stderr } = await postrider.run(['console-link', ...args], { env });
    assert.notEqual(code, 0);
    assert.equal(stdout, '');
    return stderr;
  };
  assert.match(await said(['crn']), /^postrider: there is no destination crn; did you mean crm\?/);
  assert.match(await said([]), /^postrider: name a destination, or give --customer, /);
  assert.match(await said(['crm', '--customer', 'acme']), /either a destination or --customer/);
  assert.match(await said(['crm', '--manage']), /--manage needs --customer/);
  assert.match(
    await said(['--customer', 'Acme']),
    /^postrider: no destination is of customer Acme; did you mean acme\?/,
  );
  assert.match(await said(['--customer', ' ']), /It must be 1 to 128 printable characters/);
  assert.match(
    await said(['crm'], { CONSOLE_URL: '' }),
    /^postrider: CONSOLE_URL is not set, allowed: /,
  );
  for (const expires of ['7', '0s', '91d', 'x'])
    assert.match(
      await said(['crm', '--expires', expires]),
      /Allowed: a duration such as 12h or 7d, from 1m to 90d\./,
    );
});

test('a link shows a customer all of their destinations, until it is revoked', async () => {
  const postrider = await install({ ...settings, CONSOLE_URL: 'https://console.shop.example' });
  await postrider.run(['topics', '--create']);
  await postrider.run(['apply', '-f', '-'], { stdin: resources });
  const linked = async (...args: string[]): Promise<Ended> => {
    const ended = await postrider.run(['console-link', ...args]);
    assert.equal(ended.code, 0, ended.stderr);
    return ended;
  };
  const made = await linked('--customer', 'acme', '--manage', '--bodies', '-o', 'json');
  assert.match(made.stderr, /^anyone with this link can see and change all .* of customer acme/);
  const { id, url, ...rest } = JSON.parse(made.stdout) as Record<string, string>;
  assert.partialDeepStrictEqual(rest, { customer: 'acme', manage: true, bodies: true });
  assert.match(url ?? '', /^https:\/\/console\.shop\.example\/l\/prl_[\w-]{43}$/);

  const first = await linked('--customer', 'new ltd', '--manage', '--expires', '1h');
  assert.match(first.stderr, /^no destination is of customer new ltd\n/);
  const listed = await linked('--list', '--customer', 'acme');
  assert.match(listed.stdout, new RegExp(`^${id} +- +acme +yes +yes +\\d{4}-`, 'm'));
  assert.doesNotMatch(listed.stdout, /new ltd/);
  assert.match((await linked('--list')).stdout, /new ltd/);

  const revoked = await linked('--revoke', id ?? '');
  assert.match(revoked.stdout, /^link \w+ of customer acme is revoked$/m);
  assert.doesNotMatch((await linked('--list')).stdout, / acme /);

  const topic = `${postrider.environment['TOPIC_PREFIX'] ?? ''}audit`;
  const { brokers } = await testBroker();
  const kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  const told: string[] = [];
  for await (const { value } of readRange(kafka, { topic })) {
    const { action, detail } = decodeAuditEntry(value) ?? {};
    if (action !== 'apply') told.push(`${action}: ${detail}`);
  }
  assert.equal(told.length, 3);
  assert.match(
    told[0] ?? '',
    /^make-link: link \w+ of customer acme, may manage, with bodies, until/,
  );
  assert.match(told[1] ?? '', /^make-link: link \w+ of customer new ltd, may manage, until/);
  assert.equal(told[2], `revoke-link: link ${id} of customer acme`);
});

test('a console that others could reach without log-in does not start', async () => {
  const postrider = await install({
    CONSOLE_HOST: '0.0.0.0',
    CONSOLE_DATA_DIR: settings.CONSOLE_DATA_DIR,
  });
  await postrider.run(['topics', '--create']);
  const { code, stderr } = await postrider.run(['console']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^postrider: CONSOLE_HOST is 0\.0\.0\.0, which other machines can reach, and log-in is off/m,
  );
});
