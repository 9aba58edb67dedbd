import type { Config, ConfigChange } from '../../src/resources/config/config.ts';
import { ConnectedDestinations, type Connected } from '../../src/resources/config/connected.ts';
import type { Destination } from '../../src/resources/resource.ts';

/** A configuration that the test changes by hand. */
export class HandMadeConfig implements Config {
  offset = 1;
  readonly notFollowed = 0;
  readonly #destinations = new Map<string, Destination>();
  readonly #listeners: ((change: ConfigChange) => void)[] = [];

  put(destination: Destination): void {
    this.#destinations.set(destination.id, destination);
    this.#changed(destination.id);
  }

  remove(id: string): void {
    this.#destinations.delete(id);
    this.#changed(id);
  }

  sourceByWriteKey(): undefined {
    return undefined;
  }

  source(): undefined {
    return undefined;
  }

  destination(id: string): Destination | undefined {
    return this.#destinations.get(id);
  }

  destinations(): Iterable<Destination> {
    return this.#destinations.values();
  }

  noticeHooks(): readonly never[] {
    return [];
  }

  destinationsOf(): Connected {
    return new ConnectedDestinations();
  }

  isUnreadable(): boolean {
    return false;
  }

  uidOf(id: string): string | undefined {
    return this.destination(id)?.uid;
  }

  onChange(listener: (change: ConfigChange) => void): void {
    this.#listeners.push(listener);
  }

  isFresh(): boolean {
    return true;
  }

  caughtUp(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  #changed(id: string): void {
    this.offset += 1;
    for (const listener of this.#listeners) listener({ kind: 'Destination', id });
  }
}
