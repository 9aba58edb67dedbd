import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { AssignerProtocol } from 'kafkajs';
import { decodeWishes, encodeWishes } from '../../../src/kafka/consume/assigner.ts';
import { CommonLevel, GroupLevel, levelsOf } from '../../../src/kafka/consume/group-level.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import { eventually } from '../../harness/eventually.ts';
import { FakeBrokers } from '../fake-brokers.ts';
import { FakeLogger } from '../fake-logger.ts';

function metadataOf(userData: string): Buffer {
  const encoded = { version: 1, topics: ['t'], userData: Buffer.from(userData) };
  return AssignerProtocol.MemberMetadata.encode(encoded);
}

const members = [
  { memberId: 'former', metadata: metadataOf('[0,1]') },
  { memberId: 'new', metadata: encodeWishes({ topics: ['t'], owned: [2, 3], readLevel: 4 }) },
];

describe('what a member says of itself', () => {
  test('is the level that it reads, and nothing is level 1', () => {
    assert.deepEqual(levelsOf({ error: 'NONE', state: 'Stable', members }), [1, 4]);
    for (const userData of ['', '{', 'null', '[null]', '[{"readLevel":0}]', '[{"readLevel":"2"}]'])
      assert.equal(decodeWishes(metadataOf(userData)).readLevel, 1, userData);
  });

  test('is understood by a former release as the indices that it owns', () => {
    const decoded = AssignerProtocol.MemberMetadata.decode(members[1]?.metadata ?? Buffer.alloc(0));
    const said = JSON.parse(decoded?.userData.toString() ?? '') as unknown[];
    // As that release reads it.
    assert.deepEqual(
      said.filter((index) => typeof index === 'number'),
      [2, 3],
    );
  });

  test('is not told while the group rebalances, and an empty group has nobody', () => {
    const untold = members.map(({ memberId }) => ({ memberId, metadata: Buffer.alloc(0) }));
    for (const state of ['PreparingRebalance', 'CompletingRebalance'])
      assert.equal(levelsOf({ error: 'NONE', state, members: untold }), undefined);
    for (const state of ['Empty', 'Dead'])
      assert.deepEqual(levelsOf({ error: 'NONE', state, members: [] }), []);
  });
});

describe('the level that all know', () => {
  test('rises after two looks, and falls after one', () => {
    const common = new CommonLevel();
    const seen: number[] = [];
    for (const [n, levels] of [[3, 2], [2, 3], [2, 2], [1, 2], [2], [2], []].entries()) {
      common.seen(levels, n);
      seen.push(common.level);
    }
    assert.deepEqual(seen, [1, 2, 2, 1, 1, 2, 1]);
  });

  test('holds while a group rebalances, but not for ever', () => {
    const common = new CommonLevel();
    for (const nowMs of [0, 2_000]) common.seen([2], nowMs);
    common.seen(undefined, 32_000);
    assert.equal(common.level, 2);
    common.seen(undefined, 32_001);
    assert.equal(common.level, 1);
  });

  test('is never more than the last look at the members found', () => {
    const look = fc.option(fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 4 }), {
      nil: undefined,
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(look, fc.nat(20_000))), (looks) => {
        const common = new CommonLevel();
        let nowMs = 0;
        let most = 1;
        for (const [levels, laterMs] of looks) {
          nowMs += laterMs;
          common.seen(levels, nowMs);
          if (levels !== undefined) most = levels.length === 0 ? 1 : Math.min(...levels);
          assert.ok(common.level >= 1 && common.level <= most);
        }
      }),
    );
  });
});

/** Looks at a group, again and again as the test says. */
function watched(t: TestContext) {
  const brokers = new FakeBrokers();
  const log = new FakeLogger();
  let lookAgain: (() => void) | undefined;
  const level = new GroupLevel(brokers, {
    groupId: 'group',
    clock: {
      now: () => 0,
      after: (_, callback) => {
        lookAgain = callback;
        return { cancel: () => undefined };
      },
    },
    log,
  });
  t.after(() => {
    level.stop();
  });
  const looked = async (): Promise<() => void> =>
    eventually(() => lookAgain ?? assert.fail('it does not look again'), 5_000);
  return {
    log,
    look: async (times: number, error?: KafkaErrorName): Promise<void> => {
      brokers.before = () => {
        if (error !== undefined) throw new KafkaAnswerError(error, 'group group');
      };
      for (let looks = 0; looks < times; looks += 1) {
        const look = await looked();
        lookAgain = undefined;
        look();
        await looked();
      }
    },
  };
}

describe('whoever looks at a group', () => {
  test('says once that it has no right to, and again if it had it meanwhile', async (t) => {
    const { log, look } = watched(t);
    const said = (): number =>
      log.visible.filter((line) => /^warn: .*may not describe the group/.test(line)).length;
    await look(3, 'GROUP_AUTHORIZATION_FAILED');
    assert.equal(said(), 1);
    await look(1);
    await look(3, 'GROUP_AUTHORIZATION_FAILED');
    assert.equal(said(), 2);
  });

  test('asks for no right while the group cannot be reached', async (t) => {
    const { log, look } = watched(t);
    await look(3, 'COORDINATOR_NOT_AVAILABLE');
    assert.deepEqual(log.visible, []);
  });
});
