import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Refusal } from './refusal.ts';

/**
 * Answers the preflights of pages that may send calls, and lets these pages read every answer. What such a page sends
 * is allowed whatever its headers are: clients add their own, some of them only when they send a call again. The gateway
 * has no cookies, so a page gains nothing by credentials.
 * @param origins `*`, or origins as browsers send them, also `https://*.shop.example`
 */
export function allowOrigins(server: FastifyInstance, origins: readonly string[]): void {
  const isAllowed = originMatcher(origins);
  void server.register(cors, {
    // The page's origin and never `*`, which browsers refuse for a beacon with JSON: it is sent with credentials.
    origin: (origin, done) => {
      done(null, isAllowed(origin));
    },
    credentials: true,
    methods: ['POST'],
    exposedHeaders: ['Retry-After'],
    maxAge: 86_400,
    strictPreflight: false,
  });
}

/** Tells whether pages of an origin may send calls. The origin is undefined for clients that are no browsers. */
export function originMatcher(origins: readonly string[]): (origin: string | undefined) => boolean {
  if (origins.includes('*')) return (origin) => origin !== undefined;
  const exact = new Set(origins);
  const below = origins.flatMap((given) => {
    const [scheme, parent] = given.split('*');
    return scheme === undefined || parent === undefined ? [] : [{ scheme, parent }];
  });
  return (origin) =>
    origin !== undefined &&
    (exact.has(origin) ||
      below.some(({ scheme, parent }) => origin.startsWith(scheme) && origin.endsWith(parent)));
}

/** Why the question of a browser whether a page may send calls is answered with no; undefined: it is no such question. */
export function refusedPreflight({ method, headers }: FastifyRequest): Refusal | undefined {
  const { origin } = headers;
  if (method !== 'OPTIONS' || origin === undefined) return undefined;
  return {
    code: 'unknown-origin',
    message: `GATEWAY_CORS_ORIGINS does not allow pages of ${origin.slice(0, mostCharacters)} to send calls.`,
  };
}

/** Longer than any host name with its scheme and port. */
const mostCharacters = 300;
