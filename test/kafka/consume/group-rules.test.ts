import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { GroupModel, type ModelMember } from './group-model.ts';

const partitions = 3;
const windowRecords = 6;

const quiet = [
  'append',
  'append',
  'marker',
  'hole',
  'fetch',
  'fetch',
  'fetch',
  'fetch',
  'finish',
  'finish',
  'finish',
  'commit',
  'answer',
  'answer',
  'answerLast',
  'rebalance',
  'join',
  'leave',
] as const;
const faults = ['die', 'expel', 'notice', 'moveBack', 'cutOff', 'remove'] as const;

type Kind = (typeof quiet)[number] | (typeof faults)[number];

interface Step {
  readonly kind: Kind;
  readonly member: number;
  readonly partition: number;
  readonly count: number;
}

function stepsOf(kinds: readonly Kind[]): fc.Arbitrary<Step[]> {
  const step = fc.record({
    kind: fc.constantFrom(...kinds),
    member: fc.nat(5),
    partition: fc.nat(partitions - 1),
    count: fc.integer({ min: 1, max: 5 }),
  });
  return fc.array(step, { maxLength: 120, size: 'max' });
}

async function play(model: GroupModel, { kind, member: place, partition, count }: Step) {
  if (model.members.length === 0) model.join();
  const member = model.members[place % model.members.length];
  if (member === undefined) return;
  if (kind === 'append') model.append(partition, count);
  else if (kind === 'marker') model.logs[partition]?.appendMarker();
  else if (kind === 'hole') model.logs[partition]?.skip(count);
  else if (kind === 'fetch') member.fetch(partition, count);
  else if (kind === 'finish') member.finish(count);
  else if (kind === 'commit') await member.commitDue();
  else if (kind === 'answer') await member.answer();
  else if (kind === 'answerLast') await member.answerLast();
  else if (kind === 'rebalance') model.rebalance();
  else if (kind === 'join') model.join();
  else if (kind === 'leave') await model.leave(member);
  else if (kind === 'die') model.die(member);
  else if (kind === 'expel') model.expel(member);
  else if (kind === 'notice') model.notice(member);
  else if (kind === 'moveBack') model.moveBack(partition, count);
  else if (kind === 'cutOff') model.cutOff(partition, count);
  else model.removeBefore(partition, (model.logs[partition]?.start ?? 0) + count);
  await model.settle();
}

/** Nothing goes wrong any more, and everybody works until nothing is left to do. */
async function workItOff(model: GroupModel): Promise<void> {
  if (model.members.length === 0) model.join();
  const each = async (act: (member: ModelMember) => unknown): Promise<void> => {
    for (const member of model.members) await act(member);
    await model.settle();
  };
  for (let round = 0; round < 60; round += 1) {
    await each((member) => {
      model.notice(member);
    });
    for (let times = 0; times < 3; times += 1) await each((member) => member.answer());
    await each((member) => {
      for (let partition = 0; partition < partitions; partition += 1) member.fetch(partition, 20);
    });
    await each((member) => {
      member.finish(Infinity);
    });
    await each((member) => member.commitDue());
    const isIdle = model.members.every(
      ({ inFlight, intake }) => inFlight.length === 0 && intake.isJoined,
    );
    if (round > 10 && isIdle && model.unfinished.length === 0) return;
  }
}

test('whatever happens, nothing is committed that is not finished, and everything is finished in the end', async () => {
  await fc.assert(
    fc.asyncProperty(stepsOf([...quiet, ...faults]), async (steps) => {
      const model = new GroupModel(partitions, windowRecords);
      for (const step of steps) await play(model, step);
      await workItOff(model);
      assert.deepEqual(model.unfinished, []);
    }),
    { numRuns: 150 },
  );
});

test('whoever was gone for a while, no commit takes another one back', async () => {
  const kinds = [
    'append',
    'fetch',
    'fetch',
    'finish',
    'commit',
    'answer',
    'leave',
    'expel',
  ] as const;
  await fc.assert(
    fc.asyncProperty(stepsOf([...kinds, 'join', 'notice']), async (steps) => {
      const model = new GroupModel(1, windowRecords);
      for (const step of steps) await play(model, { ...step, partition: 0 });
      await workItOff(model);
      assert.equal(model.stepsBack, 0);
    }),
    { numRuns: 150 },
  );
});

test('while members only come and go, nothing is read by two at once, and nothing again that is finished', async () => {
  await fc.assert(
    fc.asyncProperty(stepsOf(quiet), async (steps) => {
      const model = new GroupModel(partitions, windowRecords);
      for (const step of steps) {
        await play(model, step);
        model.checkOwners();
      }
      await workItOff(model);
      assert.deepEqual(model.unfinished, []);
      assert.equal(model.repeats, 0);
    }),
    { numRuns: 150 },
  );
});
