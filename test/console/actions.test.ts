// Runs in a process of its own: what it tests has to be loaded after it has mocked the timers.

import assert from 'node:assert/strict';
import { mock, test, type TestContext } from 'node:test';
import { fastify, type LightMyRequestResponse } from 'fastify';
import type { Operations, Work } from '../../src/operations/operations.ts';
import type { TestAnswer } from '../../src/console/api/answers/actions.ts';
import { PostriderError } from '../../src/errors.ts';
import type { AuditEntry } from '../../src/event/audit-entry.ts';

// Timers are looked up when these are imported.
mock.timers.enable({ apis: ['setTimeout'] });
const { addActions } = await import('../../src/console/actions/routes.ts');
const { Runs } = await import('../../src/operations/runs.ts');
const { parameters } = await import('../../src/console/api/parameters.ts');
const { models } = await import('../../src/console/api/answers/shapes.ts');
const { problemOf, sendProblem } = await import('../../src/http-api/problem.ts');
const { systemClock } = await import('../../src/ops/clock.ts');

type Told = Partial<AuditEntry>;

interface Stand {
  /** What the audit was told, in its order. */
  readonly told: Told[];
  readonly ask: (action: string) => Promise<LightMyRequestResponse>;
  readonly post: (path: string, body: object) => Promise<LightMyRequestResponse>;
}

/** The actions on destinations, by an operator, with an audit that Kafka always takes. */
async function startStand(t: TestContext, operations: Partial<Operations>): Promise<Stand> {
  const told: Told[] = [];
  const audit = {
    write: (entry: Told): Promise<string> => Promise.resolve(`entry ${told.push(entry)}`),
    tell: (entry: Told): void => void told.push(entry),
  };
  const api = fastify();
  for (const schema of models.schemas()) api.addSchema(schema);
  const operator = { user: 'ines', role: 'operator' } as const;
  api.decorateRequest('session', null);
  api.addHook('onRequest', (request, _reply, done) => {
    request.session = operator as unknown as NonNullable<typeof request.session>;
    done();
  });
  api.setErrorHandler((error, _request, reply) =>
    sendProblem(reply, problemOf(error, {}, { name: 'the console', parameters })),
  );
  const runs = new Runs(systemClock);
  addActions(api, {
    operations: operations as Operations,
    runs,
    audit,
    destinationsOf: (customer) => new Set(customer === 'acme' ? ['crm', 'dwh'] : []),
  });
  await api.ready();
  t.after(() => api.close());
  return {
    told,
    ask: async (action) => api.inject({ method: 'POST', url: `/destinations/crm/${action}` }),
    post: async (url, payload) => api.inject({ method: 'POST', url, payload }),
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function afterTenSeconds(): Promise<void> {
  for (let left = 5; left > 0; left -= 1) await turn();
  mock.timers.tick(10_000);
}

const who = { user: 'ines', destination: 'crm' };

test('a pause that Kafka does not take in time is answered, and its end is in the audit', async (t) => {
  const pausing = Promise.withResolvers<undefined>();
  const { told, ask } = await startStand(t, { pause: () => pausing.promise });
  const asked = ask('pause');
  await afterTenSeconds();
  const { statusCode, body } = await asked;
  assert.equal(statusCode, 503);
  assert.match(body, /has not answered for ten seconds.*may still be paused.*audit/);
  assert.deepEqual(told, [{ ...who, action: 'pause' }]);
  pausing.resolve(undefined);
  await turn();
  assert.deepEqual(told.slice(1), [{ ...who, action: 'pause', detail: 'done after all' }]);
});

test('a test that takes too long is answered, and what became of it is in the audit', async (t) => {
  const sending = Promise.withResolvers<[]>();
  const { told, ask } = await startStand(t, { sendTest: () => sending.promise });
  const asked = ask('test');
  await afterTenSeconds();
  const { statusCode, body } = await asked;
  assert.equal(statusCode, 503);
  assert.match(body, /ten seconds.*may still be sent.*audit/);
  sending.reject(new PostriderError('not-found', 'there is no destination crm'));
  await turn();
  const detail = 'there is no destination crm';
  const refused = { ...who, action: 'send-test', outcome: 'refused', detail };
  assert.deepEqual(told.slice(1), [refused]);
});

test('a retry answers with what the endpoint said, and is refused where nothing is sent to the destination', async (t) => {
  const answer = { url: 'https://crm.example/hook', outcome: 'failed', status: 503, tookMs: 20 };
  const operations: Partial<Operations> = { retry: () => Promise.resolve([answer as TestAnswer]) };
  const { told, ask } = await startStand(t, operations);
  assert.deepEqual((await ask('retry')).json(), { items: [answer] });
  operations.retry = () => Promise.reject(new PostriderError('resource-invalid', 'it is paused'));
  assert.equal((await ask('retry')).statusCode, 409);
  await turn();
  const refused = { ...who, action: 'retry', outcome: 'refused', detail: 'it is paused' };
  assert.deepEqual(told, [{ ...who, action: 'retry' }, { ...who, action: 'retry' }, refused]);
});

test('what an unexpected error says is not in the audit', async (t) => {
  const pausing = Promise.withResolvers<undefined>();
  const { told, ask } = await startStand(t, { pause: () => pausing.promise });
  const asked = ask('pause');
  await afterTenSeconds();
  await asked;
  pausing.reject(new Error('secret'));
  await turn();
  const failed = { ...who, action: 'pause', outcome: 'failed', detail: 'the log says why' };
  assert.deepEqual(told.slice(1), [failed]);
});

test('what is done in time is written once, and what is refused is written as refused', async (t) => {
  const { told, ask } = await startStand(t, {
    pause: () => Promise.resolve(),
    sendTest: () => Promise.reject(new PostriderError('not-found', 'there is no destination crm')),
  });
  assert.equal((await ask('pause')).statusCode, 200);
  const refused = await ask('test');
  assert.equal(refused.statusCode, 404);
  await turn();
  assert.deepEqual(told, [
    { ...who, action: 'pause' },
    { ...who, action: 'send-test' },
    { ...who, action: 'send-test', outcome: 'refused', detail: 'there is no destination crm' },
  ]);
});

test('everything is sent again only on purpose, and a selection as it was asked for', async (t) => {
  const asked: object[] = [];
  const operation = (choice: object): Work => {
    asked.push(choice);
    return () => Promise.resolve({});
  };
  const { told, post } = await startStand(t, { redrive: operation, redriveCalls: operation });
  for (const path of ['/redrives', '/rejected/redrives'])
    for (const nothing of [{}, { rate: '10/s', again: true }, { all: false }]) {
      const { statusCode, body } = await post(path, nothing);
      assert.equal(statusCode, 400);
      assert.match(body, /Nothing is selected\. Give .*places; or \\"all\\": true/);
    }
  assert.deepEqual([asked, told], [[], []]);

  const wrong = await post('/redrives', { places: ['17'] });
  assert.equal(wrong.statusCode, 400);
  const one = { places: ['3:17'], again: true, rate: '10/s' };
  assert.equal((await post('/redrives', { all: true })).statusCode, 200);
  assert.equal((await post('/redrives', { user: 'ada', message: 'm1' })).statusCode, 200);
  assert.equal((await post('/rejected/redrives', one)).statusCode, 200);
  assert.equal((await post('/redrives', { customer: 'acme' })).statusCode, 200);
  assert.deepEqual(asked, [{}, { user: 'ada', message: 'm1' }, one, { customer: 'acme' }]);
  const { customer, destinations } = told.findLast(({ isRun }) => isRun) ?? {};
  assert.deepEqual([customer, destinations], ['acme', ['crm', 'dwh']]);
  // Without a destination, the entry would be one of everybody's.
  for (const dryRun of [true, false]) {
    const nobody = await post('/redrives', { customer: 'nobody', dryRun });
    assert.equal(nobody.statusCode, 404);
    assert.match(nobody.body, /Customer nobody has no destination/);
  }
  assert.equal(asked.length, 4);
  const said = told.filter(({ isRun }) => isRun).map(({ action, detail }) => [action, detail]);
  assert.deepEqual(said, [
    ['redrive', undefined],
    ['redrive', 'of one user, one event'],
    ['redrive-rejected', 'rate 10/s, 1 place, also what was sent again before'],
    ['redrive', 'customer acme'],
  ]);
});
