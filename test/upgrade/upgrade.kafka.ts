import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { envelopeHeader, parseHeader } from '../../src/event/envelope.ts';
import { eventually } from '../harness/eventually.ts';
import { presentProgram } from '../harness/run-command.ts';
import { laterBundle, laterEnvelope, laterProgram, releasedProgram } from './builds.ts';
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

/** Of the events and bundles in these topics. */
async function versionsWritten(topics: readonly string[]): Promise<Set<unknown>> {
  const versions = new Set<unknown>();
  for (const topic of topics)
    for (const { headers } of await scene.recordsOf(topic))
      versions.add(parseHeader(headers[envelopeHeader] ?? Buffer.alloc(0))?.['v']);
  return versions;
}

before(async () => {
  released = await releasedProgram();
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
        scene.start(role, becomesPresent ? presentProgram : released),
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

  test('waits for a release that knows it, and nothing of it is given up', async () => {
    const later = await laterProgram();
    const { delivery } = scene.deployment.topology.topics;
    await Promise.all([scene.start('delivery', later), scene.start('router', later)]);
    scene.failing.add('away');
    await scene.produce(100);
    await scene.settled(['healthy', 'flaky']);
    await eventually(async () => {
      const written = await versionsWritten([delivery, retryTopic()]);
      assert.ok(written.has(laterEnvelope) && written.has(laterBundle));
    });
    await scene.stopOldest('delivery');
    await scene.start('delivery', presentProgram);
    await eventually(() => {
      assert.match(scene.logOf('delivery'), /a newer release wrote a record/);
    });
    // What this release writes is delivered meanwhile.
    await scene.start('router', presentProgram);
    await scene.stopOldest('router');
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
