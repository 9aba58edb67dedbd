import type { Said } from '../event/destination-health.ts';
import {
  decodeStatus,
  type DestinationStatus,
  type WorkerStatus,
} from '../event/destination-status.ts';
import { isOf, type Identity } from '../event/uid.ts';

/** The reports of one worker. */
interface Told {
  /** On itself. It comes every few seconds. */
  self: WorkerStatus | undefined;
  readonly destinations: Map<string, DestinationStatus>;
}

/** A killed worker takes nothing back: after an hour its topic has forgotten it, and so does this. */
const forgottenAfterMs = 3_600_000;

/**
 * The newest records of `destination-status`, for those who ask about one destination at a time: an answer takes as long
 * with 50,000 of them as with ten.
 */
export class Reports {
  readonly #workers = new Map<string, Told>();

  /** @param key as `statusKey` makes them */
  put(key: string, value: Buffer | null): void {
    const [destination = '', worker = ''] = key.split('/');
    const status = value === null ? undefined : decodeStatus(value);
    const told = this.#workers.get(worker) ?? { self: undefined, destinations: new Map() };
    if (destination === '') told.self = status?.kind === 'worker' ? status : undefined;
    else if (status?.kind === 'destination') told.destinations.set(destination, status);
    else told.destinations.delete(destination);
    if (told.self === undefined && told.destinations.size === 0) this.#workers.delete(worker);
    else this.#workers.set(worker, told);
    if (destination === '' && told.self !== undefined) this.#forgetBefore(told.self.at);
  }

  /** Finds the reports of living workers on a destination, and on no earlier one of its id. */
  about(destination: Identity, nowMs: number): Said {
    const { id } = destination;
    const workers: WorkerStatus[] = [];
    const reports: DestinationStatus[] = [];
    let heard: string | undefined;
    for (const { self, destinations } of this.#workers.values()) {
      if (self === undefined) continue;
      if (heard === undefined || self.at > heard) heard = self.at;
      if (Date.parse(self.expiresAt) <= nowMs) continue;
      workers.push(self);
      const report = destinations.get(id);
      if (report !== undefined && isOf(destination, report)) reports.push(report);
    }
    return { workers, destinations: new Map([[id, reports]]), heard };
  }

  #forgetBefore(at: string): void {
    const fromMs = Date.parse(at) - forgottenAfterMs;
    for (const [worker, { self }] of this.#workers)
      if (self !== undefined && Date.parse(self.at) < fromMs) this.#workers.delete(worker);
  }
}
