import {
  CustomerLinks,
  madeLink,
  makeLink,
  revokedLink,
} from '../../console/access/customer-link.ts';
import { PostriderError } from '../../errors.ts';
import { decodeAuditEntry } from '../../event/audit-entry.ts';
import { followTable } from '../../kafka/follow/table.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { hintAt } from '../../near.ts';
import { systemClock } from '../../ops/clock.ts';
import { readStoredResources } from '../../resources/config/config-topic.ts';
import {
  findDestination,
  readableOfKind,
  requireDestination,
  type StoredResources,
} from '../../resources/config/stored-resources.ts';
import { linkPath } from '../../resources/customers/link-terms.ts';
import {
  customersLinkRules,
  linkRecord,
  madeCustomersLink,
  makeCustomersLink,
  revokedCustomersLink,
  revokedLinkRecord,
  type CustomersLink,
  type CustomersLinks,
} from '../../resources/customers/links.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { audited, userOf, writeAudit } from '../audit.ts';
import { withProducer } from '../connect/with-producer.ts';
import type { Context } from '../context.ts';

/**
 * Links to one destination are in the audit itself, and those to all destinations of a customer in the topic `links`.
 */

export interface NewLink {
  readonly id: string;
  /** Behind the console's address. */
  readonly path: string;
  /** The rights of whoever has the link, behind `can`. */
  readonly grants: string;
}

interface Wanted {
  readonly bodies: boolean;
  readonly untilMs: number;
}

/** @throws PostriderError `not-found` for a destination that does not exist */
export async function linkToDestination(
  context: Context,
  { destination, bodies, untilMs }: Wanted & { readonly destination: string },
): Promise<NewLink & { readonly destination: string }> {
  const { uid = null } = requireDestination(await storedResources(context), destination);
  const { path, link } = makeLink({ destination, uid, bodies, untilMs });
  await writeAudit(context, madeLink(link));
  return { id: link.id, destination, path, grants: `see destination ${destination}` };
}

/**
 * A customer without destinations may get a link to add them.
 * @throws PostriderError `not-found` for a customer without destinations that could only look
 */
export async function linkToCustomer(
  context: Context,
  { customer, manage, bodies, untilMs }: Wanted & Pick<CustomersLink, 'customer' | 'manage'>,
): Promise<NewLink & Pick<CustomersLink, 'customer' | 'manage'>> {
  const known = new Set(
    readableOfKind(await storedResources(context), 'Destination').map((each) => each.customer),
  );
  if (!known.has(customer)) {
    const others = [...known].filter((each) => each !== undefined);
    const sentence = `no destination is of customer ${customer}${hintAt(customer, others)}`;
    if (!manage) throw new PostriderError('not-found', sentence);
    context.note(sentence);
  }
  const at = new Date(systemClock.now()).toISOString();
  const user = userOf(context);
  const { token, link } = makeCustomersLink({ customer, manage, bodies, untilMs, user, at });
  const { links: topic } = (await context.topology()).topics;
  await requireTopics(context.kafka, [{ name: topic }]);
  await audited(context, madeCustomersLink(link), () => send(context, linkRecord(topic, link)));
  const verb = manage ? 'see and change' : 'see';
  const grants = `${verb} all destinations of customer ${customer}`;
  return { id: link.id, customer, manage, path: `${linkPath}${token}`, grants };
}

/** A link of either kind, as it is shown. Its token is in the link alone. */
export interface WorkingLink {
  readonly id: string;
  /** Null: all of the customer's. */
  readonly destination: string | null;
  readonly customer: string | null;
  readonly manage: boolean;
  readonly bodies: boolean;
  readonly until: string;
  readonly made: string;
  readonly by: string;
  readonly name: string | null;
}

/** The last made first. */
export async function workingLinks(context: Context): Promise<readonly WorkingLink[]> {
  const nowMs = systemClock.now();
  const [stored, single, ofCustomers] = await Promise.all([
    storedResources(context),
    readDestinationLinks(context),
    readCustomersLinks(context),
  ]);
  const toOne = single.working(nowMs, (id) => findDestination(stored, id));
  return [
    ...toOne.map(({ name = null, ...link }) => ({ ...link, customer: null, manage: false, name })),
    ...ofCustomers.working(nowMs).map(shownLink),
  ].sort((a, b) => (a.made < b.made ? 1 : -1));
}

function shownLink(link: CustomersLink): WorkingLink {
  const { id, customer, manage, bodies, untilMs, at: made, user: by, name = null } = link;
  const until = new Date(untilMs).toISOString();
  return { id, destination: null, customer, manage, bodies, until, made, by, name };
}

/**
 * Ends a link of either kind, and every session that was begun with it.
 * @throws PostriderError `not-found` if none of the id works
 */
export async function revokeLink(
  context: Context,
  id: string,
): Promise<{ readonly destination: string } | { readonly customer: string }> {
  const nowMs = systemClock.now();
  const single = (await readDestinationLinks(context)).get(id, nowMs);
  if (single !== undefined) {
    await writeAudit(context, revokedLink(single));
    return { destination: single.destination };
  }
  const link = (await readCustomersLinks(context)).get(id, nowMs);
  if (link === undefined)
    throw new PostriderError('not-found', `no link ${id} works; --list prints those that do`);
  const record = revokedLinkRecord((await context.topology()).topics.links, id);
  await audited(context, revokedCustomersLink(link), () => send(context, record));
  return { customer: link.customer };
}

async function send(context: Context, record: OutgoingRecord): Promise<void> {
  await withProducer(context, (producer) => producer.send([record]));
}

async function storedResources(context: Context): Promise<StoredResources> {
  const { kafka, log } = context;
  return readStoredResources({ kafka, topology: await context.topology(), log });
}

async function readDestinationLinks(context: Context): Promise<CustomerLinks> {
  const { kafka, log } = context;
  const { audit: topic } = (await context.topology()).topics;
  await requireTopics(kafka, [{ name: topic }]);
  const nowMs = systemClock.now();
  const links = followTable(
    kafka,
    { topic, log },
    {
      create: () => new CustomerLinks(),
      apply: (table, { value }) => {
        const record = decodeAuditEntry(value);
        if (record !== undefined) table.apply(record, nowMs);
      },
    },
  );
  await links.loaded;
  await links.stop();
  return links.current;
}

async function readCustomersLinks(context: Context): Promise<CustomersLinks> {
  const { kafka, log } = context;
  const { links: topic } = (await context.topology()).topics;
  await requireTopics(kafka, [{ name: topic }]);
  const links = followTable(kafka, { topic, log }, customersLinkRules);
  await links.loaded;
  await links.stop();
  return links.current;
}
