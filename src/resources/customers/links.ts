import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { PostriderError } from '../../errors.ts';
import type { AuditRecord } from '../../event/audit-entry.ts';
import { customerProblem } from '../../event/customer.ts';
import type { ClusterClient } from '../../kafka/cluster/cluster.ts';
import {
  followTable,
  type FollowedTable,
  type TableOptions,
  type TableRules,
} from '../../kafka/follow/table.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';

/**
 * Links that show a customer all of their destinations. They are records of the topic `links`, with the hash of each
 * link's token, so whoever reads the topic can open none. Only the API and the command `console-link` may write there.
 */

/** By its first characters, the token of a customer's link is told from other credentials. */
export const linkTokenPrefix = 'prl_';

/** A record of the topic `links`; its key is the id. */
export interface CustomersLink {
  readonly id: string;
  /** The hash of the token, in base64url. */
  readonly sha256: string;
  readonly customer: string;
  /** The customer may also change, add and delete destinations, and send events again. */
  readonly manage: boolean;
  /** Bodies of events are shown too. */
  readonly bodies: boolean;
  readonly untilMs: number;
  /** Its maker, as the audit has them. */
  readonly user: string;
  readonly name?: string | undefined;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** @returns the token, which is kept nowhere else, and the record that makes it work */
export function makeCustomersLink(wanted: Omit<CustomersLink, 'id' | 'sha256'>): {
  readonly token: string;
  readonly link: CustomersLink;
} {
  const token = `${linkTokenPrefix}${randomBytes(32).toString('base64url')}`;
  const id = randomBytes(6).toString('hex');
  return { token, link: { id, sha256: hashOf(token), ...wanted } };
}

/** The entry of the audit, which is written before the link works. */
export function madeCustomersLink(link: CustomersLink): Pick<AuditRecord, 'action' | 'detail'> {
  const { manage, bodies, untilMs } = link;
  const rights = `${manage ? 'may manage, ' : ''}${bodies ? 'with bodies, ' : ''}`;
  const until = new Date(untilMs).toISOString();
  return { action: 'make-link', detail: `${whichLink(link)}, ${rights}until ${until}` };
}

/** The same, written before the link is ended. */
export function revokedCustomersLink(link: CustomersLink): Pick<AuditRecord, 'action' | 'detail'> {
  return { action: 'revoke-link', detail: whichLink(link) };
}

function whichLink({ id, customer }: CustomersLink): string {
  return `link ${id} of customer ${customer}`;
}

/** The record that makes the link work. */
export function linkRecord(topic: string, link: CustomersLink): OutgoingRecord {
  return { topic, partition: 0, key: link.id, value: JSON.stringify(link) };
}

/** The record that ends a link, and every session that was begun with it. */
export function revokedLinkRecord(topic: string, id: string): OutgoingRecord {
  return { topic, partition: 0, key: id, value: null };
}

const schema: z.ZodType<CustomersLink> = z.object({
  id: z.string().min(1),
  sha256: z.string().length(43),
  customer: z.string().refine((given) => customerProblem(given) === undefined),
  manage: z.boolean(),
  bodies: z.boolean(),
  untilMs: z.int(),
  user: z.string(),
  name: z.string().optional(),
  at: z.string(),
});

/** The links that were made and not revoked. */
export class CustomersLinks {
  readonly #byId = new Map<string, CustomersLink>();
  readonly #byHash = new Map<string, CustomersLink>();

  /** Adds a link whose id is not there. */
  put(link: CustomersLink): void {
    this.#byId.set(link.id, link);
    this.#byHash.set(link.sha256, link);
  }

  remove(id: string): void {
    const ended = this.#byId.get(id);
    if (ended === undefined) return;
    this.#byId.delete(id);
    this.#byHash.delete(ended.sha256);
  }

  /** Undefined: it was revoked, has expired, or was never made. */
  get(id: string, nowMs: number): CustomersLink | undefined {
    return untilItsEnd(this.#byId.get(id), nowMs);
  }

  byToken(token: string, nowMs: number): CustomersLink | undefined {
    return untilItsEnd(this.#byHash.get(hashOf(token)), nowMs);
  }

  /**
   * The links that work, the last made first.
   * @param customer undefined: those of all customers
   */
  working(nowMs: number, customer?: string): readonly CustomersLink[] {
    return [...this.#byId.values()]
      .filter((link) => nowMs < link.untilMs)
      .filter((link) => customer === undefined || link.customer === customer)
      .toReversed();
  }
}

/** The rules of a table of the links. A record that cannot be read ends the link of its key. */
export const customersLinkRules: TableRules<CustomersLinks, string> = {
  create: () => new CustomersLinks(),
  apply: (table, { key, value }) => {
    const id = key?.toString() ?? '';
    table.remove(id);
    if (value !== null) table.put(decodeLink(id, value));
    return id;
  },
};

/** Follows the topic `links`; the entries that listeners are told are ids of links. */
export function followCustomersLinks(
  kafka: ClusterClient,
  options: TableOptions,
): FollowedTable<CustomersLinks, string> {
  return followTable(kafka, options, customersLinkRules);
}

/** @throws PostriderError for a record of another id, or one that is no link */
function decodeLink(id: string, value: Buffer): CustomersLink {
  const { data } = schema.safeParse(parseJson(value.toString()));
  if (data?.id === id) return data;
  throw new PostriderError('resource-invalid', `the record of link ${id} is not a link`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function untilItsEnd(link: CustomersLink | undefined, nowMs: number): CustomersLink | undefined {
  return link !== undefined && nowMs < link.untilMs ? link : undefined;
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
