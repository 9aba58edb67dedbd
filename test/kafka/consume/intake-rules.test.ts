import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { KafkajsModel, topic } from '../kafkajs-model.ts';

const step = fc.record({
  kind: fc.constantFrom(
    'append',
    'append',
    'marker',
    'hole',
    'fetch',
    'fetch',
    'fetch',
    'handle',
    'handle',
    'handle',
    'finish',
    'finish',
    'commit',
    'commitOurs',
    'refresh',
    'rejoin',
    'lose',
    'settle',
    'settle',
    'moveBack',
    'retain',
  ),
  partition: fc.nat(1),
  count: fc.integer({ min: 1, max: 5 }),
});

test('whatever happens, no commit passes an unfinished record and every record is read in the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 150, size: 'max' }), async (steps) => {
      const model = new KafkajsModel(2, 6);
      const finished = [new Set<number>(), new Set<number>()];
      const finish = (count: number): void => {
        for (const record of model.received.splice(0, count)) {
          record.finish();
          finished[record.partition]?.add(record.offset);
        }
      };
      const checkCommits = (): void => {
        for (const [partition, { entries, committed }] of model.logs.entries()) {
          for (const { offset, isMarker } of entries) {
            if (offset >= committed || isMarker) continue;
            assert.ok(finished[partition]?.has(offset), `${partition}/${offset} < ${committed}`);
          }
        }
      };
      model.join([0, 1]);
      for (const { kind, partition, count } of steps) {
        const log = model.log(partition);
        if (kind === 'append') for (let i = 0; i < count; i += 1) log.append();
        else if (kind === 'marker') log.append(true);
        else if (kind === 'hole') log.skip(count);
        else if (kind === 'fetch') model.fetch(partition, count);
        else if (kind === 'handle') model.handle();
        else if (kind === 'finish') finish(count);
        else if (kind === 'commit') await model.committer.commit();
        else if (kind === 'commitOurs') await model.committer.commitWhatIsOurs();
        else if (kind === 'refresh') await model.intake.refresh(topic, () => model.ranges());
        else if (kind === 'rejoin') model.join([0, 1]);
        else if (kind === 'lose') model.join([partition]);
        else if (kind === 'settle') await model.settle();
        else if (kind === 'moveBack') log.committed = Math.max(-1, log.committed - count);
        else log.retainFrom(log.earliest + count);
        checkCommits();
      }
      // A record behind the last hole: kafkajs cannot know that a hole is the end.
      for (const log of model.logs) log.append();
      model.join([0, 1]);
      for (let i = 0; i < 400; i += 1) {
        await model.settle();
        finish(10);
        await model.committer.commit();
        model.fetch(i % 2, 5);
        model.handle();
      }
      checkCommits();
      for (const [partition, { entries, committed, end }] of model.logs.entries()) {
        assert.equal(committed, end);
        const unread = entries.filter(
          ({ offset, isMarker }) => !isMarker && !finished[partition]?.has(offset),
        );
        assert.deepEqual(unread, []);
      }
    }),
    { numRuns: 2_000 },
  );
});
