import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { rowOfLine } from '../../src/console/index/attempt-rows.ts';
import { Pasts } from '../../src/console/index/pasts.ts';
import { Words } from '../../src/console/index/words.ts';
import { AttemptJournal } from '../../src/delivery/journal/journal.ts';
import type { Outcome, Retryable } from '../../src/delivery/outcome.ts';
import { StatusPublisher, wordHoldsMs } from '../../src/delivery/status/status-publisher.ts';
import { noneGivenUp, type Past, judgedView } from '../../src/event/destination-health.ts';
import {
  decodeStatus,
  statusRefreshMs,
  type DestinationStatus,
  type StatusRecord,
  type WorkerStatus,
} from '../../src/event/destination-status.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { saidNow } from '../../src/status/read-status.ts';
import { seededRandom } from './simulated-clock.ts';
import {
  answerOk,
  failsWith,
  minuteMs,
  SimulatedWorld,
  type WorldOptions,
} from './simulated-world.ts';

const schema = readFileSync(
  new URL('../../src/schemas/destination-status.json', import.meta.url),
  'utf8',
);
const formats = { 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ };
const isRecord = new Ajv({ allErrors: true, formats }).compile(JSON.parse(schema) as object);

/** A worker, and the topic that it writes to. */
class Scene {
  readonly world: SimulatedWorld;
  readonly publisher: StatusPublisher;
  /** As compaction leaves it. */
  readonly kept = new Map<string, StatusRecord>();
  written = 0;
  isAway = false;
  readonly waiting: (() => void)[] = [];

  constructor(options: WorldOptions = {}) {
    this.world = new SimulatedWorld(options);
    const { clock, engine } = this.world;
    this.publisher = new StatusPublisher({
      clock,
      random: seededRandom(1),
      producer: {
        isFull: false,
        produce: (record, done) => {
          const take = (): void => {
            this.#take(record);
            done();
          };
          if (this.isAway) this.waiting.push(take);
          else clock.after(1, take);
        },
      },
      topic: 'destination-status',
      worker: 'w1',
      reports: engine.reports,
      self: () => ({ ...engine.state(), topics: { delivery: { lag: 3, oldestMs: 20 } } }),
    });
  }

  get self(): WorkerStatus | undefined {
    return this.kept.get('/w1') as WorkerStatus | undefined;
  }

  of(destination: string): DestinationStatus | undefined {
    return this.kept.get(`${destination}/w1`) as DestinationStatus | undefined;
  }

  /** One event a second to each of them. */
  async traffic(seconds: number, ...destinations: readonly string[]): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      for (const id of destinations) this.world.publish(id, `u${this.world.clock.now()}`);
      await this.world.clock.pass(1_000);
    }
  }

  #take({ key, value }: OutgoingRecord): void {
    this.written += 1;
    if (value === null) {
      this.kept.delete(String(key));
      return;
    }
    const record = decodeStatus(Buffer.from(value));
    assert.ok(isRecord(JSON.parse(String(value))), JSON.stringify([value, isRecord.errors]));
    assert.ok(record !== undefined);
    this.kept.set(String(key), record);
  }
}

test('a worker says every five seconds that it lives, and until when what it says holds', async () => {
  const scene = new Scene();
  const { clock } = scene.world;
  await clock.pass(500);
  for (let second = 0; second < 60; second += 1) {
    await clock.pass(1_000);
    const { expiresAt, topics } = scene.self ?? assert.fail();
    const leftMs = Date.parse(expiresAt) - clock.now();
    assert.ok(leftMs > wordHoldsMs - 6_600 && leftMs <= wordHoldsMs, String(leftMs));
    assert.deepEqual(topics, { delivery: { lag: 3, oldestMs: 20 } });
  }
  assert.equal(scene.written, 12);
});

test('one that fails is told of within seconds: its URLs, the last answer, what waits and until when', async () => {
  const scene = new Scene();
  const { world } = scene;
  world.addDestination('crm', { webhooks: [{ url: 'https://crm.example/hook?t=1', headers: {} }] });
  const outcome = { ...(failsWith(503).outcome as Retryable), status: 503 };
  const body = Buffer.from('upstream'.repeat(30));
  const answered = { ...outcome, answer: { body, isCut: false, headers: {} } };
  world.answer = () => ({ outcome: answered, afterMs: 20 });
  const startedMs = world.clock.now();
  await scene.traffic(120, 'crm');
  const status = scene.of('crm') ?? assert.fail();
  const [url] = status.urls;
  assert.equal(status.state, 'failing');
  const sinceMs = Date.parse(status.since ?? '') - startedMs;
  assert.ok(sinceMs < 1_000, String(sinceMs));
  assert.equal(url?.url, 'https://crm.example/hook');
  assert.equal(url.failingSince, status.since);
  const { at, ...answer } = url.lastAnswer ?? assert.fail();
  assert.deepEqual(answer, {
    outcome: 'failed',
    status: 503,
    detail: 'answered 503',
    answer: `${'upstream'.repeat(25)}…`,
  });
  assert.ok(world.clock.now() - Date.parse(at) < minuteMs);
  const waiting = Object.values(status.waiting.tiers).reduce((a, b) => a + b, status.waiting.here);
  assert.ok(waiting > 75 && waiting <= 120, JSON.stringify(status.waiting));
  assert.equal(Date.parse(status.oldest ?? ''), startedMs);
  const leftMs = Date.parse(status.deadline ?? '') - startedMs;
  assert.ok(leftMs > 239 * minuteMs && leftMs < 241 * minuteMs, String(leftMs));
});

/** How the destination is, by the reports alone, as `postrider status` has them. */
function healthIn({ kept, world }: Scene, past?: Past): string {
  const nowMs = world.clock.now();
  const said = saidNow([...kept.values()], nowMs);
  const known = {
    configured: 'enabled',
    past,
    givenUp: noneGivenUp,
    pausedSince: undefined,
  } as const;
  return judgedView('crm', said, { ...known, isHeard: true }, nowMs).state;
}

test('the first failure after a success is told within two seconds, and its end too', async () => {
  const scene = new Scene();
  const { world } = scene;
  world.addDestination('crm');
  await scene.traffic(90, 'crm');
  assert.equal(healthIn(scene), 'ok');
  world.answer = () => failsWith(503);
  world.publish('crm', 'one');
  await world.clock.pass(2_100);
  assert.equal(scene.of('crm')?.state, 'ok', 'one failure makes no worker call it failing');
  assert.equal(healthIn(scene), 'failing');
  world.answer = () => answerOk;
  await world.clock.pass(15_000);
  assert.equal(healthIn(scene), 'ok');
});

test('one that fails now and then costs two records each half minute, and no more', async () => {
  const scene = new Scene();
  const { world } = scene;
  world.addDestination('crm');
  world.answer = (_url, _sending, nowMs) => (nowMs % 12_000 < 4_000 ? failsWith(503) : answerOk);
  const traffic = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      await scene.traffic(1, 'crm');
      await world.clock.pass(1_000);
    }
  };
  await traffic(60);
  const before = scene.written;
  await traffic(300);
  const records = scene.written - before - 600 / 5;
  assert.ok(records > 20 && records <= 2 * (600 / 30), String(records));
});

test('one that refused everything is failing still after twenty quiet minutes, and longer', async () => {
  const written: string[] = [];
  const scene = new Scene({
    journal: (clock) =>
      new AttemptJournal({
        producer: {
          produce: ({ value }, done) => {
            written.push(String(value));
            done();
          },
        },
        topic: 'attempts',
        partitions: () => 1,
        clock,
        keeps: 'all',
      }),
  });
  const { world } = scene;
  world.addDestination('crm');
  const refused: Outcome = { kind: 'permanent', reason: 'http-400', detail: 'answered 400' };
  world.answer = () => ({ outcome: refused, afterMs: 20 });
  await scene.traffic(30, 'crm');
  await world.clock.pass(2_000);
  const words = new Words();
  const pasts = new Pasts();
  for (const line of written.flatMap((record) => record.trim().split('\n'))) {
    const row = rowOfLine(JSON.parse(line), 0, words, world.clock.now());
    if (row !== undefined) pasts.add(row.destination, row.what, row.atMs);
  }
  for (let minute = 0; minute < 45; minute += 1) {
    const past = pasts.of(words.find('crm'), 0);
    assert.equal(healthIn(scene, past), 'failing', `${minute} minutes later`);
    await world.clock.pass(minuteMs);
  }
  assert.equal(scene.of('crm'), undefined, 'no worker speaks of it any more');
  assert.equal(healthIn(scene), 'unknown', 'without attempts nobody knows');
});

test('what is said of one that is well again, and then quiet, is taken back', async () => {
  const scene = new Scene();
  const { world } = scene;
  world.addDestination('crm');
  world.answer = () => failsWith(503);
  await scene.traffic(60, 'crm');
  world.answer = () => answerOk;
  await scene.traffic(180, 'crm');
  const status = scene.of('crm') ?? assert.fail();
  assert.equal(status.state, 'ok');
  assert.ok(status.perMinute.delivered > 40, JSON.stringify(status.perMinute));
  assert.ok((status.p99Ms ?? 0) >= 17 && (status.p99Ms ?? 0) <= 24, String(status.p99Ms));
  await world.clock.pass(6 * minuteMs);
  assert.equal(scene.of('crm'), undefined);
});

test('steady traffic costs a record for each destination every few minutes, and no more', async () => {
  const scene = new Scene();
  const ids = Array.from({ length: 15 }, (_, n) => `d${n}`);
  for (const id of ids) scene.world.addDestination(id);
  const random = seededRandom(2);
  const traffic = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1)
      await scene.traffic(1, ...ids.filter(() => random() < 0.8));
  };
  await traffic(300);
  const before = scene.written;
  await traffic(600);
  const heartbeats = 600 / 5;
  const perDestination = (scene.written - before - heartbeats) / ids.length;
  const refreshes = 600_000 / statusRefreshMs;
  assert.ok(perDestination >= refreshes && perDestination <= refreshes + 1, String(perDestination));
  const oldestMs = Math.min(...ids.map((id) => Date.parse(scene.of(id)?.at ?? '')));
  assert.ok(scene.world.clock.now() - oldestMs <= statusRefreshMs);
});

test('while Kafka is away little is kept for it, and then it gets what is true by that time', async () => {
  const scene = new Scene();
  const { world } = scene;
  const ids = Array.from({ length: 100 }, (_, n) => `d${n}`);
  for (const id of ids) world.addDestination(id);
  scene.isAway = true;
  world.answer = () => failsWith(503);
  await scene.traffic(120, ...ids);
  assert.ok(scene.waiting.length < 2_100, String(scene.waiting.length));
  scene.isAway = false;
  for (const take of scene.waiting) take();
  world.answer = () => answerOk;
  await scene.traffic(300, ...ids.slice(0, 3));
  assert.equal(scene.of('d0')?.state, 'ok');
});

test('a worker that stops takes back all that it has said', async () => {
  const scene = new Scene();
  scene.world.addDestination('crm');
  await scene.traffic(60, 'crm');
  assert.deepEqual([...scene.kept.keys()].sort(), ['/w1', 'crm/w1']);
  const closed = scene.publisher.close(2_000);
  await scene.world.clock.pass(1_000);
  await closed;
  assert.deepEqual([...scene.kept], []);
  const { written } = scene;
  await scene.world.clock.pass(minuteMs);
  assert.equal(scene.written, written);
});

test('among thousands, one that fails is told of within seconds, and all others in the end', async () => {
  const scene = new Scene();
  const { world } = scene;
  const many = Array.from({ length: 6_000 }, (_, index) => `d${index}`);
  for (const id of [...many, 'crm']) world.addDestination(id);
  await scene.traffic(1, ...many);
  world.answer = () => failsWith(503);
  await scene.traffic(10, 'crm');
  assert.equal(scene.of('crm')?.state, 'failing');
  await world.clock.pass(30_000);
  assert.equal(many.filter((id) => scene.of(id) === undefined).length, 0);
  await world.clock.pass(5 * minuteMs);
  assert.equal(many.filter((id) => scene.of(id) !== undefined).length, 0);
});

for (const [what, byMs] of [
  ['back', -60 * minuteMs],
  ['forward', 60 * minuteMs],
] as const) {
  test(`a clock that is set ${what} keeps nothing from being told, and makes no figure wrong`, async () => {
    const scene = new Scene();
    const { world } = scene;
    for (const id of ['crm', 'erp']) world.addDestination(id);
    await scene.traffic(120, 'crm', 'erp');
    world.clock.set(byMs);
    world.answer = (url) => (url.includes('crm') ? failsWith(503) : answerOk);
    await scene.traffic(15, 'crm', 'erp');
    assert.equal(scene.of('crm')?.state, 'failing');
    await scene.traffic(120, 'erp');
    const { delivered, failed } = scene.of('erp')?.perMinute ?? assert.fail();
    assert.ok(delivered > 50 && delivered < 70 && failed === 0, String(delivered));
    const { at, expiresAt } = scene.self ?? assert.fail();
    assert.ok(Math.abs(world.clock.now() - Date.parse(at)) <= 5_000, at);
    assert.equal(Date.parse(expiresAt) - Date.parse(at), wordHoldsMs);
    await world.clock.pass(5 * minuteMs);
    assert.equal(scene.of('erp'), undefined);
  });
}

test('a clock that is set forward makes nobody forget that a destination fails', async () => {
  const scene = new Scene();
  const { world } = scene;
  world.addDestination('crm');
  world.answer = () => failsWith(503);
  await scene.traffic(10, 'crm');
  await world.clock.pass(5 * minuteMs);
  world.clock.set(60 * minuteMs);
  for (let second = 0; second < 90; second += 1) {
    await world.clock.pass(1_000);
    assert.equal(scene.of('crm')?.state, 'failing', `${second} s later`);
  }
});
