import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger, type Logger } from '../../src/ops/log.ts';
import { timedOut, type Retryable, type RetryCause } from '../../src/delivery/outcome.ts';
import { answerOk, failsWith, minuteMs, type Answer, SimulatedWorld } from './simulated-world.ts';

interface Line {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What operators see; the lines below the level are left out. */
function recordingLog(least: 'info' | 'warn' = 'warn'): {
  readonly log: Logger;
  readonly lines: Line[];
} {
  const lines: Line[] = [];
  const noteAs =
    (level: Line['level']) =>
    (fields: object, message: string): void => {
      lines.push({ level, message, fields: { ...fields } });
    };
  const info = least === 'info' ? noteAs('info') : silentLogger.info.bind(silentLogger);
  const log = { ...silentLogger, info, warn: noteAs('warn'), error: noteAs('error') };
  return { log, lines };
}

test('the line of an event that is given up counts the same attempts as its dead letter', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log });
  world.addDestination('crm');
  world.answer = () => failsWith(422);
  world.publish('crm');
  await world.clock.pass(minuteMs);
  assert.equal(world.deadLetters[0]?.attempts, 1);
  const [line] = lines.filter(({ message }) => message.startsWith('event given up'));
  assert.equal(line?.fields['attempts'], 1);
});

test('a clock that is set back keeps no line from being written', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log });
  world.addDestination('crm');
  world.answer = () => failsWith(422);
  for (let minute = 0; minute < 3; minute += 1) {
    world.publish('crm');
    await world.clock.pass(minuteMs);
    world.clock.set(-60 * minuteMs);
  }
  assert.equal(lines.filter(({ message }) => message.startsWith('event given up')).length, 3);
});

const timeoutLine = 'an endpoint did not answer in time';

test('a timeout is an error line, one a second for each URL, which counts the others', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log });
  const urls = ['https://one.test/', 'https://two.test/'];
  world.addDestination('crm', { webhooks: urls.map((url) => ({ url, headers: {} })) });
  world.answer = (url) => ({ outcome: timedOut, afterMs: url.includes('one') ? 5_000 : 5_600 });
  for (let user = 0; user < 10; user += 1) world.publish('crm', `u${user}`);
  await world.clock.pass(1_500);
  world.publish('crm', 'later');
  await world.clock.pass(7_000);
  const told = lines.filter(({ message }) => message === timeoutLine);
  assert.ok(told.every(({ level }) => level === 'error'));
  assert.deepEqual(
    told.map(({ fields }) => [fields['url'], fields['detail'], fields['unlogged']]),
    [
      ['https://one.test/', 'no complete answer in time', 0],
      ['https://two.test/', 'no complete answer in time', 0],
      ['https://one.test/', 'no complete answer in time', 9],
      ['https://two.test/', 'no complete answer in time', 9],
    ],
  );
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

/** One event a second, each of another user. */
async function traffic(world: SimulatedWorld, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    world.publish('crm', `u${world.clock.now()}`);
    await world.clock.pass(1_000);
  }
}

/** Of the times of lines and of what they hold that depends on chance, only whether they are there. */
function brief({ level, message, fields }: Line): object {
  const { since, until, waiting, ...rest } = fields;
  const known = Object.entries({ since, until, waiting }).filter(
    ([, value]) => value !== undefined,
  );
  const said = Object.entries(rest).filter(([, value]) => value !== undefined);
  return { level, message, ...Object.fromEntries(said), and: known.map(([name]) => name) };
}

for (const answer of failures) {
  const { cause, detail } = answer.outcome as Retryable;
  test(`an endpoint that fails leaves one line that says why: ${cause}`, async () => {
    const { log, lines } = recordingLog();
    const world = new SimulatedWorld({ log });
    world.addDestination('crm', {
      webhooks: [{ url: 'https://crm.example/hook?token=teehee', headers: {} }],
    });
    world.answer = () => answer;
    await traffic(world, 600);
    const others = lines.filter(({ message }) => message !== timeoutLine);
    assert.deepEqual(others.map(brief), [
      {
        level: 'warn',
        message: 'a destination fails',
        destination: 'crm',
        url: 'https://crm.example/hook',
        cause,
        detail,
        and: ['since', 'until', 'waiting'],
      },
    ]);
  });
}

test('one that answers 429 all the time leaves one line, with its answer and until when', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log });
  world.addDestination('crm');
  const outcome = {
    ...(failsWith(429, 30_000).outcome as Retryable),
    answer: { body: Buffer.from('slow!'), isCut: false, headers: {} },
  };
  world.answer = () => ({ outcome, afterMs: 20 });
  await traffic(world, 600);
  assert.deepEqual(lines.map(brief), [
    {
      level: 'warn',
      message: 'a destination asked to be left alone',
      destination: 'crm',
      url: 'https://crm.example/hook',
      cause: 'status-429',
      detail: 'answered 429',
      answer: 'slow!',
      and: ['since', 'until', 'waiting'],
    },
  ]);
});

test('a second URL that refuses every event leaves one line', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log });
  const urls = ['https://one.example/', 'https://two.example/'];
  world.addDestination('crm', { webhooks: urls.map((url) => ({ url, headers: {} })) });
  world.answer = (url) => (url.includes('two') ? failsWith(422) : { ...answerOk, afterMs: 30 });
  await traffic(world, 600);
  assert.equal(world.delivered.length, 600);
  assert.deepEqual(lines.map(brief), [
    {
      level: 'warn',
      message: 'a destination fails',
      destination: 'crm',
      url: 'https://two.example/',
      cause: 'http-4xx',
      detail: 'answered 422',
      and: ['since', 'waiting'],
    },
  ]);
});

test('one that is well again leaves a line with how long it was away and how much waited', async () => {
  const { log, lines } = recordingLog('info');
  const world = new SimulatedWorld({ log });
  world.addDestination('crm');
  world.answer = () => failsWith(503);
  await traffic(world, 9 * 60);
  world.answer = () => answerOk;
  await traffic(world, 5 * 60);
  const [failing, well, ...more] = lines;
  assert.equal(failing?.message, 'a destination fails');
  const { after, waited, ...fields } = well?.fields ?? {};
  assert.deepEqual(
    { level: well?.level, message: well?.message, fields },
    {
      level: 'info',
      message: 'a destination works again',
      fields: { destination: 'crm', was: 'failing' },
    },
  );
  assert.match(String(after), /^(9|1[0-2])m$/);
  assert.ok(Number(waited) > 300 && Number(waited) <= 600, String(waited));
  assert.deepEqual(more, []);
});

test('one that comes and goes leaves at most a line a minute of each kind, and the last is true', async () => {
  const { log, lines } = recordingLog('info');
  const world = new SimulatedWorld({ log });
  world.addDestination('crm');
  for (let round = 0; round < 15; round += 1) {
    world.answer = () => failsWith(503);
    await traffic(world, 12);
    world.answer = () => answerOk;
    await traffic(world, 28);
  }
  await traffic(world, 120);
  const warnings = lines.filter(({ level }) => level === 'warn').length;
  assert.ok(warnings >= 4 && warnings <= 10, String(warnings));
  assert.equal(lines.length, 2 * warnings);
  assert.equal(lines.at(-1)?.message, 'a destination works again');
});

test('hundreds that fail at the same time have at most fifty lines a second', async () => {
  const { log, lines } = recordingLog();
  const world = new SimulatedWorld({ log });
  for (let index = 0; index < 120; index += 1) world.addDestination(`d${index}`);
  world.answer = () => failsWith(503);
  const perSecond: number[] = [];
  for (let second = 0; second < 30; second += 1) {
    const before = lines.length;
    for (let index = 0; index < 120; index += 1) world.publish(`d${index}`, `u${second}`);
    await world.clock.pass(1_000);
    perSecond.push(lines.length - before);
  }
  assert.equal(lines.length, 120);
  assert.equal(Math.max(...perSecond), 50);
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
