import { systemClock, type Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';

/** One line of kafkajs's own log. */
export interface KafkaLogEntry {
  readonly namespace: string;
  /** kafkajs's numbers: 1 error, 2 warning, 4 information, 5 debug. */
  readonly level: number;
  readonly log: { readonly message: string; readonly [field: string]: unknown };
}

const warnLevel = 2;
/** An outage says the same thing several times a second for each of a role's connections. */
const repeatAfterMs = 10_000;

/**
 * What belongs to normal life although kafkajs calls it an error: it tries again by itself, or, for a
 * produce call, we do and say so.
 */
const expected = [
  /^Response (GroupCoordinator|FindCoordinator|InitProducerId)\b/,
  /^Response Produce\b/,
  /coordinator (is )?(not available|loading)/i,
  /group is rebalancing/i,
  // Of a topic that was just made, or whose leader has just moved: it is asked for again.
  /not the leader for that topic-partition/,
  // We ended the connection ourselves: a consumer was closed while it asked for something.
  /write after end/,
  // A consumer that crashes while it is not being closed is told in a line of ours.
  /NoBrokerAvailable/,
  /^Restarting the consumer in /,
];

/** kafkajs's log as ours: routine as debug, trouble as warnings without stacks, repeats left out. */
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
    // Messages name topics and members, so there is no end to them.
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
