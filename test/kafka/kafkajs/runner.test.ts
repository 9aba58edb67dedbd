import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { stoppingWhileJoining, type Runner } from '../../../src/kafka/kafkajs/runner.ts';

/** What kafkajs's Runner has by itself. */
class Original {
  running = false;
  readonly calls: string[] = [];
  readonly connected = Promise.withResolvers<undefined>();
  readonly joined = Promise.withResolvers<undefined>();

  readonly consumerGroup = {
    connect: (): Promise<unknown> => this.#call('connect', this.connected.promise),
    joinAndSync: (): Promise<unknown> => this.#call('join', this.joined.promise),
    leave: (): Promise<unknown> => this.#call('leave', Promise.resolve()),
  };

  async onCrash(error: unknown): Promise<void> {
    this.calls.push(`crash of ${String(error)}`);
    // As kafkajs's consumer does before it restarts.
    await this.stop();
  }

  scheduleFetchManager(): void {
    this.calls.push('fetch');
  }

  start(): Promise<void> {
    throw new Error('the original');
  }

  stop(): Promise<void> {
    this.calls.push('stop');
    this.running = false;
    return Promise.resolve();
  }

  async #call(name: string, answer: Promise<unknown>): Promise<void> {
    this.calls.push(name);
    await answer;
  }
}

const Stopping = stoppingWhileJoining(
  Original as unknown as new () => Runner,
) as unknown as new () => Original;

test('one that has joined fetches, until it is stopped', async () => {
  const runner = new Stopping();
  runner.connected.resolve(undefined);
  runner.joined.resolve(undefined);
  await runner.start();
  assert.ok(runner.running);
  await runner.stop();
  assert.deepEqual(runner.calls, ['connect', 'join', 'fetch', 'stop']);
});

test('one that is stopped while it joins leaves as soon as it has, and fetches nothing', async () => {
  const runner = new Stopping();
  runner.connected.resolve(undefined);
  const started = runner.start();
  await turn();
  const stopped = runner.stop();
  runner.joined.resolve(undefined);
  await Promise.all([started, stopped]);
  assert.equal(runner.running, false);
  assert.deepEqual(runner.calls, ['connect', 'join', 'leave']);
});

test('one that is stopped while it connects does not join', async () => {
  const runner = new Stopping();
  const started = runner.start();
  const stopped = runner.stop();
  runner.connected.resolve(undefined);
  await Promise.all([started, stopped]);
  assert.deepEqual(runner.calls, ['connect', 'leave']);
});

test('one that cannot join crashes, and may be stopped by whoever hears of it', async () => {
  const runner = new Stopping();
  runner.connected.resolve(undefined);
  runner.joined.reject(new Error('no coordinator'));
  await runner.start();
  assert.equal(runner.running, false);
  assert.deepEqual(runner.calls, ['connect', 'join', 'crash of Error: no coordinator', 'leave']);
});
