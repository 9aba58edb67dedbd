import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { asError, PostriderError } from '../errors.ts';
import type { AuditRecord, RunOutcome } from '../event/audit-entry.ts';
import { withAdmin } from '../kafka/admin.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import { systemClock } from '../ops/clock.ts';
import { counted } from '../printable.ts';
import { requireTopics } from '../resources/require-topics.ts';
import { withProducer } from './connect/with-producer.ts';
import type { Context } from './context.ts';
import type { RedriveOptions } from './letters/options.ts';

/** A command that is stopped while Kafka is away waits no longer for the entry that says so. */
const outcomeMs = 10_000;

export type Done = Omit<AuditRecord, 'id' | 'at' | 'user' | 'via'>;

/**
 * Resolves to the entry's id when Kafka has it. Whoever may write the topic can write any name into it, so the entry says as whom
 * the command reaches Kafka.
 * @param givenUp resolves when Kafka is not waited for any longer
 * @throws PostriderError `not-found`, `kafka-refused`
 */
export async function writeAudit(
  context: Context,
  done: Done,
  givenUp?: Promise<void>,
): Promise<string> {
  const topic = (await context.topology()).topics.audit;
  await requireTopics(context.kafka, [{ name: topic }]);
  const user = userOf(context);
  const entry: AuditRecord = {
    id: randomUUID(),
    at: new Date(systemClock.now()).toISOString(),
    user,
    via: 'command-line',
    ...done,
  };
  const record = { topic, key: user, value: JSON.stringify(entry) };
  const write = async (producer: Pick<Producer, 'send'>): Promise<void> => {
    await producer.send([record]);
  };
  await withProducer(context, write, givenUp);
  return entry.id;
}

/** Does it once the audit has it, so that nothing is done that is not written, and writes where it fails. */
export async function audited<T>(context: Context, done: Done, act: () => Promise<T>): Promise<T> {
  const began = await writeAudit(context, done);
  try {
    return await act();
  } catch (error) {
    await writeFailure(context, { ...done, began }, error);
    throw error;
  }
}

/** The end of a run. */
interface RunEnd {
  /** A sentence for each reason why events were left out. */
  readonly leftOut: readonly string[];
  readonly became?: RunOutcome | undefined;
}

/**
 * The same for what sends many events or deletes many users: how it ended is written too.
 * @param chosen which events, or whose
 * @param act is to tell of each one that is done, or of several
 */
export async function auditedRun(
  context: Context,
  done: Omit<Done, 'detail'>,
  chosen: string,
  act: (onDone: (more?: number) => void) => Promise<RunEnd>,
): Promise<void> {
  const began = await writeAudit(context, { ...done, detail: chosen, isRun: true });
  let sent = 0;
  const onDone = (more = 1): void => {
    sent += more;
  };
  try {
    const { leftOut, became } = await act(onDone);
    const detail = leftOut.length === 0 ? {} : { detail: leftOut.join('. ') };
    const known = became === undefined ? {} : { became };
    await writeInTime(context, { ...done, began, sent, ...known, ...detail });
  } catch (error) {
    await writeFailure(context, { ...done, began, sent }, error);
    throw error;
  }
}

export async function writeFailure(context: Context, done: Done, error: unknown): Promise<void> {
  const detail = asError(error).message;
  const outcome = error instanceof PostriderError ? 'refused' : 'failed';
  await writeInTime(context, { ...done, outcome, detail });
}

/** The command's own answer is what a person has to read, so the entry is not waited for without end. */
async function writeInTime(context: Context, done: Done): Promise<void> {
  const givenUp = delay(outcomeMs, undefined, { ref: false });
  await writeAudit(context, done, givenUp).catch(() => undefined);
}

/**
 * For a command that also runs by a schedule, with a login that must not write to the audit: whoever may can make
 * customers' links. All topics are asked for, because brokers log it where a topic is asked for that is hidden.
 */
export async function auditedWhereSeen<T>(
  context: Context,
  done: Done,
  act: () => Promise<T>,
): Promise<T> {
  const { audit } = (await context.topology()).topics;
  const seen = await withAdmin(context.kafka, (admin) => admin.topicNames());
  return seen.includes(audit) ? audited(context, done, act) : act();
}

export function userOf({ settings }: Context): string {
  const { kafkaSaslUsername, kafkaSslCertFile } = settings;
  if (kafkaSaslUsername !== undefined) return `Kafka user ${kafkaSaslUsername}`;
  if (kafkaSslCertFile !== undefined) return `certificate ${kafkaSslCertFile}`;
  return `system user ${systemUser()}`;
}

/** In a container, the user may have no name. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

/**
 * The selection of letters that a redrive was to send. The letters' users are left out: the audit
 * outlives the deletion of a user.
 */
export function selectionText(
  options: RedriveOptions & Readonly<Record<string, unknown>>,
  places: readonly unknown[],
): string {
  const { user, since, until, again, ...rest } = options;
  const texts = ['destination', 'customer', 'source', 'reason'].flatMap((name) => {
    const value = rest[name];
    const text = value instanceof Set ? [...value].join(', ') : value;
    return typeof text === 'string' ? [`${name} ${text}`] : [];
  });
  const times = Object.entries({ since, until, again }).flatMap(([name, atMs]) =>
    atMs === undefined ? [] : [`${name} ${new Date(atMs).toISOString()}`],
  );
  const whose = user === undefined ? [] : ['of one user'];
  const named = places.length === 0 ? [] : [counted(places.length, 'place')];
  const all = [...texts, ...times, ...whose, ...named];
  return all.length === 0 ? 'all' : all.join('; ');
}
