import { isTrouble, decodeStatus, type DestinationStatus } from '../event/destination-status.ts';
import { identityText, type Identity } from '../event/uid.ts';
import { forgetMs } from './episode.ts';

interface Worker {
  expiresMs: number;
  isCutOff: boolean;
  /** Destinations that fail, by this worker's reports. */
  readonly failing: Map<string, DestinationStatus>;
}

/**
 * The time for which deliveries are remembered: no episode without a failure is remembered for
 * longer than half of this.
 */
const keptMs = 2 * forgetMs;

/**
 * The workers' reports on failing destinations, from the records of `destination-status`. Of healthy
 * destinations it keeps only when they last took an event, for two days.
 */
export class WorkerReports {
  readonly #workers = new Map<string, Worker>();
  /** By `identityText`. */
  readonly #deliveredMs: Map<string, number>;

  /** @param former from the topic's records before it was made again. Its times of delivery are still true. */
  constructor(former?: WorkerReports) {
    this.#deliveredMs = former === undefined ? new Map<string, number>() : former.#deliveredMs;
  }

  /** A record's key and value. */
  put(key: string, value: Buffer | null): void {
    const [destination = '', worker = ''] = key.split('/');
    if (value === null) {
      if (destination === '') this.#workers.delete(worker);
      else this.#workers.get(worker)?.failing.delete(destination);
      return;
    }
    const record = decodeStatus(value);
    if (record?.kind === 'worker') {
      const known = this.#workerOf(worker);
      known.expiresMs = Date.parse(record.expiresAt);
      known.isCutOff = record.isCutOff;
    } else if (record !== undefined) this.#putDestination(this.#workerOf(worker), record);
  }

  /**
   * The destinations that fail now, each with the reports of all workers that are alive and can reach
   * endpoints. Forgets what is too old to count.
   */
  failing(nowMs: number): ReadonlyMap<string, readonly DestinationStatus[]> {
    for (const [destination, deliveredMs] of this.#deliveredMs)
      if (deliveredMs < nowMs - keptMs) this.#deliveredMs.delete(destination);
    const said = new Map<string, DestinationStatus[]>();
    for (const [name, { expiresMs, isCutOff, failing }] of this.#workers) {
      if (expiresMs <= nowMs) this.#workers.delete(name);
      else if (!isCutOff)
        for (const [destination, status] of failing) {
          const known = said.get(destination);
          if (known === undefined) said.set(destination, [status]);
          else known.push(status);
        }
    }
    return said;
  }

  /** The time at which a destination took an event, by the reports so far; epoch milliseconds. */
  deliveredMs(destination: Identity): number | undefined {
    return this.#deliveredMs.get(identityText(destination));
  }

  #putDestination({ failing }: Worker, status: DestinationStatus): void {
    const { destination, uid, state, urls } = status;
    const identity = identityText({ id: destination, uid });
    for (const { lastAnswer } of urls) {
      if (lastAnswer?.outcome !== 'delivered') continue;
      const deliveredMs = Date.parse(lastAnswer.at);
      if (deliveredMs > (this.#deliveredMs.get(identity) ?? 0))
        this.#deliveredMs.set(identity, deliveredMs);
    }
    if (isTrouble(state)) failing.set(destination, status);
    else failing.delete(destination);
  }

  /** A destination's record may come before the first one of the worker itself. */
  #workerOf(name: string): Worker {
    const known = this.#workers.get(name);
    if (known !== undefined) return known;
    const worker = {
      expiresMs: Infinity,
      isCutOff: false,
      failing: new Map<string, DestinationStatus>(),
    };
    this.#workers.set(name, worker);
    return worker;
  }
}
