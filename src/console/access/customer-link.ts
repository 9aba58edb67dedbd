import { z } from 'zod';
import { readSigned, sign } from './signed.ts';

/** What a link shows, to whoever has it. */
export interface CustomerLink {
  readonly destination: string;
  /** When a former destination of this id was deleted, as `EndedMs` had it; 0: none was known. */
  readonly formerEndMs: number;
  /** Whether bodies of events are shown too. */
  readonly bodies: boolean;
  readonly untilMs: number;
}

const schema = z.object({
  destination: z.string(),
  formerEndMs: z.number(),
  bodies: z.boolean(),
  untilMs: z.number(),
});

/** When the last destination of this id was deleted, by the brokers' clock; undefined: none is known. */
export type EndedMs = (destinationId: string) => number | undefined;

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
export function isDeleted(
  { destination, formerEndMs }: Pick<CustomerLink, 'destination' | 'formerEndMs'>,
  endedMs: EndedMs,
): boolean {
  return (endedMs(destination) ?? 0) > formerEndMs;
}
