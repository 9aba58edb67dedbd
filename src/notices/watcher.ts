import { createHash } from 'node:crypto';
import { parseDuration } from '../duration.ts';
import { viewOf } from '../event/destination-view.ts';
import type { DestinationStatus, UrlStatus } from '../event/destination-status.ts';
import type { Notice } from '../event/notice.ts';
import { isOf, type Identity, type WithUid } from '../event/uid.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { Config } from '../resources/config/config.ts';
import { hookDestinationId, isOfNotify, nameOfDestination } from '../resources/notice-hook.ts';
import type { Destination, NoticeHook } from '../resources/resource.ts';
import { pauseRecord } from '../resources/pauses/pause.ts';
import type { FollowedPauses } from '../resources/pauses/pauses.ts';
import { composeNotice, hookRecord, type Subject } from './compose.ts';
import { episodeOf, nextOf, type Episode, type Next, type Seen } from './episode.ts';
import type { NoticeEvents } from './events.ts';
import { ownerRecord } from './owner-notice.ts';
import type { WorkerReports } from './worker-reports.ts';

interface WatcherOptions {
  readonly config: Pick<
    Config,
    'offset' | 'destination' | 'isUnreadable' | 'uidOf' | 'isFresh' | 'noticeHooks'
  >;
  readonly pauses: Pick<FollowedPauses, 'get' | 'begin'>;
  /** Resolves when Kafka has acknowledged them. */
  readonly send: (records: readonly OutgoingRecord[]) => Promise<void>;
  readonly topics: {
    readonly notices: string;
    readonly pauses: string;
    /** The retry topic with the shortest delay, from which hooks get their notices. */
    readonly retry: string;
  };
  /** The time for which events of a paused destination are kept, e.g. `14d`. */
  readonly keptFor: string;
  /** The default for destinations without their own; undefined: never. */
  readonly disableAfterMs: number | undefined;
  readonly events: NoticeEvents;
}

/**
 * Notices of failures are at least so far apart: where a platform fails, its customers' destinations are found to fail
 * within some seconds of one another, and those that come later are told together.
 */
const gatherMs = 30_000;

/** RFC 9110 15.5.11; Standard Webhooks asks senders to disable such an endpoint. */
const goneStatus = 410;

type Known = Episode & WithUid;

interface Step {
  readonly destination: Identity;
  /** It may be of an earlier destination. */
  readonly known: Known | undefined;
  readonly next: Next;
  readonly said: readonly DestinationStatus[];
}

interface Told {
  readonly notice: Notice;
  readonly subject: Subject;
  /** The first notice of this episode that says so. */
  readonly isFirstFailure: boolean;
}

/** Checks all destinations that fail or did, and carries out the decision about each. */
export class Watcher {
  readonly #options: WatcherOptions;
  /** By the destination's id. */
  readonly #episodes = new Map<string, Known>();
  #toldFailingMs = -Infinity;

  constructor(options: WatcherOptions) {
    this.#options = options;
  }

  /** @param sent the newest notice of each destination, of whichever watcher sent it */
  recall(sent: ReadonlyMap<string, Notice>, nowMs: number): void {
    this.#episodes.clear();
    for (const [destination, notice] of sent) {
      const episode = episodeOf(notice, nowMs);
      if (episode !== undefined) this.#episodes.set(destination, { ...episode, uid: notice.uid });
    }
  }

  /** @throws PostriderError what `send` throws; then no notice counts as sent */
  async look(reports: WorkerReports, nowMs: number): Promise<void> {
    if (!this.#options.config.isFresh()) return;
    const failing = reports.failing(nowMs);
    // A destination's owner who cannot be told about it is nobody's business but theirs.
    const ids = [...failing.keys(), ...this.#episodes.keys()].filter((id) => !isOfNotify(id));
    const steps = Array.from(new Set(ids), (id): Step => {
      const destination = { id, uid: this.#options.config.uidOf(id) };
      const said = (failing.get(id) ?? []).filter((each) => isOf(destination, each));
      const known = this.#episodes.get(id);
      const former = known !== undefined && isOf(destination, known) ? known : undefined;
      const next = nextOf(former, this.#seen(destination, said, reports), nowMs);
      return { destination, known, said, next };
    });
    const isGathering = nowMs - this.#toldFailingMs < gatherMs;
    const changed = steps.filter(
      ({ known, next }) => known !== next.episode && !(isGathering && next.due?.kind === 'failing'),
    );
    await this.#carryOut(changed, nowMs);
    if (changed.some(({ next }) => next.due?.kind === 'failing')) this.#toldFailingMs = nowMs;
    for (const { destination, next } of changed)
      if (next.episode === undefined) this.#episodes.delete(destination.id);
      else this.#episodes.set(destination.id, { ...next.episode, uid: destination.uid });
  }

  #seen(identity: Identity, said: readonly DestinationStatus[], reports: WorkerReports): Seen {
    const { config, pauses } = this.#options;
    const { id } = identity;
    const destination = config.destination(id);
    const pause = pauses.get(identity);
    const view = said.length === 0 ? undefined : viewOf(id, said);
    return {
      isWanted: destination?.enabled ?? config.isUnreadable(id),
      pause: pause === undefined ? undefined : { failingSinceMs: timeMs(pause.failingSince) },
      failing:
        view?.since === undefined
          ? undefined
          : {
              sinceMs: Date.parse(view.since),
              isItsOwn: view.state !== 'unreadable',
              isGone: isOfResource(id) && isGone(view.urls, destination?.retry),
            },
      deliveredMs: reports.deliveredMs(identity),
      disableAfterMs: this.#disableAfterMs(destination?.disableAfter),
    };
  }

  #disableAfterMs(own: string | undefined): number | undefined {
    return own === undefined ? this.#options.disableAfterMs : parseDuration(own);
  }

  /**
   * Hooks come first, so that every recorded notice was sent. A crash between the two repeats notices under
   * the same ids.
   */
  async #carryOut(steps: readonly Step[], nowMs: number): Promise<void> {
    const { events, send, topics } = this.#options;
    const subjects = steps.flatMap((step) => this.#toldOf(step, nowMs) ?? []);
    const told = subjects.map(({ notice }) => notice);
    const copies = [...this.#copiesOf(told), ...subjects.flatMap((each) => this.#ownerCopy(each))];
    const pauses = steps.flatMap(({ destination, next: { due, episode } }) =>
      due?.kind === 'disable' ? this.#pauseOf(destination, due.isGone, episode, nowMs) : [],
    );
    if (copies.length + pauses.length > 0) await send([...copies, ...pauses]);
    const over = steps.filter(
      ({ known, next }) => known?.isTold === true && next.episode === undefined && !next.due,
    );
    const memory = [
      ...told.map((notice) => memoryRecord(topics.notices, notice.destination, notice)),
      ...over.map(({ destination }) => memoryRecord(topics.notices, destination.id, undefined)),
    ];
    if (memory.length > 0) await send(memory);
    const hooks = [...this.#options.config.noticeHooks()];
    for (const notice of told)
      events.written(notice, hooks.filter((hook) => isFor(hook, notice)).length);
  }

  #toldOf({ destination, known, next, said }: Step, nowMs: number): Told | undefined {
    const { id, uid } = destination;
    const { due, episode = known } = next;
    if (due === undefined || due.kind === 'disable' || episode === undefined) return undefined;
    const subject: Subject = {
      destination: id,
      uid,
      isGone: this.#options.pauses.get(destination)?.isGone === true,
      name: this.#options.config.destination(id)?.name,
      episode,
      view: said.length === 0 ? undefined : viewOf(id, said),
    };
    const { kind, ...rest } = due;
    const notice = composeNotice({ notice: kind, ...rest }, subject, this.#options.keptFor, nowMs);
    const toldBefore = known !== undefined && isOf(destination, known) ? known.told : 0;
    return { notice, subject, isFirstFailure: kind === 'failing' && toldBefore === 0 };
  }

  #copiesOf(told: readonly Notice[]): OutgoingRecord[] {
    const { config, topics } = this.#options;
    return Array.from(config.noticeHooks()).flatMap((hook) =>
      together(told.filter((notice) => isFor(hook, notice))).map((notice) =>
        hookRecord(topics.retry, hook, notice, config.offset),
      ),
    );
  }

  /** The owner is told once that the destination fails, and not again after hours and days. */
  #ownerCopy(told: Told): OutgoingRecord[] {
    const { notice, subject, isFirstFailure } = told;
    const { config, topics, keptFor } = this.#options;
    const destination = config.destination(subject.destination);
    // That its secrets cannot be read here is not its owner's affair.
    if (destination?.notify === undefined || subject.view?.state === 'unreadable') return [];
    if (notice.notice === 'failing' && !isFirstFailure) return [];
    return [ownerRecord(topics.retry, destination, told, keptFor, config.offset)];
  }

  #pauseOf(
    destination: Identity,
    isGone: boolean,
    episode: Episode | undefined,
    nowMs: number,
  ): OutgoingRecord {
    const { pauses, topics } = this.#options;
    const failingSince = new Date(episode?.sinceMs ?? nowMs).toISOString();
    const pause = { ...pauses.begin(destination, nowMs), failingSince };
    const said = isGone ? ({ ...pause, isGone: true } as const) : pause;
    return pauseRecord(topics.pauses, destination, said);
  }
}

/** A hook is never paused: nobody would be told. */
function isOfResource(id: string): boolean {
  return nameOfDestination(id).kind === 'Destination';
}

/**
 * Each URL fails, and its last answer says that it takes no more events. Where a rule of the destination is for that
 * answer, it has the meaning that the rule gives it.
 */
function isGone(urls: readonly UrlStatus[], retry: Destination['retry'] = {}): boolean {
  const { on = [], giveUpOn = [] } = retry;
  if (urls.length === 0 || on.includes(goneStatus) || giveUpOn.includes(goneStatus)) return false;
  return urls.every(
    ({ lastAnswer, failingSince }) =>
      failingSince !== undefined && lastAnswer?.status === goneStatus,
  );
}

/** A failing hook gets no notices about itself. */
function isFor({ id }: NoticeHook, { destination }: Notice): boolean {
  return hookDestinationId(id) !== destination;
}

function memoryRecord(topic: string, destination: string, notice?: Notice): OutgoingRecord {
  const value = notice === undefined ? null : JSON.stringify(notice);
  return { topic, key: destination, value };
}

function timeMs(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}

/** More notices of one kind than this are told as one. */
const mostApart = 3;
/** So many ids fit into a line of a chat, and so many into a notice. */
const mostInText = 5;
const mostListed = 100;

/**
 * The notices that a hook gets of those that are due at the same time: where a platform with hundreds of customers fails,
 * one that names how many.
 */
function together(notices: readonly Notice[]): Notice[] {
  const groups = new Map<string, Notice[]>();
  for (const each of notices) {
    const kind = `${each.notice} ${each.after ?? ''}`;
    const known = groups.get(kind);
    if (known === undefined) groups.set(kind, [each]);
    else known.push(each);
  }
  return [...groups.values()].flatMap((group) => asOne(group) ?? group);
}

/** It is about the destination that has failed for longest, and says which others it is about. */
function asOne(group: readonly Notice[]): Notice | undefined {
  const sorted = group.toSorted((a, b) => a.since.localeCompare(b.since));
  const [longest] = sorted;
  if (longest === undefined || sorted.length <= mostApart) return undefined;
  const hash = createHash('sha256');
  // After a crash, the next watcher derives the same id for the same notices.
  for (const id of sorted.map((each) => each.id).toSorted()) hash.update(`${id}\n`);
  const ids = sorted.map(({ destination }) => destination);
  return {
    ...longest,
    id: `notices-${hash.digest('hex').slice(0, 16)}`,
    count: ids.length,
    destinations: ids.slice(0, mostListed),
    text: textOf(longest, ids),
  };
}

function textOf({ notice, after = '', since }: Notice, ids: readonly string[]): string {
  const more = ids.length - mostInText;
  const named = ids.slice(0, mostInText).join(', ') + (more > 0 ? ` and ${more} more` : '');
  switch (notice) {
    case 'well':
      return `${ids.length} destinations work again: ${named}.`;
    case 'disabled':
      return `${ids.length} destinations are paused, because nothing has reached them for long: ${named}. Their events are kept; \`postrider resume\` sends them.`;
    case 'failing':
      return `${ids.length} destinations have failed for ${after}, the first since ${since.slice(0, 16).replace('T', ' ')} UTC: ${named}.`;
  }
}
