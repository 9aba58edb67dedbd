import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AssignerProtocol, type PartitionAssigner } from 'kafkajs';
import { createAssigner, shareIndices } from '../../../src/kafka/consume/assigner.ts';

type Setting = Parameters<PartitionAssigner>[0];

/** A member's assigner; `counts` is what the cluster would tell it of its topics. */
function memberOf(options: {
  readonly owned?: readonly number[];
  readonly counts?: Readonly<Record<string, number>>;
  readonly onUnknownTopics?: (topics: string[]) => void;
}) {
  const assigner = createAssigner({
    ownedIndices: () => options.owned ?? [],
    onUnknownTopics: options.onUnknownTopics ?? (() => undefined),
  });
  const cluster = {
    findTopicPartitionMetadata: (topic: string) =>
      Array.from({ length: options.counts?.[topic] ?? 0 }, (_, partitionId) => ({ partitionId })),
  };
  return assigner({ cluster, groupId: 'g', logger: {} } as unknown as Setting);
}

async function assign(
  counts: Readonly<Record<string, number>>,
  members: Readonly<Record<string, { owned?: readonly number[]; topics?: string[] }>>,
  onUnknownTopics?: (topics: string[]) => void,
) {
  const topics = Object.keys(counts);
  const leader = memberOf({ counts, ...(onUnknownTopics && { onUnknownTopics }) });
  const answer = await leader.assign({
    topics,
    members: Object.entries(members).map(([memberId, member]) => ({
      memberId,
      memberMetadata: memberOf(member).protocol({ topics: member.topics ?? topics }).metadata,
    })),
  });
  return Object.fromEntries(
    answer.map(({ memberId, memberAssignment }) => [
      memberId,
      AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment,
    ]),
  );
}

test('partition i of every topic goes to the same member', async () => {
  const counts = { delivery: 4, 'retry.10s': 4, 'retry.1h': 2 };
  assert.deepEqual(await assign(counts, { a: {}, b: {} }), {
    a: { delivery: [0, 1], 'retry.10s': [0, 1], 'retry.1h': [0, 1] },
    b: { delivery: [2, 3], 'retry.10s': [2, 3] },
  });
});

test('a member keeps what it owned when another joins', async () => {
  const answer = await assign({ delivery: 4 }, { a: {}, b: { owned: [0, 1, 2, 3] } });
  assert.deepEqual(answer, { a: { delivery: [2, 3] }, b: { delivery: [0, 1] } });
});

test('the leader is told of topics that only other members read', async () => {
  const unknown: string[][] = [];
  await assign({ a: 1 }, { m: {}, n: { topics: ['a', 'b', 'c'] } }, (topics) => {
    unknown.push(topics);
  });
  assert.deepEqual(unknown, [['b', 'c']]);
});

test('a member whose user data is not ours gets its share all the same', async () => {
  const leader = memberOf({ counts: { t: 2 } });
  const memberMetadata = AssignerProtocol.MemberMetadata.encode({
    version: 0,
    topics: ['t'],
    userData: Buffer.from('{'),
  });
  const answer = await leader.assign({
    topics: ['t'],
    members: [{ memberId: 'm', memberMetadata }],
  });
  const [first] = answer;
  assert.ok(first);
  assert.deepEqual(AssignerProtocol.MemberAssignment.decode(first.memberAssignment)?.assignment, {
    t: [0, 1],
  });
});

const claims = fc.uniqueArray(
  fc.record({ memberId: fc.string({ minLength: 1 }), owned: fc.array(fc.nat(20)) }),
  { minLength: 1, maxLength: 8, selector: ({ memberId }) => memberId },
);

test('every index has one owner, shares differ by one at most, and the order of members does not matter', () => {
  fc.assert(
    fc.property(fc.nat(16), claims, (count, members) => {
      const shares = shareIndices(count, members);
      const dealt = [...shares.values()].flat().toSorted((a, b) => a - b);
      assert.deepEqual(
        dealt,
        Array.from({ length: count }, (_, index) => index),
      );
      const sizes = [...shares.values()].map((indices) => indices.length);
      assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1);
      assert.deepEqual(
        Object.fromEntries(shareIndices(count, members.toReversed())),
        Object.fromEntries(shares),
      );
    }),
  );
});

test('what one member alone claims moves only as far as the shares demand', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 16 }),
      fc.integer({ min: 1, max: 5 }),
      (count, members) => {
        const before = shareIndices(
          count,
          Array.from({ length: members }, (_, i) => ({ memberId: `m${i}`, owned: [] })),
        );
        const after = shareIndices(count, [
          ...[...before].map(([memberId, owned]) => ({ memberId, owned })),
          { memberId: 'new', owned: [] },
        ]);
        const moved = [...before].flatMap(([memberId, owned]) =>
          owned.filter((index) => !after.get(memberId)?.includes(index)),
        );
        assert.equal(moved.length, after.get('new')?.length);
      },
    ),
  );
});
