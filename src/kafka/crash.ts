import type { Logger } from '../ops/log.ts';
import { refusedRight } from './admin-error.ts';
import { reasonOf } from './keep-trying.ts';

/**
 * A consumer that cannot go on stops everything: a supervisor starts the process anew.
 * @param what it reads, for people
 */
export function endProcess(log: Logger, error: Error, what: string): void {
  log.error(
    { what, reason: refusedRight(error, what) ?? reasonOf(error) },
    'A Kafka consumer failed and cannot go on; the process ends',
  );
  process.exit(1);
}
