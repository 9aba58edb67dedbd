import { systemClock, type Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';

/** One line of kafkajs's log. */
export interface KafkaLogEntry {
  readonly namespace: string;
  /** kafkajs's numbers: 1 error, 2 warning, 4 information, 5 debug. */
  readonly level: number;
  readonly log: { readonly message: string; readonly [field: string]: unknown };
}

const warnLevel = 2;
/** During an outage, each of a role's connections logs the same line several times a second. */
const repeatAfterMs = 10_000;

/**
 * Normal events that kafkajs logs as errors: it tries again by itself, or, for a produce request, our code
 * does and logs that.
 */
const expected = [
  /^Response (GroupCoordinator|FindCoordinator|InitProducerId)\b/,
  /^Response Produce\b/,
  /coordinator (is )?(not available|loading)/i,
  /group is rebalancing/i,
  // About a topic that was just created, or whose leader has just moved. The request is repeated.
  /not the leader for that topic-partition/,
  // This process ended the connection: a consumer was closed during a request.
  /write after end/,
  // If a consumer that is not being closed fails, our own log line reports it.
  /NoBrokerAvailable/,
  /^Restarting the consumer in /,
];

/** Passes kafkajs's log on: routine as debug, trouble as warnings without stacks, repeated lines left out. */
export function kafkaLog(log: Logger, clock: Clock = systemClock): (entry: KafkaLogEntry) => void {
  const saidAt = new Map<string, number>();
  return (entry) => {
    const { message, ...fields } = entry.log;
    for (const noise of ['timestamp', 'logger', 'stack']) Reflect.deleteProperty(fields, noise);
    if (!isTrouble(entry)) {
      log.debug(fields, message);
      return;
    }
    const now = clock.now();
    if (now - (saidAt.get(message) ?? -Infinity) < repeatAfterMs) return;
    // Bounded, because messages contain names of topics and members.
    if (saidAt.size >= 1_000) saidAt.clear();
    saidAt.set(message, now);
    log.warn(fields, `Kafka client: ${message}`);
  };
}

function isTrouble({ level, namespace, log }: KafkaLogEntry): boolean {
  if (level > warnLevel || namespace === 'Producer') return false;
  const text = typeof log['error'] === 'string' ? log['error'] : '';
  return !expected.some((pattern) => pattern.test(log.message) || pattern.test(text));
}
