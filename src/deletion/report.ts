import type { AffectedSource } from './affected.ts';

/** The users that were deleted, or would be, and the destinations that are notified. */
export class DeletionReport {
  #users = 0;
  #notifications = 0;
  #effectiveMs: number | undefined;
  readonly #sources = new Map<string, SourceReport>();

  /**
   * Adds so many users at these sources.
   * @param effectiveMs from when on no older event of them is delivered; undefined: nothing is deleted
   */
  add(users: number, affected: readonly AffectedSource[], effectiveMs?: number): void {
    this.#effectiveMs = effectiveMs;
    this.#users += users;
    for (const { sourceId, destinationIds, disabledIds } of affected) {
      const source: SourceReport = this.#sources.get(sourceId) ?? {
        notified: new Map(),
        disabled: new Set(),
      };
      this.#sources.set(sourceId, source);
      this.#notifications += users * destinationIds.length;
      for (const id of destinationIds)
        source.notified.set(id, (source.notified.get(id) ?? 0) + users);
      for (const id of disabledIds) source.disabled.add(id);
    }
  }

  get users(): number {
    return this.#users;
  }

  get notifications(): number {
    return this.#notifications;
  }

  get sources(): number {
    return this.#sources.size;
  }

  /**
   * The time at which the last of the deletions takes effect, ISO 8601; undefined: nothing was
   * deleted.
   */
  get effectiveAt(): string | undefined {
    return this.#effectiveMs === undefined ? undefined : new Date(this.#effectiveMs).toISOString();
  }

  /** Source, destination, how many notifications. */
  rows(): string[][] {
    return [...this.#sources].flatMap(([sourceId, { notified }]) =>
      [...notified].map(([destinationId, count]) => [sourceId, destinationId, String(count)]),
    );
  }

  /** Sentences about what an operator should check if every receiver must know. */
  warnings(): string[] {
    return [...this.#sources].flatMap(([sourceId, { notified, disabled }]) => [
      ...(notified.size === 0 ? [`source ${sourceId} has no enabled destination`] : []),
      ...[...disabled].map(
        (id) => `destination ${id} is disabled: it gets no notification for source ${sourceId}`,
      ),
    ]);
  }

  /** For programs. */
  summary(): object {
    return {
      users: this.#users,
      notifications: this.#notifications,
      effectiveAt: this.effectiveAt,
      sources: [...this.#sources].map(([source, { notified, disabled }]) => ({
        source,
        destinations: Object.fromEntries(notified),
        disabled: [...disabled],
      })),
    };
  }
}

interface SourceReport {
  /** The number of notifications that each destination gets. */
  readonly notified: Map<string, number>;
  readonly disabled: Set<string>;
}
