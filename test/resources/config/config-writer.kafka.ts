import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ExclusiveWriter } from '../../../src/kafka/produce/exclusive-writer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import {
  followStoredResources,
  type FollowedResources,
} from '../../../src/resources/config/config-topic.ts';
import { ConfigWriter, type Decision } from '../../../src/resources/config/config-writer.ts';
import { encodeResource, recordKey } from '../../../src/resources/config/stored.ts';
import { testDeployment, type TestDeployment } from '../deployment.ts';
import { exampleKeys, exampleSource } from '../examples.ts';
import { readAll } from '../../kafka/topics.ts';

let deployment: TestDeployment;

before(async () => {
  deployment = await testDeployment();
});

after(() => deployment.stop());

interface Process {
  readonly writer: ConfigWriter;
  readonly followed: FollowedResources;
  /** Adds one to the number that the name of the source is. */
  readonly count: () => Promise<number>;
}

const [kind, id] = ['Source', 'counter'] as const;

async function startProcess(t: { after(end: () => Promise<void>): void }): Promise<Process> {
  const followed = await followStoredResources({ ...deployment, log: silentLogger });
  const writer = new ConfigWriter(deployment, followed);
  t.after(async () => {
    writer.close();
    await followed.stop();
  });
  const decide = (): Decision<number> => {
    const stored = followed.resources.get(recordKey({ kind, id }))?.sealed?.sealed;
    const next = Number(stored?.kind === 'Source' ? stored.name : 0) + 1;
    const source = exampleSource({ id, name: String(next), writeKeys: ['wk_counter'] });
    return {
      records: [{ key: recordKey(source), value: encodeResource(source, exampleKeys) }],
      result: next,
    };
  };
  return { writer, followed, count: async () => (await writer.change(decide)).result };
}

test('of processes that change the same thing at once, each decides on what the others wrote', async (t) => {
  const processes = await Promise.all([startProcess(t), startProcess(t), startProcess(t)]);
  const counts: number[] = [];
  await Promise.all(
    processes.map(async ({ count }) => {
      for (let left = 5; left > 0; left -= 1) counts.push(await count());
    }),
  );
  assert.deepEqual(
    counts.toSorted((a, b) => a - b),
    Array.from({ length: 15 }, (_, index) => index + 1),
  );
});

test('while nobody else writes, a process claims the topic once', async (t) => {
  const { count, followed } = await startProcess(t);
  const claimsOf = async (): Promise<number> =>
    (await readAll(deployment.kafka, deployment.topology.topics.config)).filter(
      ({ key }) => String(key) === 'writer',
    ).length;
  await count();
  const [claims, { offset }] = [await claimsOf(), followed];
  await count();
  await count();
  assert.equal(await claimsOf(), claims);
  assert.equal(followed.offset, offset + 2);
});

test('a change that turns out to be none writes nothing, and claims nothing', async (t) => {
  const { writer, followed } = await startProcess(t);
  const { offset } = followed;
  const { result } = await writer.change(() => ({ records: [], result: 'none' }));
  assert.equal(result, 'none');
  await followed.caughtUp();
  assert.equal(followed.offset, offset);
});

test('what has to come first comes again when it was decided again, and what is not decided is not written', async (t) => {
  const [one, other] = [await startProcess(t), await startProcess(t)];
  await one.count();
  let [decided, prepared] = [0, 0];
  const { key, value } = {
    key: 'Source/later',
    value: encodeResource(exampleSource({ id: 'later', writeKeys: ['wk_later'] }), exampleKeys),
  };
  await one.writer.change(() => {
    decided += 1;
    return {
      records: [{ key, value }],
      result: undefined,
      before: async () => {
        prepared += 1;
        // Another process writes after the decision, and before it is written.
        if (prepared === 1) await other.count();
      },
    };
  });
  assert.deepEqual([decided, prepared], [2, 2]);
  const failed = one.writer.change(() => ({
    records: [{ key: 'Source/never', value }],
    result: undefined,
    before: () => Promise.reject(new Error('the audit is away')),
  }));
  await assert.rejects(failed, /the audit is away/);
  await other.followed.caughtUp();
  assert.ok(other.followed.resources.has('Source/later'));
  assert.ok(!other.followed.resources.has('Source/never'));
});

test('a writer whose producer id is another one fences the former one by that id', async (t) => {
  const { kafka, topology } = deployment;
  const topic = topology.topics.config;
  // As where Kafka has forgotten the transactional id.
  const zombie = new ExclusiveWriter(kafka, { topic, transactionalId: `${topic}.forgotten` });
  t.after(() => {
    zombie.close();
    return Promise.resolve();
  });
  await zombie.claim(undefined);
  const record = { key: 'Source/zombie', value: null };
  await zombie.append([record]);
  assert.equal(zombie.holds, true);
  const { count } = await startProcess(t);
  await count();
  await assert.rejects(zombie.append([record]), { code: 'fenced' });
  assert.equal(zombie.holds, false);
});
