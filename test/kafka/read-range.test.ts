import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readRange, writtenRanges } from '../../src/kafka/read-range.ts';
import { FakeBrokers } from './fake-brokers.ts';

const topic = 'topic';

/** A topic whose partition i is led by node i + 1, with ten records a partition, two in a batch. */
function filled(partitions: number = 3): FakeBrokers {
  const brokers = new FakeBrokers(3);
  for (const log of brokers.makeTopic(topic, partitions))
    for (let value = 0; value < 10; value += 2) log.append(value, value + 1);
  return brokers;
}

/** What of each partition was read, in order. */
async function read(
  brokers: FakeBrokers,
  ranges: readonly (readonly [start: number, end: number])[],
  onRecord: (count: number) => void = () => undefined,
): Promise<string[]> {
  const seen = ranges.map((): string[] => []);
  let count = 0;
  const options = {
    topic,
    ranges: ranges.map(([start, end], partition) => ({ partition, start, end })),
  };
  for await (const { partition, value } of readRange(brokers, options)) {
    seen[partition]?.push(String(value));
    onRecord((count += 1));
  }
  return seen.map((values) => values.join(' '));
}

describe('reading ranges', { concurrency: true }, () => {
  test('brings exactly what is in them, also from the middle of a batch to the middle of another', async () => {
    const brokers = filled();
    const seen = await read(brokers, [
      [3, 7],
      [0, 10],
      [9, 9],
    ]);
    assert.deepEqual(seen, ['3 4 5 6', '0 1 2 3 4 5 6 7 8 9', '']);
    assert.equal(brokers.groups.size, 0);
  });

  test('goes on where the leader has moved meanwhile, and repeats nothing', async () => {
    const brokers = filled(1);
    for (let value = 10; value < 20; value += 1) brokers.log(topic, 0).append(value);
    brokers.before = ({ api }) => {
      if (api === 'Fetch' && brokers.count('Fetch') === 1) brokers.log(topic, 0).lead(2);
    };
    const [values] = await read(brokers, [[0, 20]]);
    assert.deepEqual(values?.split(' ').map(Number), [...Array(20).keys()]);
  });

  test('tries again what one partition is refused for a moment', async () => {
    const brokers = filled();
    brokers.log(topic, 1).fetchError = 'KAFKA_STORAGE_ERROR';
    brokers.after = ({ api, nodeId }) => {
      if (api === 'Fetch' && nodeId === 2) brokers.log(topic, 1).fetchError = undefined;
    };
    const seen = await read(brokers, [
      [0, 2],
      [0, 2],
      [0, 2],
    ]);
    assert.deepEqual(seen, ['0 1', '0 1', '0 1']);
  });

  test('loses nothing where an offset is another one on its way', async () => {
    const brokers = filled(1);
    // Of a batch in the middle, in a field that no checksum covers: it seems to lie far behind all others.
    const mend = brokers.log(topic, 0).damage(4, 3);
    brokers.after = ({ api }) => {
      if (api === 'Fetch' && brokers.count('Fetch') === 1) mend();
    };
    const [values] = await read(brokers, [[0, 10]]);
    assert.equal(values, '0 1 2 3 4 5 6 7 8 9');
  });

  test('reads the others first where one has no leader', async () => {
    const brokers = filled();
    brokers.log(topic, 0).lead(-1);
    const seen = await read(
      brokers,
      [
        [0, 2],
        [0, 2],
        [0, 2],
      ],
      (count) => {
        if (count === 4) brokers.log(topic, 0).lead(1);
      },
    );
    assert.deepEqual(seen, ['0 1', '0 1', '0 1']);
  });

  test('leaves out what retention has removed, before it began and while it reads', async () => {
    const brokers = filled(2);
    brokers.log(topic, 0).removeBefore(4);
    brokers.log(topic, 1).removeBefore(10);
    assert.deepEqual(
      await read(brokers, [
        [0, 8],
        [0, 10],
      ]),
      ['4 5 6 7', ''],
    );
  });

  test('ends where the log was cut off since the range was made', async () => {
    const brokers = filled(2);
    brokers.log(topic, 0).cutOff(6);
    assert.deepEqual(
      await read(brokers, [
        [6, 10],
        [8, 10],
      ]),
      ['', '8 9'],
    );
  });

  for (const start of [0, 8])
    test(`reads on from ${start} with the leader that others name, where a former one does not reach the end`, async () => {
      const brokers = filled(1);
      const log = brokers.log(topic, 0);
      log.cutOff(6);
      let asked = 0;
      brokers.before = ({ api }) => {
        if (api !== 'Metadata') return;
        asked += 1;
        if (asked !== 3) return;
        log.lead(2);
        log.append(6, 7, 8, 9);
      };
      const all = Array.from({ length: 10 - start }, (_, index) => start + index);
      assert.deepEqual(await read(brokers, [[start, 10]]), [all.join(' ')]);
    });

  test('reads from leaders, also where they would send readers to a replica', async () => {
    const brokers = filled(1);
    brokers.rack = 'b';
    brokers.log(topic, 0).replica = 3;
    assert.deepEqual(await read(brokers, [[0, 4]]), ['0 1 2 3']);
  });

  test('ends at a range’s end of which nothing is left but a marker', async () => {
    const brokers = filled(1);
    brokers.log(topic, 0).appendMarker();
    brokers.log(topic, 0).appendMarker();
    const [values] = await read(brokers, [[8, 12]]);
    assert.equal(values, '8 9');
  });

  test('fails with the place where a batch cannot be read, after what comes before it', async () => {
    const brokers = filled(1);
    brokers.log(topic, 0).damage(4);
    let count = 0;
    const reading = read(brokers, [[0, 10]], () => {
      count += 1;
    });
    await assert.rejects(reading, {
      code: 'input-invalid',
      message: 'the records of partition 0 of topic at offset 4 cannot be read',
    });
    assert.equal(count, 4);
  });

  test('fails where a batch states a length beyond the log’s end, instead of asking for the rest without end', async () => {
    const brokers = filled(1);
    const lengthAt = 8;
    brokers.log(topic, 0).damage(4, lengthAt);
    brokers.before = () => {
      assert.ok(brokers.count('Fetch') < 20, `asked ${brokers.count('Fetch')} times`);
    };
    await assert.rejects(read(brokers, [[0, 10]]), {
      code: 'input-invalid',
      message: 'the records of partition 0 of topic at offset 4 cannot be read',
    });
  });

  test('needs not read what is behind the range', async () => {
    const brokers = filled(1);
    brokers.log(topic, 0).damage(8);
    assert.deepEqual(await read(brokers, [[0, 8]]), ['0 1 2 3 4 5 6 7']);
  });

  test('is over at once, with a reason, where it has no right, and soon where there is no topic', async () => {
    const brokers = filled(1);
    brokers.topicErrors.set(topic, 'TOPIC_AUTHORIZATION_FAILED');
    await assert.rejects(read(brokers, [[0, 1]]), { code: 'kafka-refused' });
    assert.equal(brokers.count('Metadata'), 1);
    const without = new FakeBrokers();
    await assert.rejects(read(without, [[0, 1]]), { code: 'not-found' });
    assert.ok(without.count('Metadata') < 20, `asked ${without.count('Metadata')} times`);
  });

  test('closes its connections when it is not read to its end', async () => {
    const brokers = filled(1);
    const opened = brokers.openCluster();
    brokers.openCluster = () => opened;
    for await (const { offset } of readRange(brokers, {
      topic,
      ranges: [{ partition: 0, start: 0, end: 10 }],
    }))
      if (offset === 3) break;
    assert.equal(opened.isClosed, true);
  });
});

describe('what is written', { concurrency: true }, () => {
  test('is what the present leaders say, and not a former one that does not know of them', async () => {
    const brokers = filled(1);
    const log = brokers.log(topic, 0);
    log.inSync = [1, 2, 3];
    brokers.before = ({ api, nodeId }) => {
      // Whoever is asked who leads has elected another, to whom more was written.
      if (api !== 'Metadata' || nodeId < 0 || log.leader !== 1) return;
      log.lead(2);
      log.append(10, 11);
    };
    assert.deepEqual(await writtenRanges(brokers, topic), [{ partition: 0, start: 0, end: 12 }]);
  });

  test('is told in the order of partitions, whoever leads them', async () => {
    const brokers = filled();
    brokers.log(topic, 2).lead(1);
    const ranges = await writtenRanges(brokers, topic);
    assert.deepEqual(
      ranges.map(({ partition }) => partition),
      [0, 1, 2],
    );
  });
});
