import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { notificationRecord, planDeparture } from '../../src/deletion/notification.ts';
import { timedOut } from '../../src/delivery/outcome.ts';
import { fenceMs } from '../../src/resources/fence/fence.ts';
import type { Answer } from '../delivery/simulated-world.ts';
import { answerOk, defaultPolicy, failsWith, hourMs } from '../delivery/simulated-world.ts';
import { Deployment } from './deployment.ts';

const users = ['u1', 'u2', 'u:3'];
const sources = ['shop', 'app'];
const destinations = ['crm', 'dwh'];
const timeoutMs = 5_000;
/** A worker that has not heard of a deletion for longer stops sending. */
const freshMs = 20_000;
const notifiedMs = fenceMs({ deletionDelayMs: freshMs, deliveryTimeoutMs: timeoutMs });

interface Event {
  readonly id: string;
  readonly destinationId: string;
  readonly sourceId: string;
  /** Whom it is about: one, or two for an alias. */
  readonly userIds: readonly string[];
  readonly appendTimeMs: number;
}

interface Deletion {
  readonly sourceId: string;
  readonly userId: string;
  readonly atMs: number;
  /** The notification's. */
  readonly messageId: string;
}

interface Request {
  readonly messageId: string;
  readonly destinationId: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Two workers, endpoints with every kind of trouble, and users who are deleted in the middle of it. */
class Story {
  readonly deployment: Deployment;
  readonly events: Event[] = [];
  readonly deletions: Deletion[] = [];
  readonly requests: Request[] = [];
  readonly #random: () => number;
  readonly #redriven = new Set<string>();

  constructor(seed: number, maxInFlight: number) {
    this.deployment = new Deployment(2, 4, { seed, maxInFlight, fenceMs: notifiedMs });
    this.#random = this.deployment.random;
    for (const id of destinations) this.deployment.addDestination(id);
    for (const worker of this.deployment.workers) {
      worker.answer = (url, { messageId }, nowMs) => {
        const answer = this.#answer(nowMs);
        const destinationId = new URL(url).hostname.split('.')[0] ?? '';
        const untilMs = nowMs + answer.afterMs;
        this.requests.push({ messageId, destinationId, fromMs: nowMs, untilMs });
        return answer;
      };
    }
  }

  async run(steps: number): Promise<void> {
    const { clock, workers } = this.deployment;
    for (let step = 0; step < steps; step += 1) {
      this.#publish();
      if (this.#random() < 0.08) this.#delete();
      if (this.#random() < 0.05)
        this.deployment.deal(this.#random() < 0.5 ? workers : workers.toReversed());
      if (this.#random() < 0.05) this.#redrive();
      await clock.pass(Math.floor(this.#random() * 4_000));
    }
    await clock.pass(4.5 * hourMs);
    this.#redrive();
    await clock.pass(hourMs);
  }

  isFenced({ sourceId, userIds, appendTimeMs }: Event): boolean {
    return this.deletions.some(
      (deletion) =>
        deletion.sourceId === sourceId &&
        userIds.includes(deletion.userId) &&
        appendTimeMs < deletion.atMs,
    );
  }

  #answer(nowMs: number): Answer {
    const afterMs = 5 + Math.floor(this.#random() * 2_000);
    // Half a minute of each.
    switch (Math.floor(nowMs / 30_000) % 6) {
      case 0:
        return { outcome: timedOut, afterMs: timeoutMs };
      case 1:
        return { ...failsWith(503), afterMs };
      case 2:
        return { ...failsWith(429, 20_000), afterMs };
      case 3:
        return { ...failsWith(410), afterMs };
      default:
        return { ...answerOk, afterMs };
    }
  }

  #publish(): void {
    const { clock } = this.deployment;
    const [userId, other] = [this.#pick(users), this.#pick(users)];
    const sourceId = this.#pick(sources);
    const isAlias = this.#random() < 0.2;
    // The router is up to half a minute behind.
    const appendTimeMs = clock.now() - Math.floor(this.#random() * 30_000);
    const alias = isAlias ? ({ type: 'alias', previousId: other } as const) : {};
    for (const destinationId of destinations) {
      const id = this.deployment.publish(destinationId, userId, {
        sourceId,
        appendTimeMs,
        ...alias,
      });
      const userIds = isAlias ? [userId, other] : [userId];
      this.events.push({ id, destinationId, sourceId, userIds, appendTimeMs });
    }
  }

  #delete(): void {
    const { clock, workers } = this.deployment;
    const [userId, sourceId, atMs] = [this.#pick(users), this.#pick(sources), clock.now()];
    const messageId = `delete-${this.deletions.length}`;
    this.deletions.push({ sourceId, userId, atMs, messageId });
    for (const worker of workers) {
      const isSlow = this.#random() < 0.3;
      const hearsAfterMs = Math.floor(this.#random() * (isSlow ? 60_000 : freshMs));
      const isStale = hearsAfterMs > freshMs;
      if (isStale)
        clock.after(freshMs + 1, () => {
          worker.fence.unknown += 1;
        });
      clock.after(hearsAfterMs, () => {
        worker.fence.delete(sourceId, userId, atMs);
        if (isStale) worker.fence.unknown -= 1;
      });
    }
    const { topology, configOffset } = workers[0] ?? assert.fail();
    for (const destinationId of destinations) {
      const { tierMs, dueMs } = planDeparture(defaultPolicy.tiersMs, notifiedMs, clock.now());
      const time = new Date(atMs).toISOString();
      const common = { sourceId, userId, messageId, time, configOffset, destinationId, dueMs };
      this.deployment.write(notificationRecord(topology.retryTopic(tierMs), common));
    }
  }

  /** Every dead letter that was not sent again yet. */
  #redrive(): void {
    const { clock, workers } = this.deployment;
    for (const { messageId } of workers.flatMap(({ deadLetters }) => deadLetters)) {
      const event = this.events.find(({ id }) => id === messageId);
      if (event === undefined || this.#redriven.has(messageId)) continue;
      this.#redriven.add(messageId);
      const { destinationId, sourceId, userIds, appendTimeMs } = event;
      const [userId = '', previousId] = userIds;
      this.deployment.publish(destinationId, userId, {
        messageId,
        sourceId,
        appendTimeMs,
        redrivenMs: clock.now(),
        ...(previousId === undefined ? {} : { type: 'alias', previousId }),
      });
    }
  }

  #pick(of: readonly string[]): string {
    return of[Math.floor(this.#random() * of.length)] ?? assert.fail();
  }
}

const scenario = fc.record({ seed: fc.nat(), maxInFlight: fc.integer({ min: 1, max: 20 }) });

test('in any mixture of troubles, a receiver that got a deletion gets nothing older of that user', async () => {
  let fenced = 0;
  let notified = 0;
  await fc.assert(
    fc.asyncProperty(scenario, async ({ seed, maxInFlight }) => {
      const story = new Story(seed, maxInFlight);
      await story.run(100);
      const { events, deletions, requests, deployment } = story;
      for (const { sourceId, userId, atMs, messageId } of deletions) {
        const older = new Set(
          events
            .filter((event) => event.sourceId === sourceId && event.userIds.includes(userId))
            .filter((event) => event.appendTimeMs < atMs)
            .map(({ id }) => id),
        );
        for (const destinationId of destinations) {
          const all = requests.filter((request) => request.destinationId === destinationId);
          const first = all.find((request) => request.messageId === messageId);
          assert.ok(first !== undefined, `${messageId} was never sent to ${destinationId}`);
          notified += 1;
          const late = all.filter((r) => older.has(r.messageId) && r.untilMs > first.fromMs);
          assert.deepEqual(late, [], `${messageId} at ${first.fromMs}`);
        }
      }
      const kept = events.filter((event) => !story.isFenced(event));
      fenced += events.length - kept.length;
      assert.deepEqual(deployment.unended(kept.map(({ id }) => id)), []);
      for (const { engine } of deployment.workers)
        assert.deepEqual([engine.isIdle, engine.state().queued], [true, 0]);
    }),
    { numRuns: 10 },
  );
  assert.ok(fenced > 0 && notified > 0, 'nothing was put to the test');
});
