import { ProblemError } from '../../http-api/problem.ts';
import type { CustomersLink } from '../../resources/customers/links.ts';

/** The rights of a caller: look at resources; change them; send events, pause, and delete users. */
export const scopes = ['read', 'write', 'operate'] as const;
export type Scope = (typeof scopes)[number];

/** The sender of a request, as far as it is known by what cannot be chosen. */
export interface Caller {
  /** For the audit: a token's name, `<issuer> <sub>`, or `link <id>`. */
  readonly user: string;
  /** The identity provider's name of the person. People can often change it themselves. */
  readonly name?: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The customers whose destinations there are for this caller; undefined: all, and what has no customer. */
  readonly customers: ReadonlySet<string> | undefined;
  /** The link to a customer with which this caller came. */
  readonly linkId?: string;
}

/** Says whether there is a destination of this customer for the caller. Ids are compared, and never their beginnings. */
export function reaches({ customers }: Caller, customer: string | undefined): boolean {
  return customers === undefined || (customer !== undefined && customers.has(customer));
}

/** A link lets its customer look, and change what is the customer's if it says so. */
export function callerOfLink({
  id,
  customer,
  manage,
}: Pick<CustomersLink, 'id' | 'customer' | 'manage'>): Caller {
  return {
    user: `link ${id}`,
    scopes: new Set(manage ? scopes : ['read']),
    customers: new Set([customer]),
    linkId: id,
  };
}

/** The answer to a token that lets nobody in (RFC 6750). */
export function wrongToken(sentence: string): ProblemError {
  return new ProblemError(401, sentence, { authenticate: 'Bearer error="invalid_token"' });
}

/**
 * @throws ProblemError 403 that says which scopes are missing
 */
export function requireScopes(caller: Caller, needed: readonly Scope[], what: string): void {
  const missing = needed.filter((scope) => !caller.scopes.has(scope));
  if (missing.length === 0) return;
  const whose = caller.linkId === undefined ? 'your token' : 'this link';
  const named = missing.join(' and ');
  throw new ProblemError(
    403,
    `${what} the scope${missing.length === 1 ? '' : 's'} ${named}, which ${whose} does not have.`,
    { authenticate: `Bearer error="insufficient_scope", scope="${missing.join(' ')}"` },
  );
}
