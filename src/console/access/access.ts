import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AuditRecord } from '../../event/audit-entry.ts';
import type { Session } from '../api/answers/deployment.ts';
import { isMeant } from './meant.ts';
import { Veil } from './veil.ts';

/** Decides who may use the console. Every request is checked here. */
export interface Access {
  /** For what customers see of places in topics. */
  readonly veil: Veil;
  /** Nobody logs in, so it may listen on loopback only. */
  readonly isOpen: boolean;
  /**
   * Undefined: nobody who may see anything.
   * @throws ProblemError 429 for an address that has guessed too often
   */
  sessionOf(request: FastifyRequest): Session | undefined;
  /** By the header `Host`: whether the request was meant for this console. */
  allowsHost(host: string | undefined): boolean;
  /** True for a request to change something that a page of this console, or a program, sends on purpose. */
  isMeant(request: FastifyRequest): boolean;
  /** A record of the audit, of whoever wrote it: it may end a session. */
  audited(record: AuditRecord): void;
  /** Log-in, log-out and links of customers. */
  addRoutes(server: FastifyInstance): Promise<void>;
}

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Without log-in: whoever reaches loopback may do everything. The name in `Host` is looked at, because a page
 * of somebody else's domain that resolves to 127.0.0.1 (DNS rebinding) would reach it too; and because any
 * page can send a POST here, there is a CSRF token all the same.
 */
export function openAccess(): Access {
  const session: Session = {
    user: 'local',
    role: 'operator',
    bodies: true,
    csrf: randomBytes(32).toString('base64url'),
    isOpen: true,
  };
  return {
    isOpen: true,
    veil: new Veil(randomBytes(32)),
    sessionOf: () => session,
    allowsHost: (host) => {
      const name = /^(\[[0-9a-f:.]+\]|[^:]+)(?::\d{1,5})?$/i.exec(host ?? '')?.[1];
      return name !== undefined && loopbackNames.has(name.toLowerCase());
    },
    isMeant: (request) =>
      isMeant(request, session.csrf, request.headers['x-csrf-token'], undefined),
    audited: () => undefined,
    addRoutes: () => Promise.resolve(),
  };
}
