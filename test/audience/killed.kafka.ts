import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fullBatchChanges } from '../../src/audience/change-batch.ts';
import type { KilledSync } from './killed-sync.child.ts';
import { audience, membersOf } from './members.ts';
import { syncScene } from './scene.ts';

const scene = await syncScene();
after(() => scene.stop());

const everyone = Array.from({ length: 1_200 }, (_, i) => `user-${i}`);
const killsEach = 5;
/** Where the sync is when the time until its end begins to run. */
const stages = ['fencing', 'remembering', 'reading', 'sending', 'sending'] as const;

/** About half of all, another half each time. */
function anyMembers(): string[] {
  return everyone.filter(() => randomInt(2) === 1);
}

/** Started before it is needed: most of what a process does is to load its code. */
async function readyChild(): Promise<ChildProcess> {
  const child = fork(new URL('killed-sync.child.ts', import.meta.url));
  await once(child, 'message');
  return child;
}

/** Sends it SIGKILL up to 300 ms after it has reached a stage, or finds that it has ended. */
async function killDuring(
  child: ChildProcess,
  task: KilledSync,
  stage: (typeof stages)[number],
): Promise<void> {
  const exited = once(child, 'exit');
  const reached = new Promise<void>((resolve) => {
    child.on('message', (message) => {
      if (message === stage) resolve();
    });
  });
  child.send(task);
  await Promise.race([reached, exited]);
  await delay(randomInt(300));
  child.kill('SIGKILL');
  await exited;
}

/** What a receiver must have been told of each user by the end, in order. */
class Expected {
  readonly told = new Map<string, boolean[]>();
  #before = new Set<string>();

  /** How many changes it takes. */
  become(members: readonly string[]): number {
    const now = new Set(members);
    const changed = everyone.filter((userId) => now.has(userId) !== this.#before.has(userId));
    for (const userId of changed)
      this.told.set(userId, [...(this.told.get(userId) ?? []), now.has(userId)]);
    this.#before = now;
    return changed.length;
  }
}

/** How many of the killed syncs had sent a part of their changes. */
async function killAgainAndAgain(id: string, directory: string | undefined): Promise<number> {
  const { brokers, topology } = scene.deployment;
  const target = audience(id);
  const expected = new Expected();
  let partial = 0;
  for (let kill = 0; kill < killsEach; kill += 1) {
    const members = anyMembers();
    const changes = expected.become(members);
    const task = { brokers, prefix: topology.prefix, audienceId: id, members, directory };
    await killDuring(await readyChild(), task, stages[kill % stages.length] ?? 'sending');
    const { added, removed } = await scene.sync(target, membersOf(...members), {
      ...{ directory, allowEmpty: true, maxRemovedPercent: 100 },
      changesPerTransaction: fullBatchChanges / 100,
    });
    if (added + removed > 0 && added + removed < changes) partial += 1;
  }
  const told = new Map<string, boolean[]>();
  for (const { userId, traits } of await scene.emitted(target))
    told.set(userId, [...(told.get(userId) ?? []), traits['vip'] === true]);
  assert.deepEqual(told, new Map(expected.told));
  return partial;
}

test('of syncs killed at twenty random moments, each followed by one to its end, every change is seen once', async () => {
  const partial = await Promise.all([
    killAgainAndAgain('k1', await scene.checkpointFolder()),
    killAgainAndAgain('k2', await scene.checkpointFolder()),
    killAgainAndAgain('k3', undefined),
    killAgainAndAgain('k4', undefined),
  ]);
  assert.ok(Math.max(...partial) > 0, 'no sync was killed in the middle of sending');
});
