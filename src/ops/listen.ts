import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { PostriderError } from '../errors.ts';

/**
 * Listens on all addresses, of both families if the machine has IPv6, and returns the port.
 * @throws PostriderError `setting-invalid` with the setting's name if the port is not available
 */
export async function listenOnAll(
  server: FastifyInstance,
  setting: string,
  port: number,
): Promise<string> {
  const url = await server.listen({ port, host: '::' }).catch(async (error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAFNOSUPPORT') return server.listen({ port, host: '0.0.0.0' });
    throw portProblem(error, setting, port);
  });
  return new URL(url).port;
}

/**
 * Turns the system's error about a port that cannot be listened on into one sentence; other errors are
 * returned unchanged.
 * @param setting the setting or option that decides the port
 */
export function portProblem(error: unknown, setting: string, port: number): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const reason = reasons.get(code);
  if (reason === undefined) return error;
  const message = `${setting} is ${port}, ${reason}; allowed: a free port, or 0 for any`;
  return new PostriderError('setting-invalid', message, { cause: error });
}

const reasons: ReadonlyMap<unknown, string> = new Map([
  ['EADDRINUSE', 'which another process uses'],
  ['EACCES', 'which this user may not listen on'],
]);

/**
 * Checks ports before much else is begun, by listening on each for a moment.
 * @param ports by the setting that decides each; 0 is any free port
 * @throws PostriderError `setting-invalid` for the first that cannot be listened on
 */
export async function requireFreePorts(ports: Readonly<Record<string, number>>): Promise<void> {
  const held: Server[] = [];
  try {
    for (const [setting, port] of Object.entries(ports)) {
      const server = createServer().listen(port);
      await once(server, 'listening').catch((error: unknown) => {
        throw portProblem(error, setting, port);
      });
      held.push(server);
    }
  } finally {
    await Promise.all(held.map((server) => new Promise((closed) => server.close(closed))));
  }
}
