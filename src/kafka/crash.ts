import type { Logger } from '../ops/log.ts';
import { refusedRight } from './admin-error.ts';
import { reasonOf } from './keep-trying.ts';

/**
 * A consumer that cannot continue ends the process, and a supervisor starts it again.
 * @param what the topics it reads, for people
 */
export function endProcess(log: Logger, error: Error, what: string): void {
  log.error(
    { what, reason: refusedRight(error, what) ?? reasonOf(error) },
    'A Kafka consumer failed and cannot continue; the process ends',
  );
  process.exit(1);
}
