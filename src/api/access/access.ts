import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { PostriderError } from '../../errors.ts';
import type { Problem } from '../../http-api/answers.ts';
import { problem } from '../../http-api/problem.ts';
import { scopes, type Caller } from './caller.ts';

/** The settings that decide who may use the API. */
export interface AccessSettings {
  /** The address that the API listens on. Undefined: the usual one. */
  readonly host: string | undefined;
}

/** Decides who may use the API. Every request is checked here. */
export interface ApiAccess {
  /** Nobody needs a token, so the API may listen on loopback only. */
  readonly isOpen: boolean;
  /** The address to listen on. */
  readonly host: string;
  /** The reason to refuse a request, whoever sends it. */
  objectionTo(request: FastifyRequest): Problem | undefined;
  /**
   * Undefined: nobody who may see anything.
   * @throws ProblemError 429 for an address that has guessed too often, or a caller beyond its limit
   */
  callerOf(request: FastifyRequest): Promise<Caller | undefined>;
}

/** @throws PostriderError `setting-invalid` where everybody could come in from elsewhere */
export function createAccess({ host = '127.0.0.1' }: AccessSettings): ApiAccess {
  if (isLoopback(host)) return openAccess(host);
  throw new PostriderError(
    'setting-invalid',
    `API_HOST is ${host}, which other machines can reach, and nobody needs a token: leave API_HOST at 127.0.0.1`,
  );
}

function isLoopback(host: string): boolean {
  if (isIP(host) !== 0) return ipaddr.process(host).range() === 'loopback';
  return host.toLowerCase() === 'localhost';
}

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Without tokens: whoever reaches loopback may do everything. The name in `Host` is looked at, because a page
 * of somebody else's domain that resolves to 127.0.0.1 (DNS rebinding) would reach it too; and because a page of any
 * site can make a browser send a POST here, what has an `Origin` is refused.
 */
function openAccess(host: string): ApiAccess {
  const caller: Caller = { user: 'local', scopes: new Set(scopes), customers: undefined };
  return {
    isOpen: true,
    host,
    objectionTo: ({ headers }) => {
      const name = /^(\[[0-9a-f:.]+\]|[^:]+)(?::\d{1,5})?$/i.exec(headers.host ?? '')?.[1];
      if (name === undefined || !loopbackNames.has(name.toLowerCase()))
        return problem(
          421,
          'Without tokens the API answers only to localhost, 127.0.0.1 and [::1].',
        );
      if (headers.origin === undefined) return undefined;
      return problem(403, 'Without tokens the API answers no web pages; set API_TOKENS_FILE.');
    },
    callerOf: () => Promise.resolve(caller),
  };
}
