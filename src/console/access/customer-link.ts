import { randomBytes } from 'node:crypto';
import type { AuditRecord, RecordedLink } from '../../event/audit-entry.ts';
import { isOf, type Identity } from '../../event/uid.ts';
import type { CustomersLinks } from '../../resources/customers/links.ts';
import type { LinkRow } from '../api/answers/actions.ts';
import { sha256 } from '../../http-api/tokens.ts';
import { linkPath } from '../../resources/customers/link-terms.ts';

/** Finds the destination that has an id now; undefined if none has. */
export type IdentityOf = (destinationId: string) => Identity | undefined;

/** The pages that it leads to, behind its id; `navigation.ts` of the pages knows it too. */
export const customerPath = '/c/';

/** Finds the links to customers that were neither revoked nor have expired. */
export type LinksToCustomers = Pick<CustomersLinks, 'get' | 'byToken'>;

/** A link's destination, its end, and the permission to see bodies. */
export type CustomerLink = Omit<RecordedLink, 'id' | 'sha256'>;

/**
 * A link works once its record is in the topic `audit`, which has the hash of its token only. So making links needs no
 * key, and no link works that the list of links does not show.
 */
export function makeLink(shown: CustomerLink): {
  /** Behind the console's address. */
  readonly path: string;
  readonly link: RecordedLink;
} {
  const token = randomBytes(32).toString('base64url');
  const id = randomBytes(6).toString('hex');
  return { path: `${linkPath}${token}`, link: { id, sha256: hashOf(token), ...shown } };
}

/** The record of the audit that makes the link work. */
export function madeLink(
  link: RecordedLink,
): Pick<AuditRecord, 'action' | 'destination' | 'detail' | 'link'> {
  const { id, destination, bodies, untilMs } = link;
  const what = bodies ? 'with bodies, ' : '';
  const detail = `link ${id}, ${what}until ${new Date(untilMs).toISOString()}`;
  return { action: 'make-link', destination, detail, link };
}

export function revokedLink({
  id,
  destination,
}: RecordedLink): Pick<AuditRecord, 'action' | 'destination' | 'detail' | 'revoked'> {
  return { action: 'revoke-link', destination, detail: `link ${id}`, revoked: id };
}

/** A link, and who made it. */
export interface ListedLink extends RecordedLink {
  readonly user: string;
  readonly name?: string | undefined;
  /** ISO 8601. */
  readonly at: string;
}

/** The links that were made and not revoked, by the records of the topic `audit`. */
export class CustomerLinks {
  readonly #byId = new Map<string, ListedLink>();
  readonly #byHash = new Map<string, ListedLink>();

  /** @param nowMs what had expired by then is left out */
  apply({ link, revoked, user, name, at }: AuditRecord, nowMs: number): void {
    if (link !== undefined && nowMs < link.untilMs) {
      const listed = { ...link, user, name, at };
      this.#byId.set(link.id, listed);
      this.#byHash.set(link.sha256, listed);
    }
    const ended = revoked === undefined ? undefined : this.#byId.get(revoked);
    if (ended === undefined) return;
    this.#byId.delete(ended.id);
    this.#byHash.delete(ended.sha256);
  }

  /** Undefined: it was revoked, has expired, or was never made. */
  get(id: string, nowMs: number): ListedLink | undefined {
    return untilItsEnd(this.#byId.get(id), nowMs);
  }

  byToken(token: string, nowMs: number): ListedLink | undefined {
    return untilItsEnd(this.#byHash.get(hashOf(token)), nowMs);
  }

  /** The links to destinations that still exist, the last made first. */
  working(nowMs: number, identityOf: IdentityOf): readonly LinkRow[] {
    return [...this.#byId.values()]
      .filter((link) => nowMs < link.untilMs && !isGone(link, identityOf))
      .toReversed()
      .map(rowOf);
  }
}

/** True once the link's destination was deleted, even if another one has its id since. */
export function isGone(
  { destination, uid }: Pick<CustomerLink, 'destination' | 'uid'>,
  identityOf: IdentityOf,
): boolean {
  const present = identityOf(destination);
  return present === undefined || !isOf(present, { uid: uid ?? undefined });
}

function untilItsEnd(link: ListedLink | undefined, nowMs: number): ListedLink | undefined {
  return link !== undefined && nowMs < link.untilMs ? link : undefined;
}

function rowOf({ id, destination, bodies, untilMs, at, user, name }: ListedLink): LinkRow {
  return {
    id,
    destination,
    bodies,
    until: new Date(untilMs).toISOString(),
    made: at,
    by: user,
    ...(name === undefined ? {} : { name }),
  };
}

function hashOf(token: string): string {
  return sha256(token).toString('base64url');
}
