import type { FetchAnswer } from '../../../../src/kafka/protocol/fetch.ts';
import type { ProducedPartition } from '../../../../src/kafka/protocol/produce.ts';

/** How the network and the brokers are at a time; scenarios change it. */
export interface Weather {
  /** Each way, at least and at most. */
  latencyMs: readonly [number, number];
  /** The share of requests that get lost with their connection, and of answers to what was done. */
  lostRequests: number;
  lostAnswers: number;
  /** The share of fetches of which a partition's records arrive damaged. */
  damagedFetches: number;
  /** The share of produce answers in which a partition is left out, or has another error although it was written. */
  oddAnswers: number;
  /** Brokers hold answers back for so long. */
  throttleMs: number;
}

export const fairWeather: Weather = {
  latencyMs: [1, 4],
  lostRequests: 0,
  lostAnswers: 0,
  damagedFetches: 0,
  oddAnswers: 0,
  throttleMs: 0,
};

/** A partition of it is left out, or has another error although it was written. */
export function oddAnswers(
  answers: readonly ProducedPartition[],
  random: () => number,
): readonly ProducedPartition[] {
  const odd = Math.floor(random() * answers.length);
  if (random() < 0.5) return answers.filter((_, index) => index !== odd);
  return answers.map((answer, index) =>
    index === odd ? { ...answer, error: 'NOT_ENOUGH_REPLICAS_AFTER_APPEND' as const } : answer,
  );
}

/** A bit of one partition's records is another one when they arrive; on the disk they are well. */
export function damagedAnswer(answer: FetchAnswer, random: () => number): FetchAnswer {
  const full = answer.partitions.filter(({ records }) => records.length > 0);
  const hit = full[Math.floor(random() * full.length)];
  if (hit === undefined) return answer;
  const records = Buffer.from(hit.records);
  const at = Math.floor(random() * records.length);
  records[at] = (records[at] ?? 0) ^ (1 << Math.floor(random() * 8));
  const partitions = answer.partitions.map((each) => (each === hit ? { ...each, records } : each));
  return { ...answer, partitions };
}
