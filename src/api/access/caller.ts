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
