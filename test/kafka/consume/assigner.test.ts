import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { AssignerProtocol } from 'kafkajs';
import {
  assignIndices,
  assignParts,
  cooperativeProtocol,
  decodeAssignment,
  decodeWishes,
  eagerProtocol,
  encodeAssignment,
  encodeWishes,
  shareIndices,
} from '../../../src/kafka/consume/assigner.ts';

/** The partitions that each member may read, as the members decode it. */
function assign(
  counts: Readonly<Record<string, number>>,
  owned: Readonly<Record<string, readonly number[]>>,
  protocol: string = cooperativeProtocol,
): Record<string, string[]> {
  const topics = Object.keys(counts);
  const members = Object.entries(owned).map(([memberId, indices]) => ({
    memberId,
    ...decodeWishes(encodeWishes({ topics, owned: indices })),
  }));
  const indices = assignIndices(Math.max(...Object.values(counts)), members, protocol);
  return Object.fromEntries(
    Array.from(indices, ([memberId, given]) => {
      const bytes = encodeAssignment(given, new Map(Object.entries(counts)));
      const partitions = decodeAssignment(bytes);
      return [memberId, partitions.map(({ topic, partition }) => `${topic}/${partition}`)];
    }),
  );
}

test('partition i of every topic goes to the same member', () => {
  assert.deepEqual(assign({ delivery: 4, 'retry.10s': 4, 'retry.1h': 2 }, { a: [], b: [] }), {
    a: ['delivery/0', 'delivery/1', 'retry.10s/0', 'retry.10s/1', 'retry.1h/0', 'retry.1h/1'],
    b: ['delivery/2', 'delivery/3', 'retry.10s/2', 'retry.10s/3'],
  });
});

test('what another member still has is given to nobody until it has let go of it', () => {
  const first = assign({ delivery: 4 }, { a: [], b: [0, 1, 2, 3] });
  assert.deepEqual(first, { a: [], b: ['delivery/0', 'delivery/1'] });
  const second = assign({ delivery: 4 }, { a: [], b: [0, 1] });
  assert.deepEqual(second, { a: ['delivery/2', 'delivery/3'], b: ['delivery/0', 'delivery/1'] });
});

test('a member has its partitions in ascending order, in whatever order it names what it owns', () => {
  assert.deepEqual(assign({ delivery: 4 }, { a: [3, 1] }), {
    a: ['delivery/0', 'delivery/1', 'delivery/2', 'delivery/3'],
  });
});

test('where a member of a former release takes part, what moves is read by its new owner at once', () => {
  assert.deepEqual(assign({ delivery: 4 }, { a: [], b: [0, 1, 2, 3] }, eagerProtocol), {
    a: ['delivery/2', 'delivery/3'],
    b: ['delivery/0', 'delivery/1'],
  });
});

test('a member whose user data is not ours gets its share all the same', () => {
  for (const userData of ['{', '{"owned":[1]}', '']) {
    const encoded = { version: 0, topics: ['t'], userData: Buffer.from(userData) };
    const metadata = AssignerProtocol.MemberMetadata.encode(encoded);
    const wishes = decodeWishes(metadata);
    assert.deepEqual(wishes, { topics: ['t'], owned: [], parts: undefined });
    const shares = assignIndices(2, [{ memberId: 'm', ...wishes }], eagerProtocol);
    assert.deepEqual(shares.get('m'), [0, 1]);
  }
});

test('a member that is assigned nothing reads nothing', () => {
  assert.deepEqual(decodeAssignment(Buffer.alloc(0)), []);
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

/** A member that speaks the cooperative protocol: what it reads, and what it still works on before it lets go. */
interface Player {
  readonly memberId: string;
  reads: Set<number>;
  leaving: Set<number>;
}

class PlayedGroup {
  players: Player[] = [];
  rounds = 0;
  readonly #count: number;
  #ids = 0;

  constructor(count: number) {
    this.#count = count;
  }

  add(): void {
    this.players.push({ memberId: `m${this.#ids++}`, reads: new Set(), leaving: new Set() });
    this.rebalance();
  }

  /** It says so, or its session is over; what it had is nobody's. */
  remove(place: number): void {
    this.players = this.players.filter((_, i) => i !== place % this.players.length);
    this.rebalance();
  }

  /** The group has gone on without it: it reads nothing more, and claims nothing. */
  expel(place: number): void {
    const player = this.players[place % this.players.length];
    if (player === undefined) return;
    player.reads.clear();
    player.leaving.clear();
    this.rebalance();
  }

  /** What it worked on has ended. */
  letGo(place: number): void {
    const player = this.players[place % this.players.length];
    if (player === undefined || player.leaving.size === 0) return;
    player.leaving.clear();
    this.rebalance();
  }

  rebalance(): void {
    if (this.players.length === 0) return;
    this.rounds += 1;
    const claimed = this.players.map(({ memberId, reads, leaving }) => ({
      memberId,
      owned: [...reads, ...leaving],
    }));
    const shares = assignIndices(this.#count, claimed, cooperativeProtocol);
    for (const player of this.players) {
      const given = new Set(shares.get(player.memberId));
      for (const index of player.reads) if (!given.has(index)) player.leaving.add(index);
      // What it is about to let go of it reads again only once it has.
      player.reads = new Set([...given].filter((index) => !player.leaving.has(index)));
    }
    this.check();
  }

  check(): void {
    const busy = this.players.flatMap(({ reads, leaving }) => [...reads, ...leaving]);
    assert.equal(new Set(busy).size, busy.length, `an index has two owners: ${busy.join()}`);
  }
}

const move = fc.record({
  kind: fc.constantFrom(
    ...(['add', 'add', 'remove', 'expel', 'letGo', 'letGo', 'rebalance'] as const),
  ),
  place: fc.nat(9),
});

test('whoever comes, goes or dies, no index ever has two owners, and the group soon settles', () => {
  fc.assert(
    fc.property(fc.nat(12), fc.array(move, { maxLength: 40 }), (count, moves) => {
      const group = new PlayedGroup(count);
      for (const { kind, place } of moves) {
        if (group.players.length === 0) group.add();
        group[kind](place);
      }
      if (group.players.length === 0) group.add();
      // Everybody lets go of what has to go, and joins again: twice at most, if nothing else happens.
      for (let times = 0; times < 2; times += 1) {
        for (const { leaving } of group.players) leaving.clear();
        group.rebalance();
      }
      assert.ok(group.players.every(({ leaving }) => leaving.size === 0));
      const read = group.players.flatMap(({ reads }) => [...reads]);
      assert.equal(read.length, count);
      const sizes = group.players.map(({ reads }) => reads.size);
      assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, sizes.join());
      const before = group.players.map(({ reads }) => [...reads]);
      group.rebalance();
      assert.deepEqual(
        group.players.map(({ reads }) => [...reads]),
        before,
      );
    }),
    { numRuns: 500 },
  );
});

test('whatever a member claims to own, every index has one owner', () => {
  const claims = [[-1, 0.5, 1e300, 3], [null, '1', {}], []];
  for (const claim of claims) {
    const userData = Buffer.from(JSON.stringify(claim));
    const metadata = AssignerProtocol.MemberMetadata.encode({
      version: 1,
      topics: ['t'],
      userData,
    });
    const members = [
      { memberId: 'a', ...decodeWishes(metadata) },
      { memberId: 'b', owned: [0, 1] },
    ];
    const dealt = [...shareIndices(4, members).values()].flat();
    assert.deepEqual(dealt.sort(), [0, 1, 2, 3], JSON.stringify(claim));
  }
});

test("a member's metadata that cannot be read says nothing, and takes no memory", () => {
  const nothing = { topics: [], owned: [], parts: undefined };
  const countOf32Million = Buffer.from([0, 1, 1, 255, 255, 255]);
  for (const metadata of [Buffer.alloc(0), Buffer.from([0]), countOf32Million]) {
    const before = process.resourceUsage().maxRSS;
    assert.deepEqual(decodeWishes(metadata), nothing);
    assert.throws(() => decodeAssignment(Buffer.concat([metadata, Buffer.from([0])])), RangeError);
    assert.ok(process.resourceUsage().maxRSS - before < 64 * 1024, 'in KB');
  }
});

function holders(
  members: Readonly<Record<string, { readonly owns?: true; readonly parts?: readonly string[] }>>,
): string[] {
  const claims = Object.entries(members).map(([memberId, { owns, parts }]) => {
    const owned = owns === true ? [0] : [];
    return {
      memberId,
      ...decodeWishes(encodeWishes({ topics: ['t'], owned, parts })),
    };
  });
  return [...assignParts(claims).keys()].sort();
}

test('members that want different parts of a right have it at the same time', () => {
  const [crm, ads] = [{ parts: ['crm', 'web'] }, { parts: ['ads'] }];
  assert.deepEqual(holders({ a: crm, b: ads }), ['a', 'b']);
  assert.deepEqual(holders({ a: crm, b: ads, c: { parts: ['ads', 'new'] } }), ['a', 'b']);
  assert.deepEqual(holders({ a: { parts: ['web'] }, b: { ...crm, owns: true }, c: ads }), [
    'b',
    'c',
  ]);
});

test('who wants all of a right has it alone', () => {
  const crm = { parts: ['crm'] };
  assert.deepEqual(holders({ a: {}, b: crm }), ['a']);
  assert.deepEqual(holders({ a: {}, b: { ...crm, owns: true } }), ['b']);
  assert.deepEqual(holders({ a: { owns: true }, b: crm }), ['a']);
});

test('of two owners that want the same, one has to let go, and until then nobody else has a part of it', () => {
  const [first, second] = [
    { parts: ['crm'], owns: true },
    { parts: ['crm', 'ads'], owns: true },
  ] as const;
  assert.deepEqual(holders({ b: first, c: second, d: { parts: ['ads'] } }), ['b']);
});
