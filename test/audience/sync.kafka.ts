import assert from 'node:assert/strict';
import { DuckDBInstance } from '@duckdb/node-api';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { audience, computedTrait, membersOf, type Members } from './members.ts';
import { syncScene, told } from './scene.ts';

const scene = await syncScene();
after(() => scene.stop());

const vip = (userId: string, is: boolean): string => `${userId} {"vip":${String(is)}}`;

// Each has an audience of its own; most of the time they wait for Kafka.
suite('audience sync', { concurrency: 4 }, () => {
  test('the first sync tells everyone, the next one only who came and who left, the one after nothing', async () => {
    const target = audience('growing', { destinations: ['crm', 'ads'] });
    const directory = await scene.checkpointFolder();
    const first = await scene.sync(target, membersOf('a', 'b', 'ü 1'), { directory });
    assert.deepEqual(
      [first.members, first.before, first.added, first.rebuilt],
      [3, 0, 3, 'there is no checkpoint yet'],
    );
    const calls = await scene.emitted(target);
    assert.deepEqual(told(calls), [vip('a', true), vip('b', true), vip('ü 1', true)]);
    for (const { context, source, destinations, timestamp } of calls) {
      assert.deepEqual(context.audience, { id: 'growing', name: 'VIP', sync: first.sync });
      assert.deepEqual([source, destinations], ['shop', 'crm,ads']);
      assert.ok(first.sync.startsWith(timestamp));
    }

    const second = await scene.sync(target, membersOf('b', 'ü 1', 'c'), { directory });
    assert.deepEqual([second.added, second.removed, second.rebuilt], [1, 1, undefined]);
    const after = await scene.emitted(target);
    assert.deepEqual(told(after.filter(({ context }) => context.audience.sync === second.sync)), [
      vip('a', false),
      vip('c', true),
    ]);
    assert.equal(new Set(after.map(({ messageId }) => messageId)).size, 5);

    const third = await scene.sync(target, membersOf('b', 'ü 1', 'c'), { directory });
    assert.deepEqual([third.added, third.removed, third.changed], [0, 0, 0]);
    assert.equal((await scene.emitted(target)).length, 5);
    assert.deepEqual(await readdir(directory), [`${scene.deployment.topology.prefix}growing`]);
  });

  test('a computed trait is told when it changes, and as null when its user disappears', async () => {
    const target = computedTrait('ltv');
    const values = (...entries: [string, unknown][]): Members =>
      new Map(entries.map(([userId, value]) => [userId, JSON.stringify(value)]));
    await scene.sync(target, values(['a', 1.5], ['b', 'gold'], ['c', true], ['d', 7]));
    const second = await scene.sync(target, values(['a', 2], ['b', 'gold'], ['d', '7']));
    assert.deepEqual([second.added, second.changed, second.removed], [0, 2, 1]);
    assert.deepEqual(told(await scene.emitted(target)), [
      'a {"ltv":1.5}',
      'a {"ltv":2}',
      'b {"ltv":"gold"}',
      'c {"ltv":null}',
      'c {"ltv":true}',
      'd {"ltv":"7"}',
      'd {"ltv":7}',
    ]);
  });

  test('track calls tell of an audience beside or instead of identify, and take it back', async () => {
    const both = audience('tracked', { emit: ['identify', 'track'] });
    await scene.sync(both, membersOf('a'));
    const track = audience('tracked', { emit: ['track'] });
    await scene.sync(track, membersOf('a', 'b'));
    await scene.retireAudience(track);
    const calls = (await scene.emitted(track)).map(({ userId, type, event = '' }) =>
      [userId, type, event].join(' ').trim(),
    );
    assert.deepEqual(
      calls.filter((call) => call.startsWith('a')),
      ['a identify', 'a track Audience Entered', 'a identify', 'a track Audience Exited'],
    );
    assert.deepEqual(
      calls.filter((call) => call.startsWith('b')),
      ['b track Audience Entered', 'b identify', 'b track Audience Exited'],
    );
  });

  test('whoever left and comes back is told again, and an audience knows nothing of another', async () => {
    const target = audience('back');
    const other = audience('back-2');
    await scene.sync(other, membersOf('a'));
    await scene.sync(target, membersOf('a', 'b', 'c'));
    await scene.sync(target, membersOf('b', 'c'));
    await scene.sync(target, membersOf('a', 'b', 'c'));
    assert.deepEqual(
      told(await scene.emitted(target)).filter((call) => call.startsWith('a')),
      [vip('a', false), vip('a', true), vip('a', true)],
    );
    assert.deepEqual(told(await scene.emitted(other)), [vip('a', true)]);
  });

  test('a full sync tells a new destination what all others know, and everybody what changed', async () => {
    const target = audience('full');
    await scene.sync(target, membersOf('a', 'b', 'c'));
    const full = { destination: 'new' };
    const { baseline: unchanged, added } = await scene.sync(target, membersOf('a', 'b', 'd'), {
      full,
    });
    assert.deepEqual([unchanged, added], [2, 1]);
    const calls = await scene.emitted(target);
    assert.deepEqual(told(calls.filter(({ destinations }) => destinations === 'new')), [
      vip('a', true),
      vip('b', true),
    ]);
    assert.equal(calls.length, 3 + 2 + 2);
    const { added: later, removed } = await scene.sync(target, membersOf('a', 'b', 'd'));
    assert.deepEqual([later, removed], [0, 0]);
  });

  test('the older of two syncs stops when the newer has begun, and nothing is sent twice', async () => {
    const target = audience('twice');
    const directory = await scene.checkpointFolder();
    const newer = Promise.withResolvers<unknown>();
    const older = scene.sync(target, membersOf('a', 'b'), { directory }, async () => {
      await scene
        .sync(target, membersOf('a', 'c'), { directory })
        .then(newer.resolve, newer.reject);
    });
    await newer.promise;
    await assert.rejects(older, {
      code: 'fenced',
      message: /^twice: this sync stopped because a newer one of the same audience began/,
    });
    assert.deepEqual(told(await scene.emitted(target)), [vip('a', true), vip('c', true)]);
    const { added, removed, rebuilt } = await scene.sync(target, membersOf('a', 'c'), {
      directory,
    });
    assert.deepEqual([added, removed, rebuilt], [0, 0, undefined]);
  });

  test('a dry run says what would be sent, sends nothing, and stops no sync that runs', async () => {
    const target = audience('dry');
    const directory = await scene.checkpointFolder();
    const result = await scene.sync(target, membersOf('a', 'b'), { directory }, async () => {
      const dry = await scene.sync(target, membersOf('x', 'y', 'z'), { directory, dryRun: true });
      assert.equal(dry.added, 3);
      assert.deepEqual(dry.sample.map(({ userId, value }) => `${userId} ${value ?? ''}`).sort(), [
        'x true',
        'y true',
        'z true',
      ]);
    });
    assert.equal(result.added, 2);
    const { rebuilt } = await scene.sync(target, membersOf('a', 'b'), { directory });
    assert.equal(rebuilt, undefined);
    assert.deepEqual(told(await scene.emitted(target)), [vip('a', true), vip('b', true)]);
  });

  test('a checkpoint that is damaged, of another time or of another topic is read anew', async () => {
    const target = audience('spoiled');
    const directory = await scene.checkpointFolder();
    const members = membersOf(...Array.from({ length: 5_000 }, (_, i) => `user-${i}`));
    await scene.sync(target, members, { directory });
    const file = join(directory, `${scene.deployment.topology.prefix}spoiled`, 'checkpoint.duckdb');
    const sound = await readFile(file);
    const spoil: Record<string, () => Promise<unknown>> = {
      'no database': () => writeFile(file, 'nonsense'),
      'cut off': () => writeFile(file, sound.subarray(0, sound.length / 2)),
      'a view, which would be run': async () => {
        await writeFile(file, sound);
        const instance = await DuckDBInstance.create(file);
        const connection = await instance.connect();
        await connection.run(
          `alter table members rename to m; create view members as select * from m`,
        );
        connection.closeSync();
        instance.closeSync();
      },
      'one bit': async () => {
        const bytes = Buffer.from(sound);
        const at = bytes.indexOf('user-');
        bytes[at] = (bytes[at] ?? 0) ^ 1;
        await writeFile(file, bytes);
      },
    };
    for (const [how, damage] of Object.entries(spoil)) {
      await damage();
      const { added, removed, rebuilt } = await scene.sync(target, members, { directory });
      assert.deepEqual([added, removed, rebuilt], [0, 0, 'the checkpoint is damaged'], how);
    }
    const { rebuilt } = await scene.sync(target, members, { directory });
    assert.equal(rebuilt, undefined);
  });

  test('a sync with a checkpoint from before others reads only what they wrote', async () => {
    const target = audience('behind');
    const directory = await scene.checkpointFolder();
    await scene.sync(target, membersOf('a', 'b'), { directory });
    await scene.sync(target, membersOf('b', 'c'));
    const { added, removed, rebuilt } = await scene.sync(target, membersOf('b', 'c'), {
      directory,
    });
    assert.deepEqual([added, removed, rebuilt], [0, 0, undefined]);
  });

  test('nothing is sent when the data fails, is empty, or has lost too many', async () => {
    const target = audience('safe');
    const four = membersOf('a', 'b', 'c', 'd');
    await scene.sync(target, four);
    const broken = scene.sync(target, four, {}, () => Promise.reject(new Error('no such file')));
    await assert.rejects(broken, /no such file/);
    await assert.rejects(scene.sync(target, membersOf()), {
      code: 'input-invalid',
      message:
        'the data of Audience safe has no users, and had 4 before; nothing was sent. If that is right, use --allow-empty',
    });
    await assert.rejects(scene.sync(target, membersOf('a')), {
      code: 'input-invalid',
      message:
        'Audience safe would lose 3 of 4 users (75 %), allowed: 50 %; nothing was sent. If that is right, use --max-removed 75',
    });
    assert.equal((await scene.emitted(target)).length, 4);
    await scene.sync(target, membersOf('a'), { maxRemoved: 75 });
    const emptied = await scene.sync(target, membersOf(), { allowEmpty: true });
    assert.equal(emptied.removed, 1);
    assert.equal((await scene.emitted(target)).length, 8);
  });

  test('a call that would be too large is left out, said, and tried again', async () => {
    const target = computedTrait('large');
    const large = JSON.stringify('x'.repeat(40_000));
    const longId = 'c'.repeat(1_025);
    const directory = await scene.checkpointFolder();
    const first = await scene.sync(
      target,
      new Map([
        ['a', large],
        ['b', '1'],
        [longId, '1'],
      ]),
      { directory },
    );
    assert.deepEqual([first.added, first.tooLarge], [3, 2]);
    assert.deepEqual(told(await scene.emitted(target)), ['b {"ltv":1}']);
    const second = await scene.sync(
      target,
      new Map([
        ['a', '2'],
        ['b', '1'],
      ]),
      { directory },
    );
    assert.deepEqual([second.added, second.tooLarge], [1, 0]);
  });
});
