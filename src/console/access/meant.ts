import type { FastifyRequest } from 'fastify';
import { isSame } from './signed.ts';

/**
 * True for a request with a token that only a page of this console can have read, if the request also
 * comes from such a page as far as a browser says. Either alone would do.
 */
export function isMeant(
  request: FastifyRequest,
  csrf: string,
  given: unknown,
  consoleOrigin: string | undefined,
): boolean {
  if (typeof given !== 'string' || !isSame(given, csrf)) return false;
  return provenance(provenanceOf(request), consoleOrigin) !== 'elsewhere';
}

/** The headers in which a browser says where a request comes from. */
interface Provenance {
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`; not sent to plain http elsewhere than on loopback. */
  readonly fetchSite: string | undefined;
  readonly host: string | undefined;
}

export function provenanceOf({ headers }: FastifyRequest): Provenance {
  const { origin, host } = headers;
  const fetchSite = headers['sec-fetch-site'];
  return { origin, host, fetchSite: typeof fetchSite === 'string' ? fetchSite : undefined };
}

/**
 * `own`: a page of this console has sent it. `unknown`: no browser has, because browsers say where a POST
 * comes from.
 * @param consoleOrigin the public one, which a proxy may hide behind another `Host`
 */
export function provenance(
  { origin, fetchSite, host }: Provenance,
  consoleOrigin: string | undefined,
): 'own' | 'elsewhere' | 'unknown' {
  if (origin === undefined && fetchSite === undefined) return 'unknown';
  if (fetchSite !== undefined && fetchSite !== 'same-origin') return 'elsewhere';
  if (origin !== undefined && origin !== consoleOrigin && URL.parse(origin)?.host !== host)
    return 'elsewhere';
  return 'own';
}
