import { z } from 'zod';
import { isOf, type Identity } from '../../event/uid.ts';
import { readSigned, sign } from './signed.ts';

/** What a link shows, to whoever has it. */
export interface CustomerLink {
  readonly destination: string;
  /** Which destination of the id; null: the first one. A link of a former release does not say. */
  readonly uid: string | null;
  /** Whether bodies of events are shown too. */
  readonly bodies: boolean;
  readonly untilMs: number;
}

const schema = z.object({
  destination: z.string(),
  uid: z.string().nullable(),
  bodies: z.boolean(),
  untilMs: z.number(),
});

/** Which destination has an id now; undefined: none has. */
export type IdentityOf = (destinationId: string) => Identity | undefined;

/** Where links begin, behind the console's address. */
export const linkPath = '/l/';

/** @param consoleUrl its public address, without a path */
export function makeLink(key: Buffer, consoleUrl: string, link: CustomerLink): string {
  return new URL(`${linkPath}${sign(key, 'customer-link', { ...link })}`, consoleUrl).href;
}

/** Undefined where it has expired, or was not made with this key. */
export function readLink(key: Buffer, token: string, nowMs: number): CustomerLink | undefined {
  return readSigned(key, 'customer-link', schema, token, nowMs);
}

/** Whether the destination that it shows was deleted, also where another one has its id since. */
export function isGone(
  { destination, uid }: Pick<CustomerLink, 'destination' | 'uid'>,
  identityOf: IdentityOf,
): boolean {
  const present = identityOf(destination);
  return present === undefined || !isOf(present, { uid: uid ?? undefined });
}
