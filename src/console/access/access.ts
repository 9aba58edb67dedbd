import { randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Session } from '../api/model.ts';

/** Who may in: everything that decides it is asked here, for every request. */
export interface Access {
  /** Nobody logs in, so it may listen on loopback only. */
  readonly isOpen: boolean;
  /** Undefined: nobody who may see anything. */
  sessionOf(request: FastifyRequest): Session | undefined;
  /** By the header `Host`: whether the request was meant for this console. */
  allowsHost(host: string | undefined): boolean;
}

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Without log-in: whoever reaches loopback may do everything. The name in `Host` is looked at, because a page
 * of somebody else's domain that resolves to 127.0.0.1 (DNS rebinding) would reach it too.
 */
export function openAccess(): Access {
  const session: Session = {
    user: 'local',
    role: 'operator',
    bodies: true,
    csrf: randomBytes(16).toString('hex'),
    isOpen: true,
  };
  return {
    isOpen: true,
    sessionOf: () => session,
    allowsHost: (host) => {
      const name = /^(\[[0-9a-f:.]+\]|[^:]+)(?::\d{1,5})?$/i.exec(host ?? '')?.[1];
      return name !== undefined && loopbackNames.has(name.toLowerCase());
    },
  };
}
