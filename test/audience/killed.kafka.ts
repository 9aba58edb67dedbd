import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fullBatchChanges } from '../../src/audience/emit.ts';
import type { SyncOptions } from '../../src/audience/sync.ts';
import type { SyncTarget } from '../../src/audience/changes.ts';
import type { KilledRun, KilledSyncs, Told } from './killed-sync.child.ts';
import { audience, membersOf } from './members.ts';
import { syncScene } from './scene.ts';

const scene = await syncScene();
after(() => scene.stop());

const everyone = Array.from({ length: 600 }, (_, i) => `user-${i}`);
/** Rounds of five runs each: five of them watch each audience once. */
const rounds = process.env['BAD_DAYS'] === 'whole' ? 10 : 5;
/** Where the sync is when the time until its end begins to run. */
const stages = ['sending', 'remembering', 'sending', 'reading', 'sending', 'fencing'] as const;

/** About half of all, another half each time. */
function anyMembers(): string[] {
  return everyone.filter(() => randomInt(2) === 1);
}

/**
 * All runs in one process, which gets SIGKILL up to 300 ms after one of them has reached a stage, unless
 * all have ended. Resolves with how many changes each had sent.
 */
async function killDuring(
  syncs: KilledSyncs,
  audienceId: string,
  stage: Told['stage'],
): Promise<ReadonlyMap<string, number>> {
  const child = fork(new URL('killed-sync.child.ts', import.meta.url));
  await once(child, 'message');
  const exited = once(child, 'exit');
  const sent = new Map<string, number>();
  const reached = new Promise<void>((resolve) => {
    child.on('message', (told: Told) => {
      if (told.audienceId === audienceId && told.stage === stage) resolve();
      if (told.stage === 'sending') sent.set(told.audienceId, told.done);
    });
  });
  child.send(syncs);
  await Promise.race([reached, exited]);
  await delay(randomInt(300));
  child.kill('SIGKILL');
  await exited;
  return sent;
}

/** What a receiver must have been told of each user by the end, in order. */
class Expected {
  readonly told = new Map<string, boolean[]>();
  #before = new Set<string>();

  /** How many calls it takes. With a full sync, whoever stays is told again. */
  become(members: readonly string[], isFull: boolean): number {
    const now = new Set(members);
    const concerned = everyone.filter(
      (userId) => now.has(userId) !== this.#before.has(userId) || (isFull && now.has(userId)),
    );
    for (const userId of concerned)
      this.told.set(userId, [...(this.told.get(userId) ?? []), now.has(userId)]);
    this.#before = now;
    return concerned.length;
  }
}

async function lastDone(target: SyncTarget): Promise<string | undefined> {
  const { syncs } = await scene.settledRecord(target);
  return syncs.find(({ outcome }) => outcome === 'done')?.sync;
}

/** One audience, whose runs are killed again and again, each followed by one to its end. */
class Chain {
  readonly target: SyncTarget;
  readonly action: KilledRun['action'];
  readonly #directory: string | undefined;
  readonly #expected = new Expected();
  #members: readonly string[] = [];
  #calls = 0;
  #doneBefore: string | undefined;
  /** How many of the killed runs had sent a part of their calls. */
  partial = 0;

  constructor(id: string, action: KilledRun['action'], directory?: string) {
    this.target = audience(id);
    this.action = action;
    this.#directory = directory;
  }

  /** What the next run, which will be killed, is to do. */
  async next(): Promise<KilledRun> {
    this.#members = anyMembers();
    if (this.action === 'retire') {
      this.#expected.become(this.#members, false);
      await scene.sync(this.target, membersOf(...this.#members), this.#options);
      this.#calls = this.#expected.become([], false);
    } else this.#calls = this.#expected.become(this.#members, this.action === 'full');
    this.#doneBefore = await lastDone(this.target);
    const { id } = this.target;
    const directory = this.#directory;
    return { audienceId: id, members: this.#members, directory, action: this.action };
  }

  async finish(sent: number): Promise<void> {
    if (sent > 0 && sent < this.#calls) this.partial += 1;
    if (this.#doneBefore !== (await lastDone(this.target))) return;
    if (this.action === 'retire') await scene.retireAudience(this.target);
    else await scene.sync(this.target, membersOf(...this.#members), this.#options);
  }

  async check(): Promise<void> {
    const told = new Map<string, boolean[]>();
    const emitted = await scene.emitted(this.target);
    for (const { userId, traits } of emitted)
      told.set(userId, [...(told.get(userId) ?? []), traits['vip'] === true]);
    for (const userId of everyone)
      assert.deepEqual(told.get(userId), this.#expected.told.get(userId), userId);
    assert.equal(new Set(emitted.map(({ messageId }) => messageId)).size, emitted.length);
  }

  get #options(): Partial<SyncOptions> {
    return {
      directory: this.#directory,
      allowEmpty: true,
      maxRemoved: 100,
      maxAdded: 1_000_000,
      full: this.action === 'full' ? { destination: undefined } : undefined,
      changesPerTransaction: fullBatchChanges / 250,
    };
  }
}

test('of runs killed at random moments, each followed by one to its end, every user is told once', async (t) => {
  const folder = await scene.checkpointFolder();
  const chains = [
    new Chain('k1', 'sync', folder),
    new Chain('k2', 'sync'),
    new Chain('k3', 'full', folder),
    new Chain('k4', 'full'),
    new Chain('k5', 'retire'),
  ];
  const { brokers, topology } = scene.deployment;
  for (let round = 0; round < rounds; round += 1) {
    const runs = await Promise.all(chains.map((chain) => chain.next()));
    const watched = runs[round % runs.length]?.audienceId ?? '';
    const stage = stages[round % stages.length] ?? 'sending';
    const sent = await killDuring({ brokers, prefix: topology.prefix, runs }, watched, stage);
    await Promise.all(chains.map((chain) => chain.finish(sent.get(chain.target.id) ?? 0)));
  }
  for (const chain of chains) await chain.check();
  t.diagnostic(
    `killed in the middle of sending: ${chains.map(({ partial }) => partial).join(', ')}`,
  );
  for (const action of ['sync', 'full', 'retire'] as const) {
    const some = chains.some((chain) => chain.action === action && chain.partial > 0);
    assert.ok(some, `no ${action} was killed in the middle of sending`);
  }
});
