import { asError } from '../../errors.ts';
import type { StatusRecord } from '../../event/destination-status.ts';
import { decodeNotice, type Notice } from '../../event/notice.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import { startFollower, type Follower } from '../../kafka/follow/follower.ts';
import type { IncomingRecord } from '../../kafka/record.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { followAudienceRecords } from '../../resources/audiences/records.ts';
import type { AudienceRecord } from '../../resources/audiences/record.ts';
import { decodeResource, maskResource, parseRecordKey } from '../../resources/config/stored.ts';
import { Pauses } from '../../resources/pauses/pauses.ts';
import type { Resource } from '../../resources/resource.ts';
import type { Topology } from '../../topology.ts';
import { Statuses } from './statuses.ts';

/** What is small enough for memory: compacted topics, of which the newest record of each key counts. */
export interface LiveState {
  /** By `<kind>/<id>`, secrets masked. */
  readonly resources: ReadonlyMap<string, Resource>;
  /** Why a record cannot be read, by the same. */
  readonly unreadable: ReadonlyMap<string, string>;
  readonly pauses: Pick<Pauses, 'get' | 'resumedSince' | 'endedMs'>;
  readonly audiences: ReadonlyMap<string, AudienceRecord>;
  /** What was told last of each destination, by its id. */
  readonly notices: ReadonlyMap<string, Notice>;
  /** What workers say, also those that are gone. */
  statuses(): readonly StatusRecord[];
  sourceOf(writeKey: string): string | undefined;
  stop(): Promise<void>;
}

export interface LiveStateOptions {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Resolves once all of it is loaded. */
export async function followLiveState(options: LiveStateOptions): Promise<LiveState> {
  const { kafka, topology, log, clock } = options;
  const { config, pauses: pausesTopic, notices: noticesTopic, destinationStatus } = topology.topics;
  const resources = new Map<string, Resource>();
  const unreadable = new Map<string, string>();
  const sources = new Map<string, string>();
  const pauses = new Pauses();
  const audiences = new Map<string, AudienceRecord>();
  const notices = new Map<string, Notice>();
  const statuses = new Statuses(clock);
  const follow = (
    topic: string,
    onRecord: (key: string, record: IncomingRecord) => void,
    clear: () => void,
  ): Follower =>
    startFollower(kafka, {
      topic,
      log,
      maxWaitMs: 500,
      onRecord: (record) => {
        onRecord(record.key?.toString() ?? '', record);
      },
      onRestart: clear,
    });
  const followers = [
    follow(
      config,
      (key, { value }) => {
        const before = resources.get(key);
        if (before?.kind === 'Source')
          for (const each of before.writeKeys)
            // It may have moved to another source, which is written before.
            if (sources.get(each) === before.id) sources.delete(each);
        resources.delete(key);
        unreadable.delete(key);
        if (value === null) return;
        const read = readResource(key, value.toString());
        if (typeof read === 'string') unreadable.set(key, read);
        else resources.set(key, read);
        if (typeof read === 'object' && read.kind === 'Source')
          for (const each of read.writeKeys) sources.set(each, read.id);
      },
      () => {
        for (const map of [resources, unreadable, sources]) map.clear();
      },
    ),
    follow(
      pausesTopic,
      (_key, record) => {
        pauses.apply(record);
      },
      () => {
        pauses.clear();
      },
    ),
    follow(
      noticesTopic,
      (key, { value }) => {
        const notice = decodeNotice(value);
        if (notice === undefined) notices.delete(key);
        else notices.set(key, notice);
      },
      () => {
        notices.clear();
      },
    ),
    follow(
      destinationStatus,
      (key, { value }) => {
        statuses.put(key, value);
      },
      () => {
        statuses.clear();
      },
    ),
    followAudienceRecords(kafka, topology, log, (id, record) => {
      if (record === undefined) audiences.delete(id);
      else audiences.set(id, record);
    }),
  ];
  const stop = async (): Promise<void> => {
    await Promise.all(followers.map((follower) => follower.stop()));
  };
  try {
    await Promise.all(followers.map(({ loaded }) => loaded));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    resources,
    unreadable,
    pauses,
    audiences,
    notices,
    statuses: () => statuses.all(),
    sourceOf: (writeKey) => sources.get(writeKey),
    stop,
  };
}

/** Why it cannot be read, as text. */
function readResource(key: string, value: string): Resource | string {
  const name = parseRecordKey(key);
  if (name === undefined) return 'its kind is not known to this version';
  try {
    return maskResource(decodeResource(name, value));
  } catch (error) {
    return asError(error).message;
  }
}
