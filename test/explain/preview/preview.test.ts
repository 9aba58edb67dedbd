import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { callsInFile } from '../../../src/explain/preview/calls-in-file.ts';
import { presentPreview } from '../../../src/explain/preview/present.ts';
import {
  Preview,
  type CallPreview,
  type PreviewOptions,
} from '../../../src/explain/preview/preview.ts';
import { exampleDestination, exampleSource } from '../../resources/examples.ts';

const nowMs = Date.parse('2026-11-20T18:59:40.123Z');
const order = {
  type: 'track',
  event: 'Order Completed',
  userId: 'u1',
  messageId: 'order-1041',
  writeKey: 'wk_shop',
  properties: { accountId: 'acme', total: 40 },
};

async function preview(
  lines: readonly (object | string)[],
  options: Partial<PreviewOptions> = {},
): Promise<readonly CallPreview[]> {
  const scene = { sources: [exampleSource()], destinations: [exampleDestination()], ...options };
  const decide = new Preview(scene);
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  const previews: CallPreview[] = [];
  for await (const call of callsInFile(Readable.from([Buffer.from(text.join('\n'))]), nowMs))
    previews.push(decide.of(call));
  return previews;
}

describe('the preview of a call', () => {
  it('has the request as a delivery makes it, with neither secret nor signature', async () => {
    const destination = exampleDestination({
      signature: 'both',
      idempotencyHeader: 'Idempotency-Key',
      webhooks: [
        { url: 'https://crm.example.com/in?team=1', headers: { Authorization: 'Bearer t0ken' } },
      ],
    });
    const [call] = await preview([order], { destinations: [destination] });
    assert.equal(call?.source, 'shop');
    assert.deepEqual(call.destinations, [
      {
        destination: 'crm',
        sent: true,
        rule: null,
        detail: null,
        unmet: null,
        requests: [
          {
            method: 'POST',
            url: 'https://crm.example.com/in?team=1',
            headers: {
              'Content-Type': 'application/json',
              'User-Agent': 'Postrider/1.0',
              'CDN-Loop': 'postrider',
              'Accept-Encoding': 'identity',
              Authorization: '(set, not shown)',
              'X-Signature': '(signature)',
              'webhook-id': 'order-1041',
              'webhook-timestamp': '(seconds of the attempt)',
              'webhook-signature': '(signature)',
              'Idempotency-Key': 'order-1041',
            },
          },
        ],
        body: {
          version: 1,
          type: 'track',
          userId: 'u1',
          event: 'Order Completed',
          properties: { accountId: 'acme', total: 40 },
          timestamp: '2026-11-20T18:59:40.123Z',
        },
        batch: null,
      },
    ]);
    assert.doesNotMatch(presentPreview([call], true), /t0ken|teehee/);
  });

  it('shows origin and hash of a secret URL', async () => {
    const webhooks = [{ url: 'https://hooks.example.com/s3cret' }];
    const destinations = [exampleDestination({ secretUrl: true, webhooks })];
    const [call] = await preview([order], { destinations });
    assert.match(
      call?.destinations[0]?.requests[0]?.url ?? '',
      /^https:\/\/hooks\.example\.com\/#[0-9a-f]{8}$/,
    );
  });

  it('shows that a token would be sent, and none of the credentials for it', async () => {
    const oauth2 = {
      tokenUrl: 'https://login.example.com/token',
      clientId: 'postrider',
      clientSecret: 's3cret',
    };
    const webhooks = [{ url: 'https://api.example.com/', oauth2 }];
    const [call] = await preview([order], { destinations: [exampleDestination({ webhooks })] });
    assert.equal(call?.destinations[0]?.requests[0]?.headers['Authorization'], '(token)');
    assert.doesNotMatch(JSON.stringify(call), /s3cret/);
  });

  it('says of a long body that it is sent compressed', async () => {
    const destinations = [exampleDestination({ compress: 'gzip' })];
    const long = { ...order, properties: { note: 'x'.repeat(1_024) } };
    const previews = await preview([order, long], { destinations });
    const encodings = previews.map(
      (call) => call.destinations[0]?.requests[0]?.headers['Content-Encoding'],
    );
    assert.deepEqual(encodings, [undefined, 'gzip']);
  });

  it('says of a batch that the body is one element of an array, and that the id of the request is none of its own', async () => {
    const batch = { events: 500, wait: '2s', bytes: '1MB' };
    const destination = exampleDestination({
      batch,
      signature: 'standard',
      idempotencyHeader: 'Idempotency-Key',
      compress: 'gzip',
    });
    const long = { ...order, properties: { note: 'x'.repeat(1_024) } };
    const [call, longCall] = await preview([order, long], { destinations: [destination] });
    assert.ok(call !== undefined);
    const [sent] = call.destinations;
    assert.deepEqual(sent?.batch, batch);
    const ofArray = '(made from the ids of the events in the array)';
    const headers = sent.requests[0]?.headers ?? {};
    assert.deepEqual(
      ['webhook-id', 'Idempotency-Key', 'Content-Encoding'].map((name) => headers[name]),
      [ofArray, ofArray, '(gzip, if the array has 1 KB)'],
    );
    assert.equal(longCall?.destinations[0]?.requests[0]?.headers['Content-Encoding'], 'gzip');
    const text = presentPreview([call], false);
    assert.match(
      text,
      /^ {2}crm: sent in a batch: an array of up to 500 events or 1MB, sent after 2s at the latest$/m,
    );
    assert.match(text, /^ {4}\[…,\{"version":1,.*\},…\]$/m);
  });

  it("has the event's values in the URL, and says which one is missing", async () => {
    const webhooks = ['total', 'missing'].map((path) => ({
      url: `https://api.example.com/{{properties.${path}}}`,
      method: 'PUT',
    }));
    const [call] = await preview([order], { destinations: [exampleDestination({ webhooks })] });
    assert.ok(call !== undefined);
    const requests = call.destinations[0]?.requests ?? [];
    assert.deepEqual(
      requests.map(({ method, url }) => `${method} ${url}`),
      ['PUT https://api.example.com/40', 'PUT https://api.example.com/{{properties.missing}}'],
    );
    assert.match(requests[1]?.problem ?? '', /properties\.missing/);
    assert.match(presentPreview([call], true), /not sent: .*properties\.missing/);
  });

  it('tells the rule that leaves a destination out, and what the condition met', async () => {
    const destinations = [
      exampleDestination({ id: 'large', filter: { 'properties.total': { gte: 100 } } }),
      exampleDestination({ id: 'zeta', filter: { 'properties.accountId': 'zeta' } }),
      exampleDestination({ id: 'pages', events: ['page'] }),
      exampleDestination({ id: 'off', enabled: false }),
      exampleDestination({ id: 'app', sources: ['app'] }),
    ];
    const [call] = await preview([order], { destinations });
    assert.deepEqual(
      call?.destinations.map(({ destination, sent, rule, unmet }) => [
        destination,
        sent,
        rule,
        unmet?.condition,
        unmet?.values,
      ]),
      [
        [
          'large',
          false,
          'filter',
          { 'properties.total': { gte: 100 } },
          { 'properties.total': 40 },
        ],
        ['off', false, 'disabled', undefined, undefined],
        ['pages', false, 'events', undefined, undefined],
        [
          'zeta',
          false,
          'filter',
          { 'properties.accountId': 'zeta' },
          { 'properties.accountId': 'acme' },
        ],
      ],
    );
    const text = presentPreview([call], false);
    assert.match(text, /^line 1: track "Order Completed" order-1041 .*, to 0 of 4 destinations$/m);
    assert.match(text, /^ {2}large: not sent; its filter wants .*; properties\.total is 40$/m);
    assert.match(text, /^1 call: 0 events for 0 destinations; 1 call for none$/m);
  });

  it('can be of one destination, and of one source whatever the calls say', async () => {
    const destinations = [exampleDestination(), exampleDestination({ id: 'dwh' })];
    const [one] = await preview([order], { destinations, destinationId: 'dwh' });
    assert.deepEqual(
      one?.destinations.map(({ destination }) => destination),
      ['dwh'],
    );
    const call = { ...order, writeKey: 'unknown' };
    const [forced] = await preview([call], { sources: [], destinations, sourceId: 'shop' });
    assert.deepEqual([forced?.source, forced?.destinations.length], ['shop', 2]);
  });

  it('says why a line is no call that anybody can get', async () => {
    const lines = ['{', '', { ...order, type: 'trak' }, { ...order, writeKey: 'no' }, order];
    const previews = await preview(lines);
    assert.deepEqual(
      previews.map(({ place, problem }) => [place, problem?.slice(0, 20)]),
      [
        ['line 1', 'The value is not JSO'],
        ['line 3', 'The type "trak" is u'],
        ['line 4', 'No source has the wr'],
        ['line 5', undefined],
      ],
    );
  });

  it('takes a call without write key for one of the only source, and of none of several', async () => {
    const { writeKey, ...call } = order;
    const [only] = await preview([call]);
    assert.equal(only?.source, 'shop');
    const sources = [exampleSource(), exampleSource({ id: 'app', writeKeys: ['wk_app'] })];
    const [several] = await preview([call], { sources });
    assert.match(several?.problem ?? '', /has no writeKey; name its source with --source/);
    assert.equal(writeKey, 'wk_shop');
  });

  it('names few of the destinations that do not get the call, unless all are asked for', async () => {
    const destinations = Array.from({ length: 30 }, (_, index) =>
      exampleDestination({ id: `d${index}`, events: ['page'] }),
    );
    const previews = await preview([order], { destinations });
    assert.match(presentPreview(previews, false), /and 10 more not sent; -o wide shows all/);
    assert.equal(presentPreview(previews, true).match(/not sent/g)?.length, 30);
  });
});
