import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { withAdmin } from '../../src/kafka/admin.ts';
import { openTransactions } from '../../src/kafka/produce/transactions.ts';
import { partitionOf } from '../../src/kafka/produce/partitioner.ts';
import { audience, membersOf } from './members.ts';
import { refuseWhileTold } from '../../src/resources/apply/traits.ts';
import { readAudienceRecords } from '../../src/resources/audiences/records.ts';
import { syncScene, told } from './scene.ts';

const scene = await syncScene();
after(() => scene.stop());

const vip = (userId: string, is: boolean): string => `${userId} {"vip":${String(is)}}`;

suite('what an audience remembers', { concurrency: 4 }, () => {
  test('a deleted user is not told of again: neither when gone from the data, nor while it lags behind', async () => {
    const target = audience('deletions');
    const directory = await scene.checkpointFolder();
    const all = membersOf('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'gone', 'lagging');
    await scene.sync(target, all, { directory });
    await scene.deleteUser('gone');
    await scene.deleteUser('lagging');
    const rest = membersOf('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'lagging');
    const second = await scene.sync(target, rest, { directory });
    assert.deepEqual([second.before, second.removed, second.forgotten], [8, 0, 2]);
    // Without its checkpoint, Kafka remembers the same.
    const third = await scene.sync(target, rest);
    assert.deepEqual([third.added, third.removed, third.forgotten], [0, 0, 0]);
    assert.equal((await scene.emitted(target)).length, 10);

    // Gone from the data, and there again: news, as of a user who did something new.
    await scene.sync(target, membersOf('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { directory });
    const back = await scene.sync(target, all, { directory });
    assert.deepEqual([back.added, back.forgotten], [2, 0]);
    const again = (await scene.emitted(target)).slice(-2);
    assert.deepEqual(
      told(
        (await scene.emitted(target)).filter(({ context }) => context.audience.sync === back.sync),
      ),
      [vip('gone', true), vip('lagging', true)],
      JSON.stringify(again),
    );
    const nothing = await scene.sync(target, all, { directory });
    assert.deepEqual([nothing.added, nothing.removed, nothing.forgotten], [0, 0, 0]);
  });

  test('who is deleted while a sync runs is not told of, and a deletion that is taken back is undone', async () => {
    const target = audience('meanwhile');
    const some = membersOf('a', 'b', 'c', 'late');
    const first = await scene.sync(target, some, {}, () => scene.deleteUser('late'));
    assert.equal(first.members, 4);
    assert.deepEqual(told(await scene.emitted(target)), [
      vip('a', true),
      vip('b', true),
      vip('c', true),
    ]);
    assert.equal((await scene.sync(target, some)).added, 0);
    const more = membersOf('a', 'b', 'c', 'late', 'later');
    const gold = audience('meanwhile', { trait: 'gold' });
    await scene.sync(gold, more, { confirmFirst: () => scene.deleteUser('later') });
    assert.deepEqual(
      told((await scene.emitted(gold)).filter(({ userId }) => userId.startsWith('late'))),
      [],
    );
    await scene.takeDeletionBack('late');
    assert.equal((await scene.sync(target, some)).added, 1);
    assert.equal((await scene.sync(gold, more)).added, 1);
  });

  test('a trait that is new does not reach deleted users, also if its first sync was cut off', async () => {
    await scene.deleteUser('already');
    await scene.deleteUser('returns');
    const target = audience('young');
    const some = membersOf('a', 'b', 'already');
    await scene.cutOffSync(target, some);
    await scene.sync(target, some);
    const directory = await scene.checkpointFolder();
    await scene.sync(target, some, { directory });
    assert.deepEqual(told(await scene.emitted(target)), [vip('a', true), vip('b', true)]);

    // Was not in the data when it was read last, so the user did something new.
    await scene.sync(target, membersOf('a', 'b', 'already', 'returns'), { directory });
    // May have been added to the data before the deletion.
    await scene.deleteUser('entered');
    const entered = membersOf('a', 'b', 'already', 'returns', 'entered');
    await scene.sync(target, entered, { directory });
    await scene.sync(target, membersOf('a', 'b', 'returns'), { directory });
    assert.deepEqual(told(await scene.emitted(target)), [
      vip('a', true),
      vip('b', true),
      vip('returns', true),
    ]);
    await scene.sync(target, entered, { directory });
    assert.equal((await scene.emitted(target)).length, 5);
  });

  test('the checkpoint holds no byte of a deleted user once the user has left the data', async () => {
    const target = audience('bytes');
    const directory = await scene.checkpointFolder();
    const file = join(directory, `${scene.deployment.topology.prefix}bytes`, 'checkpoint.duckdb');
    const holds = async (userId: string): Promise<boolean> =>
      (await readFile(file)).includes(userId);
    const others = Array.from({ length: 100 }, (_, i) => `other-${i}`);
    await scene.sync(target, membersOf(...others, 'left', 'gone', 'lags'), { directory });
    await scene.sync(target, membersOf(...others, 'gone', 'lags'), { directory });
    assert.ok((await holds('gone')) && (await holds('lags')));

    for (const userId of ['left', 'gone', 'lags']) await scene.deleteUser(userId);
    await scene.sync(target, membersOf(...others, 'lags'), { directory });
    assert.ok(!(await holds('left')) && !(await holds('gone')));
    await scene.sync(target, membersOf(...others), { directory });
    assert.ok(!(await holds('lags')));
    const { added, removed, rebuilt } = await scene.sync(target, membersOf(...others), {
      directory,
    });
    assert.deepEqual([added, removed, rebuilt], [0, 0, undefined]);
  });

  test('a deletion at another source is none here', async () => {
    const target = audience('elsewhere');
    await scene.sync(target, membersOf('a', 'b'));
    await scene.deleteUser('a', 'app');
    assert.equal((await scene.sync(target, membersOf('b'))).removed, 1);
  });

  test('another trait or source is another thing to tell, and the former one can be taken back', async () => {
    const target = audience('renamed');
    await scene.sync(target, membersOf('a', 'b', 'c'));
    const gold = audience('renamed', { trait: 'gold', name: 'Gold' });
    const renamed = await scene.sync(gold, membersOf('b', 'c', 'd'));
    assert.deepEqual([renamed.before, renamed.added], [0, 3]);
    assert.deepEqual(
      (await scene.record(gold))?.told.map(({ trait, members }) => `${trait} ${members}`),
      ['gold 3', 'vip 3'],
    );
    const [retired, ...more] = await scene.retireFormer(gold);
    assert.deepEqual([retired?.trait, retired?.users, more], ['vip', 3, []]);
    assert.deepEqual(await scene.retireFormer(gold), []);
    const calls = await scene.emitted(target);
    assert.deepEqual(told(calls.filter(({ traits }) => traits['vip'] === false)), [
      vip('a', false),
      vip('b', false),
      vip('c', false),
    ]);
    assert.equal((await scene.sync(gold, membersOf('b', 'c', 'd'))).added, 0);
    const moved = audience('renamed', { trait: 'gold', source: 'app' });
    assert.equal((await scene.sync(moved, membersOf('b'))).added, 1);
  });

  test('a trait that goes on as one of another source is taken back from those alone who lose it', async () => {
    const web = audience('moving', { source: 'web' });
    await scene.sync(web, membersOf('stays', 'stays-too', 'leaves', 'gone'));
    await scene.deleteUser('gone', 'web');
    const app = audience('moving', { source: 'app' });
    await scene.sync(app, membersOf('stays', 'stays-too', 'comes'));
    const destinationsOf = (source: string): string[] =>
      source === 'web' ? ['crm', 'ads'] : ['crm'];
    const retired = await scene.retireFormer(app, false, destinationsOf);
    assert.deepEqual(
      retired.map(({ source, destinations, users }) => [source, destinations, users]),
      [
        ['web', undefined, 1],
        ['web', ['ads'], 2],
      ],
    );
    const takenBack = (await scene.emitted(app)).filter(({ traits }) => traits['vip'] === false);
    assert.deepEqual(
      takenBack.map(({ userId, destinations = 'all' }) => `${userId} at ${destinations}`).sort(),
      ['leaves at all', 'stays at ads', 'stays-too at ads'],
    );
    assert.deepEqual(await scene.retireFormer(app, false, destinationsOf), []);
    assert.equal((await scene.sync(app, membersOf('stays', 'stays-too', 'comes'))).added, 0);
  });

  test('what is forgotten is forgotten without a word', async () => {
    const target = audience('silent');
    await scene.sync(target, membersOf('a', 'b'));
    const gold = audience('silent', { trait: 'gold' });
    await scene.sync(gold, membersOf('a'));
    await scene.retireFormer(gold, true);
    assert.equal((await scene.emitted(target)).length, 3);
    assert.deepEqual(
      (await scene.record(gold))?.told.map(({ trait }) => trait),
      ['gold'],
    );
    // As if nobody had ever been told.
    assert.equal((await scene.sync(target, membersOf('a', 'b'))).added, 2);
  });

  test('a retired audience takes back what it told, and nothing is known of it', async () => {
    const target = audience('retired', { destinations: ['crm'] });
    await scene.sync(target, membersOf('a', 'b'));
    const retired = await scene.retireAudience(target);
    assert.deepEqual(
      retired.map(({ trait, users }) => `${trait} ${users}`),
      ['vip 2'],
    );
    assert.deepEqual(told(await scene.emitted(target)), [
      vip('a', false),
      vip('a', true),
      vip('b', false),
      vip('b', true),
    ]);
    assert.equal(await scene.record(target), undefined);
    assert.equal((await scene.sync(target, membersOf('a'))).added, 1);
  });

  test('an audience that was being emptied when its sync was cut off still has users', async () => {
    const both = audience('cut-off', { destinations: ['crm', 'ads'] });
    await scene.sync(both, membersOf('a', 'b', 'c', 'd', 'e'));
    const target = audience('cut-off', { destinations: ['crm'] });
    await scene.cutOffSync(target, membersOf(), { allowEmpty: true });
    const { kafka, topology } = scene.deployment;
    const records = await readAudienceRecords(kafka, topology);
    assert.throws(() => {
      refuseWhileTold(records, target);
    }, /Audience cut-off cannot be deleted without --retire or --keep-traits/);
    // Whoever leaves is told where the audience no longer goes, too.
    await scene.sync(target, membersOf(), { allowEmpty: true });
    const left = (await scene.emitted(target)).filter(({ traits }) => traits['vip'] === false);
    assert.deepEqual(
      left.map(({ userId, destinations }) => `${userId} ${String(destinations)}`).sort(),
      ['a', 'b', 'c', 'd', 'e'].map((userId) => `${userId} crm,ads`),
    );
    refuseWhileTold(await readAudienceRecords(kafka, topology), target);
  });

  test('of several traits some have users and others have none, and all are retired', async () => {
    const target = audience('uneven');
    const gold = audience('uneven', { trait: 'gold' });
    const silver = audience('uneven', { trait: 'silver' });
    await scene.sync(target, membersOf('a', 'b'));
    await scene.sync(gold, membersOf('a'));
    await scene.sync(gold, membersOf(), { allowEmpty: true });
    await scene.sync(silver, membersOf('c'));
    const retired = await scene.retireAudience(target);
    assert.deepEqual(
      retired.map(({ trait, users }) => `${trait} ${users}`),
      ['silver 1', 'gold 0', 'vip 2'],
    );
    assert.equal(await scene.record(target), undefined);
  });

  test('a destination that an audience names no more hears who leaves, until it is told the rest', async () => {
    const both = audience('narrower', { destinations: ['crm', 'ads'] });
    const one = audience('narrower', { destinations: ['crm'] });
    const members = membersOf('a', 'b', 'c', 'd', 'e', 'f', 'g');
    await scene.sync(both, members);
    await scene.sync(one, membersOf('b', 'c', 'd', 'e', 'f', 'g', 'new'));
    assert.deepEqual((await scene.record(one))?.told[0]?.formerDestinations, ['ads']);
    const [retired] = await scene.retireFormer(one);
    assert.deepEqual(retired?.destinations, ['ads']);
    const atAds = (await scene.emitted(one)).filter(({ destinations }) =>
      destinations?.split(',').includes('ads'),
    );
    const has = new Map(atAds.map(({ userId, traits }) => [userId, traits['vip']]));
    assert.deepEqual(new Set(has.values()), new Set([false]));
    assert.deepEqual((await scene.record(one))?.told[0]?.formerDestinations, []);
    assert.deepEqual(await scene.retireFormer(one), []);
    const next = await scene.sync(one, membersOf('b', 'c', 'd', 'e', 'f', 'g', 'new'));
    assert.deepEqual([next.added, next.removed], [0, 0]);
  });

  test('a user whose deletion was taken back is not told of what a mark says', async () => {
    const both = audience('marked', { destinations: ['crm', 'ads'] });
    await scene.sync(both, membersOf('a', 'marked'), {}, () => scene.deleteUser('marked'));
    await scene.takeDeletionBack('marked');
    const one = audience('marked', { destinations: ['crm'] });
    const [retired] = await scene.retireFormer(one);
    assert.equal(retired?.users, 1);
    assert.deepEqual(told(await scene.emitted(one)), [vip('a', false), vip('a', true)]);
    await scene.sync(one, membersOf('a', 'marked'));
    assert.ok(told(await scene.emitted(one)).includes(vip('marked', true)));
  });

  test('a first sync asks before it tells anyone, and one that has told somebody asks no more', async () => {
    const target = audience('asked');
    let asked = 0;
    const confirmFirst = (users: number): Promise<void> => {
      asked += users;
      return Promise.reject(new Error('nobody agreed'));
    };
    await assert.rejects(
      scene.sync(target, membersOf('a', 'b'), { confirmFirst }),
      /nobody agreed/,
    );
    assert.equal(asked, 2);
    assert.deepEqual(await scene.emitted(target), []);
    await scene.sync(target, membersOf('a', 'b'));
    await scene.sync(target, membersOf('a', 'b', 'c'), { confirmFirst });
  });

  test('what former versions remember is taken over, and nobody is told twice', async () => {
    const target = audience('former');
    const { kafka, topology } = scene.deployment;
    const topic = topology.topics.audienceMembers;
    const writer = await openTransactions(kafka, `${topology.prefix}${randomUUID()}`);
    await writer.write(
      ['a', 'b', 'c', 'd', 'e'].map((user) => {
        const key = `former:${user}`;
        return { topic, partition: partitionOf(key, 2), key, value: 'true' };
      }),
    );
    await writer.close();
    const directory = await scene.checkpointFolder();
    const { before, added, removed } = await scene.sync(
      target,
      membersOf('a', 'b', 'c', 'd', 'x'),
      { directory },
    );
    assert.deepEqual([before, added, removed], [5, 1, 1]);
    for (const folder of [directory, undefined]) {
      const next = await scene.sync(target, membersOf('a', 'b', 'c', 'd', 'x'), {
        directory: folder,
      });
      assert.deepEqual([next.before, next.added, next.removed], [5, 0, 0]);
    }
    // It belongs to the trait that took it over.
    const gold = audience('former', { trait: 'gold' });
    assert.equal((await scene.sync(gold, membersOf('a'))).before, 0);
  });

  test('a deletion ends a membership of a former version also once a sync that was cut off took it over', async () => {
    const target = audience('overtaken');
    const { kafka, topology } = scene.deployment;
    const topic = topology.topics.audienceMembers;
    const writer = await openTransactions(kafka, `${topology.prefix}${randomUUID()}`);
    const rest = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    await writer.write(
      [...rest, 'z'].map((user) => {
        const key = `overtaken:${user}`;
        return { topic, partition: partitionOf(key, 2), key, value: 'true' };
      }),
    );
    await writer.close();
    await scene.deleteUser('z');
    // In the order of ids, so that it is cut off before the deleted user's turn.
    await scene.cutOffSync(target, membersOf(...rest), { full: { destination: undefined } });
    const { removed } = await scene.sync(target, membersOf(...rest));
    assert.equal(removed, 0);
    const tellsOfDeleted = (await scene.emitted(target)).filter(({ userId }) => userId === 'z');
    assert.deepEqual(tellsOfDeleted, []);
  });

  test('a checkpoint from before `audience-members` was created again is not used', async () => {
    const own = await syncScene();
    const { kafka, topology } = own.deployment;
    const name = topology.topics.audienceMembers;
    try {
      const directory = await own.checkpointFolder();
      const target = audience('again');
      await own.sync(target, membersOf('a', 'b'), { directory });
      await withAdmin(kafka, async (admin) => {
        const spec = (await admin.describeTopics([name])).get(name);
        assert.ok(spec);
        await admin.deleteTopic(name);
        await admin.createTopics([{ ...spec, config: { 'cleanup.policy': 'compact' } }]);
      });
      // The new topic is longer than the checkpoint's was.
      for (const members of [['x', 'y', 'z'], ['x', 'y', 'v', 'w'], ['c']])
        await own.sync(audience('other'), membersOf(...members), {
          maxRemoved: 100,
          maxAdded: 900,
        });
      const { before, added, rebuilt } = await own.sync(target, membersOf('a', 'b'), { directory });
      assert.deepEqual(
        [before, added, rebuilt],
        [
          0,
          2,
          'the checkpoint is of another topic of this name, in another cluster or from before it was created again',
        ],
      );
      const next = await own.sync(target, membersOf('a', 'b'), { directory });
      assert.deepEqual([next.added, next.rebuilt], [0, undefined]);
    } finally {
      await own.stop();
    }
  });

  test('the record keeps what the last syncs did, refused ones too', async () => {
    const target = audience('history');
    await scene.sync(target, membersOf('a', 'b'));
    await assert.rejects(scene.sync(target, membersOf()), { code: 'input-invalid' });
    const [refused, first] = (await scene.record(target))?.syncs ?? [];
    assert.equal(refused?.outcome, 'refused');
    assert.match(refused.reason ?? '', /the data of .* has no users/);
    assert.deepEqual([first?.outcome, first?.added, first?.trait], ['done', 2, 'vip']);
  });
});
