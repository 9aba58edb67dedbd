import { z } from 'zod';
import { formatDuration, parseDuration } from '../../duration.ts';
import { longestDelayMs } from '../../event/tier-delay.ts';
import type { RetryRules } from '../resource.ts';
import { distinct, type Issue } from './schema-parts.ts';

const statusRule = 'must be a status from 400 to 599, such as 409';
const status = z.int(statusRule).min(400, statusRule).max(599, statusRule);
const statuses = distinct(status).min(1, 'must not be empty; leave it out for the defaults');

/** The greatest values that the settings of the same meaning may have. */
const [longestWindowMs, longestTimeoutMs] = [4 * 3_600_000, 5_000];
const window = durationBetween(
  [1_000, longestWindowMs],
  'must be a duration from 1s to 4h, such as 30m',
);
const timeout = durationBetween(
  [100, longestTimeoutMs],
  'must be a duration from 100ms to 5s, such as 3s',
);

const rules = z.strictObject({
  on: z.exactOptional(statuses),
  giveUpOn: z.exactOptional(statuses),
  window: z.exactOptional(window),
  timeout: z.exactOptional(timeout),
});

/** The field `retry` of a destination. */
export const retryRules: z.ZodType<RetryRules> = rules.superRefine(
  ({ on = [], giveUpOn = [] }, context) => {
    giveUpOn.forEach((each, index) => {
      const message = 'is in retry.on as well: a status is tried again, or given up';
      if (on.includes(each))
        context.addIssue({ code: 'custom', path: ['giveUpOn', index], message });
    });
  },
);

export const retryFields: readonly string[] = Object.keys(rules.shape);

/** The settings of workers that bound what a destination may say. */
export interface RetryBounds {
  readonly retryWindowMs: number;
  readonly retryTiersMs: readonly number[];
  readonly deliveryTimeoutMs: number;
}

/**
 * The parts of a destination's rules that cannot hold with these settings. Not part of the schema, which also reads
 * resources that were applied with others.
 */
export function beyondBounds(given: RetryRules, bounds: RetryBounds): readonly Issue[] {
  const { retryWindowMs, retryTiersMs, deliveryTimeoutMs } = bounds;
  const windowMs = parseDuration(given.window ?? '') ?? retryWindowMs;
  const timeoutMs = parseDuration(given.timeout ?? '') ?? 0;
  const firstMs = longestDelayMs(retryTiersMs[0] ?? 0);
  const issues: Issue[] = [];
  if (windowMs > retryWindowMs)
    issues.push({ path: ['window'], reason: isMoreThan('RETRY_WINDOW', retryWindowMs) });
  if (windowMs < firstMs) {
    const first = `the first one may come ${formatDuration(firstMs)} after a failure`;
    const reason = `leaves no time for a retry: ${first}, as RETRY_TIERS says`;
    issues.push({ path: ['window'], reason });
  }
  if (timeoutMs > deliveryTimeoutMs)
    issues.push({ path: ['timeout'], reason: isMoreThan('DELIVERY_TIMEOUT', deliveryTimeoutMs) });
  return issues;
}

function isMoreThan(setting: string, settingMs: number): string {
  return `is more than ${setting} (${formatDuration(settingMs)}), which counts instead`;
}

function durationBetween([leastMs, mostMs]: readonly [number, number], rule: string): z.ZodString {
  return z.string(rule).refine((text) => {
    const durationMs = parseDuration(text) ?? -1;
    return durationMs >= leastMs && durationMs <= mostMs;
  }, rule);
}
