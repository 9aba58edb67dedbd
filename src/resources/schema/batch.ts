import { z } from 'zod';
import { parseDuration } from '../../duration.ts';
import { hasPlaceholders } from '../../event/url-template.ts';
import type { BatchRules, Webhook } from '../resource.ts';

/** Far above what receivers take in one request. */
const mostEvents = 1_000;
const longestWaitMs = 10_000;
/** One event of the usual size fits, and a thousand small ones. */
const [leastBytes, mostBytes] = [1_024, 1_048_576];

const eventsRule = `must be a whole number from 1 to ${mostEvents}`;
const waitRule = 'must be a duration from 0s to 10s, such as 1s';
const bytesRule = 'must be a size from 1KB to 1MB, such as 256KB';

const rules = z.strictObject({
  events: z.int(eventsRule).min(1, eventsRule).max(mostEvents, eventsRule).default(100),
  wait: z
    .string(waitRule)
    .refine((text) => (parseDuration(text) ?? Infinity) <= longestWaitMs, waitRule)
    .default('1s'),
  bytes: z
    .string(bytesRule)
    .refine((text) => {
      const bytes = parseBytes(text) ?? 0;
      return bytes >= leastBytes && bytes <= mostBytes;
    }, bytesRule)
    .default('256KB'),
});

/** The field `batch` of a destination. */
export const batchRules: z.ZodType<BatchRules> = rules;

export const batchFields: readonly string[] = Object.keys(rules.shape);

/** The bounds of one request with many events. */
export interface BatchLimits {
  readonly events: number;
  /** The longest time for which an event waits for others. */
  readonly waitMs: number;
  /** The size of the body, unless one event alone is larger. */
  readonly bytes: number;
}

export function batchLimitsOf({ events, wait, bytes }: BatchRules): BatchLimits {
  return { events, waitMs: parseDuration(wait) ?? 0, bytes: parseBytes(bytes) ?? mostBytes };
}

const unitsBytes = { KB: 1_024, MB: 1_048_576 } as const;

/** `64KB` or `1MB` in bytes; undefined for anything else. */
function parseBytes(text: string): number | undefined {
  const match = /^(\d+)(KB|MB)$/.exec(text);
  return match === null ? undefined : Number(match[1]) * unitsBytes[match[2] as 'KB' | 'MB'];
}

interface Batched {
  readonly batch?: BatchRules;
  readonly webhooks: readonly Webhook[];
}

/** Events with different URLs cannot be in one request; a batch for each of them would be none where each user has one. */
export function refuseUnusableBatch({ batch, webhooks }: Batched, context: z.RefinementCtx): void {
  if (batch === undefined || !webhooks.some(({ url }) => hasPlaceholders(url))) return;
  const message =
    'needs URLs without placeholders: one request has one URL, and its events would have several';
  context.addIssue({ code: 'custom', path: ['batch'], message });
}
