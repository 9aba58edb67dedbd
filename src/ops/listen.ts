import type { FastifyInstance } from 'fastify';
import { portProblem } from './port-problem.ts';

/**
 * Listens on all addresses, of both families where the machine has IPv6, and gives the port.
 * @throws PostriderError `setting-invalid` naming the setting if the port cannot be had
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
