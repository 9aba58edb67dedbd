import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { asError, PostriderError } from '../errors.ts';
import type { AuditRecord } from '../event/audit-entry.ts';
import { withAdmin } from '../kafka/admin.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import { systemClock } from '../ops/clock.ts';
import type { Change } from '../resources/apply/plan.ts';
import { requireTopics } from '../resources/require-topics.ts';
import { withProducer } from './connect/with-producer.ts';
import type { Context } from './context.ts';
import type { RedriveOptions } from './letters/options.ts';
import { counted } from './terminal/counted.ts';

/** Whoever stops a command while Kafka is away waits no longer for the entry that says so. */
const outcomeMs = 10_000;

type Done = Omit<AuditRecord, 'id' | 'at' | 'user' | 'via'>;

/**
 * Resolves when Kafka has the entry. Whoever may write the topic can write any name into it, so the entry says as whom
 * the command reaches Kafka.
 * @param givenUp resolves when Kafka is not waited for any longer
 * @throws PostriderError `not-found`, `kafka-refused`
 */
export async function writeAudit(
  context: Context,
  done: Done,
  givenUp?: Promise<void>,
): Promise<void> {
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
}

/** Does it once the audit has it, so that nothing is done that is not written, and writes where it fails. */
export async function audited<T>(context: Context, done: Done, act: () => Promise<T>): Promise<T> {
  await writeAudit(context, done);
  try {
    return await act();
  } catch (error) {
    const detail = asError(error).message;
    const outcome = error instanceof PostriderError ? 'refused' : 'failed';
    // The reason of the failure is what a person has to read.
    const givenUp = delay(outcomeMs, undefined, { ref: false });
    await writeAudit(context, { ...done, outcome, detail }, givenUp).catch(() => undefined);
    throw error;
  }
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

function userOf({ settings }: Context): string {
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

const mostNamed = 20;

/** Which resources, without their fields: these may be secrets. */
export function changesText(changes: readonly Change[]): string {
  return shortened(changes.map(({ action, kind, id }) => `${action} ${kind}/${id}`));
}

/** The first ones, and how many more there are. */
export function shortened(texts: readonly string[]): string {
  const named = texts.slice(0, mostNamed).join(', ');
  const more = texts.length - mostNamed;
  return more > 0 ? `${named} and ${more} more` : named;
}

/** Which letters a redrive was to send. Whose they are is left out: the audit outlives the deletion of a user. */
export function selectionText(
  options: RedriveOptions & Readonly<Record<string, unknown>>,
  places: readonly unknown[],
): string {
  const { user, since, until, again, ...rest } = options;
  const texts = ['destination', 'source', 'reason'].flatMap((name) => {
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
