import { PostriderError } from '../../errors.ts';
import { halve, recordCount, splitByTopic, type Batch } from './batch.ts';
import { backoffMs, failureOf, type ProduceFailure } from './produce-failure.ts';

export interface BatchWriter {
  /** One call to Kafka; resolves only if every record of it is on every in-sync replica. */
  call(batch: Batch): Promise<void>;
  /** All records of the batch are written, or, with an error, its only record never will be. */
  settle(batch: Batch, refused?: PostriderError): void;
  /** The call failed `failures` times and will be repeated. */
  onFailure(failure: ProduceFailure, batch: Batch, failures: number): void;
  /** What is still to be written where it was; the rest goes elsewhere, in batches of its own. */
  withoutMoved(batch: Batch): Batch;
  /** Resolves to false when there is to be no further call. */
  pause(ms: number): Promise<boolean>;
}

/**
 * Writes every record of the batch, however long Kafka is away, or finds the ones that it will never
 * take. What fails is called again whole, but each topic for itself from then on, so that one that is
 * missing does not hold up the others. What Kafka condemns is halved until the culprit stands alone;
 * the halves go one after the other, for order.
 */
export async function writeBatch(
  batch: Batch,
  writer: BatchWriter,
  earlierFailures: number = 0,
): Promise<void> {
  for (let failures = earlierFailures + 1; ; failures += 1) {
    const failure = await callOnce(batch, writer);
    if (failure === undefined) {
      writer.settle(batch);
      return;
    }
    if (!failure.condemns) {
      writer.onFailure(failure, batch, failures);
      if (!(await writer.pause(backoffMs(failures)))) return;
      const rest = writer.withoutMoved(batch);
      if (rest.length < batch.length) {
        if (rest.length > 0) await writeBatch(rest, writer, failures);
        return;
      }
    } else if (recordCount(batch) === 1) {
      writer.settle(batch, refusal(batch, failure));
      return;
    }
    const byTopic = splitByTopic(batch);
    if (byTopic.length > 1) {
      await Promise.all(byTopic.map((part) => writeBatch(part, writer, failures)));
      return;
    }
    if (failure.condemns) {
      for (const half of halve(batch)) await writeBatch(half, writer, earlierFailures);
      return;
    }
  }
}

async function callOnce(batch: Batch, writer: BatchWriter): Promise<ProduceFailure | undefined> {
  try {
    await writer.call(batch);
    return undefined;
  } catch (error) {
    return failureOf(error);
  }
}

function refusal(batch: Batch, failure: ProduceFailure): PostriderError {
  const { topic, partition } = batch[0]?.queue ?? { topic: '', partition: 0 };
  const bytes = batch[0]?.records[0]?.bytes ?? 0;
  return new PostriderError(
    'record-refused',
    `Kafka refused a record of ${bytes} bytes for topic ${topic}, partition ${partition}: ${failure.reason}, ${failure.message}`,
  );
}
