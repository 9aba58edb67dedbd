import { setTimeout as delay } from 'node:timers/promises';
import { PostriderError } from '../../errors.ts';
import { withAdmin, type KafkaAdmin } from '../../kafka/admin.ts';
import { standForExclusive } from '../../kafka/exclusive.ts';
import { systemClock } from '../../ops/clock.ts';
import type { Context } from '../context.ts';

/** Kafka counts a killed process as a member until its session ends after 10 s. */
const patienceMs = 12_000;
const lookAgainMs = 500;

/**
 * Refuses to run while another process syncs the audience, whether on schedule or by hand. Of two that
 * begin in the same moment, the fence of `withAudience` stops the older one.
 * @throws PostriderError `busy`; what `use` throws
 */
export async function aloneWith<T>(
  context: Context,
  id: string,
  use: () => Promise<T>,
): Promise<T> {
  const { kafka, log } = context;
  const topology = await context.topology();
  const groupId = topology.audienceGroup(id);
  await withAdmin(kafka, (admin) => waitUntilFree(context, admin, groupId, id));
  const { config } = topology.topics;
  const options = { groupId, topic: config, clock: systemClock, log };
  const claim = standForExclusive(kafka, options, () => undefined);
  try {
    return await use();
  } finally {
    await claim.release();
  }
}

async function waitUntilFree(
  context: Context,
  admin: KafkaAdmin,
  groupId: string,
  id: string,
): Promise<void> {
  const untilMs = performance.now() + patienceMs;
  let isTold = false;
  while ((await admin.memberCount(groupId)) > 0) {
    if (performance.now() > untilMs)
      throw new PostriderError(
        'busy',
        `${id}: another sync of it is running and goes on; this one has done nothing. Run it again when the other one has ended`,
      );
    if (!isTold)
      context.note(`${id}: another sync of it is running or was killed; waiting to see which`);
    isTold = true;
    await delay(lookAgainMs);
  }
}
