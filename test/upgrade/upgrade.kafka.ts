import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { envelopeHeader, headerVersion } from '../../src/event/envelope.ts';
import { eventually } from '../harness/eventually.ts';
import { laterBuild, laterBundle, laterEnvelope, presentBuild, releasedBuild } from './builds.ts';
import { UpgradeScene, type Role } from './scene.ts';

let released: string;
let scene: UpgradeScene;

/** Nothing is in the dead letters, and no call was rejected. */
async function assertNothingGivenUp(): Promise<void> {
  const { topics } = scene.deployment.topology;
  for (const topic of [topics.deadLetter, topics.ingestRejected]) {
    const records = await scene.recordsOf(topic);
    const reasons = records.map(({ headers }) => String(headers['reason']));
    assert.deepEqual(reasons, [], topic);
  }
}

const retryTopic = (): string => scene.deployment.topology.retryTopic(1_000);

/** Of the events and bundles in these topics whose header says all of `words`. */
async function versionsWritten(
  topics: readonly string[],
  words: readonly string[] = [],
): Promise<Set<number>> {
  const versions = new Set<number>();
  for (const topic of topics)
    for (const { headers } of await scene.recordsOf(topic)) {
      const header = headers[envelopeHeader] ?? Buffer.alloc(0);
      if (words.every((word) => header.includes(word))) versions.add(headerVersion(header) ?? 0);
    }
  return versions;
}

/** Waits until the router writes this version. What it wrote before it knew the readers may have another. */
async function untilRouted(version: number): Promise<void> {
  const { delivery } = scene.deployment.topology.topics;
  await eventually(async () => {
    const messageId = (await scene.produce(1)).at(-1) ?? '';
    const written = await eventually(async () => {
      const versions = await versionsWritten([delivery], [messageId]);
      assert.notEqual(versions.size, 0);
      return versions;
    });
    assert.deepEqual([...written], [version]);
  });
}

before(async () => {
  released = await releasedBuild();
});

describe('the release before and this one', () => {
  before(async () => {
    scene = await UpgradeScene.open();
  });

  after(() => scene.close());

  /**
   * Each step replaces one role by the other release's, so that every combination of releases is there once,
   * and with it every order in which the roles can be upgraded, and be taken back.
   */
  const steps: readonly Role[] = [
    'delivery',
    'router',
    'delivery',
    'gateway',
    'delivery',
    'router',
    'delivery',
    'gateway',
  ];

  test('deliver everything in every combination of roles, up and back again', async () => {
    scene.failing.add('away');
    const roles: readonly Role[] = ['gateway', 'router', 'delivery'];
    await Promise.all(roles.map((role) => scene.start(role, released)));
    const isPresent = new Map<Role, boolean>();
    const combinations = new Set<string>();
    scene.send();
    for (const role of steps) {
      const becomesPresent = isPresent.get(role) !== true;
      // What was sent before is delivered while the next one starts.
      await Promise.all([
        scene.settled(['healthy', 'flaky']),
        scene.start(role, becomesPresent ? presentBuild : released),
      ]);
      isPresent.set(role, becomesPresent);
      await scene.stopOldest(role);
      combinations.add(roles.map((each) => isPresent.get(each) === true).join());
    }
    assert.equal(combinations.size, 8);
    await scene.quiet();
    scene.failing.clear();
    await scene.settled(['healthy', 'flaky', 'away']);
    await assertNothingGivenUp();
    assert.deepEqual(scene.repeated(), []);
    assert.ok((await versionsWritten([retryTopic()])).has(2), 'events were put off together');
  });
});

describe('a format that the release before does not know', () => {
  before(async () => {
    scene = await UpgradeScene.open();
  });

  after(() => scene.close());

  test('is written while every worker knows it, and waits for one that does where none is left', async () => {
    const later = await laterBuild();
    const { delivery } = scene.deployment.topology.topics;
    await Promise.all([scene.start('delivery', released), scene.start('router', later)]);
    await scene.start('delivery', later);
    await scene.produce(100);
    await scene.settled(['healthy', 'flaky', 'away']);
    const written = await versionsWritten([delivery, retryTopic()]);
    assert.ok(!written.has(laterEnvelope) && !written.has(laterBundle));

    await scene.stopOldest('delivery');
    await untilRouted(laterEnvelope);

    // What is put off for `away` is in the later format once the worker, too, knows that it is alone. Then it goes.
    scene.failing.add('away');
    await scene.produce(100);
    await eventually(async () => {
      await scene.produce(1);
      const putOff = await versionsWritten([retryTopic()], ['"away"']);
      assert.ok(putOff.has(laterEnvelope) || putOff.has(laterBundle));
    });
    await scene.settled(['healthy', 'flaky']);
    await scene.stopOldest('delivery');
    await scene.start('delivery', presentBuild);
    await eventually(() => {
      assert.match(scene.logOf('delivery'), /a newer release wrote a record/);
    });
    await untilRouted(1);
    // Those that the router wrote before it knew that the later release is gone wait for it to come back.
    const { length: before } = scene.sent;
    await scene.produce(20);
    await scene.settled(['healthy'], before);
    scene.failing.clear();
    await assertNothingGivenUp();

    await scene.start('delivery', later);
    await scene.settled(['healthy', 'flaky', 'away']);
    await assertNothingGivenUp();
    assert.deepEqual(scene.repeated(), []);
  });
});
