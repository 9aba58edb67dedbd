import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger, type Logger } from '../../src/ops/log.ts';
import { timedOut, type Retryable, type RetryCause } from '../../src/delivery/outcome.ts';
import { answerOk, failsWith, minuteMs, type Answer, SimulatedWorld } from './simulated-world.ts';

interface Line {
  readonly level: 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What operators see; the lines below `warn` are left out. */
function recordingLog(): { readonly log: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const noteAs =
    (level: Line['level']) =>
    (fields: object, message: string): void => {
      lines.push({ level, message, fields: { ...fields } });
    };
  const log = { ...silentLogger, warn: noteAs('warn'), error: noteAs('error') };
  return { log, lines };
}

test('the line of an event that is given up counts the same attempts as its dead letter', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log });
  world.addDestination('crm');
  world.answer = () => failsWith(404);
  world.publish('crm');
  await world.clock.pass(minuteMs);
  assert.equal(world.deadLetters[0]?.attempts, 1);
  const [line] = lines.filter(({ message }) => message.startsWith('event given up'));
  assert.equal(line?.fields['attempts'], 1);
});

const failed = (cause: RetryCause, detail: string): Answer => ({
  outcome: { kind: 'retryable', cause, detail },
  afterMs: 5,
});

const failures: readonly Answer[] = [
  failed('connection', 'ECONNREFUSED: connect ECONNREFUSED 192.0.2.1:443'),
  failed('dns', 'ENOTFOUND: crm.example has no address'),
  failed('tls', 'CERT_HAS_EXPIRED: certificate has expired'),
  failed('other', 'answered 199'),
  failsWith(503),
  { outcome: timedOut, afterMs: 5_000 },
];

for (const answer of failures) {
  const { cause, detail } = answer.outcome as Retryable;
  test(`an endpoint that fails leaves a line that says why: ${cause}`, async () => {
    const { log, lines } = recordingLog();
    const world = new SimulatedWorld({ log });
    world.addDestination('crm', {
      webhooks: [{ url: 'https://crm.example/hook?token=teehee', headers: {} }],
    });
    world.answer = () => answer;
    const messageId = world.publish('crm');
    await world.clock.pass(9_000);
    const fields = { destination: 'crm', url: 'https://crm.example/hook', messageId, attempt: 1 };
    assert.deepEqual(lines, [
      {
        level: 'error',
        message: 'a request to an endpoint failed',
        fields: { ...fields, cause, detail, unlogged: 0 },
      },
    ]);
  });
}

test('each cause at each endpoint has one line a second, which counts those left out', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log });
  for (const id of ['crm', 'ads']) world.addDestination(id);
  const fail = async (destination: string, cause: RetryCause, afterMs: number): Promise<void> => {
    world.answer = () => failed(cause, 'no');
    world.publish(destination, `user-${cause}-${lines.length}`);
    await world.clock.pass(afterMs);
  };
  for (const destination of ['crm', 'ads'])
    for (const cause of ['dns', 'connection', 'connection'] as const)
      await fail(destination, cause, 100);
  await fail('crm', 'connection', 1_000);
  await fail('crm', 'connection', 100);
  const said = lines.map(({ fields }) => [
    fields['destination'],
    fields['cause'],
    fields['unlogged'],
  ]);
  assert.deepEqual(said, [
    ['crm', 'dns', 0],
    ['crm', 'connection', 0],
    ['ads', 'dns', 0],
    ['ads', 'connection', 0],
    ['crm', 'connection', 2],
  ]);
});

test('what an endpoint answers while it is well leaves no line', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log });
  world.addDestination('crm');
  const answers = [failsWith(429), answerOk];
  world.answer = () => answers.shift() ?? answerOk;
  world.publish('crm');
  await world.clock.pass(minuteMs);
  assert.equal(world.delivered.length, 1);
  assert.deepEqual(lines, []);
});

test('each URL that misses events has one line a minute, which counts them', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log });
  world.addDestination('crm', {
    webhooks: ['one', 'two', 'quick'].map((id) => ({
      url: `https://${id}.example/hook?token=teehee`,
      headers: {},
    })),
    maxInFlight: 1,
  });
  world.answer = (url) => ({ ...answerOk, afterMs: url.includes('quick') ? 5 : 10 * minuteMs });
  for (let second = 0; second < 122; second++) {
    world.publish('crm', `u${second}`);
    await world.clock.pass(1_000);
  }
  const line = (id: string, missed: number): Line => ({
    level: 'warn',
    message: 'a URL misses events that another URL of its destination gets',
    fields: { destination: 'crm', url: `https://${id}.example/hook`, cause: 'busy', missed },
  });
  const missed = [1, 60, 60];
  assert.deepEqual(
    lines,
    missed.flatMap((count) => [line('one', count), line('two', count)]),
  );
});

test('a maxInFlight above what this worker allows leaves one line at each change', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log, maxInFlight: 40 });
  for (const maxInFlight of [11, 10, 12]) {
    world.addDestination('crm', { maxInFlight });
    for (let round = 0; round < 2; round++) {
      world.publish('crm', `u${maxInFlight}-${round}`);
      // So that the destination is forgotten in between.
      await world.clock.pass(20 * minuteMs);
    }
  }
  const message =
    "maxInFlight is more than a quarter of this worker's DELIVERY_MAX_IN_FLIGHT, which is used instead";
  const line = (maxInFlight: number): Line => {
    return { level: 'warn', message, fields: { destination: 'crm', maxInFlight, used: 10 } };
  };
  assert.deepEqual(lines, [line(11), line(12)]);
});
