import { withAdmin } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import type { SteadyClock } from '../ops/clock.ts';
import type { Traffic } from './live-traffic.ts';

/** How far a topic has been written, and finished by a group. */
export async function lookAtTraffic(
  kafka: KafkaClient,
  topic: string,
  groupId: string,
  clock: SteadyClock,
): Promise<Traffic> {
  return withAdmin(kafka, async (admin) => {
    const committed = (await admin.committedOffsets(groupId, [topic])).get(topic) ?? [];
    const ranges = await admin.offsets(topic);
    let end = 0;
    let finished = 0;
    for (const range of ranges) {
      end += range.end;
      finished += Math.max(committed[range.partition] ?? range.start, range.start);
    }
    return { atMs: clock.steadyNow(), end, finished };
  });
}
