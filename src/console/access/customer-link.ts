import { z } from 'zod';
import { readSigned, sign } from './signed.ts';

/** What a link shows, to whoever has it. */
export interface CustomerLink {
  readonly destination: string;
  /** Whether bodies of events are shown too. */
  readonly bodies: boolean;
  readonly untilMs: number;
}

const schema = z.object({ destination: z.string(), bodies: z.boolean(), untilMs: z.number() });

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
