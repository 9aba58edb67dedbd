import { z } from 'zod';
import { parseDuration } from '../../duration.ts';

/** The longest RETRY_WINDOW: no event is tried for longer than that. */
const longestMs = 4 * 3_600_000;
const shortestMs = 1_000;
const orderForRule = 'must be a duration from 1s to 4h, such as 30m';

const orderFor = z.string(orderForRule).refine((text) => {
  const durationMs = parseDuration(text) ?? 0;
  return durationMs >= shortestMs && durationMs <= longestMs;
}, orderForRule);

/** A destination's fields for the strict order of each user's events. */
export const orderFields: {
  readonly order: z.ZodExactOptional<z.ZodLiteral<'user'>>;
  readonly orderFor: z.ZodExactOptional<z.ZodString>;
} = {
  order: z.exactOptional(z.literal('user')),
  orderFor: z.exactOptional(orderFor),
};

interface Ordered {
  readonly order?: 'user';
  readonly orderFor?: string;
  readonly topic: 'shared' | 'dedicated';
}

const defaultOrderForMs = 30 * 60_000;

/** The time for which a user's later events wait for one that fails; undefined without strict order. */
export function orderForMsOf({
  order,
  orderFor: given = '',
}: Pick<Ordered, 'order' | 'orderFor'>): number | undefined {
  return order === undefined ? undefined : (parseDuration(given) ?? defaultOrderForMs);
}

/** In a topic of all destinations, events of others would wait behind those that keep their order. */
export function refuseUnusableOrder(
  { order, orderFor: given, topic }: Ordered,
  context: z.RefinementCtx,
): void {
  const refuseAt = (path: string, message: string): void => {
    context.addIssue({ code: 'custom', path: [path], message });
  };
  if (order !== undefined && topic !== 'dedicated')
    refuseAt('order', 'needs topic: dedicated, because an event waits in its topic for others');
  if (given !== undefined && order === undefined) refuseAt('orderFor', 'needs order: user');
}
