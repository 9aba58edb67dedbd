import type { IncomingHttpHeaders } from 'node:http';
import { ProblemError } from '../http-api/problem.ts';
import type { StoredResource } from '../resources/config/stored-resources.ts';
import { etagOf } from './view.ts';

/** The conditions of a request (RFC 9110 13.1) on what is stored when it is done. */
export interface Conditions {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
}

export function conditionsOf(headers: IncomingHttpHeaders): Conditions {
  return { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] };
}

/** @throws ProblemError 412 where they do not hold */
export function requireConditions(
  { ifMatch, ifNoneMatch }: Conditions,
  stored: StoredResource | undefined,
  what: string,
): void {
  if (ifMatch !== undefined && (stored === undefined || !names(ifMatch, stored)))
    throw new ProblemError(
      412,
      stored === undefined
        ? `${what} does not exist, so its version is not that of If-Match.`
        : `${what} has changed: its version is not that of If-Match; get it again, and repeat the change.`,
    );
  if (ifNoneMatch !== undefined && stored !== undefined && names(ifNoneMatch, stored))
    throw new ProblemError(412, `${what} exists, and If-None-Match allows only what does not.`);
}

/** Weak tags name no version. */
function names(header: string, stored: StoredResource): boolean {
  if (header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim() === etagOf(stored));
}
