import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toDocument } from '../../../src/resources/config/stored.ts';
import { formatPath } from '../../../src/resources/problem.ts';
import { reservedHeaders } from '../../../src/resources/schema/texts.ts';
import { secretMask } from '../../../src/resources/schema/schema-parts.ts';
import { parseResource } from '../../../src/resources/schema/schema.ts';

const source = { kind: 'Source', id: 'shop', name: 'Web shop', writeKeys: ['wk_shop_1'] };
const webhook = { url: 'https://crm.example.com/events' };
const destination = {
  kind: 'Destination',
  id: 'crm',
  name: 'CRM',
  sources: ['shop'],
  webhooks: [webhook],
};

function issuesOf(document: unknown): string[] {
  const parsed = parseResource(document);
  return 'issues' in parsed
    ? parsed.issues.map(({ path, reason }) => `${formatPath(path)}: ${reason}`)
    : [];
}

function onlyIssue(changes: object, base: object = destination): string {
  const issues = issuesOf({ ...base, ...changes });
  assert.equal(issues.length, 1, issues.join('\n'));
  return issues[0] ?? '';
}

test('a minimal destination gets its defaults', () => {
  assert.deepEqual(parseResource(destination), {
    resource: {
      ...destination,
      enabled: true,
      webhooks: [{ ...webhook, headers: {} }],
      payload: 'standard',
      topic: 'shared',
    },
  });
});

test('every field of the documented example is understood', () => {
  const full = {
    ...destination,
    enabled: false,
    sharedSecret: 'teehee',
    signature: 'both',
    secretOverlap: '7d',
    webhooks: [{ ...webhook, headers: { 'X-Team': 'growth' } }],
    events: ['track', 'identify'],
    eventNames: ['Order Completed'],
    payload: 'full',
    idempotencyHeader: 'Idempotency-Key',
    compress: 'gzip',
    notify: { url: 'https://warehouse.example.com/notices' },
    rateLimit: '100/s',
    maxInFlight: 16,
    batch: { events: 500, wait: '2s', bytes: '1MB' },
    topic: 'dedicated',
    partitions: 6,
    retry: { on: [409, 410], giveUpOn: [503], window: '30m', timeout: '3s' },
    order: 'user',
    orderFor: '45m',
  };
  assert.deepEqual(parseResource(full), { resource: { ...full, rateLimit: 100 } });
  assert.deepEqual(parseResource(source), { resource: source });
});

test('partitions are a number from 1 to 100, and of a dedicated topic', () => {
  for (const partitions of [0, 101, 1.5, '3'])
    assert.match(onlyIssue({ topic: 'dedicated', partitions }), /^partitions: must be /);
  assert.equal(
    onlyIssue({ partitions: 3 }),
    'partitions: is for a destination with topic: dedicated; the shared topic has TOPIC_PARTITIONS',
  );
});

test('a batch has up to 1,000 events and 1 MB, and waits for 10 s at most', () => {
  const parsed = parseResource({ ...destination, batch: {} });
  assert.ok('resource' in parsed && parsed.resource.kind === 'Destination');
  assert.deepEqual(parsed.resource.batch, { events: 100, wait: '1s', bytes: '256KB' });
  const most = { events: 1_000, wait: '10s', bytes: '1MB' };
  for (const batch of [most, { events: 1, wait: '0s', bytes: '1KB' }])
    assert.deepEqual(issuesOf({ ...destination, batch }), []);
  for (const events of [0, 1_001, 1.5, '100'])
    assert.equal(
      onlyIssue({ batch: { events } }),
      'batch.events: must be a whole number from 1 to 1000',
    );
  for (const wait of ['11s', '1m', 'never', 1])
    assert.equal(
      onlyIssue({ batch: { wait } }),
      'batch.wait: must be a duration from 0s to 10s, such as 1s',
    );
  for (const bytes of ['1023', '0KB', '2MB', '1GB', 65_536])
    assert.equal(
      onlyIssue({ batch: { bytes } }),
      'batch.bytes: must be a size from 1KB to 1MB, such as 256KB',
    );
  assert.match(onlyIssue({ batch: 100 }), /^batch: must be a mapping/);
  assert.equal(
    onlyIssue({ batch: { event: 5 } }),
    'batch.event: is not a known field; did you mean events? Allowed: events, wait, bytes',
  );
});

test('events of a batch have one URL', () => {
  const url = 'https://crm.example.com/users/{{userId}}';
  assert.equal(
    onlyIssue({ batch: {}, webhooks: [webhook, { url }] }),
    'batch: needs URLs without placeholders: one request has one URL, and its events would have several',
  );
});

test('order is that of users, for 1s to 4h, and of a dedicated topic', () => {
  const ordered = { topic: 'dedicated', order: 'user' };
  for (const orderFor of ['1s', '30m', '4h'])
    assert.deepEqual(issuesOf({ ...destination, ...ordered, orderFor }), []);
  for (const orderFor of ['0s', '999ms', '5h', 'always', 30])
    assert.equal(
      onlyIssue({ ...ordered, orderFor }),
      'orderFor: must be a duration from 1s to 4h, such as 30m',
    );
  assert.equal(
    onlyIssue({ topic: 'dedicated', order: 'users' }),
    'order: must be one of user; did you mean user?',
  );
  assert.equal(onlyIssue({ topic: 'dedicated', orderFor: '1h' }), 'orderFor: needs order: user');
  assert.equal(
    onlyIssue({ order: 'user' }),
    'order: needs topic: dedicated, because an event waits in its topic for others',
  );
});

test('a resource is frozen through and through', () => {
  const parsed = parseResource({ ...destination, webhooks: [{ ...webhook, headers: { A: 'b' } }] });
  assert.ok('resource' in parsed && parsed.resource.kind === 'Destination');
  const { webhooks } = parsed.resource;
  for (const part of [parsed.resource, webhooks, webhooks[0], webhooks[0]?.headers])
    assert.ok(Object.isFrozen(part));
});

test('an empty shared secret is none', () => {
  const parsed = parseResource({ ...destination, sharedSecret: '' });
  assert.ok('resource' in parsed && !('sharedSecret' in parsed.resource));
});

test('another kind is refused with the ones that are allowed', () => {
  const allowed = 'allowed: Source, Destination, Audience, ComputedTrait, NoticeHook';
  assert.equal(onlyIssue({ kind: 'Sink' }), `kind: is not a kind of resource; ${allowed}`);
  assert.deepEqual(issuesOf({ id: 'x' }), [`kind: is missing; ${allowed}`]);
  for (const nonsense of [null, 'text', 7, [], undefined])
    assert.match(issuesOf(nonsense).join(), /must be a resource/);
});

test('everything that is wrong with a resource is reported at once', () => {
  const issues = issuesOf({
    ...destination,
    id: 'CRM',
    name: ' ',
    sources: 'shop',
    enabled: 'yes',
    colour: 'red',
    webhooks: [{ url: 'ftp://x', header: {} }],
    maxInFlight: 0.5,
  });
  assert.deepEqual(issues.map((issue) => issue.split(':')[0]).sort(), [
    'colour',
    'enabled',
    'id',
    'maxInFlight',
    'name',
    'sources',
    'webhooks[0].header',
    'webhooks[0].url',
  ]);
});

test('an unknown field is refused with the ones that are allowed there', () => {
  assert.equal(
    onlyIssue({ writekeys: [] }, source),
    'writekeys: is not a known field; did you mean writeKeys? Allowed: kind, id, name, writeKeys',
  );
  assert.equal(
    onlyIssue({ webhooks: [{ ...webhook, secret: 'x' }] }),
    'webhooks[0].secret: is not a known field; allowed: url, headers, method, oauth2, clientCertificate',
  );
});

test('a misspelt field is told with the right one, which is not also told to be missing', () => {
  const { webhooks, ...rest } = destination;
  assert.match(
    onlyIssue({ webhook: webhooks }, rest),
    /^webhook: is not a known field; did you mean webhooks\? Allowed: /,
  );
  assert.match(
    onlyIssue({ shared_secret: 'x' }),
    /^shared_secret: is not a known field; did you mean sharedSecret\? /,
  );
  assert.equal(
    onlyIssue({ webhooks: [{ uri: 'https://crm.example.com' }] }),
    'webhooks[0].uri: is not a known field; did you mean url? Allowed: url, headers, method, oauth2, clientCertificate',
  );
  assert.match(onlyIssue({ events: ['trak'] }), /must be one of .*; did you mean track\?$/);
  assert.match(
    onlyIssue({ kind: 'Destinaton' }),
    /not a kind of resource; did you mean Destination\? /,
  );
});

test('missing fields are named', () => {
  assert.deepEqual(issuesOf({ kind: 'Destination' }), [
    'id: is missing',
    'name: is missing',
    'sources: is missing',
    'webhooks: is missing',
  ]);
});

test('a destination has one to five webhooks', () => {
  const six = Array.from({ length: 6 }, (_, index) => ({ url: `https://example.com/${index}` }));
  assert.deepEqual(issuesOf({ ...destination, webhooks: six.slice(1) }), []);
  for (const webhooks of [six, []])
    assert.equal(onlyIssue({ webhooks }), 'webhooks: must hold 1 to 5 webhooks');
});

test('ids are what fits into topic names and URLs', () => {
  for (const id of ['a', '0', 'a-b', 'a'.repeat(63)])
    assert.deepEqual(issuesOf({ ...source, id }), []);
  for (const id of ['', '-a', 'A', 'a.b', 'a_b', 'a/b', 'ä', 'a'.repeat(64), 'a\n'])
    assert.match(onlyIssue({ id }, source), /^id: must be 1 to 63 lower-case/);
});

test('a number where text belongs is refused with the hint to quote it', () => {
  assert.equal(onlyIssue({ name: 7 }), 'name: must be text; put it in quotes');
  assert.equal(
    onlyIssue({ webhooks: [{ ...webhook, headers: { 'X-Version': 1.1 } }] }),
    'webhooks[0].headers.X-Version: must be text; put it in quotes',
  );
});

test('only absolute http and https URLs are webhooks', () => {
  for (const url of [
    'http://localhost',
    'HTTPS://Example.com:8443/a?b=c',
    'http://[::1]:8080/',
    'https://exämple.com/ü',
  ])
    assert.deepEqual(issuesOf({ ...destination, webhooks: [{ url }] }), [], url);
  for (const [url, reason] of [
    ['ftp://example.com', /http:\/\/ or https:\/\//],
    ['example.com', /http:\/\/ or https:\/\//],
    ['https:example.com', /http:\/\/ or https:\/\//],
    ['https:\\\\example.com', /http:\/\/ or https:\/\//],
    ['https:///example.com', /http:\/\/ or https:\/\//],
    ['javascript:alert(1)', /http:\/\/ or https:\/\//],
    ['', /http:\/\/ or https:\/\//],
    ['https://example.com/a b', /spaces/],
    ['https://example.com/\n', /control characters/],
    [' https://example.com', /http:\/\/ or https:\/\//],
    ['https://example.com:99999', /valid host and port/],
    ['https://exa mple.com', /spaces/],
    ['https://user:pass@example.com', /Authorization/],
    ['https://token@example.com', /Authorization/],
    ['https://example.com/#part', /fragment/],
    ['https://example.com/#', /fragment/],
  ] as const)
    assert.match(onlyIssue({ webhooks: [{ url }] }), reason, url);
});

test('the reserved headers are those of the contract, the hop-by-hop ones, and Expect', () => {
  for (const name of [
    'content-type',
    'user-agent',
    'x-signature',
    'cdn-loop',
    'content-length',
    'host',
  ])
    assert.ok(reservedHeaders.includes(name), name);
  for (const name of ['connection', 'transfer-encoding', 'keep-alive', 'te', 'trailer', 'upgrade'])
    assert.ok(reservedHeaders.includes(name), name);
  for (const name of ['proxy-authorization', 'proxy-connection', 'expect'])
    assert.ok(reservedHeaders.includes(name), name);
});

test('headers that the pipeline or the connection sets are refused in every spelling', () => {
  for (const name of [...reservedHeaders, 'Content-Type', 'X-SIGNATURE', 'hOST']) {
    const issue = onlyIssue({ webhooks: [{ ...webhook, headers: { [name]: 'x' } }] });
    assert.match(issue, /is a reserved header/);
    assert.match(onlyIssue({ idempotencyHeader: name }), /is a reserved header/);
  }
});

test('a header name that is no token is refused', () => {
  for (const name of ['', 'X Team', 'X:Team', 'X-Tëam', 'X\r\nY', '(x)', 'x'.repeat(257)])
    assert.match(
      onlyIssue({ webhooks: [{ ...webhook, headers: { [name]: 'x' } }] }),
      /must be a header name/,
    );
});

test('the same header in two spellings is refused', () => {
  const headers = { 'X-Team': 'a', 'x-team': 'b' };
  assert.match(onlyIssue({ webhooks: [{ ...webhook, headers }] }), /same header as X-Team/);
});

test('a header value that HTTP cannot carry is refused without being repeated', () => {
  for (const [bad, reason] of [
    ['\r', 'a line break'],
    ['\n', 'a line break'],
    ['\0', 'NUL'],
    ['\u0001', 'latin-1'],
    ['\u007f', 'latin-1'],
    ['€', 'latin-1'],
    ['\u{1f600}', 'latin-1'],
    ['\ud800', 'latin-1'],
  ] as const) {
    const headers = { Authorization: `s3cret${bad}` };
    const issue = onlyIssue({ webhooks: [{ ...webhook, headers }] });
    assert.match(issue, new RegExp(`^webhooks\\[0\\]\\.headers\\.Authorization: must .*${reason}`));
    assert.doesNotMatch(issue, /s3cret/);
  }
  const headers = { A: '', B: 'a\tb', C: 'ÿ£', D: ' ~' };
  assert.deepEqual(issuesOf({ ...destination, webhooks: [{ ...webhook, headers }] }), []);
});

test('the idempotency header must not be a configured one', () => {
  const webhooks = [webhook, { ...webhook, headers: { 'idempotency-key': 'x' } }];
  assert.match(
    onlyIssue({ webhooks, idempotencyHeader: 'Idempotency-Key' }),
    /^idempotencyHeader: must not be one of the headers/,
  );
});

test('the place for notices has a URL of its own, without values of an event', () => {
  assert.equal(onlyIssue({ notify: {} }), 'notify.url: is missing');
  assert.match(
    onlyIssue({ notify: { url: 'ftp://x' } }),
    /^notify\.url: must be a URL that starts/,
  );
  assert.match(
    onlyIssue({ notify: { url: 'https://a.example/{{userId}}' } }),
    /^notify\.url: must not have placeholders/,
  );
  assert.match(onlyIssue({ notify: { uri: 'https://a.example' } }), /did you mean url\?/);
});

test('compress has the header Content-Encoding to itself', () => {
  const webhooks = [{ ...webhook, headers: { 'content-encoding': 'identity' } }];
  assert.equal(
    onlyIssue({ webhooks, compress: 'gzip' }),
    'webhooks[0].headers.content-encoding: is set by compress; remove one of them',
  );
  assert.equal(
    onlyIssue({ compress: 'gzip', idempotencyHeader: 'Content-Encoding' }),
    'idempotencyHeader: is set by compress; remove one of them',
  );
  assert.deepEqual(issuesOf({ ...destination, webhooks }), []);
  assert.equal(onlyIssue({ compress: 'zstd' }), 'compress: must be one of gzip');
});

test('rates are events, or requests, per second, minute or hour, and more than zero', () => {
  for (const [rateLimit, perSecond] of [
    ['100/s', 100],
    ['30/m', 0.5],
    ['3600/h', 1],
  ] as const) {
    const parsed = parseResource({ ...destination, rateLimit });
    assert.ok('resource' in parsed && parsed.resource.kind === 'Destination');
    assert.equal(parsed.resource.rateLimit, perSecond);
  }
  for (const [rateLimit, perSecond] of [
    ['10 requests/s', 10],
    ['30 requests/m', 0.5],
  ]) {
    const parsed = parseResource({ ...destination, rateLimit });
    assert.ok('resource' in parsed && parsed.resource.kind === 'Destination');
    assert.equal(parsed.resource.rateLimit, perSecond);
    assert.equal(parsed.resource.rateLimitOf, 'requests');
    assert.deepEqual(toDocument(parsed.resource), { ...toDocument(parsed.resource), rateLimit });
    assert.deepEqual(parseResource(toDocument(parsed.resource)), parsed);
  }
  for (const bad of ['10 requests', '0 requests/s', '10 request/s', '10requests/s', '1 calls/s'])
    assert.match(onlyIssue({ rateLimit: bad }), /^rateLimit: must be .* such as 10 requests\/s/);
  for (const rateLimit of [5, '0/s', '100', '/s', '-1/s', '1.5/s', '10/d', '1 /s', '1/S', '01/s'])
    assert.match(onlyIssue({ rateLimit }), /^rateLimit: must be a rate of events such as 100\/s/);
});

test('lists that would restrict to nothing, or name something twice, are refused', () => {
  assert.match(onlyIssue({ events: [] }), /^events: must not be empty/);
  assert.match(onlyIssue({ eventNames: [] }), /^eventNames: must not be empty/);
  assert.match(onlyIssue({ sources: ['shop', 'shop'] }), /^sources\[1\]: is named twice/);
  assert.match(onlyIssue({ writeKeys: ['a', 'a'] }, source), /^writeKeys\[1\]: is named twice/);
});

test('delete notifications cannot be chosen as call types', () => {
  assert.equal(
    onlyIssue({ events: ['delete'] }),
    'events[0]: must be one of track, page, screen, identify, group, alias',
  );
});

test('a write key must survive Basic authentication', () => {
  for (const key of ['', 'a:b', 'a b', 'ä', 'x'.repeat(201)])
    assert.match(onlyIssue({ writeKeys: [key] }, source), /^writeKeys\[0\]: must be 1 to 200/);
});

test('what `get` prints in place of a secret cannot be applied as one', () => {
  assert.match(onlyIssue({ sharedSecret: secretMask }), /give the secret itself/);
  const headers = { Authorization: secretMask };
  assert.match(onlyIssue({ webhooks: [{ ...webhook, headers }] }), /give the secret itself/);
});

test('a destination that signs as it does without the field is stored without it', () => {
  const parsed = parseResource({ ...destination, sharedSecret: 'teehee', signature: 'segment' });
  assert.ok('resource' in parsed && !('signature' in parsed.resource));
});

test('a signature by the standard needs a secret that can sign', () => {
  const standard = { ...destination, signature: 'standard' };
  assert.match(onlyIssue({}, standard), /^signature: needs a sharedSecret; postrider secrets new /);
  const bytes = (count: number): string => Buffer.alloc(count, 7).toString('base64');
  const problems = new Map([
    ['whsec_§', /^sharedSecret: must be base64 after whsec_$/],
    [`whsec_${bytes(23)}`, /must stand for 24 to 64 bytes after whsec_, and these are 23$/],
    [`whsec_${bytes(65)}`, /, and these are 65$/],
    [`whsk_${bytes(31)}`, /must stand for an ed25519 key of 32 bytes, .*and these are 31$/],
    [`whsk_${bytes(64)}`, /must end in the public half of its own key after whsk_$/],
    [`whpk_${bytes(32)}`, /is a public key; signing needs the private one, whsk_…$/],
  ]);
  for (const [sharedSecret, problem] of problems) {
    const issue = onlyIssue({ sharedSecret }, standard);
    assert.match(issue, problem);
    assert.ok(!issue.includes(sharedSecret));
    assert.deepEqual(issuesOf({ ...destination, sharedSecret }), []);
  }
  for (const sharedSecret of [
    'teehee',
    `whsec_${bytes(24)}`,
    `whsec_${bytes(64)}`,
    `whsk_${bytes(32)}`,
  ])
    assert.deepEqual(issuesOf({ ...standard, sharedSecret }), []);
});

test('secrets overlap for up to a week, where a signature has room for several', () => {
  const signed = { ...destination, sharedSecret: 'teehee', signature: 'both' };
  for (const secretOverlap of ['0s', '24h', '7d'])
    assert.deepEqual(issuesOf({ ...signed, secretOverlap }), []);
  for (const secretOverlap of ['8d', '-1s', 'never', 24])
    assert.match(onlyIssue({ secretOverlap }, signed), /must be a duration from 0s to 7d/);
  assert.match(
    onlyIssue({ secretOverlap: '24h', signature: 'segment' }, signed),
    /^secretOverlap: needs signature: standard or both/,
  );
});

test("the standard's headers are reserved for destinations that sign by it, and for no others", () => {
  const headers = { 'Webhook-Id': 'x' };
  const own = { ...destination, sharedSecret: 'teehee', webhooks: [{ ...webhook, headers }] };
  assert.deepEqual(issuesOf(own), []);
  assert.equal(
    onlyIssue({ signature: 'both' }, own),
    'webhooks[0].headers.Webhook-Id: is a header of signature: both',
  );
  assert.equal(
    onlyIssue({ sharedSecret: 'x', signature: 'standard', idempotencyHeader: 'webhook-id' }),
    'idempotencyHeader: is a header of signature: standard',
  );
});

test('rules for retries name each status once, from 400 to 599', () => {
  const issue = (retry: unknown): string => onlyIssue({ retry });
  for (const status of [399, 600, 409.5, '409', null])
    assert.equal(
      issue({ on: [status] }),
      'retry.on[0]: must be a status from 400 to 599, such as 409',
    );
  assert.equal(issue({ giveUpOn: [503, 503] }), 'retry.giveUpOn[1]: is named twice');
  assert.equal(issue({ on: [] }), 'retry.on: must not be empty; leave it out for the defaults');
  assert.equal(
    issue({ on: [409, 503], giveUpOn: [400, 503] }),
    'retry.giveUpOn[1]: is in retry.on as well: a status is tried again, or given up',
  );
  assert.deepEqual(issuesOf({ ...destination, retry: { on: [401, 503], giveUpOn: [410] } }), []);
});

test('rules for retries have times that the settings could have', () => {
  const issue = (retry: unknown): string => onlyIssue({ retry });
  for (const window of ['999ms', '5h', 'never', 30])
    assert.match(issue({ window }), /^retry\.window: must be a duration from 1s to 4h, /);
  for (const timeout of ['99ms', '6s', '3'])
    assert.match(issue({ timeout }), /^retry\.timeout: must be a duration from 100ms to 5s, /);
  for (const times of [
    { window: '1s', timeout: '100ms' },
    { window: '4h', timeout: '5s' },
  ])
    assert.deepEqual(issuesOf({ ...destination, retry: times }), []);
  assert.match(issue([409]), /^retry: must be a mapping/);
  assert.match(
    issue({ giveUp: [503] }),
    /^retry\.giveUp: is not a known field; did you mean giveUpOn/,
  );
});
