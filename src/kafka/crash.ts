import type { Logger } from '../ops/log.ts';
import { reasonOf } from './keep-trying.ts';

/** A consumer that cannot go on stops everything: a supervisor starts the process anew. */
export function endProcess(log: Logger, error: Error): void {
  log.error(
    { reason: reasonOf(error) },
    'A Kafka consumer failed and cannot go on; the process ends',
  );
  process.exit(1);
}
