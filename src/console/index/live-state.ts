import { asError } from '../../errors.ts';
import type { StatusRecord } from '../../event/destination-status.ts';
import { decodeNotice, type Notice } from '../../event/notice.ts';
import { isOf, type Identity, type WithUid } from '../../event/uid.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import { startFollower, type Follower } from '../../kafka/follow/follower.ts';
import type { IncomingRecord } from '../../kafka/record.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { followAudienceRecords } from '../../resources/audiences/records.ts';
import type { AudienceRecord } from '../../resources/audiences/record.ts';
import {
  decodeResource,
  maskResource,
  parseRecordKey,
  recordKey,
  storedUid,
} from '../../resources/config/stored.ts';
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
  readonly pauses: Pick<Pauses, 'get' | 'resumedSince'>;
  /** Which destination has the id now; undefined: none has. */
  identityOf(destinationId: string): Identity | undefined;
  readonly audiences: ReadonlyMap<string, AudienceRecord>;
  /** What was told last of each destination, and not of an earlier one of its id. */
  notices(): readonly Notice[];
  /** What workers say, also those that are gone; nothing of earlier destinations. */
  statuses(): readonly StatusRecord[];
  sourceOf(writeKey: string): string | undefined;
  /** All of this is what Kafka had then, in epoch milliseconds. */
  asOfMs(): number;
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
  /** Of those that cannot be read. */
  const uids = new Map<string, WithUid>();
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
        uids.delete(key);
        if (value === null) return;
        const read = readResource(key, value.toString());
        if (typeof read === 'string') {
          unreadable.set(key, read);
          uids.set(key, { uid: storedUid(value.toString()) });
        } else resources.set(key, read);
        if (typeof read === 'object' && read.kind === 'Source')
          for (const each of read.writeKeys) sources.set(each, read.id);
      },
      () => {
        for (const map of [resources, unreadable, uids, sources]) map.clear();
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
  const identityOf = (id: string): Identity | undefined => {
    const key = recordKey({ kind: 'Destination', id });
    const resource = resources.get(key);
    const found = resource?.kind === 'Destination' ? resource : uids.get(key);
    return found === undefined ? undefined : { id, uid: found.uid };
  };
  /** What is said of one that was deleted since is shown for as long as it is said. */
  const isPresent = (said: WithUid & { readonly destination: string }): boolean => {
    const present = identityOf(said.destination);
    return present === undefined || isOf(present, said);
  };
  return {
    resources,
    unreadable,
    pauses,
    audiences,
    identityOf,
    notices: () => Array.from(notices.values()).filter(isPresent),
    statuses: () => statuses.all().filter((each) => each.kind === 'worker' || isPresent(each)),
    sourceOf: (writeKey) => sources.get(writeKey),
    asOfMs: () =>
      clock.now() - (performance.now() - Math.min(...followers.map(({ knownAtMs }) => knownAtMs))),
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
