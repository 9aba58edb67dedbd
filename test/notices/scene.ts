import { Registry } from 'prom-client';
import { statusKey } from '../../src/event/destination-status.ts';
import type { Notice } from '../../src/event/notice.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { NoticeEvents } from '../../src/notices/events.ts';
import { Watcher } from '../../src/notices/watcher.ts';
import { WorkerReports } from '../../src/notices/worker-reports.ts';
import { silentLogger } from '../../src/ops/log.ts';
import type { Destination } from '../../src/resources/resource.ts';
import { Pauses } from '../../src/resources/pauses/pauses.ts';

export const minuteMs = 60_000;
export const startMs: number = Date.parse('2026-01-01T00:00:00Z');

/** Of a destination with no events. */
const nothing = {
  kind: 'destination',
  waiting: { here: 0, tiers: {} },
  inFlight: 0,
  perMinute: { delivered: 0, failed: 0 },
};

export interface Looked {
  readonly hooked: Record<string, Notice[]>;
  readonly remembered: string[];
  readonly paused: string[];
}

/** A deployment with two hooks, one of which may be among those that fail. Pauses take effect at once. */
export class Scene {
  readonly #reports = new WorkerReports();
  readonly #written: OutgoingRecord[] = [];
  readonly #watcher: Watcher;
  readonly #pauses = new Pauses();
  /** Of all destinations. */
  uid: string | undefined;
  readonly destinations: Map<string, Partial<Destination>> = new Map();

  constructor() {
    const hook = { kind: 'NoticeHook', name: 'Operators', url: 'https://a.example', headers: {} };
    const hooks = ['ops', 'chat'].map((id) => ({ ...hook, id, format: 'event' as const }));
    this.#watcher = new Watcher({
      config: {
        offset: 1,
        destination: (id) => this.destinations.get(id) as Destination | undefined,
        isUnreadable: () => true,
        uidOf: () => this.uid,
        isFresh: () => true,
        noticeHooks: () => hooks as never,
      },
      pauses: this.#pauses,
      send: (records) => {
        this.#written.push(...records);
        for (const { topic, key, value } of records)
          if (topic === 'pauses')
            this.#pauses.apply({
              key: Buffer.from(String(key)),
              value: Buffer.from(String(value)),
              timestampMs: startMs,
            });
        return Promise.resolve();
      },
      topics: { notices: 'notices', pauses: 'pauses', retry: 'retry.10s' },
      keptFor: '14d',
      disableAfterMs: undefined,
      events: new NoticeEvents(silentLogger, new Registry()),
    });
  }

  fails(destination: string, sinceMs: number, status?: number): void {
    const since = new Date(sinceMs).toISOString();
    const lastAnswer = { at: since, outcome: 'failed', status };
    const url = { url: 'https://acme.example/events', breaker: 'open', failingSince: since };
    const urls = status === undefined ? [] : [{ ...url, lastAnswer }];
    const waiting = { here: 12, tiers: {} };
    const said = { ...nothing, destination, uid: this.uid, state: 'failing', since, urls, waiting };
    this.#reports.put(statusKey('w', destination), Buffer.from(JSON.stringify(said)));
  }

  works(destination: string, atMs: number): void {
    const lastAnswer = { at: new Date(atMs).toISOString(), outcome: 'delivered' };
    const urls = [{ url: 'https://a.example', breaker: 'closed', lastAnswer }];
    const said = { ...nothing, destination, uid: this.uid, state: 'ok', urls };
    this.#reports.put(statusKey('w', destination), Buffer.from(JSON.stringify(said)));
  }

  /** What the hooks get, the keys of what the topic remembers, and what is paused. */
  async look(atMs: number): Promise<Looked> {
    this.#written.length = 0;
    await this.#watcher.look(this.#reports, atMs);
    const hooked: Record<string, Notice[]> = {};
    for (const { topic, key, value } of this.#written)
      if (topic === 'retry.10s')
        (hooked[String(key).split(':').slice(0, 2).join(':')] ??= []).push(
          JSON.parse(String(value)) as Notice,
        );
    const remembered = this.#written.flatMap(({ topic, key }) =>
      topic === 'notices' ? [String(key)] : [],
    );
    const paused = this.#written.flatMap(({ topic, key }) =>
      topic === 'pauses' ? [String(key)] : [],
    );
    return { hooked, remembered, paused };
  }
}
