import { withAdmin } from '../../kafka/admin.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import { offsetsIn, rangesWithin } from '../../kafka/topic-progress.ts';
import type { Topology } from '../../topology.ts';
import { countsOfLastMinute } from '../index/attempt-queries.ts';
import { delivered } from '../index/attempt-rows.ts';
import type { OpenIndex } from '../index/index.ts';
import { countSince } from '../index/letter-queries.ts';
import type { Pipeline } from './answers/deployment.ts';
import type { Stage } from './choices.ts';

const minuteMs = 60_000;
/** Older than what a pipeline that keeps up has in flight. */
const behindMs = 30_000;

/** The number of events that passed each stage in the last minute. */
export async function ratesOf(
  kafka: KafkaClient,
  topology: Topology,
  index: OpenIndex,
  nowMs: number,
): Promise<Pipeline['rates']> {
  const { ingestTopics, topics, retryTiersMs } = topology;
  const sinceMs = nowMs - minuteMs;
  const retries = retryTiersMs.map((tierMs) => topology.retryTopic(tierMs));
  const [written, lines, deadLetters, rejected] = await Promise.all([
    withAdmin(kafka, async (admin) => {
      const of = async (topic: string): Promise<number> =>
        offsetsIn(await rangesWithin(admin, topic, { sinceMs }));
      const sum = async (all: readonly string[]): Promise<number> =>
        (await Promise.all(all.map(of))).reduce((total, each) => total + each, 0);
      return {
        ingest: await sum(ingestTopics),
        router: await of(topics.delivery),
        retry: await sum(retries),
      };
    }),
    countsOfLastMinute(index, nowMs),
    countSince(index, 'dead_letters', sinceMs),
    countSince(index, 'rejected', sinceMs),
  ]);
  const attempts = [0, 1, 2].reduce((total, what) => total + (lines.get(what) ?? 0), 0);
  return [
    { stage: 'ingest', perMinute: written.ingest },
    { stage: 'router', perMinute: written.router },
    { stage: 'delivery', perMinute: attempts },
    { stage: 'retry', perMinute: written.retry },
    { stage: 'delivered', perMinute: lines.get(delivered) ?? 0 },
    { stage: 'dead-letter', perMinute: deadLetters },
    { stage: 'rejected', perMinute: rejected },
  ];
}

/** The stage whose oldest unfinished record has waited for longest; what waits in retry topics is meant to. */
export function behindOf(backlog: Pipeline['backlog'], nowMs: number): Stage | undefined {
  let behind: { stage: Stage; oldestMs: number } | undefined;
  for (const { stage, oldest } of backlog) {
    const oldestMs = oldest === undefined ? Infinity : Date.parse(oldest);
    if (stage === 'retry' || nowMs - oldestMs < behindMs) continue;
    if (behind === undefined || oldestMs < behind.oldestMs) behind = { stage, oldestMs };
  }
  return behind?.stage;
}
